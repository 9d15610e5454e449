#pragma once
// Grants that stand or fall with a transaction of the caller's: whether they may is each engine's.
#include "dialect/sql_store.hpp"
#include "store/pending_store.hpp"

namespace leasehold {

class sql_pending_store : public pending_store, protected sql_store {
public:
    // The owner always changes, so the count is the same with and without CLIENT_FOUND_ROWS.
    bool move(connection& in, const hold& held, const owner_id& to) override {
        const parameters values = joined(values_of(held), {value_of(to)});
        return inside(in, "move", values).affected_rows >= 1;
    }

protected:
    explicit sql_pending_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), "pending") {}
};

}  // namespace leasehold
