#include "cli/run/candidate.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

// True if an administrator can repair the failure of a database that has answered before: a replica
// may become a primary, a database may be restored, a password may be set again.
bool may_be_put_right(const error& failure) {
    if (failure.code() == errc::connection_failed) return !failure.is_transient();
    return failure.code() == errc::read_only || failure.code() == errc::schema_missing;
}

bool may_pass(const error& failure) {
    return exit_status_of(failure.code()) == exit_status::unreachable || failure.is_transient() ||
           may_be_put_right(failure);
}

// Leaves out the library's advice to open another session, or to raise the ttl, since the tool only
// has to wait.
std::string reason_of(const error& failure) {
    const bool has_asked = failure.native_code() != 0;
    if (failure.code() == errc::session_lost) {
        return "the session was lost, as the database did not answer in time";
    }
    if (failure.code() == errc::timed_out && !has_asked) {
        return "the database did not answer in time";
    }
    return failure_of(failure).what();
}

}  // namespace

candidate::candidate(const database& db, const errand& what, signal_inbox& signals)
    : database_(db), what_(what), signals_(signals), line_(db, what) {}

acquired candidate::wait() {
    const auto began = local_clock::now();
    while (true) {
        errand rest = what_;
        if (rest.timeout) {
            const auto waited = local_clock::now() - began;
            *rest.timeout -= std::chrono::duration_cast<milliseconds>(waited);
            *rest.timeout = std::max(*rest.timeout, milliseconds{0});
        }
        try {
            acquired answer = attempt(rest);
            if (answer.cancelled_by != 0 || !answer.held->failed) return answer;
            const auto failed = std::exchange(answer.held->failed, nullptr);
            part_with(std::move(answer));
            std::rethrow_exception(failed);
        } catch (const error& failure) {
            const bool has_time = !what_.timeout || local_clock::now() - began < *what_.timeout;
            // Otherwise the tool would wait for ever for a server that never existed.
            const bool waits_at_start = what_.timeout || what_.waits_at_start;
            const bool may_begin = waits_at_start && failure.is_transient();
            const bool may_wait = has_been_in_touch_ || may_begin;
            if (!may_wait || !may_pass(failure) || !has_time) throw;
            report_away(failure);
        }
        const int asked_by = wait_a_moment(signals_);
        if (asked_by != 0) return {std::nullopt, asked_by};
    }
}

acquired candidate::attempt(const errand& what) {
    session_made_.take();
    session_since_.reset();
    background<holding> trying{[&](std::stop_token cancel) {
        return acquire(
            database_, what, [this] { session_made_.set(); }, cancel
        );
    }};
    // Before the session begins there is nothing in the database that would have to end.
    const auto time_left = [&](int) {
        look_up();
        return session_since_ ? milliseconds{max_goodbye} : milliseconds{0};
    };
    const int cancelled_by =
        wait_for_end(trying, signals_, time_left, session_made_.source(), line_.source(), [&] {
            return look_up();
        });
    line_.hide();
    if (session_made_.take()) has_been_in_touch_ = true;
    if (cancelled_by == 0) {
        acquired answer{trying.take(), 0};
        if (!answer.held->failed) has_answered();
        return answer;
    }
    try {
        return {trying.take(), cancelled_by};
    } catch (const error&) {
        return {std::nullopt, cancelled_by};  // the user no longer asks for what failed
    }
}

// A database may let a session begin and not answer the next statement. Then the outage goes on,
// and that statement fails within this time.
std::chrono::nanoseconds candidate::look_up() {
    const auto proven_after = database_.settings().statement_timeout + std::chrono::seconds{2};
    if (session_made_.take()) {
        has_been_in_touch_ = true;
        session_since_ = local_clock::now();
    }
    const std::chrono::nanoseconds pause = line_.tick();
    if (!away_since_ || !session_since_) return pause;
    const auto left = *session_since_ + proven_after - local_clock::now();
    if (left > local_clock::duration{0}) return std::min<std::chrono::nanoseconds>(pause, left);
    has_answered();
    return pause;
}

void candidate::has_answered() {
    if (!away_since_) return;
    const auto lasted = std::chrono::duration_cast<milliseconds>(local_clock::now() - *away_since_);
    report(
        what_.is_json,
        "database_back",
        "the database answers again, after " + shown(lasted) + "; waiting for '" +
            what_.name.name() + "'"
    );
    away_since_.reset();
    said_.clear();
}

void candidate::report_away(const error& failure) {
    const auto now = local_clock::now();
    if (!away_since_) away_since_ = now;
    if (!said_.is_due(failure, now)) return;
    std::string message = reason_of(failure) + "; waiting ";
    message += may_be_put_right(failure) ? "until that is put right" : "for the database";
    const auto lasted = std::chrono::duration_cast<milliseconds>(now - *away_since_);
    if (lasted >= std::chrono::minutes{1}) message += " (for " + shown(lasted) + " so far)";
    message += ", to ask for '" + what_.name.name() + "' again";
    report(what_.is_json, name_of(failure.code()), message);
}

void candidate::part_with(acquired gone) {
    std::erase_if(departing_, [](const auto& each) { return each->has_ended(); });
    if (!gone.held) return;
    // The session ended with the release, so the tool sends no further statement.
    if (gone.held->within.why_lost() == loss_reason::session_ended) return;
    departing_.push_back(std::make_unique<background<bool>>([leaving = std::move(gone.held
                                                             )](const std::stop_token&) mutable {
        leaving.reset();
        return true;
    }));
}

void candidate::end(int status) {
    const auto until = local_clock::now() + max_goodbye;
    int heard = 0;
    const auto outwait = [&](auto is_over, int source) {
        while (!is_over()) {
            const auto left = until - local_clock::now();
            if (left <= local_clock::duration{0}) _exit(status);
            wait_for({source, signals_.source()}, left);
            while (const auto next = signals_.take_wish()) {
                // The first signal may be the one that ended the command.
                if (heard++ > 0) end_at_once(*next);
            }
        }
    };
    for (const auto& each : departing_) {
        outwait([&] { return each->has_ended(); }, each->source());
    }
    outwait([&] { return !line_.is_looking(); }, line_.source());
}

}  // namespace leasehold::cli
