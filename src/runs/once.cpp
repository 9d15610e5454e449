#include "leasehold/once.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/handle_maker.hpp"
#include "core/utf8.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/mutex.hpp"
#include "locks/heard_of.hpp"
#include "locks/keep_asking.hpp"
#include "locks/not_granted.hpp"
#include "locks/repeatedly.hpp"
#include "runs/run_store.hpp"
#include "session/session.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

void require_valid(const once_settings& settings) {
    if (settings.hold_at_least < microseconds{0} || settings.hold_at_least > hours{366 * 24}) {
        throw error(errc::invalid_argument, "hold_at_least must be 0 to 366 days");
    }
    if (settings.fixed_term && *settings.fixed_term < settings.hold_at_least) {
        throw error(errc::invalid_argument, "fixed_term must not be less than hold_at_least");
    }
    if (settings.max_early < milliseconds{0} || settings.max_early > hours{1}) {
        throw error(errc::invalid_argument, "max_early must be 0 to 1 h");
    }
}

run_look look_at(const database& db, const key& name, const bounds& of_call) {
    return repeatedly(db, of_call, [&](connection& on, store_set& stores) {
        return stores.get<run_store>().look(on, name);
    });
}

start_refusal why_not(const run_info& last, schedule::instant tick, bool may_repeat) {
    if (last.tick > tick) return start_refusal::already_run;
    if (last.state == run_state::running) return start_refusal::running;
    const bool may_be_repeated = last.state == run_state::abandoned && may_repeat;
    if (last.tick == tick && !may_be_repeated) return start_refusal::already_run;
    return last.closed_for > microseconds{0} ? start_refusal::closed : start_refusal::none;
}

event_reason reason_of(start_refusal why) noexcept {
    switch (why) {
        case start_refusal::running:
            return event_reason::busy;
        case start_refusal::already_run:
            return event_reason::already_run;
        case start_refusal::closed:
            return event_reason::closed;
        case start_refusal::none:
            break;
    }
    return event_reason::none;
}

run_outlook judged(const run_look& seen, const schedule& when, const once_settings& settings) {
    run_outlook found;
    found.tick = when.previous(seen.now);
    found.next_in = when.next(seen.now) - seen.now;
    found.last = seen.last;
    if (seen.last) found.refusal = why_not(*seen.last, found.tick, settings.repeat_abandoned);
    return found;
}

// True when a call now means the next tick.
bool is_early(const run_look& seen, const schedule& when, const once_settings& settings) {
    const auto next = when.next(seen.now);
    const auto half = (next - when.previous(seen.now)) / 2;
    return next - seen.now <= std::min<microseconds>(settings.max_early, half);
}

}  // namespace

const char* name_of(run_state state) noexcept {
    switch (state) {
        case run_state::running:
            return "running";
        case run_state::succeeded:
            return "succeeded";
        case run_state::failed:
            return "failed";
        case run_state::abandoned:
            return "abandoned";
    }
    return "unknown";
}

const char* name_of(start_refusal why) noexcept {
    switch (why) {
        case start_refusal::none:
            return "none";
        case start_refusal::already_run:
            return "already_run";
        case start_refusal::running:
            return "running";
        case start_refusal::closed:
            return "closed";
    }
    return "unknown";
}

// -------------------------------------------------------------------------------------- a run

class task_run::implementation {
public:
    implementation(
        std::shared_ptr<session::implementation> within,
        leasehold::lease held,
        schedule::instant tick,
        std::optional<microseconds> fixed_term
    )
        : session_(std::move(within)),
          lease_(std::move(held)),
          tick_(tick),
          fixed_term_(fixed_term) {}

    ~implementation() {
        if (!is_told_ && is_over_its_limit()) record_limit();
    }
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    schedule::instant tick() const noexcept { return tick_; }
    leasehold::lease& lease() noexcept { return lease_; }

    // Records first: if the key were given back before, others would take the run for abandoned.
    template <class GiveBack>
    finish_outcome finish(const run_result& result, GiveBack give_back) {
        is_told_ = true;
        const bool is_spent = outcome_ ? *outcome_ != finish_outcome::unknown
                                       : lease_.why_lost() == loss_reason::released;
        if (!is_spent) outcome_ = record(request(result));
        try {
            give_back();
        } catch (const error& failure) {
            tell_of(failure);
        }
        return is_spent ? finish_outcome::not_held : *outcome_;
    }

    // As finish(), where a body has not finished the run by itself. A transaction with finish_in()
    // may have been rolled back, so the record says.
    finish_outcome finish_rest(const run_result& result) {
        if (outcome_) return *outcome_;
        const auto give_back = [this] { lease_.release(); };
        if (!is_told_) return finish(result, give_back);
        if (is_recorded()) {
            lease_.release();
            return finish_outcome::recorded;
        }
        if (!result.has_succeeded) return finish(result, give_back);
        const std::string why = "the transaction of finish_in() was not committed";
        const auto outcome = finish({.has_succeeded = false, .message = why}, give_back);
        if (outcome != finish_outcome::recorded) return outcome;
        throw error(
            errc::wrong_transaction,
            why + ": this run of '" + lease_.key().name() +
                "' is recorded as failed; commit before the body returns"
        );
    }

    // Never throws: the exception that is being handled is the one to tell of.
    void finish_failed() noexcept {
        try {
            const run_result failed{.has_succeeded = false, .message = words_of_thrown()};
            (void)finish_rest(failed);  // a run that is not ours any more has told of its loss
        } catch (const std::exception& failure) {
            tell_of(failure);
        }
    }

    void finish_in(connection& inside, const run_result& result) {
        is_told_ = true;
        lease_.verify_in(transaction_ref{inside});
        const store_set& stores = database().store_for(inside);
        const auto is_there = [&](connection& on, store_set& own) {
            return own_record(on, own).has_value();
        };
        const auto write = [&] { return stores.get<run_store>().finish(inside, request(result)); };
        if (where_heard_of(database(), write, is_there)) return;
        throw error(
            errc::lease_lost,
            "the record of '" + lease_.key().name() +
                "' is not this run's any more: roll back and write nothing"
        );
    }

private:
    leasehold::database::implementation& database() const noexcept { return session_->database(); }

    // Compares our own clock. A run that a user freed by force before is not over its limit.
    bool is_over_its_limit() const noexcept {
        if (!fixed_term_ || !handle_maker::is_there(lease_)) return false;
        const loss_reason why = lease_.why_lost();
        const bool is_undisturbed = why == loss_reason::none || why == loss_reason::expired;
        return is_undisturbed && local_clock::now() >= lease_.deadline();
    }

    // Tries once to record, and not at all if the server does not answer, since a destructor should
    // not take long. If that fails the run is abandoned.
    void record_limit() noexcept {
        try {
            if (!session_->may_part()) {
                throw error(errc::timed_out, "the database is away: the run counts as abandoned");
            }
            const auto limit = std::chrono::duration_cast<milliseconds>(*fixed_term_);
            run_result result{.has_succeeded = false};
            result.message = "it took longer than fixed_term, " + std::to_string(limit.count()) +
                             " ms, and was not finished";
            const run_finish what = request(result);
            database().use(session_->parting(), [&](connection& on, store_set& stores) {
                return stores.get<run_store>().finish(on, what);
            });
        } catch (const std::exception& failure) {
            tell_of(failure);
        }
    }

    bool is_recorded() {
        const bounds of_call = bounds_of(session_->handle());
        const auto own = database().use(of_call, [&](connection& on, store_set& stores) {
            return own_record(on, stores);
        });
        return own && (own->state == run_state::succeeded || own->state == run_state::failed);
    }

    // nullopt if the record is another run's by now.
    std::optional<run_info> own_record(connection& on, store_set& stores) const {
        auto last = stores.get<run_store>().look(on, lease_.key()).last;
        const bool is_own = last && last->owner == lease_.owner() && last->token == lease_.token();
        return is_own ? std::move(last) : std::nullopt;
    }

    void tell_of(const std::exception& failure) {
        // A program may have taken the lease out of the run.
        const bool is_there = handle_maker::is_there(lease_);
        database().tell(
            {event_kind::release_failed,
             is_there ? lease_.key().name() : std::string{},
             is_there ? lease_.token().number : 0,
             failure.what()}
        );
    }

    run_finish request(const run_result& result) const {
        run_finish made{lease_.key(), lease_.token(), lease_.owner(), result};
        made.result.message =
            cut_utf8(printable_utf8(result.message), run_store::max_message_bytes);
        return made;
    }

    // The request names owner and token, so asking again is harmless.
    finish_outcome record(const run_finish& what) {
        bool was_in_doubt = false;
        const bounds of_call = bounds_of(session_->handle());
        const auto send = [&](int) {
            return database().use(of_call, [&](connection& on, store_set& stores) {
                return stores.get<run_store>().finish(on, what);
            });
        };
        const auto may_go_on = [&](const error& failure) {
            was_in_doubt = was_in_doubt || failure.outcome_is_unknown();
            return !of_call.have_passed();
        };
        try {
            return repeat(send, may_go_on) ? finish_outcome::recorded : finish_outcome::not_held;
        } catch (const error&) {
            if (was_in_doubt) return finish_outcome::unknown;
            throw;
        }
    }

    const std::shared_ptr<session::implementation> session_;
    leasehold::lease lease_;
    const schedule::instant tick_;
    const std::optional<microseconds> fixed_term_;
    bool is_told_ = false;                     // its runner has told how it ended
    std::optional<finish_outcome> outcome_{};  // of finish()
};

task_run::task_run(std::unique_ptr<implementation> started) noexcept : inner_(std::move(started)) {}
task_run::task_run(task_run&&) noexcept = default;
task_run& task_run::operator=(task_run&&) noexcept = default;
task_run::~task_run() = default;

schedule::instant task_run::tick() const {
    return inner_->tick();
}
std::stop_token task_run::lost() const& {
    return inner_ ? inner_->lease().lost() : stopped_token();
}
bool task_run::held_locally() const& {
    return inner_ && inner_->lease().held_locally();
}
local_clock::time_point task_run::deadline() const& {
    return inner_ ? inner_->lease().deadline() : local_clock::time_point{};
}
void task_run::verify_in(transaction_ref tx) & {
    inner_->lease().verify_in(tx);
}
lease& task_run::lease() & {
    return inner_->lease();
}
finish_outcome task_run::finish(const run_result& result) {
    if (!inner_) return finish_outcome::not_held;
    return inner_->finish(result, [this] { inner_->lease().release(); });
}
finish_outcome task_run::finish_and_end(session& within, const run_result& result) {
    if (!inner_) return within.end(), finish_outcome::not_held;
    return inner_->finish(result, [&] { within.end_with(std::move(inner_->lease())); });
}
finish_outcome task_run::finish_rest() {
    return inner_->finish_rest({});
}
void task_run::finish_failed() noexcept {
    if (inner_) inner_->finish_failed();
}
void task_run::finish_in(transaction_ref tx, const run_result& result) {
    inner_->finish_in(tx.inside(), result);
}

// ---------------------------------------------------------------------------------- starting one

class once::implementation {
public:
    implementation(session& within, key name, schedule when, once_settings settings)
        : session_(within.inner()),
          name_(std::move(name)),
          when_(std::move(when)),
          settings_(std::move(settings)),
          lock_(
              within, name_, {.fixed_term = settings_.fixed_term, .metadata = settings_.metadata}
          ) {
        require_valid(settings_);
    }

    run_start try_start() { return start_from(look()); }

    run_start start(const std::stop_token& cancel) {
        if (cancel.stop_requested()) return run_start{run_outlook{}, name_};
        run_look seen = look(cancel);
        if (is_early(seen, when_, settings_)) {
            const auto tick = when_.next(seen.now);
            while (seen.now < tick) {
                if (!wait(tick - seen.now, cancel)) {
                    return run_start{judged(seen, when_, settings_), name_};
                }
                seen = look(cancel);
            }
        }
        return start_from(seen);
    }

private:
    run_look look(std::stop_token cancel = {}) const {
        const database& db = session_->handle();
        return look_at(db, name_, bounds_of(db, std::move(cancel)));
    }

    // False if the wait was cancelled.
    bool wait(microseconds duration, const std::stop_token& cancel) const {
        // The time between two looks whether the session is alive.
        constexpr milliseconds max_nap{500};
        const auto until = local_clock::now() + duration;
        while (!cancel.stop_requested()) {
            session_->require_live();
            const auto now = local_clock::now();
            if (now >= until) return true;
            rest(std::min(until, now + max_nap), cancel);
        }
        return false;
    }

    // Between looking and holding the key somebody may have run the tick, or started to: then the
    // claim is refused, and another look says why. Each attempt that fails means that another host
    // has made progress.
    run_start start_from(run_look seen) {
        constexpr int max_attempts = 3;
        for (int attempt = 1;; ++attempt) {
            run_outlook found = judged(seen, when_, settings_);
            if (found.refusal != start_refusal::none) return refused(std::move(found));
            acquisition got = lock_.try_acquire();
            if (!got || attempt > max_attempts) {
                found.refusal = start_refusal::running;
                found.holder = got.holder();
                return refused(std::move(found));
            }
            if (claim(*got, found.tick)) {
                return run_start{
                    handle_maker::made<task_run>(std::make_unique<task_run::implementation>(
                        session_, *std::move(got), found.tick, settings_.fixed_term
                    ))};
            }
            got->release();
            seen = look();
        }
    }

    run_start refused(run_outlook found) const {
        session_->database().tell(
            {event_kind::refused, name_.name(), 0, name_of(found.refusal), reason_of(found.refusal)}
        );
        return run_start{std::move(found), name_};
    }

    bool claim(const lease& held, schedule::instant tick) const {
        const run_claim wanted{
            name_,
            held.token(),
            held.owner(),
            session_->node_info(),
            tick,
            settings_.hold_at_least,
            settings_.repeat_abandoned,
            when_.text().size() <= run_store::max_schedule_bytes ? when_.text() : std::string{}};
        const database& db = session_->handle();
        return repeatedly(db, [&](connection& on, store_set& stores) {
            return stores.get<run_store>().claim(on, wanted);
        });
    }

    const std::shared_ptr<session::implementation> session_;
    const key name_;
    const schedule when_;
    const once_settings settings_;
    mutex lock_;
};

once::once(session& within, key name, schedule when, once_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), std::move(when), settings)) {
}
once::once(once&&) noexcept = default;
once& once::operator=(once&&) noexcept = default;
once::~once() = default;

run_start once::try_start() {
    return inner_->try_start();
}
run_start once::start(std::stop_token cancel) {
    return inner_->start(cancel);
}

struct run_start::refusal {
    run_outlook outlook;
    std::string wanted;
};

run_start::run_start(run_outlook refused, const key& wanted)
    : why_(std::make_shared<const refusal>(refusal{std::move(refused), wanted.name()})) {}

const run_outlook& run_start::outlook() const& noexcept {
    static const run_outlook none{};
    return why_ ? why_->outlook : none;
}

void run_start::refuse() const {
    throw_not_granted(why_ ? why_->wanted : std::string{}, name_of(outlook().refusal));
}

// ------------------------------------------------------------------------------- looking at them

run_outlook outlook(
    const database& db, const key& name, const schedule& when, const once_settings& settings
) {
    require_valid(settings);
    const run_look seen = look_at(db, name, bounds_of(db));
    run_outlook found = judged(seen, when, settings);
    if (is_early(seen, when, settings)) found.refusal = start_refusal::none;
    return found;
}

}  // namespace leasehold
