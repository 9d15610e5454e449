#include "soak/facts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace leasehold::soak {
namespace {

class gatherer {
public:
    void add(const record& what) {
        switch (what.what) {
            case operation::session:
                made_.sessions += what.when == phase::ok;
                break;
            case operation::drain:
                made_.drained_from_ns = what.at_ns;
                break;
            case operation::entry:
                note_entry(what);
                break;
            case operation::length:
                made_.length[what.key] = what.number;
                break;
            case operation::counter:
                made_.counter[what.key] = what.number;
                break;
            case operation::value:
                made_.value[what.key] = what.number;
                break;
            case operation::belief:
                believe(what);
                break;
            default:
                note_step(what);
        }
    }

    facts finish() {
        for (auto& [id, each] : steps_) sort_in(each.first, std::move(each.second));
        for (auto& [id, each] : grants_) made_.grants[each.key].push_back(each);
        for (auto& [key, each] : made_.grants) {
            std::sort(each.begin(), each.end(), [](const holding& one, const holding& other) {
                return one.granted_ns < other.granted_ns;
            });
        }
        for (auto& [key, each] : made_.entries) {
            std::sort(each.begin(), each.end(), [](const list_entry& one, const list_entry& other) {
                return one.position < other.position;
            });
        }
        return std::move(made_);
    }

private:
    void note_entry(const record& what) {
        made_.entries[what.key].push_back({what.process, what.id, what.token, what.number});
    }

    void note_step(const record& what) {
        auto& [kind, made] = steps_[{what.process, what.id}];
        if (what.when == phase::invoke) {
            kind = what.what;
            made.process = what.process;
            made.id = what.id;
            made.key = what.key;
            made.grant = what.grant;
            made.token = what.token;
            made.number = what.number;
            made.invoked_ns = what.at_ns;
            made.detail = what.detail;
            believe(what);
            if (what.what == operation::release) give_up(what);
            return;
        }
        made.ended_ns = what.at_ns;
        made.outcome = what.when;
        if (what.token) made.token = what.token;
        if (!what.detail.empty()) made.detail = what.detail;
        if (what.what == operation::acquire && what.when == phase::ok) {
            grants_[{what.process, what.id}] = {
                what.process,
                what.id,
                what.key,
                what.token,
                made.invoked_ns,
                what.at_ns,
                what.until_ns,
                never_ns,
            };
        }
    }

    void believe(const record& what) {
        const auto found = grants_.find({what.process, what.grant});
        if (found == grants_.end()) return;
        found->second.deadline_ns = std::max(found->second.deadline_ns, what.until_ns);
        if (what.when == phase::fail) give_up(what);
    }

    void give_up(const record& what) {
        const auto found = grants_.find({what.process, what.grant});
        if (found == grants_.end()) return;
        found->second.given_up_ns = std::min(found->second.given_up_ns, what.at_ns);
    }

    void sort_in(operation kind, step what) {
        switch (kind) {
            case operation::acquire:
                made_.acquires.push_back(std::move(what));
                break;
            case operation::append:
                made_.appends[what.key].push_back(std::move(what));
                break;
            case operation::control:
                made_.controls[what.key].push_back(std::move(what));
                break;
            case operation::release:
                made_.releases[what.key].push_back(std::move(what));
                break;
            case operation::force:
                made_.forces[what.key].push_back(std::move(what));
                break;
            case operation::fault:
                made_.faults.push_back(std::move(what));
                break;
            default:
                break;
        }
    }

    facts made_;
    std::map<name, std::pair<operation, step>> steps_;
    std::map<name, holding> grants_;
};

}  // namespace

facts gather(const std::vector<record>& history) {
    gatherer all;
    for (const record& each : history) all.add(each);
    return all.finish();
}

}  // namespace leasehold::soak
