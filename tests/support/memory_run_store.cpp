// The model's records of run-once tasks.
#include <algorithm>
#include <utility>

#include "runs/run_store.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

schedule::instant wall(instant when) {
    return schedule::instant{when};
}

run_info info_of(const memory_tables& tables, const std::string& name, const run_row& row) {
    run_info info;
    info.name = name;
    info.tick = row.tick;
    info.schedule_text = row.schedule_text;
    info.token = {row.token};
    info.owner = row.owner;
    info.node_info = row.node_info;
    info.started_ago = tables.now - row.started_at;
    info.closed_for = std::max(microseconds{0}, row.opens_at - tables.now);
    if (row.finished_at) {
        info.took = *row.finished_at - row.started_at;
        info.state = row.result.has_succeeded ? run_state::succeeded : run_state::failed;
        info.exit_status = row.result.exit_status;
        info.message = row.result.message;
        return info;
    }
    const auto lock = tables.locks.find(name);
    const bool is_held = lock != tables.locks.end() && lock->second.owner == row.owner &&
                         lock->second.fence == row.token && is_live_hold(tables, lock->second);
    info.state = is_held ? run_state::running : run_state::abandoned;
    return info;
}

bool may_claim(const memory_tables& tables, const run_row& row, const run_claim& wanted) {
    const bool is_newer = row.tick < wanted.tick;
    const bool is_unfinished = row.tick == wanted.tick && !row.finished_at;
    return row.token < wanted.token.number && row.opens_at <= tables.now &&
           (is_newer || (is_unfinished && wanted.may_repeat));
}

class memory_run_store final : public run_store {
public:
    explicit memory_run_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    run_look look(connection& on, const key& name) override {
        const auto attempt = [name](memory_tables& tables, const connection&) {
            run_look seen{wall(tables.now), std::nullopt};
            const auto found = tables.runs.find(name.name());
            if (found != tables.runs.end()) {
                seen.last = info_of(tables, name.name(), found->second);
            }
            return std::optional{seen};
        };
        return server_->ask<run_look>(on, "look", attempt);
    }

    bool claim(connection& on, const run_claim& wanted) override {
        const auto attempt = [wanted](memory_tables& tables, const connection&) {
            const auto found = tables.runs.find(wanted.name.name());
            if (found != tables.runs.end()) {
                const run_row& row = found->second;
                const bool is_ours = row.token == wanted.token.number && row.owner == wanted.owner;
                if (is_ours) return std::optional{true};
                if (!may_claim(tables, row, wanted)) return std::optional{false};
            }
            run_row& row = tables.runs[wanted.name.name()];
            row = run_row{};
            row.tick = wanted.tick;
            row.schedule_text = wanted.schedule_text;
            row.token = wanted.token.number;
            row.owner = wanted.owner;
            row.node_info = wanted.node_info;
            row.started_at = tables.now;
            row.opens_at = tables.now + wanted.hold_at_least;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "claim", attempt);
    }

    bool finish(connection& on, const run_finish& what) override {
        const bool is_inside = on.state() == connection_state::in_transaction;
        const auto attempt = [what, is_inside](memory_tables& tables, const connection& from) {
            const auto found = tables.runs.find(what.name.name());
            if (found == tables.runs.end()) return std::optional{false};
            run_row& row = found->second;
            if (row.token != what.token.number || row.owner != what.owner) {
                return std::optional{false};
            }
            if (is_inside) {
                // Nobody else sees it, or can take the key from the prover, until this ends.
                row.ending = {&from, tables.now, what.result};
                return std::optional{true};
            }
            row.finished_at = tables.now;
            row.result = what.result;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "finish", attempt);
    }

    std::vector<run_look> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const auto attempt = [prefix = std::string(prefix),
                              after = std::string(after),
                              limit](memory_tables& tables, const connection&) {
            std::vector<run_look> found;
            for (const auto& [name, row] : tables.runs) {
                if (static_cast<int>(found.size()) == limit) break;
                if (name <= after || !name.starts_with(prefix)) continue;
                found.push_back({wall(tables.now), info_of(tables, name, row)});
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<run_look>>(on, "list_runs", attempt);
    }

    bool forget(connection& on, const key& name) override {
        const auto attempt = [name](memory_tables& tables, const connection&) {
            const auto removed = tables.runs.erase(name.name());
            tables.writes += static_cast<std::int64_t>(removed);
            return std::optional{removed > 0};
        };
        return server_->ask<bool>(on, "forget_run", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<run_store> make_memory_run_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_run_store>(std::move(of));
}

}  // namespace leasehold::testing
