#include "database/combiner.hpp"

#include <algorithm>
#include <utility>

#include "core/timed_wait.hpp"
#include "leasehold/stop.hpp"

namespace leasehold {

combiner::combiner(const pool& of)
    : pool_(of),
      unknown_(
          errc::database_error,
          "the statement that carried this request, and others, failed within the library; whether "
          "it was done is unknown",
          {.outcome_unknown = true}
      ) {}

bool combiner::join(request& mine, bounds& of_call) {
    using stage = request::stage;
    {
        const thread_guard guard{mutex_};
        if (leads_at_once(mine)) return true;
    }
    const auto asked = local_clock::now();
    of_call.deadline = std::min(of_call.deadline, asked + pool_.timeout());
    const either_stop stop{of_call.cancel, of_call.over};
    thread_guard guard{mutex_};
    if (leads_at_once(mine)) return true;
    waiting_.push_back(&mine);
    const auto is_turn = [&]() LEASEHOLD_REQUIRES(mutex_) {
        return mine.now_ == stage::leading || mine.now_ == stage::done;
    };
    const auto overtaking = std::min(of_call.deadline, asked + overtaking_after_.load());
    wait_until(guard, mine.changed_, stop.token(), overtaking, is_turn);
    if (mine.now_ == stage::waiting) {
        if (of_call.are_stopped() || of_call.have_passed()) {
            std::erase(waiting_, &mine);
            guard.unlock();  // the observer is told
            pool_.give_up(of_call, asked);
        }
        lead(mine);
    }
    wait_until(guard, mine.changed_, {}, local_clock::time_point::max(), is_turn);
    if (mine.failure_) throw error{*mine.failure_};
    return mine.now_ == stage::leading;
}

bool combiner::leads_at_once(request& mine) {
    if (way_ != way::never && (leaders_ > 0 || under_way_ > 0)) return false;
    waiting_.push_back(&mine);
    lead(mine);
    return true;
}

combiner::batch combiner::take(request& mine) {
    const thread_guard guard{mutex_};
    requests all{&mine};
    for (request* const each : waiting_) {
        const bool is_carried = way_ != way::never && each->now_ == request::stage::waiting;
        if (is_carried && all.size() < max_requests) all.push_back(each);
    }
    for (request* const each : all) each->now_ = request::stage::taken;
    std::erase_if(waiting_, [](const request* each) {
        return each->now_ == request::stage::taken;
    });
    --leaders_;
    const bool is_for_several = all.size() > 1 || way_ == way::always;
    if (is_for_several) ++under_way_;
    appoint();
    return {std::move(all), is_for_several};
}

void combiner::send(const batch& taken, connection& on, const std::function<void()>& together) {
    if (!taken.is_for_several) return finish(taken, nullptr);
    try {
        together();
    } catch (const error& failure) {
        const bool is_undone =
            !failure.outcome_is_unknown() && on.state() == connection_state::idle;
        finish(taken, is_undone ? nullptr : &failure);
        if (!is_undone) throw;
        return;
    } catch (...) {
        finish(taken, &unknown_);
        throw error{unknown_};
    }
    finish(taken, nullptr);
}

void combiner::finish(const batch& taken, const error* failure) noexcept {
    const thread_guard guard{mutex_};
    for (request* const each : taken.all) {
        if (failure) each->failure_ = *failure;
        each->now_ = request::stage::done;
        each->changed_.notify_all();  // locked: its thread ends it
    }
    if (taken.is_for_several) --under_way_;
    appoint();
}

void combiner::abdicate(request& mine) noexcept {
    const thread_guard guard{mutex_};
    std::erase(waiting_, &mine);
    --leaders_;
    appoint();
}

void combiner::lead(request& mine) noexcept {
    ++leaders_;
    mine.now_ = request::stage::leading;
}

void combiner::appoint() noexcept {
    if (leaders_ > 0 || under_way_ > 0 || waiting_.empty()) return;
    lead(*waiting_.front());
    waiting_.front()->changed_.notify_all();
}

}  // namespace leasehold
