#pragma once
// The grants that a session watches. With ten thousand grants it costs no more to add one, or to
// find the lost ones.
//
// Threads: not safe.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "session/grant.hpp"

namespace leasehold {

class grant_list {
public:
    using lost_grant = std::pair<std::shared_ptr<grant>, loss_reason>;

    bool is_empty() const noexcept { return all_.empty(); }
    bool is_only(const grant& what) const { return all_.size() == 1 && all_.contains(&what); }

    // A grant that is added twice is in the list once.
    void add(const std::shared_ptr<grant>& what) {
        all_.emplace(what.get(), what);
        if (const auto end = what->own_end()) ends_.emplace(*end, what.get());
    }
    void remove(const grant& what) {
        if (const auto end = what.own_end()) ends_.erase({*end, &what});
        all_.erase(&what);
    }

    // False if the grant is no longer in the list: it was taken out as lost, or forgotten.
    bool change_term(grant& what, local_clock::time_point end) {
        return change_end(what, [&] { what.set_term_end(end); });
    }
    bool change_limit(grant& what, const grant::limit& to) {
        return change_end(what, [&] { what.set_limit(to); });
    }

    // The time when the first of them is lost even if the session lives.
    std::optional<local_clock::time_point> next_end() const {
        if (ends_.empty()) return std::nullopt;
        return ends_.begin()->first;
    }

    // Takes out the grants that are lost at that time. As long as the session lives these can only
    // be grants that end by themselves; `of_session` says why it does not.
    std::vector<lost_grant> take_lost(local_clock::time_point now, loss_reason of_session) {
        std::vector<lost_grant> lost;
        if (of_session == loss_reason::none) {
            for (const auto& [end, each] : ends_) {
                if (end > now) break;
                lost.emplace_back(all_.at(each), loss_reason::expired);
            }
        } else {
            for (const auto& [address, each] : all_) {
                const auto why = each->loss_at(now, of_session);
                if (why != loss_reason::none) lost.emplace_back(each, why);
            }
        }
        for (const auto& [each, why] : lost) remove(*each);
        return lost;
    }

    // Takes out the live grants that live with the session, and keeps the other grants.
    std::vector<lost_grant> take_live(loss_reason why) {
        std::vector<lost_grant> taken;
        for (const auto& [address, each] : all_) {
            if (!each->term_end() && each->is_live()) taken.emplace_back(each, why);
        }
        for (const auto& [each, reason] : taken) remove(*each);
        return taken;
    }

    std::vector<std::shared_ptr<grant>> live() const {
        std::vector<std::shared_ptr<grant>> found;
        found.reserve(all_.size());
        for (const auto& [address, each] : all_) {
            if (each->is_live()) found.push_back(each);
        }
        return found;
    }

    bool has(const owner_id& owner) const {
        return std::ranges::any_of(all_, [&](const auto& each) {
            return each.second->what().owner == owner;
        });
    }

private:
    template <class Change>
    bool change_end(grant& what, Change change) {
        if (!all_.contains(&what)) return false;
        ends_.erase({*what.own_end(), &what});
        change();
        ends_.emplace(*what.own_end(), &what);
        return true;
    }

    std::unordered_map<const grant*, std::shared_ptr<grant>> all_;
    std::set<std::pair<local_clock::time_point, const grant*>> ends_;
};

}  // namespace leasehold
