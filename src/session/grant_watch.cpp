#include "session/grant_watch.hpp"

#include <algorithm>

namespace leasehold {

std::optional<grant_watch::losses> grant_watch::take_losses(instant now, bool is_told) {
    lease_->tick(now);
    losses found;
    found.why = lease_->reason();
    found.grants = take_lost(now, found.why);
    found.are_of_session =
        !lease_->is_live() && found.why != loss_reason::session_ended && !is_told;
    if (found.grants.empty() && !found.are_of_session) return std::nullopt;
    const auto has_limit = [](const lost_grant& each) { return each.first->limited().has_value(); };
    found.are_of_limits = !found.are_of_session && std::ranges::any_of(found.grants, has_limit);
    ++tellers_;
    if (found.are_of_limits) ++tellers_of_limits_;
    return found;
}

void grant_watch::note_told(const losses& what) noexcept {
    --tellers_;
    if (what.are_of_limits) --tellers_of_limits_;
}

grant_watch::ending grant_watch::end(instant now) {
    lease_->tick(now);
    ending made;
    // A session that ended with its last grant was not lost: its owner has ended it.
    made.was_lost = !lease_->is_live() && lease_->reason() != loss_reason::session_ended;
    // While holders are being told of its loss, perhaps by the caller, the row is left to expire by
    // itself: others must not get the keys before the holders know.
    made.may_expire = (!made.was_lost && tellers_of_limits_ == 0) || tellers_ == 0;
    lease_->end();
    made.why = lease_->reason();
    made.held = take_live(made.why);
    return made;
}

grant_watch::instant grant_watch::next_loss() const noexcept {
    const auto of_session = lease_->is_live() ? lease_->deadline() : instant::max();
    return std::min(of_session, next_end().value_or(instant::max()));
}

local_clock::duration grant_watch::longest_nap() const noexcept {
    constexpr std::chrono::milliseconds nap_min{10}, nap_of_ends{200};
    const auto longest = std::clamp<local_clock::duration>(*settings_.margin / 2, nap_min, max_nap);
    return next_end() ? std::min<local_clock::duration>(longest, nap_of_ends) : longest;
}

}  // namespace leasehold
