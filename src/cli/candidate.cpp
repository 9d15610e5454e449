#include "cli/candidate.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

// How long a goodbye to the database may take when the tool is to end.
constexpr std::chrono::seconds goodbye_max{2};

// Of one that has answered before. A replica is no place to lead from, but may become one.
bool may_pass(const error& failure) {
    return exit_status_of(failure.code()) == exit_status::unreachable ||
           failure.code() == errc::read_only;
}

// Where the library advises to open another session, or to raise the ttl, waiting will do.
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
    : database_(db), what_(what), signals_(signals), line_(db, what.name, what.is_json) {}

acquired candidate::wait() {
    const auto began = local_clock::now();
    while (true) {
        errand rest = what_;
        if (rest.patience) {
            const auto waited = local_clock::now() - began;
            *rest.patience -= std::chrono::duration_cast<milliseconds>(waited);
            *rest.patience = std::max(*rest.patience, milliseconds{0});
        }
        try {
            acquired answer = attempt(rest);
            if (answer.cancelled_by != 0 || !answer.held->failed) return answer;
            const auto failed = std::exchange(answer.held->failed, nullptr);
            part_with(std::move(answer));
            std::rethrow_exception(failed);
        } catch (const error& failure) {
            const bool has_time = !what_.patience || local_clock::now() - began < *what_.patience;
            if (!has_been_in_touch_ || !may_pass(failure) || !has_time) throw;
            report_away(failure);
        }
        const int asked_by = wait_a_moment();
        if (asked_by != 0) return {std::nullopt, asked_by};
    }
}

acquired candidate::attempt(const errand& what) {
    session_made_.hush();
    background<holding> trying{[&](std::stop_token cancel) {
        return acquire(
            database_, what, [this] { session_made_.ring(); }, cancel
        );
    }};
    const auto look_up = [&] {
        if (session_made_.hush()) is_in_touch();
        return line_.tick();
    };
    // To a database that is away nobody can say goodbye.
    const auto patience = [&] { return away_since_ ? milliseconds{0} : milliseconds{goodbye_max}; };
    const int cancelled_by =
        wait_for_end(trying, signals_, patience, session_made_.source(), line_.source(), look_up);
    line_.hide();
    if (session_made_.hush()) is_in_touch();
    if (cancelled_by == 0) return {trying.take(), 0};
    try {
        return {trying.take(), cancelled_by};
    } catch (const error&) {
        return {std::nullopt, cancelled_by};  // what failed is not what the user asked for any more
    }
}

void candidate::is_in_touch() {
    has_been_in_touch_ = true;
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
    if (!away_since_) away_since_ = local_clock::now();
    if (!said_.insert(failure.code()).second) return;
    report(
        what_.is_json,
        name_of(failure.code()),
        reason_of(failure) + "; waiting for the database, to ask for '" + what_.name.name() +
            "' again"
    );
}

// Answers with the signal that ended it, or 0.
int candidate::wait_a_moment() {
    constexpr std::chrono::seconds between{1};
    const auto until = local_clock::now() + between;
    while (local_clock::now() < until) {
        wait_for({signals_.source()}, until - local_clock::now());
        while (const auto next = signals_.take()) {
            if (*next != SIGCHLD) return *next;
        }
    }
    return 0;
}

void candidate::part_with(acquired gone) {
    std::erase_if(departing_, [](const auto& each) { return each->has_ended(); });
    if (!gone.held) return;
    departing_.push_back(std::make_unique<background<bool>>([leaving = std::move(gone.held
                                                             )](const std::stop_token&) mutable {
        leaving.reset();
        return true;
    }));
}

void candidate::end(int status) {
    const auto until = local_clock::now() + goodbye_max;
    int heard = 0;
    const auto outwait = [&](auto is_over, int source) {
        while (!is_over()) {
            const auto left = until - local_clock::now();
            if (left <= local_clock::duration{0}) _exit(status);
            wait_for({source, signals_.source()}, left);
            while (const auto next = signals_.take()) {
                // The first may be the one that ended the command.
                if (*next != SIGCHLD && heard++ > 0) end_at_once(*next);
            }
        }
    };
    for (const auto& each : departing_) {
        outwait([&] { return each->has_ended(); }, each->source());
    }
    outwait([&] { return !line_.is_looking(); }, line_.source());
}

}  // namespace leasehold::cli
