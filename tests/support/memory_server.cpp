#include "support/memory_server.hpp"

#include <algorithm>
#include <utility>

#include "core/timed_wait.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

memory_server::memory_server() {
    tables_.migrations.emplace({migration_record{1, "model", "0", true}});
}

std::unique_ptr<connection> memory_server::connect() {
    return std::make_unique<memory_connection>(shared_from_this());
}

instant memory_server::now() const {
    const auto local = local_clock::now().time_since_epoch();
    return std::chrono::duration_cast<instant>(local) + advanced_;
}

void memory_server::advance(std::chrono::microseconds by) {
    const std::lock_guard guard{mutex_};
    advanced_ += by;
    changed_.notify_all();
}

bool memory_server::wait_until(
    const std::function<bool(const memory_tables&)>& holds, std::chrono::milliseconds timeout
) {
    const auto does_hold = [&] {
        const std::lock_guard guard{mutex_};
        tables_.now = now();
        return holds(tables_);
    };
    return eventually(does_hold, timeout);
}

std::int64_t memory_server::post(request what) {
    const std::lock_guard guard{mutex_};
    posted_.emplace(++last_posted_, std::move(what));
    return last_posted_;
}

void memory_server::carry_out(
    std::int64_t number, const connection& from, std::chrono::milliseconds limit
) {
    std::unique_lock guard{mutex_};
    const auto found = posted_.extract(number);
    if (found.empty()) throw error(errc::database_error, "the model has no such request");
    bool is_done = false;
    const auto does_it = [&] {
        tables_.now = now();
        if (!is_done) is_done = found.mapped()(tables_, from);
        return is_done;
    };
    const auto deadline = local_clock::now() + limit;
    if (!leasehold::wait_until(guard, changed_, {}, deadline, does_it)) {
        throw error(errc::transient, "lock wait: another transaction holds the row; try again");
    }
    changed_.notify_all();
}

void memory_server::end_transaction(const connection& whose, bool commit) {
    const std::lock_guard guard{mutex_};
    for (auto& [name, row] : tables_.locks) {
        row.provers.erase(&whose);
        if (row.moving.writer != &whose) continue;
        if (commit) {
            row.owner = row.moving.to;
            ++tables_.writes;
        }
        row.moving = {};
    }
    for (auto& [place, row] : tables_.holders) row.provers.erase(&whose);
    for (auto& [name, row] : tables_.fences) {
        if (row.writer != &whose) continue;
        row.writer = nullptr;
        if (commit) row.fence = row.written;
    }
    if (tables_.counter_writer == &whose) {
        tables_.counter_writer = nullptr;
        if (commit) {
            tables_.counter = tables_.counter_written;
            ++tables_.writes;
        }
    }
    for (auto& [name, row] : tables_.runs) {
        if (row.ending.writer != &whose) continue;
        if (commit) {
            row.finished_at = row.ending.finished_at;
            row.result = row.ending.result;
            ++tables_.writes;
        }
        row.ending = {};
    }
    end_jobs_of(tables_, whose, commit);
    end_schedules_of(tables_, whose, commit);
    end_needs_of(tables_, whose, commit);
    if (tables_.migrator == &whose) tables_.migrator = nullptr;
    changed_.notify_all();
}

std::int64_t memory_server::read_counter(connection& on) {
    return ask<std::int64_t>(on, "read_counter", [](memory_tables& tables, const connection& from) {
        const bool is_own = tables.counter_writer == &from;
        return std::optional{is_own ? tables.counter_written : tables.counter};
    });
}

void memory_server::write_counter(connection& inside, std::int64_t number) {
    using answer = std::optional<bool>;
    ask<bool>(
        inside,
        "write_counter",
        [number](memory_tables& tables, const connection& from) -> answer {
            if (tables.counter_writer && tables.counter_writer != &from) return std::nullopt;
            tables.counter_writer = &from;
            tables.counter_written = number;
            return true;
        }
    );
}

// ------------------------------------------------------------------------------ the connection

result memory_connection::execute(std::string_view sql, const parameters& values) {
    if (sql == "SELECT 1") return {{row{{1}}}, 0};
    if (sql == "place") return {{row{{to_->place()}}}, 0};
    if (values.size() != 1) {
        throw error(errc::unsupported, "the model takes no SQL: " + std::string(sql));
    }
    to_->carry_out(values[0].integer(), *this, limit_);
    return {};
}

result memory_connection::execute_script(std::string_view sql, const parameters& values) {
    return execute(sql, values);
}

void memory_connection::require(connection_state wanted, const char* what) const {
    if (state_ == wanted) return;
    throw error(errc::wrong_transaction, std::string(what) + ": not in the right state for it");
}

void memory_connection::begin() {
    require(connection_state::idle, "begin");
    state_ = connection_state::in_transaction;
}

void memory_connection::commit() {
    require(connection_state::in_transaction, "commit");
    state_ = connection_state::idle;
    to_->end_transaction(*this, true);
}

void memory_connection::rollback() noexcept {
    if (state_ != connection_state::in_transaction) return;
    state_ = connection_state::idle;
    to_->end_transaction(*this, false);
}

}  // namespace leasehold::testing
