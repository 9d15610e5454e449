#include "database/combiner.hpp"

#include <algorithm>
#include <exception>

#include "core/timed_wait.hpp"

namespace leasehold {

bool combiner::join(request& mine, bounds& of_call) {
    using stage = request::stage;
    thread_guard guard{mutex_};
    waiting_.push_back(&mine);
    if (way_ == way::never || !has_leader_) {
        has_leader_ = true;
        mine.now_ = stage::leading;
        return true;
    }
    const auto asked = local_clock::now();
    of_call.deadline = std::min(of_call.deadline, asked + pool_.patience());
    const either_stop stop{of_call};
    const auto is_turn = [&]() LEASEHOLD_REQUIRES(mutex_) {
        return mine.now_ == stage::leading || mine.now_ == stage::done;
    };
    if (!wait_until(guard, mine.changed_, stop.token(), of_call.deadline, is_turn)) {
        if (mine.now_ == stage::waiting) {
            waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &mine));
            pool_.give_up(stop.token(), asked);
        }
        const auto never = local_clock::time_point::max();
        wait_until(guard, mine.changed_, {}, never, is_turn);
    }
    if (mine.failure_) throw error{*mine.failure_};
    return mine.now_ == stage::leading;
}

combiner::requests combiner::take(request& mine) {
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
    appoint();
    return all;
}

void combiner::send(const requests& all, connection& on, const std::function<void()>& together) {
    if (all.size() == 1 && way_ != way::always) return finish(all, nullptr);
    try {
        together();
    } catch (const error& failure) {
        const bool is_undone =
            !failure.outcome_is_unknown() && on.state() == connection_state::idle;
        finish(all, is_undone ? nullptr : &failure);
        if (!is_undone) throw;
        return;
    } catch (const std::exception& failure) {
        error_facts facts;
        facts.outcome_unknown = true;
        const error lost{errc::database_error, failure.what(), facts};
        finish(all, &lost);
        throw error{lost};
    }
    finish(all, nullptr);
}

void combiner::finish(const requests& all, const error* failure) noexcept {
    const thread_guard guard{mutex_};
    for (request* const each : all) {
        if (failure) each->failure_ = *failure;
        each->now_ = request::stage::done;
        each->changed_.notify_all();  // locked: its thread ends it
    }
}

void combiner::abdicate(request& mine) noexcept {
    const thread_guard guard{mutex_};
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &mine));
    has_leader_ = false;
    appoint();
}

void combiner::appoint() noexcept {
    if (waiting_.empty() || has_leader_) return;
    has_leader_ = true;
    waiting_.front()->now_ = request::stage::leading;
    waiting_.front()->changed_.notify_all();
}

}  // namespace leasehold
