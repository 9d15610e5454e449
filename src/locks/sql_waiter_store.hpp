#pragma once
// The queue of a key, as far as the engines keep it alike.
#include "locks/sql_stores.hpp"
#include "locks/waiter_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_waiter_store : public waiter_store, protected sql_store {
public:
    // `channel`: the channel of the engine's notifications, if it has any.
    sql_waiter_store(std::shared_ptr<const sql_dialect> how, std::string channel)
        : sql_store(std::move(how), locks_sql, "waiter"), channel_(std::move(channel)) {}

    enqueue_result enqueue(connection& on, const acquire_request& wanted) override;
    hand_over_result hand_over(connection& on, const hold& held) override;
    hand_over_result serve(connection& on, const key& name) override;
    bool leave(
        connection& on, const key& name, const owner_id& owner, std::optional<std::int64_t> ticket
    ) override;
    std::vector<look_result> look(connection& on, const std::vector<waiter_id>& who) override;
    std::vector<queued_waiter> list(connection& on, const key& name, std::int64_t after, int limit)
        override;
    std::vector<queued_waiter> list_all(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        std::int64_t after_ticket,
        int limit
    ) override;
    bool closes_a_circle(connection& on, const waiter_id& who, const session_id& own) override;
    void notify(connection& on, const owner_id& whom) override;
    std::string channel() const override { return channel_; }

protected:
    static parameters values_of_waiter(const acquire_request& wanted);
    // Owner, session, term or null, and wake-up address or null: from `first` on.
    static hand_over_result handed_over(
        const key& name, const row& from, std::size_t first, fencing_token token
    );

private:
    hand_over_result serve_next(
        connection& on, std::string_view statement, const parameters& values, const key& name
    );

    const std::string channel_;
};

}  // namespace leasehold
