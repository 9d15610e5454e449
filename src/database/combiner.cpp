#include "database/combiner.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/timed_wait.hpp"

namespace leasehold {

bool combiner::join(request& mine, bounds& of_call) {
    using stage = request::stage;
    thread_guard guard{mutex_};
    waiting_.push_back(&mine);
    if (way_ == way::never || (!has_leader_ && under_way_ == 0)) {
        lead(mine);
        return true;
    }
    const auto asked = local_clock::now();
    of_call.deadline = std::min(of_call.deadline, asked + pool_.patience());
    const either_stop stop{of_call};
    const auto is_turn = [&]() LEASEHOLD_REQUIRES(mutex_) {
        return mine.now_ == stage::leading || mine.now_ == stage::done;
    };
    for (auto nap = overtaking_after; mine.now_ == stage::waiting; nap *= 2) {
        const auto until = std::min(of_call.deadline, local_clock::now() + nap);
        if (wait_until(guard, mine.changed_, stop.token(), until, is_turn)) break;
        if (mine.now_ != stage::waiting) break;
        if (of_call.are_stopped() || of_call.have_passed()) {
            std::erase(waiting_, &mine);
            pool_.give_up(stop.token(), asked);
        }
        if (!has_leader_) lead(mine);
    }
    wait_until(guard, mine.changed_, {}, local_clock::time_point::max(), is_turn);
    if (mine.failure_) throw error{*mine.failure_};
    return mine.now_ == stage::leading;
}

combiner::batch combiner::take(request& mine) {
    const thread_guard guard{mutex_};
    requests all{&mine};
    if (way_ != way::never) {
        for (request* const each : waiting_) {
            if (each != &mine && all.size() < requests_max) all.push_back(each);
        }
    }
    for (request* const each : all) each->now_ = request::stage::taken;
    std::erase_if(waiting_, [](const request* each) {
        return each->now_ == request::stage::taken;
    });
    has_leader_ = false;
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
    } catch (const std::exception& failure) {
        error_facts facts;
        facts.outcome_unknown = true;
        const error lost{errc::database_error, failure.what(), facts};
        finish(taken, &lost);
        throw error{lost};
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
    has_leader_ = false;
    appoint();
}

void combiner::lead(request& mine) noexcept {
    has_leader_ = true;
    mine.now_ = request::stage::leading;
}

void combiner::appoint() noexcept {
    if (waiting_.empty() || has_leader_ || under_way_ > 0) return;
    lead(*waiting_.front());
    waiting_.front()->changed_.notify_all();
}

}  // namespace leasehold
