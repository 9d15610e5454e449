#pragma once
// Keys that several can hold, as far as the engines treat them alike. Each engine grants a hold in
// its own way.
#include "locks/holder_store.hpp"
#include "locks/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_holder_store : public holder_store, protected sql_store {
public:
    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override;
    release_outcome release(connection& on, const hold& held) override;
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override;
    bool prove(connection& inside, const hold& held) override;
    std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) override;
    void announce(connection& on, const holder_request& wanted) override;
    void withdraw(connection& on, const key& name, const owner_id& owner) override;
    bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) override;
    bool resize(connection& on, const key& name, lock_kind kind, std::int64_t capacity) override;
    std::optional<std::int64_t> arrive(connection& on, const hold& held) override;
    std::optional<holder_tally> tally(connection& on, const key& name) override;
    bool pass(connection& on, const key& name) override;
    std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_id>& whose
    ) override;
    std::vector<lock_info> holders_of(connection& on, const key& name) override;
    std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) override;
    lock_counts count(connection& on, std::string_view prefix) override;
    std::optional<header_info> header(connection& on, const key& name) override;
    std::vector<header_info> headers(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override;
    std::vector<lock_info> force_release(connection& on, const key& name) override;

protected:
    explicit sql_holder_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), locks_sql, "holder") {}

    // key, owner, session, node_info, kind, mode, permits, capacity, gives way to (and
    // whether the capacity is kept), token of the hold in place or null
    static parameters values_of_request(const holder_request& wanted);
    // Status, kind or null, capacity: from `first` on.
    static holder_result verdict_in(const row& from, std::size_t first);

private:
    // `range`: as values_of_page().
    std::vector<header_info> headers_in(connection& on, const parameters& range) const;
};

}  // namespace leasehold
