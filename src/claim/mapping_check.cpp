#include "claim/mapping_check.hpp"

#include <algorithm>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

const char* name_of(column_kind kind) {
    switch (kind) {
        case column_kind::integer:
            return "an integer";
        case column_kind::number:
            return "a number";
        case column_kind::text:
            return "text";
        case column_kind::bytes:
            return "bytes";
        case column_kind::instant:
            return "a time with a zone";
        case column_kind::utc:
            return "a time without a zone";
        case column_kind::other:
            break;
    }
    return "of another type";
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
    return text;
}

class judgement {
public:
    judgement(const table_need& need, const table_shape& found, const claim_store& dialect)
        : need_(need), found_(found), dialect_(dialect) {}

    mapping_verdict pass() {
        if (found_.columns.empty()) {
            add_problem("it does not exist where this connection looks for it");
        } else if (!found_.unfit.empty()) {
            add_problem(found_.unfit);
        } else {
            for (const column_need& each : need_.columns) look_at(each);
            if (verdict_.problem.empty()) require_unique_key();
            if (verdict_.problem.empty()) find_index();
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

    void look_at(const column_need& wanted) {
        const auto column = std::find_if(
            found_.columns.begin(),
            found_.columns.end(),
            [&](const column_shape& each) {
                return dialect_.is_same_column(each.name, wanted.name);
            }
        );
        const std::string what = "column " + wanted.name + " (" + wanted.role + ")";
        if (column == found_.columns.end()) {
            const auto cure = [&]() -> std::string {
                if (!wanted.made_as) return "";
                return ": " + dialect_.add_column_text(
                                  need_.table, wanted.name, *wanted.made_as, wanted.not_null_default
                              );
            };
            add_problem("it has no " + what + cure());
            return;
        }
        const auto& may_be = wanted.may_be;
        if (!may_be.empty() &&
            std::find(may_be.begin(), may_be.end(), column->kind) == may_be.end()) {
            add_problem(what + " is " + column->type + " and must be " + name_of(may_be.front()));
        }
        if (wanted.null_is_trouble && column->is_nullable) {
            warn(what + " may be null, and such rows are never claimed: make it NOT NULL");
        }
    }

    bool is_one_of(const std::string& column, const std::vector<std::string>& names) const {
        return std::any_of(names.begin(), names.end(), [&](const std::string& each) {
            return dialect_.is_same_column(each, column);
        });
    }

    void require_unique_key() {
        for (const index_shape& index : found_.indexes) {
            if (!index.is_unique || index.is_partial) continue;
            const auto end = index.parts.begin() + static_cast<std::ptrdiff_t>(index.own_parts);
            const bool is_within = std::all_of(index.parts.begin(), end, [&](const auto& part) {
                return is_one_of(part.column, need_.key);
            });
            if (is_within) return;
        }
        add_problem(
            "its key (" + list_of(need_.key) +
            ") is not unique by any index, so it does not name one row"
        );
    }

    // How many columns compared for equality the index begins with; nothing where the rest of it
    // is not the wanted order, forwards or backwards.
    std::optional<std::size_t> service_of(const index_shape& index) const {
        std::size_t at = 0;
        while (at < index.parts.size() && is_one_of(index.parts[at].column, need_.equal)) ++at;
        const std::size_t equal = at;
        std::optional<bool> is_backwards;
        for (const order_by& each : need_.order) {
            if (is_one_of(each.column, need_.equal)) continue;
            if (at == index.parts.size()) return std::nullopt;
            const index_shape::part& part = index.parts[at++];
            if (!dialect_.is_same_column(part.column, each.column)) return std::nullopt;
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
            dialect_.add_index_text(need_.table, wanted)
        );
    }

    const table_need& need_;
    const table_shape& found_;
    const claim_store& dialect_;
    mapping_verdict verdict_;
};

}  // namespace

mapping_verdict judge(
    const table_need& need, const table_shape& found, const claim_store& dialect
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

std::vector<column_kind> kinds_of(time_kind times, engine which) {
    if (times == time_kind::microseconds) return {column_kind::integer};
    if (which == engine::sqlite) return {column_kind::text, column_kind::other};
    return {times == time_kind::instant ? column_kind::instant : column_kind::utc};
}

column_kind kind_of(const value& each) {
    if (std::holds_alternative<std::int64_t>(each.held())) return column_kind::integer;
    if (std::holds_alternative<double>(each.held())) return column_kind::number;
    if (std::holds_alternative<blob>(each.held())) return column_kind::bytes;
    return column_kind::text;
}

bool fits(const value& given, column_kind into) {
    if (given.is_null()) return true;
    const column_kind kind = kind_of(given);
    switch (into) {
        case column_kind::integer:
        case column_kind::number: {
            if (kind != column_kind::text) return kind != column_kind::bytes;
            // Digits, as they are read from a column of numbers.
            const std::string& text = given.text();
            const bool is_exact = into == column_kind::integer;
            return !text.empty() &&
                   text.find_first_not_of(is_exact ? "-0123456789" : "+-.eE0123456789") ==
                       std::string::npos;
        }
        case column_kind::bytes:
            return kind == column_kind::bytes;
        case column_kind::text:
        case column_kind::instant:
        case column_kind::utc:
            return kind == column_kind::text;
        case column_kind::other:
            break;
    }
    return kind == column_kind::text || kind == column_kind::integer;
}

}  // namespace leasehold
