#include "session/release.hpp"

#include <exception>
#include <optional>
#include <vector>

#include "database/beside_others.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"

namespace leasehold {
namespace {

// Ends all levels.
release_outcome hand_over(
    database::implementation& within, connection& on, store_set& stores, const hold& held
) {
    const auto sent = local_clock::now();
    const auto passed = stores.get<waiter_store>().hand_over(on, held);
    if (passed.status == hand_over_status::refused) return release_outcome::not_held;
    if (passed.next) {
        within.waits().contended().note(held.key);
        within.waits().announce(on, stores, *passed.next, sent);
        within.tell(handed_over(held.key, *passed.next, event_reason::released));
    } else {
        within.waits().contended().forget(held.key);
    }
    return release_outcome::released;
}

using maybe_released = std::vector<std::optional<release_outcome>>;

maybe_released release_several(
    connection& on, store_set& stores, const std::vector<const hold*>& held
) {
    maybe_released answers;
    for (const bool is_free : stores.get<hold_store>().release_several(on, held)) {
        answers.emplace_back();
        if (is_free) answers.back() = release_outcome::released;
    }
    return answers;
}

}  // namespace

release_outcome release_hold(
    database::implementation& within, connection& on, store_set& stores, const hold& held
) {
    if (held.kind != lock_kind::mutex) return stores.get<holder_store>().release(on, held);
    const auto outcome = stores.get<hold_store>().release(on, held);
    if (outcome != release_outcome::not_held) return outcome;
    return hand_over(within, on, stores, held);  // not ours, or somebody waits
}

release_outcome release_last_level(
    database::implementation& within, const bounds& of_call, const hold& held
) {
    if (held.kind != lock_kind::mutex) {
        return within.use(of_call, [&](connection& on, store_set& stores) {
            return release_hold(within, on, stores, held);
        });
    }
    const auto alone = [&](connection& on, store_set& stores) {
        const auto outcome = stores.get<hold_store>().release_last(on, held);
        if (outcome != release_outcome::not_held) return outcome;
        return hand_over(within, on, stores, held);
    };
    if (within.waits().contended().has(held.key)) {
        return within.use(of_call, [&](connection& on, store_set& stores) {
            return hand_over(within, on, stores, held);
        });
    }
    return ask_beside_others<release_outcome>(
        within, within.releases(), of_call, held, release_several, alone
    );
}

release_outcome release_owner(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const key& name,
    const owner_id& owner,
    lock_kind kind
) {
    if (kind != lock_kind::mutex) return stores.get<holder_store>().release_owner(on, name, owner);
    // The waiter leaves first: from here on it cannot become a holder.
    stores.get<waiter_store>().leave(on, name, owner, std::nullopt);
    const auto outcome = stores.get<hold_store>().release_owner(on, name, owner);
    if (outcome != release_outcome::not_held) serve_quietly(within, on, stores, name);
    return outcome;
}

std::vector<hold> release_holds(
    database::implementation& within,
    connection& on,
    store_set& stores,
    const std::vector<hold>& held
) {
    release_all_result done = stores.get<multi_lock_store>().release_all(on, held);
    for (const hold& each : done.awaited) {
        if (hand_over(within, on, stores, each) == release_outcome::released) {
            done.released.push_back(each);
        }
    }
    return std::move(done.released);
}

hand_over_status serve_key(
    database::implementation& within, connection& on, store_set& stores, const key& name
) {
    const auto sent = local_clock::now();
    const auto passed = stores.get<waiter_store>().serve(on, name);
    if (passed.next) {
        within.waits().announce(on, stores, *passed.next, sent);
        within.tell(handed_over(name, *passed.next, event_reason::found_free));
    }
    return passed.status;
}

void serve_quietly(
    database::implementation& within, connection& on, store_set& stores, const key& name
) noexcept {
    try {
        serve_key(within, on, stores, name);
    } catch (const std::exception& failure) {
        within.tell({event_kind::warning, name.name(), 0, failure.what()});
    }
}

}  // namespace leasehold
