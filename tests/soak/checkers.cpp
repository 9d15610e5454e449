#include "soak/checkers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace leasehold::soak {
namespace {

// A freeing by force that got no answer may be carried out until the server has given it up.
constexpr std::int64_t force_in_doubt_ns = 15'000'000'000;

template <class Value>
const Value& at_key(const std::map<int, Value>& all, int key) {
    static const Value nothing{};
    const auto found = all.find(key);
    return found == all.end() ? nothing : found->second;
}

// A holder that is freed by force is told only with its next heartbeat, and may be freed before it
// has heard of its grant: its belief ends, for us, when the freeing was sent. A freeing that got no
// answer may have met any holder.
std::int64_t belief_end(const holding& grant, const std::vector<step>& forces) {
    std::int64_t end = grant.believed_until_ns();
    for (const step& force : forces) {
        const bool is_victim = force.outcome == phase::ok && force.token == grant.token;
        const bool may_be_victim = force.outcome == phase::unknown &&
                                   grant.invoked_ns <= force.invoked_ns + force_in_doubt_ns;
        if (is_victim || may_be_victim) end = std::min(end, force.invoked_ns);
    }
    return end;
}

// The tokens after which an older one is stale; a freeing by force makes one stale too.
high_water stale_marks(const facts& all, int key) {
    std::vector<numbered_moment> moments;
    for (const auto& grant : at_key(all.grants, key)) {
        moments.push_back({grant.granted_ns, grant.token});
    }
    for (const auto& force : at_key(all.forces, key)) {
        if (force.outcome != phase::ok) continue;
        moments.push_back({force.ended_ns, force.token + 1});
    }
    return high_water{std::move(moments)};
}

}  // namespace

findings check_beliefs(const facts& all) {
    findings found;
    std::int64_t believed = 0;
    for (const auto& [key, grants] : all.grants) {
        const auto& forces = at_key(all.forces, key);
        const holding* latest = nullptr;
        std::int64_t latest_end = 0;
        for (const holding& grant : grants) {
            const auto end = belief_end(grant, forces);
            if (end <= grant.granted_ns) continue;  // it was over before its holder knew of it
            ++believed;
            if (latest && grant.granted_ns < latest_end) {
                report(
                    found,
                    "C1",
                    key,
                    label(*latest) + " and " + label(grant) + " both believed to hold it for " +
                        in_ms(std::min(latest_end, end) - grant.granted_ns)
                );
            }
            if (!latest || end > latest_end) {
                latest = &grant;
                latest_end = end;
            }
        }
    }
    if (believed == 0) found.push_back(nothing_shown("C1", "nobody ever believed to hold a key"));
    return found;
}

findings check_tokens(const facts& all) {
    findings found;
    for (const auto& [key, grants] : all.grants) {
        std::map<std::int64_t, const holding*> seen;
        std::vector<numbered_moment> moments;
        for (const holding& grant : grants) {
            moments.push_back({grant.granted_ns, grant.token});
            const auto [before, is_new] = seen.emplace(grant.token, &grant);
            if (is_new) continue;
            report(
                found,
                "C2",
                key,
                label(*before->second) + " and " + label(grant) + ": the same token"
            );
        }
        const high_water answered{std::move(moments)};
        for (const holding& grant : grants) {
            const auto before = answered.before(grant.invoked_ns);
            if (before < grant.token) continue;
            report(
                found,
                "C2",
                key,
                label(grant) + " was asked for after token " + std::to_string(before) +
                    " had been granted"
            );
        }
        const high_water stale = stale_marks(all, key);
        for (const step& release : at_key(all.releases, key)) {
            const auto before = stale.before(release.invoked_ns);
            if (release.outcome != phase::ok || before <= release.token) continue;
            report(
                found,
                "C2",
                key,
                label(release) + " was released with success after token " +
                    std::to_string(before) + " had taken its place"
            );
        }
    }
    return found;
}

namespace {

// One key's list against what its writers were told.
class effects_check {
public:
    effects_check(const facts& all, int key, findings& into)
        : key_(key), into_(into), stale_(stale_marks(all, key)) {
        for (const step& each : at_key(all.appends, key)) {
            appends_.emplace(name{each.process, each.id}, &each);
        }
    }

    void run(const facts& all) {
        const auto& list = at_key(all.entries, key_);
        const list_entry* before = nullptr;
        for (const list_entry& each : list) {
            check_entry(each);
            check_order(before, each);
            before = &each;
        }
        for (const auto& [id, each] : appends_) {
            if (each->outcome != phase::ok || listed_.contains(id)) continue;
            complain(label(*each) + ": an acknowledged append is missing");
        }
        const auto size = static_cast<std::int64_t>(list.size());
        check_number("the list's length", at_key(all.length, key_), size);
        check_number("the counter written under proof", at_key(all.counter, key_), size);
    }

private:
    void complain(const std::string& text) { report(into_, "C3", key_, text); }

    void check_entry(const list_entry& each) {
        const name id{each.process, each.id};
        if (!listed_.insert(id).second) complain(label(each.process, each.id) + " is there twice");
        const auto found = appends_.find(id);
        if (found == appends_.end()) {
            complain(label(each.process, each.id) + " is there, and nobody appended it");
            return;
        }
        const step& append = *found->second;
        if (append.token != each.token) complain(label(append) + " is there with another token");
        if (append.outcome == phase::fail) {
            complain(label(append) + " was refused, and is there: " + append.detail);
        }
        const auto newer = stale_.before(append.invoked_ns);
        if (newer > append.token) {
            complain(
                label(append) + " was accepted, begun after token " + std::to_string(newer) +
                " had taken its place"
            );
        }
    }

    void check_order(const list_entry* before, const list_entry& each) {
        const bool is_first = !before;
        if (each.position != (is_first ? 1 : before->position + 1)) {
            complain(
                "position " + std::to_string(each.position) + " follows a gap or a repetition"
            );
        }
        if (is_first || before->token < each.token) return;
        const bool same_grant = before->token == each.token && before->process == each.process;
        if (same_grant && before->id < each.id) return;
        complain(
            label(each.process, each.id) + " with token " + std::to_string(each.token) +
            " follows token " + std::to_string(before->token)
        );
    }

    void check_number(const char* what, std::int64_t found, std::int64_t expected) {
        if (found == expected) return;
        complain(
            std::string(what) + " is " + std::to_string(found) + ", and " +
            std::to_string(expected) + " appends are there"
        );
    }

    const int key_;
    findings& into_;
    const high_water stale_;
    std::map<name, const step*> appends_;
    std::set<name> listed_;
};

}  // namespace

findings check_effects(const facts& all) {
    findings found;
    std::set<int> keys;
    for (const auto& [key, each] : all.appends) keys.insert(key);
    for (const auto& [key, each] : all.entries) keys.insert(key);
    for (const int key : keys) effects_check{all, key, found}.run(all);
    return found;
}

findings check_sets(const facts& all) {
    struct parts {
        const step* first = nullptr;
        int asked = 0;
        int there = 0;
    };
    std::set<std::pair<int, name>> listed;
    for (const auto& [key, list] : all.entries) {
        for (const list_entry& each : list) listed.insert({key, {each.process, each.id}});
    }
    std::map<name, parts> by_transaction;
    for (const auto& [key, appends] : all.appends) {
        for (const step& each : appends) {
            if (each.number == 0) continue;
            parts& of = by_transaction[{each.process, each.number}];
            if (!of.first) of.first = &each;
            ++of.asked;
            of.there += listed.contains({key, {each.process, each.id}});
        }
    }
    findings found;
    for (const auto& [id, of] : by_transaction) {
        if (of.there == 0 || of.there == of.asked) continue;
        report(
            found,
            "C5",
            of.first->key,
            label(*of.first) + ": of the " + std::to_string(of.asked) + " appends of its set " +
                std::to_string(of.there) + " are there"
        );
    }
    return found;
}

control_loss measure_control(const facts& all) {
    control_loss sum;
    for (const auto& [key, writes] : all.controls) {
        // Acknowledged writes by the moment they were done, with the token they were done under.
        std::vector<numbered_moment> done;
        std::int64_t acknowledged = 0;
        for (const step& each : writes) {
            sum.unknown += each.outcome == phase::unknown;
            if (each.outcome != phase::ok) continue;
            ++acknowledged;
            done.push_back({each.ended_ns, each.token});
        }
        sum.acknowledged += acknowledged;
        sum.lost += std::max<std::int64_t>(0, acknowledged - at_key(all.value, key));
        const high_water newer{std::move(done)};
        std::set<std::int64_t> forced;
        for (const step& each : at_key(all.forces, key)) forced.insert(each.token);
        for (const step& each : writes) {
            const bool is_stale = newer.before(each.invoked_ns) > each.token;
            if (each.outcome != phase::ok || !is_stale || forced.contains(each.token)) continue;
            ++sum.overwritten_by_a_stale_holder;
        }
    }
    return sum;
}

findings check_control(const facts& all) {
    const control_loss loss = measure_control(all);
    findings found;
    if (loss.lost == 0) {
        const auto writes = std::to_string(loss.acknowledged);
        found.push_back(nothing_shown("C4", "none of " + writes + " writes without proof was lost")
        );
    }
    if (loss.overwritten_by_a_stale_holder == 0) {
        found.push_back(nothing_shown("C4", "no paused holder wrote over its successor's write"));
    }
    const auto refused = [](const step& each) {
        return each.outcome == phase::fail && each.detail.starts_with(refused_prefix);
    };
    const bool was_any_refused =
        std::any_of(all.appends.begin(), all.appends.end(), [&](const auto& of_key) {
            return std::any_of(of_key.second.begin(), of_key.second.end(), refused);
        });
    if (!was_any_refused) {
        found.push_back(nothing_shown("C4", "no stale holder's proof was refused"));
    }
    return found;
}

namespace {

// Since the last fault, or since somebody asked for the key if that was later: nobody is granted
// what nobody asks for. A worker that was killed while it asked has no answer, and does not count.
std::int64_t asked_since_ns(const facts& all, int key) {
    std::int64_t first = never_ns;
    for (const step& each : all.acquires) {
        const bool counts = each.key == key && each.outcome != phase::unknown;
        if (counts && each.ended_ns >= all.drained_from_ns)
            first = std::min(first, each.invoked_ns);
    }
    return first == never_ns ? all.drained_from_ns : std::max(first, all.drained_from_ns);
}

}  // namespace

findings check_liveness(const facts& all, std::chrono::nanoseconds timeout) {
    findings found;
    for (const auto& [key, length] : all.length) {
        const auto last = asked_since_ns(all, key) + timeout.count();
        const auto& grants = at_key(all.grants, key);
        const bool was_granted = std::any_of(grants.begin(), grants.end(), [&](const auto& each) {
            return each.granted_ns >= all.drained_from_ns && each.granted_ns <= last;
        });
        if (was_granted) continue;
        report(
            found,
            "C7",
            key,
            "not granted to anybody within " + in_ms(timeout.count()) + " after the last fault"
        );
    }
    return found;
}

}  // namespace leasehold::soak
