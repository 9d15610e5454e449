#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {

// Programs that take and release a few keys, and what they saw.
class programs {
public:
    programs(
        std::size_t count,
        const std::function<database()>& open,
        std::chrono::milliseconds ttl = std::chrono::seconds{30}
    ) {
        for (std::size_t each = 0; each < count; ++each) {
            sessions_.push_back(
                std::make_unique<session>(open(), session_settings{.name = "worker", .ttl = ttl})
            );
        }
        grants_of_.resize(count);
        for (std::size_t each = 0; each < count; ++each) {
            threads_.emplace_back([this, each] { work(each); });
        }
    }
    ~programs() { end(); }

    void end() {
        ends_ = true;
        threads_.clear();
    }
    int grants() const { return grants_; }
    // Those of the program that has the fewest.
    int fewest_grants() const {
        const std::lock_guard guard{mutex_};
        return *std::min_element(grants_of_.begin(), grants_of_.end());
    }
    int overlaps() const { return overlaps_; }
    int repeated() const { return repeated_; }
    std::chrono::milliseconds longest_gap() const {
        const std::lock_guard guard{mutex_};
        return std::chrono::duration_cast<std::chrono::milliseconds>(longest_gap_);
    }
    void print() const {
        std::printf(
            "%d grants, %d overlaps, %d tokens given twice, longest gap %d ms\n",
            grants(),
            overlaps(),
            repeated(),
            static_cast<int>(longest_gap().count())
        );
    }
    bool are_live() const {
        return std::all_of(sessions_.begin(), sessions_.end(), [](const auto& each) {
            return each->is_live();
        });
    }

private:
    static constexpr int keys = 3;

    void work(std::size_t program) {
        session& within = *sessions_.at(program);
        for (int turn = 0; !ends_; ++turn) {
            const auto at = static_cast<std::size_t>(turn % keys);
            try {
                auto held =
                    mutex{within, "key" + std::to_string(at)}.acquire_for(std::chrono::seconds{1});
                if (!held) continue;
                note(program, at, held->token().number);
                if (holders_.at(at).fetch_add(1) != 0) ++overlaps_;
                holders_.at(at).fetch_sub(1);
                held->release();
            } catch (const error& failure) {  // the fail-over
                if (failure.is_transient() || failure.outcome_is_unknown()) continue;
                ADD_FAILURE() << failure.what();
                return;
            }
        }
    }
    void note(std::size_t program, std::size_t at, std::int64_t token) {
        const auto now = local_clock::now();
        const std::lock_guard guard{mutex_};
        ++grants_;
        ++grants_of_.at(program);
        if (!tokens_.at(at).insert(token).second) ++repeated_;
        if (last_) longest_gap_ = std::max(longest_gap_, now - *last_);
        last_ = now;
    }

    std::vector<std::unique_ptr<session>> sessions_;
    mutable std::mutex mutex_;
    std::vector<int> grants_of_;
    std::array<std::set<std::int64_t>, keys> tokens_;
    std::array<std::atomic<int>, keys> holders_{};
    std::optional<local_clock::time_point> last_;
    local_clock::duration longest_gap_{};
    std::atomic<int> grants_ = 0, overlaps_ = 0, repeated_ = 0;
    std::atomic<bool> ends_ = false;
    std::vector<thread> threads_;  // last: they use all of the above
};

}  // namespace leasehold::testing
