#pragma once
// Locks, as far as the engines do them alike; how a key is granted is each one's own.
#include "dialect/sql_store.hpp"
#include "store/lock_store.hpp"

namespace leasehold {

class sql_lock_store : public lock_store, protected sql_store {
public:
    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override;
    std::optional<std::int64_t> reenter(connection& on, const hold& held) override;
    release_outcome release(connection& on, const hold& held) override;
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override;
    bool prove(connection& inside, const hold& held) override;
    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override;
    std::optional<lock_info> describe(connection& on, const key& name) override;
    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    std::optional<lock_info> force_release(connection& on, const key& name) override;
    bool change_kind(connection& on, const key& name, lock_kind to) override;

protected:
    explicit sql_lock_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), "lock") {}

    // What `try_acquire` answers on servers: the token or null, whether the session is live, what
    // the row is used as, and the hold that is in it.
    struct attempt {
        acquire_result answer;
        bool key_is_known = false;
        bool is_free = false;  // no owner, and yet it was not granted
    };
    static attempt attempt_in(const row& from);
};

}  // namespace leasehold
