#include "leasehold/row_claim.hpp"

#include <algorithm>

#include "claims/claim_table.hpp"
#include "claims/value_check.hpp"
#include "core/jitter.hpp"
#include "core/known_value.hpp"
#include "core/timed_wait.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

row_mapping checked(row_mapping mapping) {
    require_table(mapping.table, mapping.key);
    require_conditions(mapping.where);
    require_known(mapping.strength, lock_strength::key_share, "lock_strength");
    require_known(mapping.times, time_kind::microseconds, "time_kind");
    return mapping;
}

table_need need_of(const row_mapping& mapping, engine which) {
    const bool is_for_postgres = mapping.strength == lock_strength::no_key_update ||
                                 mapping.strength == lock_strength::key_share;
    if (is_for_postgres && which != engine::postgres) {
        throw error(
            errc::unsupported,
            std::string(name_of(which)) + " has no locks of the key alone: use update or share"
        );
    }
    table_need need;
    need.table = mapping.table;
    need.key = mapping.key;
    need.order = mapping.order;
    need.only_locks = true;
    need.one_node_is_written_to = mapping.one_node_is_written_to;
    need.without_index = which == engine::mysql || which == engine::mariadb
                             ? "locks every row it sorts, so that others get nothing"
                             : "sorts, and may read, the whole table each time";
    for (const std::string& each : mapping.key) {
        need.columns.push_back({.name = each, .role = "key"});
    }
    for (const std::string& each : mapping.columns) {
        need.columns.push_back({.name = each, .role = "column"});
    }
    for (const condition& each : mapping.where) {
        column_need wanted{.name = each.column, .role = "condition"};
        if (each.is == comparison::is_due) wanted.may_be = kinds_of(mapping.times, which);
        if (!each.than.is_null()) {
            wanted.made_as = kind_of(each.than);
            wanted.compared = {each.than};
        }
        wanted.told_apart = told_apart_by(each);
        need.columns.push_back(std::move(wanted));
        const bool is_one_value = each.is == comparison::equal || each.is == comparison::is_null;
        if (is_one_value && !mapping.order.empty()) need.equal.push_back(each.column);
    }
    for (const order_by& each : mapping.order) {
        need.columns.push_back({.name = each.column, .role = "order", .needs_order = true});
    }
    return need;
}

void require_limit(const when_locked& others) {
    if (others.timeout >= milliseconds{0} && others.timeout <= std::chrono::hours{1}) return;
    throw error(errc::invalid_argument, "the timeout of a wait must be 0 to 1 h");
}

}  // namespace

class row_claim::implementation {
public:
    explicit implementation(row_mapping mapping)
        : mapping_(checked(std::move(mapping))),
          column_names_(std::make_shared<column_names::element_type>(mapping_.columns)),
          table_([this](engine which) { return need_of(mapping_, which); }) {}

    const row_mapping& mapping() const noexcept { return mapping_; }
    claim_table& table() noexcept { return table_; }

    claimed_rows by_key(connection& inside, const parameters& key, when_locked others) {
        require_limit(others);
        return repeatedly(others, [&]() -> claimed_rows {
            const auto known = table_.enter_to_change(
                inside,
                "claim_in",
                claim_use::row_by_key,
                [&](const known_table& table) { require_key(table, mapping_.key, key); }
            );
            if (!known) return {busy, {}};
            row_request wanted{
                mapping_, mapping_.where, {as_sent(*known, mapping_.key, key)}, 1, ""};
            make_sendable(*known, wanted.where);
            return known->dialect->lock_by_key(inside, wanted);
        });
    }

    claimed_rows some(
        connection& inside, int n, when_locked others, const std::vector<condition>& and_where
    ) {
        require_limit(others);
        require_row_count(n);
        if (n > 1 && mapping_.order.empty()) {
            throw error(
                errc::invalid_argument,
                "the mapping of table " + mapping_.table.name +
                    ": a claim of more than one row needs an order"
            );
        }
        return repeatedly(others, [&]() -> claimed_rows {
            auto known = table_.enter_to_change(
                inside,
                "claim_some_in",
                claim_use::several_rows,
                [&](const known_table& table) { require_values(table, and_where, mapping_.times); }
            );
            if (!known) return {busy, {}};
            row_request wanted{mapping_, mapping_.where, {}, n, known->index};
            wanted.where.insert(wanted.where.end(), and_where.begin(), and_where.end());
            make_sendable(*known, wanted.where);
            return table_.with_index(inside, known, [&] {
                wanted.index = known->index;
                const bool skips = others.what == when_locked::rule::skip;
                return skips ? skipping(*known, inside, wanted)
                             : all_of_first(*known, inside, wanted);
            });
        });
    }

private:
    static constexpr claim_status busy = claim_status::busy;

    // Waits by asking again, with growing pauses. A wait inside the database would need a setting
    // for its limit, and would end by an error.
    template <class Try>
    claimed_rows repeatedly(when_locked others, Try&& once) const {
        const auto deadline = local_clock::now() + others.timeout;
        for (int refusals = 1;; ++refusals) {
            claimed_rows got = once();
            const auto now = local_clock::now();
            const bool waits = others.what == when_locked::rule::wait;
            if (got.status != busy || !waits || now >= deadline) {
                for (claimed_row& each : got.rows) each.columns.names = column_names_;
                return got;
            }
            const auto pause = backed_off(refusals, milliseconds{2}, milliseconds{50});
            pause_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
        }
    }

    static claimed_rows skipping(
        const known_table& known, connection& inside, const row_request& wanted
    ) {
        auto rows = known.dialect->lock(inside, wanted);
        require_at_most(rows, wanted.limit);
        const bool is_none = rows.empty();
        return {is_none ? claim_status::none : claim_status::claimed, std::move(rows)};
    }

    // A read without locks finds the first n; then those are locked by their keys, so that if one
    // is missing none of the rows behind it was touched.
    claimed_rows all_of_first(
        const known_table& known, connection& inside, const row_request& wanted
    ) const {
        const table_store& dialect = *known.dialect;
        std::vector<parameters> keys = dialect.look(inside, wanted);
        // A key with a null names no row.
        std::erase_if(keys, [](const parameters& key) {
            return std::ranges::any_of(key, &value::is_null);
        });
        if (keys.empty()) return {claim_status::none, {}};
        row_request those = wanted;
        for (const parameters& each : keys) {
            those.keys.push_back(as_sent(known, mapping_.key, each));
        }
        auto rows = dialect.lock(inside, those);
        require_at_most(rows, wanted.limit);
        if (rows.size() != those.keys.size()) return {busy, {}};
        in_order_of(keys, rows);
        return {claim_status::claimed, std::move(rows)};
    }

    static void in_order_of(const std::vector<parameters>& keys, std::vector<claimed_row>& rows) {
        std::ranges::sort(rows, {}, [&](const claimed_row& each) {
            return std::ranges::find(keys, each.key) - keys.begin();
        });
    }

    static void require_at_most(const std::vector<claimed_row>& rows, int limit) {
        if (rows.size() <= static_cast<std::size_t>(limit)) return;
        throw error(
            errc::database_error,
            "a claim of " + std::to_string(limit) + " rows locked " + std::to_string(rows.size()) +
                ": roll back, and report this with the plan of the statement"
        );
    }

    const row_mapping mapping_;
    const column_names column_names_;
    claim_table table_;
};

row_claim::row_claim(row_mapping mapping)
    : inner_(std::make_shared<implementation>(std::move(mapping))) {}

void row_claim::check(const database& db) const {
    inner_->table().check(db);
}
std::vector<std::string> row_claim::check_in(transaction_ref tx) const {
    return inner_->table().check(tx.inside());
}

claimed_rows row_claim::claim_in(transaction_ref tx, const parameters& key, when_locked others)
    const {
    return inner_->by_key(tx.inside(), key, others);
}
claimed_rows row_claim::claim_some_in(
    transaction_ref tx, int n, when_locked others, const std::vector<condition>& and_where
) const {
    return inner_->some(tx.inside(), n, others, and_where);
}

const row_mapping& row_claim::mapping() const& {
    return inner_->mapping();
}

}  // namespace leasehold
