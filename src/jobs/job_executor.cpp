#include "jobs/job_executor.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "core/error.hpp"
#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "core/utf8.hpp"
#include "jobs/job_check.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

// The text as it can be stored and shown.
std::string cut(std::string_view words) {
    return std::string{cut_utf8(printable_lines(words), job_store::max_words_bytes)};
}

// A random number from 0 to 1, for the random half of a delay.
double drawn() {
    constexpr std::chrono::nanoseconds whole{1'000'000};
    const auto half = static_cast<double>(whole.count()) / 2;
    return (static_cast<double>(jittered(whole).count()) - half) / half;
}

// The reason that an end's event gives, and the number of the report that counts the end.
struct outcome {
    event_reason why;
    std::int64_t worker_report::*count;
};

outcome outcome_of(const ended_job& one) {
    using why = event_reason;
    if (!one.became) {
        // The transaction of complete_in() may have been rolled back.
        const bool may_have_ended = one.was_sent || one.is_in_transaction;
        if (may_have_ended) return {why::unknown, &worker_report::unknown};
        return {why::lost, &worker_report::lost};
    }
    if (*one.became == job_state::cancelled) return {why::cancelled, &worker_report::cancelled};
    if (*one.became == job_state::completed) return {why::completed, &worker_report::completed};
    switch (one.step) {
        case job_step::fail:
            return {
                *one.became == job_state::discarded ? why::discarded : why::retried,
                &worker_report::failed};
        case job_step::snooze:
            return {why::snoozed, &worker_report::returned};
        case job_step::release:
            return {why::released, &worker_report::returned};
        case job_step::discard:
            return {why::discarded, &worker_report::discarded};
        case job_step::complete:
        case job_step::cancel:
            break;
    }
    return {why::cancelled, &worker_report::cancelled};
}

ended_job end_of(const job::implementation& one, attempt_end end) {
    ended_job made;
    made.queue = one.queue();
    made.step = end.step;
    made.end = end_after(one.what(), end.step, end.delay, std::move(end.words));
    made.has_key = !one.what().ordering_key.empty();
    const bool is_asked = one.why_stopped() == job_stop_reason::cancel_requested;
    made.presumed = under_request(made.end.becomes, is_asked);
    made.kind = one.what().kind;
    made.attempt = one.what().attempts;
    made.rescues = one.what().rescues;
    if (one.started) made.ran = local_clock::now() - *one.started;
    made.waited = one.waited();
    return made;
}

}  // namespace

event event_of(event_kind what, const job::implementation& one) {
    event made{what};
    made.number = one.what().id;
    made.queue = one.queue();
    made.job_kind = one.what().kind;
    made.attempt = one.what().attempts;
    made.waited = one.waited();
    return made;
}

ended_job returned_end(const job::implementation& one) {
    return end_of(one, returned());
}

event count_end(const ended_job& one, worker_report& sum) {
    const auto [why, count] = outcome_of(one);
    ++(sum.*count);
    event made{event_kind::job_ended};
    made.number = one.end.id;
    made.queue = one.queue;
    made.job_kind = one.kind;
    made.attempt = one.attempt;
    made.reason = why;
    made.took = one.ran;
    made.waited = one.waited;
    const bool is_error = one.became != job_state::completed &&
                          (one.step == job_step::fail || one.step == job_step::discard);
    const std::string_view words = one.end.words;
    if (is_error) made.detail = words.substr(0, words.find('\n'));
    return made;
}

// --------------------------------------------------------------------------------- one job

job_stop_reason job::implementation::why_stopped() const {
    const thread_guard guard{mutex_};
    return why_;
}

std::optional<std::chrono::nanoseconds> job::implementation::waited() const {
    if (!what_.waited || !started) return what_.waited;
    return *what_.waited + (*started - given);
}

local_clock::time_point job::implementation::deadline() const noexcept {
    const auto desk = desk_.lock();
    return desk ? desk->deadline() : local_clock::time_point{};
}

void job::implementation::ask_to_stop(job_stop_reason why) {
    {
        const thread_guard guard{mutex_};
        if (why_ == job_stop_reason::none || why == job_stop_reason::claim_lost) why_ = why;
    }
    stop_.request_stop();
}

void job::implementation::progress(std::string_view words) {
    const auto desk = desk_.lock();
    const std::string said = cut(words);
    if (desk && desk->note_progress(what_.id, what_.token, said)) return;
    refuse_lost("stop, and write nothing");
}

void job::implementation::save_checkpoint(
    std::optional<transaction_ref> tx, std::string_view state
) {
    require_checkpoint(state);
    const auto desk = desk_.lock();
    if (desk && desk->save_checkpoint(tx, {what_.id, what_.token}, std::string{state})) return;
    refuse_lost(tx ? "roll back and write nothing" : "stop, and write nothing");
}

void job::implementation::refuse_lost(const char* what_to_do) {
    ask_to_stop(job_stop_reason::claim_lost);
    throw error(
        errc::lease_lost, "job " + std::to_string(what_.id) + " is not ours any more: " + what_to_do
    );
}

void job::implementation::set_result(std::string_view words) {
    end_.words = cut(words);
}

void job::implementation::decide(
    job_step step, std::chrono::microseconds delay, std::string_view words
) {
    end_ = {step, delay, cut(words)};
}

void job::implementation::complete_in(transaction_ref tx) {
    const job_end end = end_after(what_, job_step::complete, {}, end_.words);
    const auto desk = desk_.lock();
    if (!desk || !desk->complete_in(tx, queue_, end)) refuse_lost("roll back and write nothing");
    is_completed_in_transaction_ = true;
}

attempt_end job::implementation::failed(std::string_view words) const {
    const auto usual = delay_after(what_.retry, what_.attempts, drawn());
    return {job_step::fail, retry_delay_.value_or(usual), cut(words)};
}

// The end of a job whose handler threw this, or returned.
attempt_end job::implementation::judged(const std::optional<std::string>& thrown) const {
    const auto why = why_stopped();
    if (is_completed_in_transaction_) {
        // If the transaction was committed the job is gone, and the database refuses this end.
        return failed(thrown.value_or("the transaction of complete_in() was not committed"));
    }
    if (why == job_stop_reason::attempt_timeout) {
        return failed("it took longer than its time limit" + (thrown ? ": " + *thrown : ""));
    }
    if (!thrown) return end_;
    if (why == job_stop_reason::worker_ends) {
        return returned();
    }
    return failed(*thrown);
}

attempt_end job::implementation::run(const job_handler& with) {
    end_ = {};
    std::optional<std::string> thrown;
    try {
        job seen{*this};
        with(seen);
    } catch (...) {
        thrown = words_of_thrown();
    }
    return judged(thrown);
}

// ---------------------------------------------------------------------------------- all of them

job_executor::job_executor(handlers by_kind, job_handler for_all, std::shared_ptr<observer> told)
    : by_kind_(std::move(by_kind)), for_all_(std::move(for_all)), told_(std::move(told)) {}

void job_executor::start(int threads, bool measures) {
    {
        const thread_guard guard{mutex_};
        measures_ = measures;
    }
    for (int number = 0; number < threads; ++number) {
        threads_.emplace_back([self = shared_from_this()] { self->work(); });
    }
}

void job_executor::end(bool waits) noexcept {
    std::size_t running = 0;
    {
        const thread_guard guard{mutex_};
        is_over_ = true;
        running = running_.size();
    }
    has_work_.notify_all();
    const bool all_end = waits || running == 0;
    if (waits && running > 0) tell_to_end(running);
    for (std::thread& each : threads_) {
        // An abandoned handler keeps its thread, and the thread keeps this executor.
        if (all_end) {
            each.join();
        } else {
            each.detach();
        }
    }
    threads_.clear();
}

// Asks handlers that were not asked before, because an error came in between.
void job_executor::tell_to_end(std::size_t running) noexcept {
    try {
        ask_all_to_stop(job_stop_reason::worker_ends);
    } catch (const std::bad_alloc&) {
        // They end by themselves, then.
    }
    const auto number = static_cast<std::int64_t>(running);
    told_->on_event({event_kind::warning, "", number, "a worker waits for its handlers"});
}

const job_handler& job_executor::handler_of(const std::string& kind) const {
    const auto found = by_kind_.find(kind);
    return found == by_kind_.end() ? for_all_ : found->second;
}

void job_executor::work() {
    thread_guard guard{mutex_};
    while (true) {
        has_work_.wait(guard.native(), [&]() LEASEHOLD_REQUIRES(mutex_) {
            return is_over_ || !waiting_.empty();
        });
        if (is_over_) return;
        const task mine = waiting_.front();
        waiting_.pop_front();
        const auto now = local_clock::now();
        mine->started = now;
        if (const auto limit = mine->what().attempt_timeout) mine->limit = now + *limit;
        const std::pair claim{mine->what().id, mine->what().token.number};
        running_[claim] = mine;
        guard.unlock();
        const job_handler& with = handler_of(mine->what().kind);
        if (with) told_->on_event(event_of(event_kind::job_started, *mine));
        attempt_end end = with ? mine->run(with) : returned();
        guard.lock();
        if (mine->is_abandoned) continue;
        running_.erase(claim);
        ended_job done = end_of(*mine, std::move(end));
        if (!with) done.ran.reset();  // nothing has begun
        if (measures_ && with) note_time(*done.ran);
        done.is_in_transaction = mine->is_completed_in_transaction();
        note_end(std::move(done));
        if (mine->rest() > mine->rest().zero()) rest(mine->rest());
        has_news_.notify_all();
    }
}

void job_executor::note_end(ended_job end) {
    if (ended_.empty()) oldest_end_ = local_clock::now();
    ended_.push_back(std::move(end));
}

void job_executor::rest(std::chrono::milliseconds how_long) {
    rests_until_ = std::max(rests_until_, local_clock::now() + how_long);
    give_back();
}

void job_executor::give_back() {
    for (const task& each : std::exchange(waiting_, {})) note_end(returned_end(*each));
}

void job_executor::give_back_if_older(local_clock::time_point than) {
    const thread_guard guard{mutex_};
    if (waiting_.empty() || waiting_.front()->given > than) return;
    // The handlers that keep these from beginning have not ended, so that no mean has them. With
    // this one some dozen jobs are claimed as they begin.
    mean_ = max_sample;
    give_back();
}

void job_executor::note_time(std::chrono::nanoseconds ran) {
    constexpr int weight = 16;
    ran = std::min(ran, max_sample);  // a single slow job stops no prefetch for long
    mean_ = mean_ ? *mean_ + (ran - *mean_) / weight : ran;
}

void job_executor::give(const std::vector<task>& jobs) {
    {
        const thread_guard guard{mutex_};
        for (const task& each : jobs) each->given = local_clock::now();
        waiting_.insert(waiting_.end(), jobs.begin(), jobs.end());
        if (local_clock::now() < rests_until_) rest({});
    }
    has_work_.notify_all();
}

std::vector<ended_job> job_executor::take_back() {
    const thread_guard guard{mutex_};
    std::vector<ended_job> ends;
    for (const task& each : waiting_) ends.push_back(returned_end(*each));
    waiting_.clear();
    return ends;
}

std::vector<ended_job> job_executor::take_ends(std::size_t most) {
    const thread_guard guard{mutex_};
    const auto count = static_cast<std::ptrdiff_t>(std::min(most, ended_.size()));
    const auto first = std::make_move_iterator(ended_.begin());
    std::vector<ended_job> ends{first, first + count};
    ended_.erase(ended_.begin(), ended_.begin() + count);
    oldest_end_ = local_clock::now();
    return ends;
}

void job_executor::put_back(std::vector<ended_job> ends, bool as_last) {
    const thread_guard guard{mutex_};
    ended_.insert(as_last ? ended_.end() : ended_.begin(), ends.begin(), ends.end());
}

job_executor::tally job_executor::count() const {
    const thread_guard guard{mutex_};
    return counted();
}

job_executor::tally job_executor::counted() const {
    tally now{waiting_.size(), running_.size(), ended_.size(), oldest_end_, rests_until_};
    if (!waiting_.empty()) now.oldest_given = waiting_.front()->given;
    now.mean = mean_;
    const auto before = local_clock::now() - prefetch_horizon;
    for (const auto& [claim, each] : running_) {
        if (mean_ && *each->started < before) ++now.slow;
        if (each->is_fragile()) ++now.fragile;
    }
    // Nothing else waits here when a fragile one is given, and no more than there are threads.
    const auto first = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), threads_.size()));
    now.fragile += static_cast<std::size_t>(std::ranges::count_if(
        waiting_.begin(), waiting_.begin() + first, &job::implementation::is_fragile
    ));
    return now;
}

bool job_executor::knows(job_id id, fencing_token token) const {
    const thread_guard guard{mutex_};
    const auto is_it = [&](const task& each) {
        return each->what().id == id && each->what().token == token;
    };
    return running_.contains({id, token.number}) || std::ranges::any_of(waiting_, is_it) ||
           std::ranges::any_of(ended_, [&](const ended_job& each) {
               return each.end.id == id && each.end.token == token;
           });
}

std::vector<job_claim> job_executor::running_since(local_clock::time_point before) const {
    const thread_guard guard{mutex_};
    std::vector<job_claim> claims;
    for (const auto& [claim, each] : running_) {
        if (*each->started >= before || each->is_completed_in_transaction()) continue;
        claims.push_back({claim.first, each->what().token});
    }
    return claims;
}

void job_executor::ask_to_stop(const job_claim& which, job_stop_reason why) {
    task asked;
    {
        const thread_guard guard{mutex_};
        const auto found = running_.find({which.id, which.token.number});
        if (found == running_.end()) return;
        asked = found->second;
    }
    // The handler may have completed the job since the database was read.
    if (!asked->is_completed_in_transaction()) asked->ask_to_stop(why);
}

void job_executor::ask_all_to_stop(job_stop_reason why) {
    std::vector<task> all;
    {
        const thread_guard guard{mutex_};
        for (const auto& [claim, each] : running_) all.push_back(each);
    }
    for (const task& each : all) each->ask_to_stop(why);
}

std::optional<local_clock::time_point> job_executor::heed_limits(local_clock::time_point now) {
    std::vector<task> late;
    std::optional<local_clock::time_point> next;
    {
        const thread_guard guard{mutex_};
        for (const auto& [claim, each] : running_) {
            if (!each->limit) continue;
            if (*each->limit <= now) {
                late.push_back(each);
                each->limit = std::nullopt;
            } else if (!next || *each->limit < *next) {
                next = each->limit;
            }
        }
    }
    for (const task& each : late) {
        event made = event_of(event_kind::job_timed_out, *each);
        made.took = now - *each->started;
        told_->on_event(made);
        each->ask_to_stop(job_stop_reason::attempt_timeout);
    }
    return next;
}

std::vector<ended_job> job_executor::abandon() {
    const thread_guard guard{mutex_};
    std::vector<ended_job> ends;
    for (const auto& [claim, each] : running_) {
        each->is_abandoned = true;
        ends.push_back(returned_end(*each));
        ends.back().is_in_transaction = each->is_completed_in_transaction();
    }
    return ends;
}

void job_executor::wait(
    local_clock::time_point until,
    const std::function<bool(const tally&)>& holds,
    const std::stop_token& stop,
    const std::stop_token& over
) {
    const std::stop_callback wakes{over, [this] { wake(); }};
    thread_guard guard{mutex_};
    // After idleness other jobs may come than before.
    if (waiting_.empty() && running_.empty()) mean_ = std::nullopt;
    wait_until(guard, has_news_, stop, until, [&]() LEASEHOLD_REQUIRES(mutex_) {
        return is_woken_ || holds(counted());
    });
    is_woken_ = false;
}

void job_executor::wake() {
    {
        const thread_guard guard{mutex_};
        is_woken_ = true;
    }
    has_news_.notify_all();
}

}  // namespace leasehold
