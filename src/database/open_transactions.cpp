#include "database/open_transactions.hpp"

#include <exception>
#include <utility>

namespace leasehold {

bool open_transactions::one::is(const obstacle& what) const {
    const bool is_own = thread == this_thread_number();
    if (is_own && locks_all) return true;
    return proved.count(what.owner) != 0 && (is_own || !what.is_of_this_thread);
}

void open_transactions::begin(const connection& inside) {
    const thread_guard guard{mutex_};
    all_[&inside] = one{inside.server().engine == engine::sqlite};
}

bool open_transactions::has_begun(const connection& inside) const {
    const thread_guard guard{mutex_};
    return all_.count(&inside) != 0;
}

void open_transactions::note_thread(const connection& inside) {
    const thread_guard guard{mutex_};
    if (const auto found = all_.find(&inside); found != all_.end()) {
        found->second.thread = this_thread_number();
    }
}

void open_transactions::run_after_commit(
    const connection& inside, const std::string& name, after_commit what
) {
    const thread_guard guard{mutex_};
    if (const auto found = all_.find(&inside); found != all_.end()) {
        found->second.committed.try_emplace(name, std::move(what));
    }
}

void open_transactions::note_proof(const connection& inside, const owner_id& owner) {
    const thread_guard guard{mutex_};
    if (const auto found = all_.find(&inside); found != all_.end()) {
        found->second.proved.insert(owner);
    }
}

bool open_transactions::has(const obstacle& what) const {
    const thread_guard guard{mutex_};
    for (const auto& [on, each] : all_) {
        if (each.is(what)) return true;
    }
    return false;
}

bool open_transactions::run_behind(const obstacle& what, std::function<void()> release) {
    const thread_guard guard{mutex_};
    for (auto& [on, each] : all_) {
        if (!each.is(what)) continue;
        each.releases.push_back(std::move(release));
        return true;
    }
    return false;
}

std::map<std::string, open_transactions::after_commit> open_transactions::end(
    const connection& inside
) noexcept {
    one ended;
    {
        const thread_guard guard{mutex_};
        const auto found = all_.find(&inside);
        if (found == all_.end()) return {};
        ended = std::move(found->second);
        all_.erase(found);
    }
    for (const auto& release : ended.releases) {
        try {
            release();
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
            // Memory is short: the lease then ends with its session.
        }
    }
    return std::move(ended.committed);
}

}  // namespace leasehold
