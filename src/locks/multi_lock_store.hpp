#pragma once
// The operations on several keys at once. The words and the general MUSTs: hold_store.hpp. One
// owner id covers all keys of one acquisition.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "locks/hold_store.hpp"

namespace leasehold {

class sql_dialect;

struct acquire_all_request {
    std::vector<key> keys;  // sorted, each once, at least one
    owner_id owner;
    session_id session;  // must be live, also when the term is fixed
    std::string node_info;
    // Set: a fixed term. The rows then name no session.
    std::optional<std::chrono::microseconds> fixed_term;
};

enum class acquire_all_status { granted = 1, busy = 2, session_ended = 3, wrong_kind = 4 };

struct acquire_all_result {
    acquire_all_status status = acquire_all_status::busy;
    std::vector<fencing_token> tokens;  // where granted: one per key, in their order
    std::optional<lock_info> holder;    // where busy: the first that is live when it is read
    // If wrong_kind: a key whose row is not a mutex's, and the kind it is used as.
    std::optional<key> misused;
    lock_kind kind = lock_kind::mutex;
};

struct release_all_result {
    std::vector<hold> released;
    // Holds that are still in their rows, because somebody waits for their keys: the caller
    // releases them one by one, with a hand-over.
    std::vector<hold> awaited;
};

class multi_lock_store {
public:
    virtual ~multi_lock_store() = default;
    static std::unique_ptr<multi_lock_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Grants all keys or none, under the MUSTs of hold_store::try_acquire for each of them. MUST
    // - leave no key granted, and none waiting for it, when it refuses; a key that never had a row
    //   may get one, free;
    // - not deadlock with others that ask for overlapping keys: it waits for rows in the order of
    //   the keys, and only for callers that are taking them at this moment;
    // - grant only rows of mutexes: wrong_kind otherwise.
    // If `owner` holds some of them already it does not grant anew; see hold_store::find_grants.
    // Cost: if all keys are known 1 round trip on PostgreSQL, 2 on MySQL and MariaDB, 1
    // transaction on SQLite; with keys never seen before 2 more on PostgreSQL, and 1 for each on
    // MySQL and MariaDB; refused: 1 and no write.
    virtual acquire_all_result try_acquire_all(
        connection& on, const acquire_all_request& wanted
    ) = 0;

    // The proof of hold_store::prove for all of them, in one statement, locking in the order of the
    // keys. All of one owner.
    virtual bool prove_all(connection& inside, const std::vector<hold>& held) = 0;

    // Frees the keys that nobody waits for, in one statement on servers; see release_holds of
    // session/release.hpp for the other keys. Never touches anybody else's hold. MAY commit
    // asynchronously. Keeps the fences. All of one owner.
    virtual release_all_result release_all(connection& on, const std::vector<hold>& held) = 0;
};

}  // namespace leasehold
