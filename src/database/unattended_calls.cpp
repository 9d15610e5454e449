#include "database/unattended_calls.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "core/timed_wait.hpp"

namespace leasehold {

class unattended_calls::state : public std::enable_shared_from_this<state> {
public:
    explicit state(std::size_t workers) : max_workers_(workers) {}

    void add(std::shared_ptr<unattended_call> call) {
        const thread_guard guard{mutex_};
        start_threads();
        unattended_call& added = *call;
        ++of_owner_[added.owner()];
        all_.emplace(&added, std::move(call));
        make_ready(added);
    }

    void wake(unattended_call& call) noexcept {
        const thread_guard guard{mutex_};
        switch (call.stage_) {
            case stage::absent:
                return;
            case stage::ready:  // its end may have come nearer
                return plan(call, std::min(call.due_, call.give_up_at()));
            case stage::under_way:
                call.was_woken_ = true;
                return;
            case stage::waiting:
                return make_ready(call);
        }
    }

    void complete(callable<void()> completion) {
        {
            const thread_guard guard{mutex_};
            completions_.push_back(std::move(completion));
        }
        completions_changed_.notify_all();
    }

    void await_none(const void* owner, local_clock::time_point until) {
        thread_guard guard{mutex_};
        for (const std::thread& each : threads_) {
            if (each.get_id() == std::this_thread::get_id()) return;
        }
        wait_until(guard, one_went_, {}, until, [&]() LEASEHOLD_REQUIRES(mutex_) {
            return !of_owner_.contains(owner);
        });
    }

    // Completions that are waiting are run before their thread ends.
    void stop() {
        std::vector<std::thread> ending;
        {
            const thread_guard guard{mutex_};
            is_ending_ = true;
            ending.swap(threads_);
            if (completer_.joinable()) ending.push_back(std::move(completer_));
        }
        for (auto* each : {&ready_changed_, &plan_changed_, &completions_changed_}) {
            each->notify_all();
        }
        for (std::thread& each : ending) {
            each.get_id() == std::this_thread::get_id() ? each.detach() : each.join();
        }
    }

    std::size_t size() {
        const thread_guard guard{mutex_};
        return all_.size();
    }
    int threads() {
        const thread_guard guard{mutex_};
        return static_cast<int>(threads_.size()) + (completer_.joinable() ? 1 : 0);
    }

private:
    using stage = unattended_call::stage;

    // One worker, the clerk and the completer are enough, and all of them must be there.
    void start_threads() LEASEHOLD_REQUIRES(mutex_) {
        const auto self = shared_from_this();
        if (!completer_.joinable()) completer_ = std::thread{[self] { self->run_completions(); }};
        if (threads_.empty()) threads_.emplace_back([self] { self->keep_time(); });
        if (threads_.size() == 1) threads_.emplace_back([self] { self->work(); });
    }
    void start_another_worker() noexcept LEASEHOLD_REQUIRES(mutex_) {
        // A worker that was woken for a call counts as idle until it has taken it.
        const std::size_t ready = going_on_.size() + beginning_.size();
        if (ready <= idle_ || is_ending_ || threads_.size() > max_workers_) return;
        try {
            threads_.emplace_back([self = shared_from_this()] { self->work(); });
        } catch (const std::exception&) {
            // The existing workers do the work.
        }
    }

    // Calls that wait for a turn or its end run before calls that begin.
    void make_ready(unattended_call& call) noexcept LEASEHOLD_REQUIRES(mutex_) {
        call.stage_ = stage::ready;
        (call.begins_ ? beginning_ : going_on_).push_back(&call);
        plan(call, call.give_up_at());
        start_another_worker();
        ready_changed_.notify_one();
    }
    void plan(unattended_call& call, local_clock::time_point due) LEASEHOLD_REQUIRES(mutex_) {
        const bool is_first = plan_.empty() || due < plan_.begin()->first;
        plan_.erase({call.due_, &call});
        call.due_ = due;
        plan_.emplace(due, &call);
        if (is_first) plan_changed_.notify_all();
    }

    // Takes the call out of the list, so that no other thread goes on with it.
    std::shared_ptr<unattended_call> take(unattended_call& call) LEASEHOLD_REQUIRES(mutex_) {
        plan_.erase({call.due_, &call});
        call.stage_ = stage::under_way;
        call.was_woken_ = false;
        call.begins_ = false;
        return all_.at(&call);
    }
    // The owner is told after the call is destroyed.
    void let_go(std::shared_ptr<unattended_call> call) LEASEHOLD_EXCLUDES(mutex_) {
        const void* const owner = call->owner();
        {
            const thread_guard guard{mutex_};
            call->stage_ = stage::absent;
            all_.erase(call.get());
        }
        call.reset();
        {
            const thread_guard guard{mutex_};
            const auto left = of_owner_.find(owner);
            if (--left->second == 0) of_owner_.erase(left);
        }
        one_went_.notify_all();
    }

    void work() {
        thread_guard guard{mutex_};
        const auto has_work = [&]() LEASEHOLD_REQUIRES(mutex_) {
            return is_ending_ || !going_on_.empty() || !beginning_.empty();
        };
        while (true) {
            ++idle_;
            wait_until(guard, ready_changed_, {}, local_clock::time_point::max(), has_work);
            --idle_;
            auto& line = going_on_.empty() ? beginning_ : going_on_;
            if (line.empty()) return;
            std::shared_ptr<unattended_call> call = take(*line.front());
            line.pop_front();
            guard.unlock();
            if (const auto until = call->go_on()) {
                guard.lock();
                wait_or_go_on(*call, *until);
            } else {
                let_go(std::move(call));
                guard.lock();
            }
        }
    }
    void wait_or_go_on(unattended_call& call, local_clock::time_point until)
        LEASEHOLD_REQUIRES(mutex_) {
        if (call.was_woken_) return make_ready(call);
        call.stage_ = stage::waiting;
        plan(call, until);
    }

    void keep_time() {
        thread_guard guard{mutex_};
        while (!is_ending_) {
            const auto next = plan_.empty() ? local_clock::time_point::max() : plan_.begin()->first;
            wait_until(guard, plan_changed_, {}, next, [&]() LEASEHOLD_REQUIRES(mutex_) {
                return is_ending_ || (!plan_.empty() && plan_.begin()->first < next);
            });
            const auto now = local_clock::now();
            while (!plan_.empty() && plan_.begin()->first <= now) {
                unattended_call& due = *plan_.begin()->second;
                if (due.stage_ == stage::waiting) {
                    make_ready(due);
                    continue;
                }
                auto call = take(due);
                std::erase(going_on_, &due);
                std::erase(beginning_, &due);
                guard.unlock();
                call->give_up();
                let_go(std::move(call));
                guard.lock();
            }
        }
    }

    void run_completions() {
        thread_guard guard{mutex_};
        while (true) {
            wait_until(
                guard,
                completions_changed_,
                {},
                local_clock::time_point::max(),
                [&]() LEASEHOLD_REQUIRES(mutex_) { return is_ending_ || !completions_.empty(); }
            );
            if (completions_.empty()) return;
            callable<void()> next = std::move(completions_.front());
            completions_.pop_front();
            guard.unlock();
            run(std::move(next));
            guard.lock();
        }
    }
    // An exception has no handler here, and ends the program.
    static void run(callable<void()> completion) noexcept { completion(); }

    const std::size_t max_workers_;
    thread_mutex mutex_;
    std::condition_variable_any ready_changed_, plan_changed_, completions_changed_, one_went_;
    std::map<const unattended_call*, std::shared_ptr<unattended_call>> all_
        LEASEHOLD_GUARDED_BY(mutex_);
    std::map<const void*, int> of_owner_ LEASEHOLD_GUARDED_BY(mutex_);  // the number of calls
    std::deque<unattended_call*> going_on_ LEASEHOLD_GUARDED_BY(mutex_);
    std::deque<unattended_call*> beginning_ LEASEHOLD_GUARDED_BY(mutex_);
    // The times to look at calls that are ready or waiting.
    std::set<std::pair<local_clock::time_point, unattended_call*>> plan_ LEASEHOLD_GUARDED_BY(mutex_
    );
    std::deque<callable<void()>> completions_ LEASEHOLD_GUARDED_BY(mutex_);
    std::vector<std::thread> threads_ LEASEHOLD_GUARDED_BY(mutex_);  // the clerk, and workers
    std::thread completer_ LEASEHOLD_GUARDED_BY(mutex_);
    std::size_t idle_ LEASEHOLD_GUARDED_BY(mutex_) = 0;
    bool is_ending_ LEASEHOLD_GUARDED_BY(mutex_) = false;
};

unattended_calls::unattended_calls(int max_connections)
    : state_(std::make_shared<state>(static_cast<std::size_t>(std::min(max_workers, max_connections)
      ))) {}

unattended_calls::~unattended_calls() {
    state_->stop();
}

void unattended_calls::add(std::shared_ptr<unattended_call> call) {
    state_->add(std::move(call));
}
void unattended_calls::wake(unattended_call& call) noexcept {
    state_->wake(call);
}
void unattended_calls::complete(callable<void()> completion) {
    state_->complete(std::move(completion));
}
void unattended_calls::await_none(const void* owner, local_clock::time_point until) noexcept {
    state_->await_none(owner, until);
}
std::size_t unattended_calls::size() const {
    return state_->size();
}
int unattended_calls::threads() const {
    return state_->threads();
}

}  // namespace leasehold
