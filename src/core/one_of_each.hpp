#pragma once
// Objects of different types, at most one of each: what features keep in a place that knows none of
// them.
//
// Threads: safe.
#include <memory>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"

namespace leasehold {

class one_of_each {
public:
    // Null if there is none, and make() answers with none.
    template <class Kind, class Make>
    Kind* get(Make&& make) {
        const thread_guard guard{mutex_};
        for (const auto& [kind, kept] : all_) {
            if (kind == &place_of<Kind>) return static_cast<Kind*>(kept.get());
        }
        std::shared_ptr<Kind> made = make();
        if (made) all_.emplace_back(&place_of<Kind>, made);
        return made.get();
    }

    // Replaces what there is, and answers with it.
    template <class Kind>
    std::shared_ptr<Kind> put(std::shared_ptr<Kind> made) {
        const thread_guard guard{mutex_};
        for (auto& [kind, kept] : all_) {
            if (kind != &place_of<Kind>) continue;
            return std::static_pointer_cast<Kind>(std::exchange(kept, std::move(made)));
        }
        all_.emplace_back(&place_of<Kind>, std::move(made));
        return nullptr;
    }

private:
    template <class Kind>
    static inline char place_of = 0;  // its address names the type

    thread_mutex mutex_;
    std::vector<std::pair<const void*, std::shared_ptr<void>>> all_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace leasehold
