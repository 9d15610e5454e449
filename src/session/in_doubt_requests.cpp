#include "session/in_doubt_requests.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "session/release.hpp"

namespace leasehold {

void in_doubt_request::release(
    database::implementation& within, connection& on, store_set& stores
) {
    const auto release_one = [&](const owner_id& each) {
        const auto outcome = release_owner(within, on, stores, name, each, kind);
        was_there = was_there || outcome != release_outcome::not_held;
    };
    release_one(owner);
    if (then) release_one(*then);
}

void in_doubt_request::tell_settled(const database::implementation& within, event_reason how)
    const {
    if (!told_at) return;
    const auto took = local_clock::now() - *told_at;
    within.tell({event_kind::doubt_settled, name.name(), 0, "", how, took});
}

void in_doubt_request::tell_settled(const database::implementation& within) const {
    tell_settled(within, was_there ? event_reason::released : event_reason::not_granted);
}

bool in_doubt_requests::will_release(const owner_id& owner) const {
    return std::ranges::any_of(all_, [&](const in_doubt_request& each) {
        return each.owner == owner || each.then == owner;
    });
}

void in_doubt_requests::add(in_doubt_request what) {
    were_any_ = true;
    all_.push_back(std::move(what));
}

in_doubt_requests::list in_doubt_requests::take_all() noexcept {
    return std::exchange(all_, {});
}

in_doubt_requests::list in_doubt_requests::due(local_clock::time_point now) {
    const auto is_due = [&](const in_doubt_request& each) { return now >= each.not_before; };
    const auto due_end = std::stable_partition(all_.begin(), all_.end(), is_due);
    return {all_.begin(), due_end};
}

in_doubt_requests::list in_doubt_requests::note_asked(
    const list& due, std::size_t asked, local_clock::time_point now, bool has_failed
) {
    const std::size_t are_there = std::min(due.size(), all_.size());  // an end() takes them all
    for (std::size_t at = 0; at < are_there; ++at) all_[at].was_there = due[at].was_there;
    const auto middle = all_.begin() + static_cast<std::ptrdiff_t>(std::min(asked, are_there));
    // A request is deleted only after a release at a time when no part of it could be on its way
    // any more.
    const auto is_over = [&](const in_doubt_request& each) { return now > each.until; };
    const auto over = std::stable_partition(all_.begin(), middle, std::not_fn(is_over));
    list ended{over, middle};
    auto next = all_.erase(over, middle);
    // The next round begins behind the request that ended this one. Otherwise, on a bad network, or
    // if one request waits for a transaction that stays open, a round would never reach the
    // last ones.
    if (has_failed && next != all_.end()) ++next;
    std::rotate(all_.begin(), next, all_.end());
    return ended;
}

}  // namespace leasehold
