#include "soak/share_checkers.hpp"

#include <algorithm>
#include <set>

namespace leasehold::soak {
namespace {

// Somebody had so much of a share, for so long.
struct interval {
    std::int64_t from_ns;
    std::int64_t until_ns;
    std::int64_t weight;
    std::string whose;
};

std::vector<interval> beliefs(const share_facts& of) {
    std::vector<interval> all;
    for (const share_holding& each : of.grants) {
        const auto end = each.believed_until_ns();
        if (end > each.granted_ns) all.push_back({each.granted_ns, end, each.weight, label(each)});
    }
    return all;
}

std::set<name> names_of(const std::vector<proof_row>& rows) {
    std::set<name> all;
    for (const proof_row& each : rows) all.insert({each.process, each.id});
    return all;
}

std::vector<interval> proved(const share_facts& of) {
    const std::set<name> committed = names_of(of.rows);
    std::vector<interval> all;
    for (const proof_step& each : of.proofs) {
        if (each.proved_ns == 0 || !committed.contains({each.process, each.id})) continue;
        all.push_back({each.proved_ns, each.committing_ns, each.weight, label(each)});
    }
    return all;
}

// Calls `at_most(weight, whose)` with all that are there, each time somebody has come.
template <class Seen>
void sweep(std::vector<interval> all, Seen&& seen) {
    std::sort(all.begin(), all.end(), [](const interval& one, const interval& other) {
        return one.from_ns < other.from_ns;
    });
    std::vector<const interval*> there;
    for (const interval& each : all) {
        std::erase_if(there, [&](const interval* other) {
            return other->until_ns <= each.from_ns;
        });
        there.push_back(&each);
        std::int64_t weight = 0;
        for (const interval* other : there) weight += other->weight;
        seen(weight, there);
    }
}

void check_sum(findings& found, int share, const char* what, const std::vector<interval>& all) {
    sweep(all, [&](std::int64_t weight, const std::vector<const interval*>& there) {
        if (weight <= capacity_of(share)) return;
        std::string text = std::string(what) + " " + std::to_string(weight) + " of " +
                           std::to_string(capacity_of(share)) + " at once:";
        for (const interval* each : there) {
            text += " " + each->whose + " has " + std::to_string(each->weight) + ";";
        }
        report(found, "S1", share, text);
    });
}

// The tokens after whose grant one of this weight is stale. Permits are not taken from each other.
high_water stale_marks(const share_facts& of, bool writers_only) {
    std::vector<numbered_moment> moments;
    for (const share_holding& each : of.grants) {
        if (writers_only && !is_writer(each.weight)) continue;
        moments.push_back({each.granted_ns, each.token});
    }
    return high_water{std::move(moments)};
}

std::map<name, const proof_step*> by_name(const std::vector<proof_step>& steps) {
    std::map<name, const proof_step*> all;
    for (const proof_step& each : steps) all.emplace(name{each.process, each.id}, &each);
    return all;
}

class proofs_check {
public:
    proofs_check(int share, const share_facts& of, findings& into)
        : share_(share),
          of_(of),
          into_(into),
          after_any_(stale_marks(of, false)),
          after_a_writer_(stale_marks(of, true)),
          steps_(by_name(of.proofs)) {}

    void run() {
        for (const proof_row& each : of_.rows) check_row(each);
        for (const auto& [id, each] : steps_) {
            if (each->outcome != phase::ok || there_.contains(id)) continue;
            complain(label(*each) + ": an acknowledged commit is missing");
        }
    }

private:
    void complain(const std::string& text) { report(into_, "S3", share_, text); }

    void check_row(const proof_row& each) {
        const name id{each.process, each.id};
        if (!there_.insert(id).second) complain(label(each.process, each.id) + " is there twice");
        const auto found = steps_.find(id);
        if (found == steps_.end()) {
            complain(label(each.process, each.id) + " is there, and nobody wrote it");
            return;
        }
        const proof_step& wrote = *found->second;
        if (wrote.outcome == phase::fail) {
            complain(label(wrote) + " was refused, and is there: " + wrote.detail);
        }
        const bool is_as_told = wrote.token == each.token && wrote.number == each.number;
        if (wrote.outcome == phase::ok && !is_as_told) {
            complain(label(wrote) + " is there with another token or number");
        }
        check_age(wrote);
    }

    void check_age(const proof_step& wrote) {
        const share_kind kind = kind_of(share_);
        if (kind == share_kind::permits || kind == share_kind::row) return;
        const bool reads = kind == share_kind::shared && !is_writer(wrote.weight);
        const auto newer = (reads ? after_a_writer_ : after_any_).before(wrote.invoked_ns);
        if (newer <= wrote.token) return;
        complain(
            label(wrote) + " was accepted, begun after token " + std::to_string(newer) +
            " had taken its place"
        );
    }

    const int share_;
    const share_facts& of_;
    findings& into_;
    const high_water after_any_;
    const high_water after_a_writer_;
    const std::map<name, const proof_step*> steps_;
    std::set<name> there_;
};

}  // namespace

findings check_weights(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) {
        if (kind_of(share) == share_kind::row) continue;
        check_sum(found, share, "believed to have", beliefs(of));
        check_sum(found, share, "proved to have", proved(of));
    }
    return found;
}

std::int64_t most_at_once(const share_facts& of) {
    std::int64_t most = 0;
    sweep(proved(of), [&](std::int64_t weight, const auto&) {
        if (!is_writer(weight)) most = std::max(most, weight);
    });
    return most;
}

findings check_share_tokens(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) {
        const high_water answered = stale_marks(of, false);
        std::map<std::int64_t, const share_holding*> seen;
        for (const share_holding& each : of.grants) {
            const auto [before, is_new] = seen.emplace(each.token, &each);
            if (!is_new) {
                report(
                    found,
                    "S2",
                    share,
                    label(*before->second) + " and " + label(each) + ": the same token"
                );
            }
            const auto greatest = answered.before(each.invoked_ns);
            if (greatest < each.token) continue;
            report(
                found,
                "S2",
                share,
                label(each) + " was asked for after token " + std::to_string(greatest) +
                    " had been granted"
            );
        }
    }
    return found;
}

findings check_proofs(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) proofs_check{share, of, found}.run();
    return found;
}

findings check_readers(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) {
        if (kind_of(share) != share_kind::shared) continue;
        const auto steps = by_name(of.proofs);
        std::int64_t written = 0;
        for (const proof_row& each : of.rows) {
            const auto wrote = steps.find({each.process, each.id});
            const bool writes = wrote != steps.end() && is_writer(wrote->second->weight);
            written += writes;
            if (each.number == written) continue;
            report(
                found,
                "S4",
                share,
                label(each.process, each.id) + (writes ? " wrote " : " read ") +
                    std::to_string(each.number) + " under token " + std::to_string(each.token) +
                    ", and " + std::to_string(written) +
                    (writes ? " writers had written by then, itself included"
                            : " writers had written before its grant")
            );
        }
        if (of.number == written) continue;
        report(
            found,
            "S4",
            share,
            std::to_string(written) + " writers have committed, and what they count is " +
                std::to_string(of.number)
        );
    }
    return found;
}

findings check_ticks(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) {
        if (kind_of(share) != share_kind::task) continue;
        const proof_row* before = nullptr;
        for (const proof_row& each : of.rows) {
            if (before && each.number <= before->number) {
                const bool is_same = each.number == before->number;
                report(
                    found,
                    "S5",
                    share,
                    label(each.process, each.id) + " and " + label(before->process, before->id) +
                        (is_same ? " finished the same tick" : " finished ticks out of order")
                );
            }
            before = &each;
        }
    }
    return found;
}

findings check_versions(const all_shares& all) {
    findings found;
    for (const auto& [share, of] : all) {
        if (kind_of(share) != share_kind::row) continue;
        const auto complain = [&, number = share](const std::string& text) {
            report(found, "S6", number, text);
        };
        std::int64_t version = 0, changes = 0;
        name claim{};  // whose the row is
        const auto steps = by_name(of.proofs);
        for (const proof_row& each : of.rows) {
            if (each.token != ++version) {
                complain(
                    label(each.process, each.id) + " made version " + std::to_string(each.token) +
                    ", after " + std::to_string(version - 1)
                );
                version = each.token;
            }
            if (each.number == no_change) {
                claim = {each.process, each.id};
                continue;
            }
            if (each.number != ++changes) {
                complain(
                    label(each.process, each.id) + " wrote " + std::to_string(each.number) +
                    " as change number " + std::to_string(changes)
                );
            }
            const auto wrote = steps.find({each.process, each.id});
            if (wrote != steps.end() && claim != name{each.process, wrote->second->grant}) {
                complain(
                    label(each.process, each.id) + " changed what " +
                    label(claim.first, claim.second) + " had claimed since"
                );
            }
        }
        const auto commits = static_cast<std::int64_t>(of.rows.size());
        if (of.version != commits) {
            complain(
                "the version is " + std::to_string(of.version) + ", and " +
                std::to_string(commits) + " commits changed it"
            );
        }
        if (of.number != changes) {
            complain(
                std::to_string(changes) + " changes were committed, and the row counts " +
                std::to_string(of.number)
            );
        }
    }
    return found;
}

// ------------------------------------------------------------------------------------ progress

progress measure_progress(const facts& all, const all_shares& shares) {
    progress made{
        {"mutex", 0},
        {"set of keys", 0},
        {"shared mutex, reader", 0},
        {"shared mutex, writer", 0},
        {"permits", 0},
        {"task", 0},
        {"row", 0},
    };
    for (const auto& [key, appends] : all.appends) {
        for (const step& each : appends) {
            if (each.outcome == phase::ok) ++made[each.number ? "set of keys" : "mutex"];
        }
    }
    for (const auto& [share, of] : shares) {
        const share_kind kind = kind_of(share);
        for (const proof_step& each : of.proofs) {
            if (each.outcome != phase::ok || each.number == no_change) continue;
            std::string what = name_of(kind);
            if (kind == share_kind::shared)
                what += is_writer(each.weight) ? ", writer" : ", reader";
            ++made[what];
        }
    }
    return made;
}

findings check_progress(const progress& made, std::int64_t least) {
    findings found;
    for (const auto& [what, count] : made) {
        if (count >= least) continue;
        found.push_back(
            {"S7",
             what + ": " + std::to_string(count) + " commits under proof, and " +
                 std::to_string(least) + " are the least that shows anything"}
        );
    }
    return found;
}

}  // namespace leasehold::soak
