#pragma once
// Holds of mutexes, as far as the engines treat them alike. Each engine has its own way to grant a
// key, and to tell whether a grant can be part of a transaction of the caller's.
#include "locks/hold_store.hpp"
#include "locks/sql_stores.hpp"
#include "sql/first_statement.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_hold_store : public hold_store, protected sql_store {
public:
    std::optional<std::int64_t> reenter(connection& on, const hold& held) override;
    release_outcome release(connection& on, const hold& held) override;
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override;
    bool prove(connection& inside, const hold& held) override;
    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override;
    std::optional<described_hold> describe(connection& on, const key& name, bool counts_waiters)
        override;
    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    std::vector<lock_info> list_free(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    std::vector<std::string> list_passed(connection& on, std::string_view prefix, int limit)
        override;
    std::optional<lock_info> force_release(
        connection& on, const key& name, std::optional<fencing_token> only
    ) override;
    bool change_kind(connection& on, const key& name, lock_kind to) override;
    bool set_metadata(connection& on, const hold& held, const std::optional<std::string>& metadata)
        override;
    std::optional<lock_info> request_revoke(connection& on, const key& name) override;
    bool extend_term(connection& on, const hold& held, std::chrono::microseconds fixed_term)
        override;
    bool give_term(connection& on, const hold& held, std::chrono::microseconds fixed_term) override;
    adopt_status adopt(connection& on, const adoption& wanted) override;
    bool move(connection& inside, const hold& held, const owner_id& to) override;
    void suppress_small_statements() noexcept override { first_.suppress(); }

protected:
    explicit sql_hold_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), locks_sql, "hold") {}

    // The answer of `try_acquire` on servers: the token or null, whether the session is live, the
    // kind of the row, and the hold that is in it.
    struct attempt {
        acquire_result answer;
        bool key_is_known = false;
        bool is_free = false;  // no owner, and yet it was not granted
    };
    static attempt attempt_in(const row& from);
    // Tries `holder_of` and `take_free` with the `values` of `wanted`: nullopt if they do not
    // decide.
    std::optional<acquire_result> try_small(
        connection& on, const acquire_request& wanted, const parameters& values
    );
    // The first tells whether the key is probably free; the second notes that it was free.
    bool is_worth_taking(const key& name) noexcept {
        return first_.of(name) == first_statement::choice::take_free;
    }
    void note_granted(const key& name) noexcept {
        first_.note_granted(name);
        first_.note_taken();
    }
    // Notes the result of the statement that is right in every case.
    void note(const key& name, const attempt& made) noexcept;
    // The answer of find_grants(): nullopt if the rows are fewer than `wanted`.
    static std::optional<std::vector<fencing_token>> tokens_of(
        const result& found, std::size_t wanted
    );
    // key, owner, token, from or null, to, node_info
    static parameters values_of_adoption(const adoption& wanted);

private:
    first_statement first_;
};

}  // namespace leasehold
