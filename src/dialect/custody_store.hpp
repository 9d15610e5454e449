#pragma once
// Words on a hold, requests to let go, and moving it, as far as the engines do them alike.
#include "dialect/sql_store.hpp"
#include "store/custody_store.hpp"

namespace leasehold {

class sql_custody_store : public custody_store, protected sql_store {
public:
    // `looks_first`: what asks for a revocation would lock a row that nobody holds.
    sql_custody_store(std::shared_ptr<const sql_dialect> how, bool looks_first)
        : sql_store(std::move(how), "custody"), looks_first_(looks_first) {}

    bool set_words(connection& on, const hold& held, const std::optional<std::string>& words)
        override;
    std::optional<custody> look(connection& on, const key& name) override;
    std::optional<lock_info> request_revoke(connection& on, const key& name) override;
    bool give_term(connection& on, const hold& held, std::chrono::microseconds hold_at_most)
        override;
    adopt_status adopt(connection& on, const adoption& wanted) override;

protected:
    // key, owner, token, from or null, to, node_info
    static parameters values_of_adoption(const adoption& wanted);

private:
    const bool looks_first_;
};

}  // namespace leasehold
