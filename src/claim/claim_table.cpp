#include "claim/claim_table.hpp"

#include <algorithm>

#include "leasehold/error.hpp"
#include "session/database.hpp"

namespace leasehold {
namespace {

void require_transaction(connection& inside, std::string_view what) {
    const std::string name{what};
    switch (inside.state()) {
        case connection_state::in_transaction:
            return;
        case connection_state::idle:
            throw error(
                errc::wrong_transaction,
                name + " needs a transaction that is open: begin one, claim, write, commit"
            );
        case connection_state::failed:
            throw error(
                errc::wrong_transaction,
                name + " got a transaction that has failed: roll it back and begin another one"
            );
        case connection_state::lost:
            break;
    }
    throw error(errc::connection_lost, name + " got a connection that is lost: connect again");
}

const column_shape& column_of(const known_table& table, const std::string& name) {
    const auto found =
        std::find_if(table.columns.begin(), table.columns.end(), [&](const column_shape& each) {
            return table.dialect->is_same_column(each.name, name);
        });
    if (found != table.columns.end()) return *found;
    throw error(errc::invalid_argument, "the table has no column " + name);
}

void require_fit(const known_table& table, const std::string& name, const value& given) {
    const column_shape& column = column_of(table, name);
    if (!table.dialect->is_typed() || fits(given, column.kind)) return;
    throw error(
        errc::invalid_argument,
        "column " + name + " is " + column.type + ", which the value given for it is not"
    );
}

}  // namespace

std::shared_ptr<const known_table> claim_table::look(connection& inside) const {
    const auto found = std::make_shared<known_table>();
    found->engine = inside.server().engine;
    if (found->engine == engine::memory) {
        throw error(errc::unsupported, "the model database has no tables to claim from");
    }
    found->dialect = make_store(found->engine, {}).claims;
    const table_need need = need_on_(found->engine);
    const table_shape shape = found->dialect->look_up(inside, need.table);
    mapping_verdict verdict = judge(need, shape, *found->dialect);
    if (!verdict.problem.empty()) throw error(errc::schema_mismatch, verdict.problem);
    found->columns = shape.columns;
    found->index = verdict.index;
    found->warnings = std::move(verdict.warnings);
    return found;
}

std::vector<std::string> claim_table::check(connection& inside) {
    auto found = look(inside);
    const std::lock_guard guard{mutex_};
    known_ = found;
    return found->warnings;
}

void claim_table::check(const database& db) {
    const auto warnings =
        db.inner()->use_unchecked([&](connection& on, store&) { return check(on); });
    for (const std::string& each : warnings) db.inner()->tell({event_kind::warning, "", 0, each});
}

std::shared_ptr<const known_table> claim_table::enter(connection& inside, std::string_view what) {
    require_transaction(inside, what);
    {
        const std::lock_guard guard{mutex_};
        if (known_ && known_->engine != inside.server().engine) {
            throw error(
                errc::wrong_transaction,
                std::string(what) + " got a transaction of " +
                    std::string(name_of(inside.server().engine)) + " for a table on " +
                    std::string(name_of(known_->engine)) + "; one object, one database"
            );
        }
        if (known_) return known_;
    }
    check(inside);
    const std::lock_guard guard{mutex_};
    return known_;
}

void require_values(const known_table& table, const std::vector<condition>& conditions) {
    require_conditions(conditions);
    for (const condition& each : conditions) require_fit(table, each.column, each.than);
}

void require_values(const known_table& table, const assignments& to) {
    for (const assignment& each : to) require_fit(table, each.column, each.to);
}

void require_key(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
) {
    if (values.size() != key.size()) {
        throw error(
            errc::invalid_argument,
            "the key has " + std::to_string(key.size()) + " columns and " +
                std::to_string(values.size()) + " values were given"
        );
    }
    for (std::size_t at = 0; at < key.size(); ++at) {
        if (values[at].is_null()) {
            throw error(errc::invalid_argument, "column " + key[at] + " of a key is null");
        }
        require_fit(table, key[at], values[at]);
    }
}

}  // namespace leasehold
