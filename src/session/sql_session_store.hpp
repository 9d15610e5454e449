#pragma once
// Sessions, as far as the engines keep them alike.
#include "session/session_store.hpp"
#include "session/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

// The columns of `list`: id, node_info, whether it lives, and microseconds since it began, since
// its heartbeat, and until it expires.
session_info session_in(const row& from);

class sql_session_store : public session_store, protected sql_store {
public:
    bool start(connection& on, const session_start& session) override {
        return write(on, "start", values_of_start(session)).affected_rows > 0;
    }
    heartbeat_result heartbeat(
        connection& on,
        const session_id& id,
        std::chrono::microseconds ttl,
        const session_news& known
    ) override;
    bool take_over(connection& on, const session_start& to, const std::string& expected) override {
        return write(on, "take_over", values_of_taking(to, expected)).affected_rows > 0;
    }
    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiter_id>>& remove_unless
    ) override;
    std::optional<fencing_token> start_with_grant(
        connection& on, const session_start& session, const acquire_request& wanted
    ) override;
    bool end_with_release(connection& on, const session_id& id, const hold& last) override;
    std::vector<session_info> list(connection& on) override;

protected:
    explicit sql_session_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), session_sql, "session") {}

    // id, node_info, ttl
    static parameters values_of_start(const session_start& session);
    // id, node_info, ttl, the node_info that is expected
    static parameters values_of_taking(const session_start& to, const std::string& expected);
    // The news in the row of a live session; nullopt if it is not live.
    std::optional<session_news> news_of(connection& on, const session_id& id) const;
    // Removes the row of the session: the second half of end().
    virtual void remove(
        connection& on, const session_id& id, const std::vector<waiter_id>& unless
    ) = 0;
};

}  // namespace leasehold
