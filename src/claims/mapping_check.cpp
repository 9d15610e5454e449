#include "claims/mapping_check.hpp"

#include <algorithm>

#include "claims/value_check.hpp"
#include "core/known_value.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
    return text;
}

class judgement {
public:
    judgement(
        const table_need& need LEASEHOLD_LIFETIMEBOUND,
        const table_shape& found LEASEHOLD_LIFETIMEBOUND,
        const table_store& dialect
    )
        : need_(need), found_(found), dialect_(dialect) {}

    mapping_verdict pass() {
        const bool may_be_elsewhere = found_.has_several_writers && !need_.one_node_is_written_to;
        if (found_.columns.empty()) {
            add_problem("it does not exist where this connection looks for it");
        } else if (!found_.unfit.empty()) {
            add_problem(found_.unfit);
        } else if (need_.only_locks && may_be_elsewhere) {
            add_problem(
                "this server is a node of a cluster with several that take writes, and a row lock "
                "is known to one of them alone: claim by a version column (versioned_claim), or "
                "set one_node_is_written_to where all programs write to the same node"
            );
        } else {
            if (need_.has_no_claimant) {
                warn(
                    "no column says who has claimed a row, so that a row kept from a transaction "
                    "that was rolled back can change or release somebody else's claim: add a text "
                    "column and name it as claimed_by"
                );
            }
            require_single_roles();
            for (const column_need& each : need_.columns) look_at(each);
            look_at_rights();
            if (verdict_.problem.empty()) require_unique_key();
            if (verdict_.problem.empty()) find_index();
            if (verdict_.problem.empty()) find_late_index();
        }
        if (!verdict_.problem.empty()) {
            verdict_.problem =
                "rows of table " + need_.table.name + " cannot be claimed: " + verdict_.problem;
        }
        return std::move(verdict_);
    }

private:
    void add_problem(const std::string& clause) {
        verdict_.problem += (verdict_.problem.empty() ? "" : "; ") + clause;
    }
    void warn(const std::string& clause) {
        verdict_.warnings.push_back("table " + need_.table.name + ": " + clause);
    }

    // Names the first missing right. Rights are usually granted on tables, and sometimes on
    // columns.
    void look_at_rights() {
        if (!found_.may_be_reached) verdict_.read_denied = "the right of USAGE on its schema";
        for (const column_need& each : need_.columns) {
            const column_shape* const column = find(each.name);
            if (column == nullptr) continue;
            if (each.is_read && !column->may_be_read && verdict_.read_denied.empty()) {
                verdict_.read_denied = "the right to SELECT column " + each.name;
            }
            if (each.is_changed && !column->may_be_changed && verdict_.change_denied.empty()) {
                verdict_.change_denied = "the right to UPDATE column " + each.name;
            }
        }
        if (!found_.may_be_locked) {
            verdict_.change_denied = "the right to UPDATE it, without which it can lock none";
        }
    }

    const column_shape* find(const std::string& name) const {
        return find_column(dialect_, found_.columns, name);
    }

    // A claim changes each of its columns once, and never the key it finds the row by.
    void require_single_roles() {
        const auto& all = need_.columns;
        for (std::size_t later = 0; later < all.size(); ++later) {
            for (std::size_t at = 0; at < later; ++at) {
                const bool both_key = at < need_.key.size() && later < need_.key.size();
                const bool both_changed = all[at].is_changed && all[later].is_changed;
                const bool is_key_changed = at < need_.key.size() && all[later].is_changed;
                if (!both_key && !both_changed && !is_key_changed) continue;
                if (!dialect_.is_same_column(all[at].name, all[later].name)) continue;
                add_problem(
                    "column " + all[later].name + " is named twice, as " + all[at].role + " and " +
                    all[later].role + ", and a claim cannot make both of it"
                );
            }
        }
    }

    void look_at(const column_need& wanted) {
        const column_shape* const column = find(wanted.name);
        const std::string what = "column " + wanted.name + " (" + wanted.role + ")";
        if (column == nullptr) {
            const auto cure = [&]() -> std::string {
                if (!wanted.made_as) return "";
                column_change made{column_wish::add, {}, wanted.not_null_default};
                made.column.name = wanted.name;
                made.column.kind = *wanted.made_as;
                return ": " + dialect_.change_column_text(need_.table, made);
            };
            add_problem("it has no " + what + cure());
            return;
        }
        const auto& may_be = wanted.may_be;
        if (!may_be.empty() && std::ranges::find(may_be, column->kind) == may_be.end()) {
            add_problem(what + " is " + column->type + " and must be " + name_of(may_be.front()));
            return;
        }
        if (wanted.null_is_trouble && column->is_nullable) {
            warn(what + " may be null, and such rows are never claimed: make it NOT NULL");
        }
        if (wanted.needs_order && !column->is_comparable) {
            add_problem(what + " is " + column->type + ", which has no order");
        }
        const bool is_by_the_clock = !may_be.empty() && column->kind == column_kind::instant;
        if (is_by_the_clock && found_.has_daylight_saving && !has_warned_of_zone_) {
            has_warned_of_zone_ = true;
            warn(
                what +
                " is read and written in the session's time zone, which has daylight saving: "
                "terms are an hour off where it is changed; use a session in UTC, or times that "
                "are utc or microseconds"
            );
        }
        if (wanted.is_changed) require_changeable(wanted, *column, what);
        if (wanted.counts_up) require_width(*column, what);
        if (wanted.term) require_fineness(wanted, *column, what);
        for (const value& each : wanted.compared)
            require_fit(*column, each, value_use::compared, what);
        for (const value& each : wanted.stored) require_fit(*column, each, value_use::stored, what);
        if (need_.only_locks && column->is_partition_key && !wanted.compared.empty()) {
            warn(
                what +
                " is what the table is partitioned by: where somebody changes it, so that a "
                "row moves, whoever is claiming that row is aborted (40001)"
            );
        }
    }

    void require_fit(
        const column_shape& column, const value& given, value_use use, const std::string& what
    ) {
        const std::string clause = misfit(column, given, use);
        if (!clause.empty()) add_problem(what + " " + clause);
    }

    void require_changeable(
        const column_need& wanted, const column_shape& column, const std::string& what
    ) {
        if (column.is_generated) {
            add_problem(what + " is written by the database alone, and a claim must change it");
        }
        if (column.is_partition_key) {
            add_problem(
                what +
                " is what the table is partitioned by: a claim would move the row, which "
                "aborts the transactions of others who meet it"
            );
        }
        if (wanted.is_emptied && !column.is_nullable) {
            add_problem(
                what + " is NOT NULL, and becomes null when a claim ends" +
                cured(column_wish::allow_null, column)
            );
        }
    }

    void require_width(const column_shape& column, const std::string& what) {
        constexpr int bits_refused = 16;
        constexpr int bits_scarce = 32;
        if (column.bits > bits_scarce) return;
        const std::string clause = what + " is " + column.type +
                                   ", and each claim and each change adds one to it" +
                                   cured(column_wish::widen, column);
        column.bits <= bits_refused ? add_problem(clause) : warn(clause);
    }

    // The column rounds to its last digit: up to half of it is gained or lost.
    void require_fineness(
        const column_need& wanted, const column_shape& column, const std::string& what
    ) {
        constexpr int digits_fine = 3;
        const bool has_digits =
            column.kind == column_kind::instant || column.kind == column_kind::utc;
        if (!has_digits || column.fraction_digits >= digits_fine) return;
        std::chrono::microseconds step = std::chrono::seconds{1};
        for (int digit = 0; digit < column.fraction_digits; ++digit) step /= 10;
        const std::string clause = what + " is " + column.type +
                                   ", so that terms are rounded to its last digit" +
                                   cured(column_wish::widen, column);
        *wanted.term < 2 * step ? add_problem(clause + "; or make the term longer") : warn(clause);
    }

    // The statement that cures it, if there is one.
    std::string cured(column_wish wish, const column_shape& column) const {
        const std::string statement =
            dialect_.change_column_text(need_.table, {wish, column, std::nullopt});
        return statement.empty() ? ", and here only a new table can change that" : ": " + statement;
    }

    bool is_one_of(const std::string& column, const std::vector<std::string>& names) const {
        return std::ranges::any_of(names, [&](const std::string& each) {
            return dialect_.is_same_column(each, column);
        });
    }

    // An index that makes the key name one row, at every moment.
    void require_unique_key() {
        std::string nearly;
        for (const index_shape& index : found_.indexes) {
            if (!index.is_unique || index.is_partial) continue;
            const auto end = index.parts.begin() + static_cast<std::ptrdiff_t>(index.own_parts);
            const bool is_within = std::all_of(index.parts.begin(), end, [&](const auto& part) {
                return is_one_of(part.column, need_.key);
            });
            if (!is_within) continue;
            if (!index.is_deferrable && !index.is_finer) {
                require_no_null_keys(index);
                if (!index.is_ignored) verdict_.key_index = index.name;
                return;
            }
            nearly =
                " but by " + index.name +
                (index.is_finer ? ", which tells apart what a column of it takes for one value"
                                : ", which is DEFERRABLE and may be untrue within a transaction");
        }
        add_problem(
            "its key (" + list_of(need_.key) + ") is not unique by any index" + nearly +
            ", so it does not name one row"
        );
    }

    // Null is not equal to itself: such a row cannot be found again, and there may be several.
    void require_no_null_keys(const index_shape& index) {
        for (const std::string& each : need_.key) {
            const column_shape* const column = find(each);
            if (column == nullptr || !column->is_nullable) continue;
            const std::string clause =
                "column " + each + " (key) may be null, and such a row is no one's to claim";
            // SQLite allows nulls in a primary key, and tables are made so by habit.
            if (index.is_primary) {
                warn(clause + ": make it NOT NULL");
            } else {
                add_problem(clause + cured(column_wish::forbid_null, *column));
            }
        }
    }

    // The number of columns compared for equality that the index begins with; nullopt if its other
    // columns are not the wanted order, forwards or backwards.
    std::optional<std::size_t> service_of(const index_shape& index) const {
        std::size_t at = 0;
        if (index.is_ignored) return std::nullopt;
        while (at < index.parts.size() && !index.parts[at].is_prefix &&
               is_one_of(index.parts[at].column, need_.equal)) {
            ++at;
        }
        const std::size_t equal = at;
        std::optional<bool> is_backwards;
        for (const order_by& each : need_.order) {
            if (is_one_of(each.column, need_.equal)) continue;
            if (at == index.parts.size()) return std::nullopt;
            const index_shape::part& part = index.parts[at++];
            if (part.is_prefix || !dialect_.is_same_column(part.column, each.column)) {
                return std::nullopt;
            }
            const bool is_opposite = part.is_descending != each.is_descending;
            if (is_backwards.value_or(is_opposite) != is_opposite) return std::nullopt;
            is_backwards = is_opposite;
        }
        const bool narrows = equal > 0 || need_.equal.empty() || index.is_partial;
        return narrows ? std::optional{equal} : std::nullopt;
    }

    void find_index() {
        if (need_.order.empty() && need_.equal.empty()) return;
        std::optional<std::size_t> best;
        for (const index_shape& index : found_.indexes) {
            const auto equal = service_of(index);
            if (!equal || (best && *best >= *equal)) continue;
            best = equal;
            verdict_.index = index.name;
        }
        if (best) return;
        std::vector<order_by> wanted;
        for (const std::string& each : need_.equal) wanted.emplace_back(each);
        for (const order_by& each : need_.order) {
            if (!is_one_of(each.column, need_.equal)) wanted.push_back(each);
        }
        warn(
            "no index serves a claim of several, which " + need_.without_index + ": " +
            dialect_.add_index_text(need_.table, wanted, "_claim")
        );
    }

    bool begins_with(const index_shape& index, std::vector<std::string>::const_iterator first)
        const {
        const auto size = static_cast<std::size_t>(need_.late.end() - first);
        if (index.is_ignored || index.parts.size() < size) return false;
        return std::equal(
            first,
            need_.late.end(),
            index.parts.begin(),
            [&](const std::string& column, const index_shape::part& part) {
                return !part.is_prefix && dialect_.is_same_column(part.column, column);
            }
        );
    }

    // An index on the order alone does not find late rows: the query would read all claimed rows
    // each time. So this looks for an index on the terms.
    void find_late_index() {
        if (need_.order.empty() || need_.late.empty()) return;
        // The terms of unclaimed rows are null, so that the terms alone, which come last, will do.
        for (auto first = need_.late.begin(); first != need_.late.end(); ++first) {
            const auto found = std::ranges::find_if(found_.indexes, [&](const index_shape& index) {
                return begins_with(index, first);
            });
            if (found == found_.indexes.end()) continue;
            verdict_.late_index = found->name;
            return;
        }
        const std::vector<order_by> wanted(need_.late.begin(), need_.late.end());
        warn(
            std::string("no index serves the look for claims past their term, which reads every "
                        "claimed row each time") +
            (need_.keeps_finished ? ", and every finished one, since `done` is null: " : ": ") +
            dialect_.add_index_text(need_.table, wanted, "_claim_late")
        );
    }

    const table_need& need_;
    const table_shape& found_;
    const table_store& dialect_;
    mapping_verdict verdict_;
    bool has_warned_of_zone_ = false;
};

}  // namespace

const column_shape* find_column(
    const table_store& dialect, const std::vector<column_shape>& columns, const std::string& name
) {
    const auto found = std::ranges::find_if(columns, [&](const column_shape& each) {
        return dialect.is_same_column(each.name, name);
    });
    return found == columns.end() ? nullptr : &*found;
}

mapping_verdict judge(
    const table_need& need, const table_shape& found, const table_store& dialect
) {
    return judgement{need, found, dialect}.pass();
}

void require_name(const std::string& name, const char* role) {
    if (!name.empty() && name.find('\0') == std::string::npos) return;
    throw error(
        errc::invalid_argument,
        std::string("a mapping needs a name for its ") + role + ", without a zero byte"
    );
}

void require_table(const qualified_name& table, const std::vector<std::string>& key) {
    require_name(table.name, "table");
    if (!table.schema.empty()) require_name(table.schema, "schema");
    if (key.empty()) {
        throw error(
            errc::invalid_argument, "a mapping of table " + table.name + " needs the key's columns"
        );
    }
    for (const std::string& each : key) require_name(each, "key");
}

void require_conditions(const std::vector<condition>& conditions) {
    for (const condition& each : conditions) {
        require_name(each.column, "condition");
        require_known(each.is, comparison::is_due, "comparison");
        const bool takes_value = each.is != comparison::is_null &&
                                 each.is != comparison::is_not_null &&
                                 each.is != comparison::is_due;
        if (takes_value == each.than.is_null()) {
            throw error(
                errc::invalid_argument,
                "the condition on column " + each.column +
                    (takes_value ? " compares with null, which nothing ever equals: use is_null"
                                 : " takes no value")
            );
        }
    }
}

std::vector<value> told_apart_by(const condition& each) {
    const bool is_one_value = each.is == comparison::equal || each.is == comparison::not_equal;
    return is_one_value ? std::vector<value>{each.than} : std::vector<value>{};
}

std::vector<column_kind> kinds_of(time_kind times, engine which) {
    if (times == time_kind::microseconds) return {column_kind::integer};
    if (which == engine::sqlite) return {column_kind::text, column_kind::any};
    return {times == time_kind::instant ? column_kind::instant : column_kind::utc};
}

}  // namespace leasehold
