#include "driver/postgres_history.hpp"

namespace leasehold::postgres {

bool history::note(const place_in_history& seen) {
    if (seen.system.empty()) return true;
    const thread_guard guard{mutex_};
    std::int64_t& newest = newest_[seen.system];
    if (seen.timeline < newest) return false;
    if (seen.timeline > newest) {
        newest = seen.timeline;
        ++changes_;
    }
    return true;
}

bool history::is_past(const place_in_history& seen) const {
    return newest(seen) > seen.timeline;
}

std::int64_t history::newest(const place_in_history& of) const {
    const thread_guard guard{mutex_};
    const auto found = newest_.find(of.system);
    return found == newest_.end() ? 0 : found->second;
}

void history::tell_refusal(const std::string& message) {
    {
        const thread_guard guard{mutex_};
        if (!told_.insert(message).second) return;
    }
    if (warn_) warn_(message);
}

}  // namespace leasehold::postgres
