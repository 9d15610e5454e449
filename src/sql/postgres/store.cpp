#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "admin/schema_store.hpp"
#include "claims/table_store.hpp"
#include "jobs/job_bell_store.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_store.hpp"
#include "jobs/sql_job_bell_store.hpp"
#include "jobs/sql_job_need_store.hpp"
#include "jobs/sql_job_schedule_store.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/sql_waiter_store.hpp"
#include "runs/sql_run_store.hpp"
#include "session/session_store.hpp"
#include "sql/dialects.hpp"
#include "sql/postgres/stores.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace postgres_dialect {
namespace {

// Every operation is one statement, which commits by itself if the caller has no transaction.
class dialect final : public sql_dialect {
public:
    dialect(const table_names& names, written_nodes written)
        : sql_dialect(engine::postgres, names, written) {}

    result read(connection& on, const statement& what, const parameters& values) const override {
        if (what.takes_as_given(values.size())) return carry_out(on, what.text(), values);
        return carry_out(on, what.text(), what.placed(values));
    }
    result write(connection& on, const statement& what, const parameters& values) const override {
        return read(on, what, values);
    }
    result inside(connection& on, const statement& what, const parameters& values) const override {
        return read(on, what, values);
    }
    result carry_out(connection& on, std::string_view sql, const parameters& values)
        const override {
        try {
            return on.execute(sql, values);
        } catch (const error& failure) {
            require_standby(failure);
            throw;
        }
    }

private:
    // The word `durable` fails with this value of a setting.
    static void require_standby(const error& failure) {
        if (failure.sqlstate() != "22023") return;  // invalid_parameter_value
        if (failure.server_message().find("\"no synchronous standby\"") == std::string::npos)
            return;
        throw error(
            errc::transient,
            "PostgreSQL was refused a commit that no standby would have had: "
            "synchronous_standby_names is empty there, and requires_standby is set here; name the "
            "standbys, or let the cluster manager do it (Patroni: synchronous_mode)",
            {.sqlstate = failure.sqlstate(), .server_message = failure.server_message()}
        );
    }
};

// The channel belongs to the tables: their name is cut to the length that a channel may have.
std::string channel_of(const table_names& names) {
    constexpr std::size_t channel_size_max = 63;
    return (names.schema + "." + names.prefix + "waiter").substr(0, channel_size_max);
}

}  // namespace

std::string numbered_keys(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "(" : ", (") + std::to_string(number) + ", $" +
                std::to_string(first + number) + "::bytea)";
    }
    return list;
}

}  // namespace postgres_dialect

store make_postgres_store(const table_names& names, written_nodes written) {
    using namespace postgres_dialect;
    require_valid(names);
    const auto how = std::make_shared<const dialect>(names, written);
    store made;
    made.holds = make_hold_store(how);
    made.sessions = make_session_store(how);
    made.schema = make_schema_store(how);
    made.runs = std::make_unique<sql_run_store>(how);
    made.tables = make_table_store();
    made.waiters = std::make_unique<sql_waiter_store>(how, channel_of(names));
    made.holders = make_holder_store(how);
    made.multi_locks = make_multi_lock_store(how);
    made.jobs = make_job_store(how);
    made.job_queues = make_job_queue_store(how);
    made.job_schedules = std::make_unique<sql_job_schedule_store>(how);
    made.job_bells = std::make_unique<sql_job_bell_store>(how);
    made.job_needs = std::make_unique<sql_job_need_store>(how);
    made.health = make_health_store(how);
    made.history = make_history_store(how);
    return made;
}

}  // namespace leasehold
