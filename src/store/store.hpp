#pragma once
// The seam between what leasehold promises and how one engine keeps it: the stores of a dialect.
//
// Thread rule and MUSTs: see each store. Made by src/dialect/<engine>/store.cpp and chosen in
// src/session/database.cpp, the only file that names all dialects.
#include <memory>

#include "store/claim_store.hpp"
#include "store/custody_store.hpp"
#include "store/fence_store.hpp"
#include "store/holder_store.hpp"
#include "store/lock_store.hpp"
#include "store/multi_lock_store.hpp"
#include "store/pending_store.hpp"
#include "store/run_store.hpp"
#include "store/schema_store.hpp"
#include "store/session_store.hpp"
#include "store/upkeep_store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {

struct store {
    std::unique_ptr<lock_store> locks;
    std::unique_ptr<session_store> sessions;
    std::unique_ptr<upkeep_store> upkeep;
    std::unique_ptr<schema_store> schema;
    std::unique_ptr<custody_store> custody;
    std::unique_ptr<run_store> runs;
    std::unique_ptr<waiter_store> waiters;
    std::unique_ptr<holder_store> holders;
    std::unique_ptr<pending_store> pending;
    std::unique_ptr<multi_lock_store> multi_locks;
    std::unique_ptr<fence_store> fences;
    std::unique_ptr<claim_store> claims{};  // nothing on the model: it has no tables of users
};

// use(…) with the store that knows holds of this kind: they answer to the same names.
template <class Use>
auto with_store_of(const store& of, lock_kind kind, Use&& use) {
    return kind == lock_kind::mutex ? use(*of.locks) : use(*of.holders);
}

}  // namespace leasehold
