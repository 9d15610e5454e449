#include "leasehold/worker.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/jitter.hpp"
#include "core/process.hpp"
#include "core/thread_mutex.hpp"
#include "database/database.hpp"
#include "jobs/claim_plan.hpp"
#include "jobs/failed_attempts.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_executor.hpp"
#include "jobs/job_handlers.hpp"
#include "jobs/job_listener.hpp"
#include "jobs/job_maintenance.hpp"
#include "leasehold/error.hpp"
#include "locks/keep_asking.hpp"
#include "session/session.hpp"

namespace leasehold {
using std::chrono::milliseconds, std::chrono::seconds;

class worker::implementation {
public:
    implementation(session& within, worker_settings settings) : settings_(std::move(settings)) {
        require_valid(settings_);
        begin_under(within);
    }
    implementation(database of, worker_settings settings, session_settings timing)
        : settings_(std::move(settings)),
          database_(std::move(of)),
          timing_(completed(std::move(timing))) {
        require_valid(settings_);
    }

    // The observer of the database, or what stands in for it.
    std::shared_ptr<observer> told() const {
        const auto& asked = session_->database().settings().observer;
        return asked ? asked : failures_;
    }
    job_handlers& handlers() noexcept { return handlers_; }
    worker_report run(const std::stop_token& stop);
    worker_report progress() const {
        const thread_guard guard{mutex_};
        return report_;
    }

private:
    // The state and the steps of one run().
    class shift;

    void begin_under(const session& within) {
        session_ = within.inner();
        statements_ = std::make_shared<job_statements>(session_, settings_);
    }
    void work_under_one(const std::stop_token& stop);
    void work_under_several(const std::stop_token& stop);
    bool may_return(const error& failure) const;

    const worker_settings settings_;
    // Set if the worker opens its sessions itself.
    const std::optional<leasehold::database> database_{};
    const session_settings timing_{};
    std::shared_ptr<session::implementation> session_;
    const std::shared_ptr<failed_attempts> failures_ = std::make_shared<failed_attempts>();
    job_handlers handlers_;
    // Kept from one run() to the next: claims in doubt, and ends that were not sent.
    std::shared_ptr<job_statements> statements_;
    std::vector<ended_job> unsent_;
    mutable thread_mutex mutex_;
    worker_report report_ LEASEHOLD_GUARDED_BY(mutex_);
};

class worker::implementation::shift {
public:
    shift(implementation& of, const std::stop_token& stop)
        : of_(of),
          stop_(stop),
          over_(of.session_->over()),
          executor_(std::make_shared<job_executor>(
              of.handlers_.by_kind(), of.handlers_.for_all(), of.told()
          )),
          statements_(of.statements_),
          plan_(of.settings_),
          listener_(of.session_, of.settings_.queues, [this](const std::string& queue) {
              fetcher_.note_notification(queue);
              executor_->wake();
          }) {
        statements_->queues.kinds = of.handlers_.kinds();
        executor_->put_back(std::exchange(of.unsent_, {}));
    }

    void work();
    void say_goodbye();
    void end() noexcept {
        listener_.stop();
        executor_->end(!of_.settings_.abandons_handlers);
    }

private:
    static constexpr milliseconds needs_known_for{50};
    bool is_idle() const {
        const auto now = executor_->count();
        return now.busy() + now.ended == 0;
    }
    bool step();
    void exchange(std::size_t wanted, bool claims_next);
    job_executor::task task_of(const std::string& queue, const claimed_job& claim) const {
        const std::shared_ptr<job_desk> desk{statements_, &completer_};
        return std::make_shared<job::implementation>(claim, queue, desk);
    }
    void take(std::vector<job_executor::task> jobs);
    void give_back_neighbours(std::vector<job_executor::task>& jobs);
    // Counts ends, also those without an answer if nobody asks for one any more.
    void count(const std::vector<ended_job>& ends);
    void look();
    void look_at_claims();
    void look_at_running();
    bool wait_for_end(milliseconds timeout);
    template <class Try>
    void despite_outages(const std::stop_token& stop, Try&& attempt);

    implementation& of_;
    const std::stop_token stop_;
    const std::stop_token over_;
    const std::shared_ptr<job_executor> executor_;
    const std::shared_ptr<job_statements> statements_;
    job_fetcher& fetcher_ = statements_->fetcher;
    job_completer& completer_ = statements_->completer;
    job_maintenance& maintenance_ = statements_->maintenance;
    claim_plan plan_;
    local_clock::time_point next_look_{};
    int failures_ = 0;
    bool is_done_ = false;
    // True if a look has come after the last end. While it is false, an idle worker that drains
    // looks at once.
    bool has_looked_ = false;
    bool was_notified_ = false;  // and no claim since
    bool was_notified_since_look_ = false;
    local_clock::time_point looked_at_{};
    job_listener listener_;  // last: its thread uses what stands above

    friend class implementation;
};

// Waits after a failure that may pass, a little longer each time, or until the session ends. If the
// session has begun, this also waits for a server that takes no changes, such as in a fail-over.
template <class Try>
void worker::implementation::shift::despite_outages(const std::stop_token& stop, Try&& attempt) {
    try {
        attempt();
        failures_ = 0;
    } catch (const error& failure) {
        const bool may_return = failure.code() == errc::read_only && of_.session_->has_begun();
        if (!failure.is_transient() && !may_return) throw;
        of_.session_->database().tell(
            {event_kind::warning, "", ++failures_, std::string{"a worker waits: "} + failure.what()}
        );
        rest(local_clock::now() + backed_off(failures_, milliseconds{50}, seconds{2}), stop, over_);
    }
}

void worker::implementation::shift::count(const std::vector<ended_job>& ends) {
    std::vector<event> told;
    told.reserve(ends.size());
    {
        const thread_guard guard{of_.mutex_};
        worker_report& sum = of_.report_;
        for (const ended_job& each : ends) {
            const bool has_begun = each.ran.has_value();
            if (has_begun || each.became == job_state::cancelled) {
                told.push_back(count_end(each, sum));
            }
        }
        sum.rescued += maintenance_.take_rescued();
    }
    for (const event& each : told) of_.told()->on_event(each);
}

void worker::implementation::shift::take(std::vector<job_executor::task> jobs) {
    plan_.note_claims(jobs);
    for (const auto& each : jobs) of_.told()->on_event(event_of(event_kind::job_claimed, *each));
    if (!jobs.empty() && plan_.is_careful(executor_->count())) give_back_neighbours(jobs);
    executor_->give(jobs);
}

// Gives back what would wait here, before any of `jobs` begins: a job that kills its worker is to
// take no more jobs with it than run beside it.
void worker::implementation::shift::give_back_neighbours(std::vector<job_executor::task>& jobs) {
    std::vector<ended_job> ends = executor_->take_back();
    const std::size_t running = executor_->count().running;
    const auto threads = static_cast<std::size_t>(of_.settings_.concurrency);
    for (; jobs.size() + running > threads && !jobs.empty(); jobs.pop_back()) {
        ends.push_back(returned_end(*jobs.back()));
    }
    executor_->put_back(std::move(ends));
    try {
        while (executor_->count().ended > 0) exchange(0, false);
    } catch (...) {
        for (const job_executor::task& each : jobs) executor_->put_back({returned_end(*each)});
        throw;
    }
}

void worker::implementation::shift::exchange(std::size_t wanted, bool claims_next) {
    // After a failure each end is sent by itself, so that a row that somebody has locked stops no
    // other end.
    const bool is_alone = !of_.settings_.batches_ends || failures_ > 0;
    const std::size_t most = is_alone ? 1 : std::size_t{job_store::max_jobs_per_statement};
    std::vector<ended_job> ends = executor_->take_ends(most);
    job_completer::parcel back;
    try {
        back = completer_.exchange(ends, wanted, claims_next);
    } catch (...) {
        executor_->put_back(std::move(ends), is_alone);
        next_look_ = {};
        throw;
    }
    if (!ends.empty()) has_looked_ = false;
    if (completer_.is_unsettled()) next_look_ = {};
    if (back.look_by) next_look_ = std::min(next_look_, *back.look_by);
    // The job of the notification may wait for one of these: a look finds out, but not too often.
    if (completer_.may_be_unsettled() && was_notified_since_look_) {
        next_look_ = std::min(next_look_, looked_at_ + needs_known_for);
    }
    // The job of the notification may be due later, or wait needlessly: the look finds out.
    if (wanted > 0 && was_notified_) {
        const bool tells_more = completer_.may_have_left_waiting();
        const bool is_all = tells_more ? back.jobs.size() < wanted : back.jobs.empty();
        if (is_all) next_look_ = {};
        was_notified_ = tells_more && !is_all;
    }
    count(ends);
    std::vector<job_executor::task> jobs;
    for (const claimed_job& each : back.jobs) jobs.push_back(task_of(back.queue, each));
    take(std::move(jobs));
    if (back.was_refused) of_.session_->found_ended();
}

void worker::implementation::shift::look_at_claims() {
    std::vector<job_executor::task> found;
    for (const auto& [queue, claim] : fetcher_.look_for_lost_claims([&](const claimed_job& each) {
             return executor_->knows(each.id, each.token);
         })) {
        found.push_back(task_of(queue, claim));
    }
    take(std::move(found));
    const auto held = executor_->running_since(local_clock::now() - of_.settings_.poll_every);
    if (held.empty()) return;
    const auto stand = fetcher_.standings(held);
    for (std::size_t at = 0; at < held.size(); ++at) {
        if (stand[at] == claim_standing::cancel_requested) {
            executor_->ask_to_stop(held[at], job_stop_reason::cancel_requested);
        } else if (stand[at] == claim_standing::gone) {
            executor_->ask_to_stop(held[at], job_stop_reason::claim_lost);
        }
    }
}

void worker::implementation::shift::look() {
    const auto now = local_clock::now();
    if (now < next_look_) return;
    of_.failures_->flush(false);
    was_notified_since_look_ = false;
    looked_at_ = now;
    look_at_claims();
    listener_.announce();
    next_look_ = maintenance_.look(now);
    const auto known = listener_.known_everywhere_at();
    if (now < known) next_look_ = std::min(next_look_, known);
    plan_.note_limits(maintenance_.has_limits());
    has_looked_ = true;
    is_done_ = of_.settings_.stop_when_idle && maintenance_.is_all_done() && is_idle();
    if (!is_done_) return;
    auto left = maintenance_.count_left();
    const thread_guard guard{of_.mutex_};
    of_.report_.left = std::move(left);
}

// Returns false when there is nothing to be done any more.
bool worker::implementation::shift::step() {
    if (over_.stop_requested()) of_.session_->require_live();
    if (fetcher_.heed_notifications()) was_notified_ = was_notified_since_look_ = true;
    const auto now = local_clock::now();
    const auto limit = executor_->heed_limits(now);
    if (plan_.measures()) executor_->give_back_if_older(now - claim_plan::max_wait);
    const job_executor::tally seen = executor_->count();
    const auto later = seen.ended > 0 ? plan_.ends_wait(seen) : std::nullopt;
    const bool sends = seen.ended > 0 && (!later || *later <= now);
    const bool claims = plan_.may_claim(seen) && fetcher_.has_promising_queue();
    if (claims || sends) {
        despite_outages(stop_, [&] {
            exchange(claims ? plan_.room(seen) : 0, plan_.may_claim(seen));
        });
        if (failures_ == 0) despite_outages(stop_, [&] { look(); });
        return !is_done_;
    }
    if (of_.settings_.stop_when_idle && is_idle() && !has_looked_) next_look_ = {};
    auto until = next_look_;
    if (seen.rests_until > now) until = std::min(until, seen.rests_until);
    if (seen.waiting > 0 && plan_.measures()) {
        until = std::min(until, seen.oldest_given + claim_plan::max_wait);
    }
    using instant = std::optional<local_clock::time_point>;
    for (const instant& each : {limit, later}) {
        if (each) until = std::min(until, *each);
    }
    const auto has_news = [&](const job_executor::tally& then) {
        const bool may_send = then.ended > 0 && !plan_.ends_wait(then);
        return may_send || fetcher_.was_notified() ||
               (plan_.may_claim(then) && fetcher_.has_promising_queue());
    };
    if (now < until) executor_->wait(until, has_news, stop_, over_);
    despite_outages(stop_, [&] { look(); });
    return !is_done_;
}

void worker::implementation::shift::work() {
    executor_->start(of_.settings_.concurrency, plan_.measures());
    listener_.start();
    while (!stop_.stop_requested() && step()) {
    }
}

// Records ends until nothing runs here any more. Under a session that is over it drops the ends
// and asks handlers to stop at once.
bool worker::implementation::shift::wait_for_end(milliseconds timeout) {
    auto until = local_clock::now() + timeout;
    bool is_told = false;
    while (true) {
        const bool is_over = over_.stop_requested();
        if (is_over) {
            count(executor_->take_ends(std::numeric_limits<std::size_t>::max()));
            if (!std::exchange(is_told, true)) {
                executor_->ask_all_to_stop(job_stop_reason::claim_lost);
                until = std::min(until, local_clock::now() + of_.settings_.stop_timeout);
            }
        } else if (executor_->count().ended > 0) {
            despite_outages({}, [&] { exchange(0, false); });
            if (failures_ == 0 || local_clock::now() < until) continue;
            return false;
        }
        if (executor_->count().running == 0) return true;
        if (local_clock::now() >= until) return false;
        const auto limit = executor_->heed_limits(local_clock::now());
        auto wake = limit ? std::min(*limit, until) : until;
        if (!is_over) {
            despite_outages({}, [&] { look_at_running(); });
            wake = std::min(wake, next_look_);
        }
        const auto has_news = [](const job_executor::tally& now) {
            return now.ended > 0 || now.running == 0;
        };
        executor_->wait(wake, has_news, {}, is_over ? std::stop_token{} : over_);
    }
}

// Tells a handler of a cancel or a lost claim while it may still end.
void worker::implementation::shift::look_at_running() {
    const auto now = local_clock::now();
    if (now < next_look_) return;
    next_look_ = now + jittered(of_.settings_.poll_every);
    look_at_claims();
}

void worker::implementation::shift::say_goodbye() {
    listener_.stop();
    if (!over_.stop_requested()) despite_outages({}, [&] { listener_.withdraw(); });
    if (fetcher_.is_in_doubt() && !over_.stop_requested()) {
        despite_outages({}, [&] { look_at_claims(); });
    }
    executor_->put_back(executor_->take_back());
    if (!wait_for_end(of_.settings_.drain_timeout)) {
        executor_->ask_all_to_stop(
            over_.stop_requested() ? job_stop_reason::claim_lost : job_stop_reason::worker_ends
        );
        wait_for_end(of_.settings_.stop_timeout);
    }
    auto abandoned = executor_->abandon();
    {
        const thread_guard guard{of_.mutex_};
        of_.report_.abandoned += static_cast<std::int64_t>(abandoned.size());
    }
    executor_->put_back(std::move(abandoned));
    wait_for_end(milliseconds{0});
    of_.unsent_ = executor_->take_ends(std::numeric_limits<std::size_t>::max());
    if (of_.unsent_.empty() && !fetcher_.is_in_doubt()) return;
    const char* const said =
        of_.unsent_.empty()
            ? "a worker ends before it is known whether a claim without an answer brings jobs: the "
              "next run() under its session does them, or others when that has ended"
            : "a worker ends while the database does not answer: what it has is given back by the "
              "next run() under its session, or when that has ended";
    of_.session_->database().tell({event_kind::warning, "", std::ssize(of_.unsent_), said});
}

void worker::implementation::work_under_one(const std::stop_token& stop) {
    if (!session_->begin_work()) {
        refuse_input("a worker works under this session already: open a session for each worker");
    }
    shift now{*this, stop};
    std::exception_ptr failed;
    try {
        now.work();
    } catch (...) {
        failed = std::current_exception();
    }
    try {
        now.say_goodbye();
    } catch (...) {
        if (!failed) failed = std::current_exception();
    }
    now.end();
    // The next run() has another session, which could not tell what became of them.
    if (database_) now.count(std::exchange(unsent_, {}));
    session_->end_work();
    failures_->flush(true);
    if (failed) std::rethrow_exception(failed);
}

// True for failures that the worker waits out. Once it has worked, these include faults that
// somebody has to put right: see the header.
bool worker::implementation::may_return(const error& failure) const {
    const bool has_worked = session_ != nullptr;
    if (failure.is_transient()) return has_worked || !settings_.stop_when_idle;
    if (!has_worked) return false;
    switch (failure.code()) {
        case errc::session_lost:
        case errc::connection_failed:
        case errc::read_only:
        case errc::schema_missing:
            return true;
        default:
            return false;
    }
}

void worker::implementation::work_under_several(const std::stop_token& stop) {
    for (int failures = 0; !stop.stop_requested();) {
        try {
            session mine{*database_, timing_};
            begin_under(mine);
            failures = 0;
            work_under_one(stop);
            return;
        } catch (const error& failure) {
            if (!may_return(failure)) throw;
            database_->inner()->tell(
                {event_kind::warning,
                 "",
                 ++failures,
                 std::string{"a worker waits: "} + failure.what()}
            );
        }
        rest(local_clock::now() + backed_off(failures, milliseconds{50}, seconds{2}), stop, {});
    }
}

worker_report worker::implementation::run(const std::stop_token& stop) {
    const job_handlers::use handlers{handlers_};
    {
        const thread_guard guard{mutex_};
        report_ = {};
    }
    database_ ? work_under_several(stop) : work_under_one(stop);
    return progress();
}

worker::worker(session& within, worker_settings settings)
    : inner_(make_at_home<implementation>(within, std::move(settings))) {}
worker::worker(database of, worker_settings settings, session_settings timing)
    : inner_(make_at_home<implementation>(std::move(of), std::move(settings), std::move(timing))) {}
worker::worker(worker&&) noexcept = default;
worker& worker::operator=(worker&&) noexcept = default;
worker::~worker() = default;

void worker::handle(std::string kind, job_handler with) {
    inner_->handlers().set(std::move(kind), std::move(with));
}
void worker::handle_all(job_handler with) {
    inner_->handlers().set_for_all(std::move(with));
}
void worker::wrap(job_wrapper around) {
    inner_->handlers().wrap(std::move(around));
}
worker_report worker::run(std::stop_token stop) {
    return inner_->run(stop);
}
worker_report worker::progress() const {
    return inner_->progress();
}

}  // namespace leasehold
