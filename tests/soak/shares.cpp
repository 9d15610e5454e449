#include "soak/shares.hpp"

#include <algorithm>
#include <tuple>

namespace leasehold::soak {
namespace {

class share_gatherer {
public:
    void add(const record& what) {
        switch (what.what) {
            case operation::take:
                note_take(what);
                break;
            case operation::prove:
            case operation::proved:
                note_proof(what);
                break;
            case operation::yield:
                note_release(what);
                break;
            case operation::belief:
                believe(what);
                break;
            case operation::proof:
                made_[what.key].rows.push_back({what.process, what.id, what.token, what.number});
                break;
            case operation::state:
                made_[what.key].number = what.number;
                made_[what.key].version = what.token;
                break;
            default:
                break;
        }
    }

    all_shares finish() {
        for (auto& [id, each] : grants_) {
            if (each.granted_ns > 0) made_[each.key].grants.push_back(each);
        }
        for (auto& [id, each] : proofs_) {
            const auto grant = grants_.find({each.process, each.grant});
            if (grant != grants_.end()) each.weight = grant->second.weight;
            made_[each.key].proofs.push_back(each);
        }
        for (auto& [id, each] : releases_) made_[each.key].releases.push_back(each);
        for (auto& [key, each] : made_) {
            std::sort(each.grants.begin(), each.grants.end(), [](const auto& a, const auto& b) {
                return a.granted_ns < b.granted_ns;
            });
            std::sort(each.rows.begin(), each.rows.end(), [](const auto& a, const auto& b) {
                return std::tie(a.token, a.process, a.id) < std::tie(b.token, b.process, b.id);
            });
        }
        return std::move(made_);
    }

private:
    void note_take(const record& what) {
        share_holding& made = grants_[{what.process, what.id}];
        if (what.when == phase::invoke) {
            made.process = what.process;
            made.id = what.id;
            made.key = what.key;
            made.weight = what.number;
            made.invoked_ns = what.at_ns;
        } else if (what.when == phase::ok) {
            made.token = what.token;
            made.granted_ns = what.at_ns;
            made.deadline_ns = what.until_ns;
        } else {
            made_[what.key].refused += what.when == phase::fail;
        }
    }

    template <class Step>
    static void note(Step& made, const record& what) {
        if (what.when == phase::invoke) {
            made.process = what.process;
            made.id = what.id;
            made.key = what.key;
            made.grant = what.grant;
            made.invoked_ns = what.at_ns;
        } else {
            made.ended_ns = what.at_ns;
            made.outcome = what.when;
        }
        if (what.token) made.token = what.token;
        if (what.number) made.number = what.number;
        if (!what.detail.empty()) made.detail = what.detail;
    }

    void note_proof(const record& what) {
        proof_step& made = proofs_[{what.process, what.id}];
        if (what.what == operation::proved) {
            made.proved_ns = what.number;
            made.committing_ns = what.at_ns;
            return;
        }
        note(made, what);
        if (what.when == phase::invoke) believe(what);
    }

    void note_release(const record& what) {
        note(releases_[{what.process, what.id}], what);
        if (what.when != phase::invoke) return;
        believe(what);
        give_up(what);
    }

    void believe(const record& what) {
        const auto found = grants_.find({what.process, what.grant});
        if (found == grants_.end()) return;
        found->second.deadline_ns = std::max(found->second.deadline_ns, what.until_ns);
        if (what.what == operation::belief && what.when == phase::fail) give_up(what);
    }

    void give_up(const record& what) {
        const auto found = grants_.find({what.process, what.grant});
        if (found == grants_.end()) return;
        found->second.given_up_ns = std::min(found->second.given_up_ns, what.at_ns);
    }

    all_shares made_;
    std::map<name, share_holding> grants_;
    std::map<name, proof_step> proofs_;
    std::map<name, step> releases_;
};

}  // namespace

const char* name_of(share_kind kind) noexcept {
    switch (kind) {
        case share_kind::shared:
            return "shared mutex";
        case share_kind::permits:
            return "permits";
        case share_kind::task:
            return "task";
        case share_kind::row:
            return "row";
    }
    return "?";
}

all_shares gather_shares(const std::vector<record>& history) {
    share_gatherer all;
    for (const record& each : history) all.add(each);
    return all.finish();
}

}  // namespace leasehold::soak
