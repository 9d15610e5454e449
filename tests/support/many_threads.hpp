#pragma once
// Threads that want few keys at once, and the broken promises that they find.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "database/database.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/session.hpp"
#include "support/eventually.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {

// Every key has one holder at a time, and each grant a token of its own. At first all connections
// are taken, so that all threads travel together.
class many_threads {
public:
    many_threads(const database& through, int keys, int threads, int rounds)
        : mine_(through, settings()),
          holders_(static_cast<std::size_t>(keys)),
          last_tokens_(static_cast<std::size_t>(keys)),
          rounds_(rounds) {
        const std::string prefix = "combined/" + identity::random().text() + "/";
        for (int each = 0; each < keys; ++each) {
            names_.emplace_back(prefix + std::to_string(each));
            EXPECT_TRUE(mutex(mine_, names_.back()).try_acquire());
        }
        std::vector<thread> all;
        std::vector<lent_connection> taken;
        auto& within = *through.inner();
        within.acquires().overtake_after(std::chrono::hours{1});
        for (int each = 0; each < within.settings().max_connections; ++each) {
            taken.emplace_back(within.connections());
        }
        for (int each = 0; each < threads; ++each) {
            all.emplace_back([this, each] { run(seed() + static_cast<unsigned long>(each)); });
        }
        const auto number = static_cast<std::size_t>(threads);
        EXPECT_TRUE(eventually([&] { return within.acquires().waiting() == number; }));
        taken.clear();
        within.acquires().overtake_after(combiner::overtaking_after);
    }
    int grants() const { return grants_; }
    const std::string& broken() const { return broken_; }

private:
    static session_settings settings() {
        session_settings made;
        made.ttl = std::chrono::hours{1};
        made.reap_every = std::nullopt;
        return made;
    }
    void run(unsigned long seed) {
        std::mt19937_64 random{seed};
        for (int round = 0; round < rounds_; ++round) {
            const std::size_t at = random() % names_.size();
            auto got = mutex{mine_, names_[at]}.try_acquire();
            if (!got) continue;
            ++grants_;
            if (++holders_[at] != 1) note("two holders of " + names_[at].name());
            const std::int64_t before = last_tokens_[at].exchange(got->token().number);
            if (before >= got->token().number) note("a token twice of " + names_[at].name());
            --holders_[at];
            got->release();
        }
    }
    void note(const std::string& what) {
        const std::lock_guard guard{mutex_};
        broken_ = what;
    }

    session mine_;
    std::vector<key> names_;
    std::vector<std::atomic<int>> holders_;
    std::vector<std::atomic<std::int64_t>> last_tokens_;
    const int rounds_;
    std::atomic<int> grants_ = 0;
    std::mutex mutex_;
    std::string broken_;
};

}  // namespace leasehold::testing
