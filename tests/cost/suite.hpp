#pragma once
// Each test calls one operation of a store, and says how many rows it may read. The same numbers
// stand beside the statements.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "cost/filled.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/once.hpp"
#include "leasehold/quorum_lock.hpp"
#include "locks/hold_store.hpp"

namespace leasehold::testing {

class cost_suite : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { all_.plan(GetParam()); }

    void run(const filled::call& what) const { all_.run(what); }

    void expect_reads(const std::string& what, const bound& at_most, const filled::call& call)
        const {
        const std::int64_t reads = all_.reads_of(call);
        std::cout << GetParam() << ": " << what << ": " << reads << " of " << filled::of(at_most)
                  << "\n";
        EXPECT_LE(reads, filled::of(at_most)) << what;
    }

    bool is_fresh() const { return all_.is_fresh(); }
    bool is_of_one_row() const { return GetParam().ends_with("of_one_row"); }
    const volume& size() const { return all_.size(); }
    database beside() const { return all_.beside(); }

    // A key of lock_key() that no other test has had.
    key next_free_key() const { return lock_key(next_number() + 1); }
    // A held key, and its hold.
    hold next_hold() const {
        const std::int64_t number = next_number();
        return {lock_key(number), numbered(number), {number}};
    }
    // The hold of a mourned key that no other test has had.
    hold next_mourned_hold() const {
        static std::map<const filled*, std::int64_t> last;
        return hold_of(mourned_key(++last[&all_]));
    }
    session_id session_of(const hold& held) const {
        return numbered(held.token.number % size().sessions + 1);
    }
    // The present holder.
    hold hold_of(const key& name) const {
        std::optional<described_hold> seen;
        run([&](connection& on, store_set& stores) {
            seen = stores.get<hold_store>().describe(on, name, false);
        });
        return {name, seen.value().info.owner.value(), seen.value().info.token};
    }
    acquire_request request_for(const key& name) const {
        return {name, identity::random(), numbered(1), "cost", std::nullopt};
    }

private:
    std::int64_t next_number() const {
        static std::map<const filled*, std::int64_t> last;
        return last.try_emplace(&all_, 1).first->second += 2;
    }

    const filled& all_ = filled::once(GetParam());
};

}  // namespace leasehold::testing
