#pragma once
// The clean-up, as far as the engines do it alike; each engine clears the rows that were found to
// be dead in its own way.
#include <array>

#include "session/sql_stores.hpp"
#include "session/upkeep_store.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

class sql_upkeep_store : public upkeep_store, protected sql_store {
public:
    std::vector<upkeep_progress> progress(connection& on) override;
    bool begin_turn(connection& on, const upkeep_progress& seen, std::chrono::microseconds every)
        override;
    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override;
    upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) override;
    std::int64_t prune_history(connection& on, int max_rows) override;

protected:
    static constexpr std::array tasks{
        upkeep_task::dead_locks,
        upkeep_task::dead_holders,
        upkeep_task::dead_waiters,
        upkeep_task::old_sessions,
        upkeep_task::idle_locks};
    using names_by_task = std::array<std::string_view, tasks.size()>;

    explicit sql_upkeep_store(std::shared_ptr<const sql_dialect> how);

    static std::size_t index_of(upkeep_task task) { return static_cast<std::size_t>(task) - 1; }
    // Holders and waiters share one statement, with {table}, and {rest}, the second column of its
    // key. A row keeps the session it was made for, so that a snapshot's news of that session also
    // holds for a row that was locked later.
    std::string source_about(upkeep_task task, const names_by_task& names) const;
    std::array<statement, tasks.size()> about_tasks(const names_by_task& names) const;
    // The place in two values, rows, retention.
    static parameters values_of(
        upkeep_task task, const std::string& place, int rows, std::chrono::microseconds retention
    );

private:
    const std::array<std::string, tasks.size()> looks_;
};

}  // namespace leasehold
