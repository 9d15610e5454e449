#pragma once
// Every waiting call of the library as a table, so that what is asked of one is asked of all: that
// it ends by its deadline, when it is cancelled, when its session is lost, and when it was asked to
// stop before it began.
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "support/answers.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {

// For ever, so long, or until an instant; a call that has no such form waits so long instead.
using wait_length = std::variant<std::monostate, std::chrono::nanoseconds, local_clock::time_point>;

struct waiting_call {
    // True where it got what it wanted.
    using call = std::function<bool(const wait_length&, const std::stop_token&)>;

    const char* name;
    // Makes what is needed for the call, in the database too, and answers with the call alone.
    std::function<call(session&, const key&)> prepare;
    // Takes, after the call was prepared, a hold for which the call must wait; none: nobody comes.
    std::function<std::shared_ptr<void>(session& by, const key&)> occupy{};
    bool ends_with_its_session = true;
};
inline void PrintTo(const waiting_call& which, std::ostream* to) {
    *to << which.name;
}

namespace waiting {

// Calls the form for that length.
template <class Ever, class For, class Until>
bool by_length(const wait_length& most, Ever&& ever, For&& so_long, Until&& until) {
    if (const auto* length = std::get_if<std::chrono::nanoseconds>(&most)) {
        return is_granted(so_long(*length));
    }
    if (const auto* when = std::get_if<local_clock::time_point>(&most)) {
        return is_granted(until(*when));
    }
    return is_granted(ever());
}
template <class Ever, class For>
bool by_length(const wait_length& most, Ever&& ever, For&& so_long) {
    return by_length(most, ever, so_long, [&](local_clock::time_point when) {
        return so_long(when - local_clock::now());
    });
}

// The call of a lock that has acquire(), acquire_for() and acquire_until().
template <class Lock>
waiting_call::call acquire_of(Lock made) {
    return [on = std::make_shared<Lock>(std::move(made))](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->acquire(stop); },
            [&](auto length) { return on->acquire_for(length, stop); },
            [&](auto when) { return on->acquire_until(when, stop); }
        );
    };
}

template <class Acquisition>
std::shared_ptr<void> kept(Acquisition got) {
    return got ? std::make_shared<Acquisition>(std::move(got)) : nullptr;
}
inline std::shared_ptr<void> by_mutex(session& by, const key& name) {
    return kept(mutex{by, name}.try_acquire());
}
inline std::shared_ptr<void> by_writer(session& by, const key& name) {
    return kept(shared_mutex{by, name}.try_acquire());
}

// Waits like a program that has a thread to wait with all the same.
template <class Outcome, class Lock, class Begin>
waiting_call::call callback_of(Lock made, Begin begin) {
    return
        [on = std::make_shared<Lock>(std::move(made)), begin](const auto& most, const auto& stop) {
            const auto start = [&](std::chrono::nanoseconds length) {
                const answer_of<Outcome> told;
                ((*on).*begin)({.timeout = length, .cancel = stop}, told.taker());
                return told.get();
            };
            return by_length(
                most, [&] { return start(std::chrono::nanoseconds::max()); }, start
            );
        };
}
inline waiting_call::call acquire_async_of(session& in, const key& name) {
    return callback_of<acquisition>(mutex{in, name}, &mutex::acquire_async);
}
inline waiting_call::call campaign_async_of(session& in, const key& name) {
    return callback_of<campaign_result>(
        leader_election{in, name}, &leader_election::campaign_async
    );
}

inline waiting_call::call shared_of(session& in, const key& name) {
    return [on = std::make_shared<shared_mutex>(in, name)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->acquire_shared(stop); },
            [&](auto length) { return on->acquire_shared_for(length, stop); },
            [&](auto when) { return on->acquire_shared_until(when, stop); }
        );
    };
}
inline waiting_call::call upgradeable_of(session& in, const key& name) {
    return [on = std::make_shared<shared_mutex>(in, name)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->acquire_upgradeable(stop); },
            [&](auto length) { return on->acquire_upgradeable_for(length, stop); },
            [&](auto when) { return on->acquire_upgradeable_until(when, stop); }
        );
    };
}
inline waiting_call::call semaphore_of(session& in, const key& name) {
    return [on = std::make_shared<semaphore>(in, name, 2)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->acquire(2, stop); },
            [&](auto length) { return on->acquire_for(length, 2, stop); },
            [&](auto when) { return on->acquire_until(when, 2, stop); }
        );
    };
}
inline waiting_call::call barrier_of(session& in, const key& name) {
    return [on = std::make_shared<barrier>(in, name, 2)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->arrive_and_wait(stop).has_value(); },
            [&](auto length) { return on->arrive_and_wait_for(length, stop).has_value(); }
        );
    };
}
inline waiting_call::call latch_of(session& in, const key& name) {
    return [on = std::make_shared<latch>(in, name, 2)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->wait(stop).is_open; },
            [&](auto length) { return on->wait_for(length, stop).is_open; }
        );
    };
}
inline waiting_call::call campaign_of(session& in, const key& name) {
    return [on = std::make_shared<leader_election>(in, name)](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return is_granted(on->campaign(stop)); },
            [&](auto length) { return is_granted(on->campaign_for(length, stop)); }
        );
    };
}
inline waiting_call::call watch_of(session& in, const key& name) {
    const auto on = std::make_shared<leader_watch>(in.database(), name);
    on->next();  // the present leader
    return [on](const auto& most, const auto& stop) {
        return by_length(
            most,
            [&] { return on->next(stop); },
            [&](auto length) { return on->next_for(length, stop); }
        );
    };
}

}  // namespace waiting

inline const std::vector<waiting_call>& waiting_calls() {
    using namespace waiting;
    static const std::vector<waiting_call> all{
        {"mutex",
         [](session& in, const key& name) {
             return acquire_of(mutex{in, name});
         },
         by_mutex},
        {"mutex_by_callback", acquire_async_of, by_mutex},
        {"shared_mutex",
         [](session& in, const key& name) {
             return acquire_of(shared_mutex{in, name});
         },
         by_writer},
        {"shared_mutex_shared", shared_of, by_writer},
        {"shared_mutex_upgradeable", upgradeable_of, by_writer},
        {"semaphore",
         semaphore_of,
         [](session& by, const key& name) {
             return kept(semaphore{by, name, 2}.try_acquire());
         }},
        {"multi_lock",
         [](session& in, const key& name) {
             return acquire_of(multi_lock{in, {name, key{name.name() + "/2"}}});
         },
         by_mutex},
        {"barrier", barrier_of},
        {"latch", latch_of, {}, false},
        {"campaign", campaign_of, by_mutex},
        {"campaign_by_callback", campaign_async_of, by_mutex},
        {"leader_watch", watch_of, {}, false},
    };
    return all;
}

}  // namespace leasehold::testing
