#pragma once
// The history of grants, as far as the engines keep it alike. The triggers are each engine's own,
// and so is the rest in src/admin/<engine>/history_store.cpp.
#include <optional>
#include <string>
#include <vector>

#include "admin/history_store.hpp"
#include "admin/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_history_store : public history_store, protected sql_store {
public:
    explicit sql_history_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), admin_sql, "history") {}

    void start(connection& on, std::optional<std::chrono::microseconds> keep) override;
    void stop(connection& on) override;
    grant_history_status status(connection& on) override;
    std::vector<grant_record> list(connection& on, const grant_filter& filter) override;
    std::vector<grant_record> list_of(connection& on, const key& name, const grant_filter& filter)
        override;

protected:
    // True if this very user has made the triggers as make_triggers() would. Then they stay: a
    // change of triggers has to wait for transactions, and everybody else waits behind it.
    virtual bool has_triggers(connection&) { return false; }
    // True when each name and body in the answer of `triggers` stands in one of these texts.
    static bool are_all_in(const result& found, const std::vector<std::string>& texts);
    // Each of these is one statement, sent as it stands.
    virtual void drop_triggers(connection& on);
    virtual void make_triggers(connection& on);

private:
    void set_rule(connection& on, bool is_on, std::optional<std::chrono::microseconds> keep);
};

}  // namespace leasehold
