#include "claims/sql_claim_text.hpp"

#include <algorithm>
#include <utility>

#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

std::string_view sign_of(comparison is) {
    switch (is) {
        case comparison::equal:
            return " = ";
        case comparison::not_equal:
            return " <> ";
        case comparison::less:
            return " < ";
        case comparison::at_most:
        case comparison::is_due:
            return " <= ";
        case comparison::greater:
            return " > ";
        case comparison::at_least:
            return " >= ";
        case comparison::is_null:
            return " IS NULL";
        case comparison::is_not_null:
            return " IS NOT NULL";
    }
    return " = ";
}

}  // namespace

// ---------------------------------------------------------------------------- parts

claim_statement& claim_statement::name(const std::string& identifier, std::string_view prefix) {
    text_ += prefix;
    text_ += quoted_identifier(identifier, words_.quote);
    return *this;
}

claim_statement& claim_statement::table(const qualified_name& named) {
    if (!named.schema.empty()) name(named.schema, "").sql(".");
    return name(named.name, "");
}

std::string claim_statement::place() const {
    return words_.has_numbered_places ? "$" + std::to_string(values_.size()) : "?";
}

std::string claim_statement::add(value each) {
    values_.push_back(std::move(each));
    return place();
}

claim_statement& claim_statement::put(const value& each) {
    return sql(add(each));
}

claim_statement& claim_statement::as_t(const qualified_name& named, const std::string& index) {
    table(named).sql(" AS t");
    if (words_.forces_indexes && !index.empty()) {
        sql(" FORCE INDEX (").name(index, "").sql(")");
    }
    return *this;
}
claim_statement& claim_statement::from(const qualified_name& named, const std::string& index) {
    return sql(" FROM ").as_t(named, index);
}
claim_statement& claim_statement::update(const qualified_name& named, const std::string& index) {
    return sql("UPDATE ").as_t(named, index);
}

claim_statement& claim_statement::key_is(
    const std::vector<std::string>& key, const parameters& values
) {
    for (std::size_t at = 0; at < key.size(); ++at) {
        sql(at == 0 ? "" : " AND ").name(key[at]).sql(" = ").put(values[at]);
    }
    return *this;
}

claim_statement& claim_statement::key_as(const std::vector<std::string>& key) {
    for (std::size_t at = 0; at < key.size(); ++at) {
        sql(at == 0 ? "" : ", ").name(key[at]).sql(" AS k" + std::to_string(at));
    }
    return *this;
}

claim_statement& claim_statement::key_is_mine(const std::vector<std::string>& key) {
    for (std::size_t at = 0; at < key.size(); ++at) {
        sql(at == 0 ? "" : " AND ").name(key[at]).sql(" = mine.k" + std::to_string(at));
    }
    return *this;
}

claim_statement& claim_statement::all_of(
    const std::vector<condition>& conditions, time_kind times
) {
    if (conditions.empty()) return sql("1 = 1");
    bool is_first = true;
    for (const condition& each : conditions) {
        sql(is_first ? "" : " AND ");
        is_first = false;
        if (each.is == comparison::is_due) {
            is_past(each.column, times);
            continue;
        }
        name(each.column).sql(sign_of(each.is));
        if (each.is != comparison::is_null && each.is != comparison::is_not_null) put(each.than);
    }
    return *this;
}

claim_statement& claim_statement::ordered(const std::vector<order_by>& by) {
    for (std::size_t at = 0; at < by.size(); ++at) {
        sql(at == 0 ? " ORDER BY " : ", ").name(by[at].column);
        if (by[at].is_descending) sql(" DESC");
    }
    return *this;
}

claim_statement& claim_statement::fresh(const versioned_mapping& mapping) {
    if (!mapping.state.column.empty()) {
        return name(mapping.state.column).sql(" = ").put(mapping.state.from);
    }
    return name(mapping.claimed_by.empty() ? mapping.expires_at : mapping.claimed_by)
        .sql(" IS NULL");
}

claim_statement& claim_statement::late(const versioned_mapping& mapping) {
    if (!mapping.state.column.empty()) {
        name(mapping.state.column).sql(" = ").put(mapping.state.to).sql(" AND ");
    } else if (!mapping.claimed_by.empty()) {
        name(mapping.claimed_by).sql(" IS NOT NULL AND ");  // or it is fresh, and found twice
    }
    return is_past(mapping.expires_at, mapping.times);
}

claim_statement& claim_statement::is_past(const std::string& column, time_kind times) {
    if (words_.began != nullptr) name(column).sql(" <= ").sql(words_.began(times)).sql(" AND ");
    return name(column).sql(" <= ").sql(words_.now(times));
}

claim_statement& claim_statement::open(const versioned_mapping& mapping) {
    sql("(").fresh(mapping);
    if (!mapping.expires_at.empty()) sql(" OR ").late(mapping);
    return sql(")");
}

claim_statement& claim_statement::available(const versioned_mapping& mapping) {
    return open(mapping).sql(" AND ").all_of(mapping.available, mapping.times);
}

claim_statement& claim_statement::is_row(const versioned_mapping& mapping, const row_places& at) {
    for (std::size_t part = 0; part < mapping.key.size(); ++part) {
        name(mapping.key[part]).sql(" = ").sql(at.key[part]).sql(" AND ");
    }
    name(mapping.version).sql(" = ").sql(at.version);
    return at.claimed_as.empty() ? *this : sql(" AND ").is_claimed_as(mapping, at.claimed_as);
}

// Compares the claimant, too: the version of a claim whose transaction did not commit may be that
// of another claim. Compares it by each letter, since a collation may take two names for one.
claim_statement& claim_statement::is_claimed_as(
    const versioned_mapping& mapping, const std::string& place
) {
    const std::string who = "t." + quoted_identifier(mapping.claimed_by, words_.quote);
    return sql(words_.is_exactly(who, place));
}

claim_statement& claim_statement::within_term(const versioned_mapping& mapping, bool is_claimed) {
    if (!is_claimed || mapping.expires_at.empty()) return *this;
    sql(" AND (").name(mapping.expires_at).sql(" IS NULL OR ").name(mapping.expires_at);
    return sql(" > ").sql(words_.now(mapping.times)).sql(")");
}

claim_statement& claim_statement::still_is(
    const versioned_mapping& mapping, const versioned_row& at
) {
    row_places places;
    for (const value& each : at.key) places.key.push_back(add(each));
    places.version = add(at.version);
    const bool is_compared = !mapping.claimed_by.empty() && !at.claimed_as.empty();
    if (is_compared) places.claimed_as = add(at.claimed_as);
    return is_row(mapping, places).within_term(mapping, at.is_claimed);
}

claim_statement& claim_statement::key_is_any(
    const std::vector<std::string>& key, std::span<const versioned_row> rows
) {
    if (key.size() == 1) name(key[0]).sql(" IN ");
    bool is_first = true;
    for (const versioned_row& each : rows) {
        if (key.size() == 1) {
            sql(is_first ? "(" : ", ").put(each.key[0]);
        } else {
            sql(is_first ? "(" : " OR ").key_is(key, each.key);
        }
        is_first = false;
    }
    return sql(")");
}

// One list if one claim has all rows, and otherwise a test for each row.
claim_statement& claim_statement::is_any_of(
    const versioned_mapping& mapping, std::span<const versioned_row> rows
) {
    const bool is_compared = !mapping.claimed_by.empty() && !rows[0].claimed_as.empty();
    const bool is_of_one = std::all_of(rows.begin(), rows.end(), [&](const versioned_row& each) {
        return !is_compared || each.claimed_as == rows[0].claimed_as;
    });
    if (!is_of_one) {
        for (const versioned_row& each : rows) {
            sql(&each == rows.data() ? "((" : ") OR (");
            row_places places;
            for (const value& part : each.key) places.key.push_back(add(part));
            places.version = add(each.version);
            places.claimed_as = add(each.claimed_as);
            is_row(mapping, places);
        }
        return sql("))");
    }
    sql("(");
    for (const std::string& each : mapping.key) name(each).sql(", ");
    name(mapping.version).sql(") IN ");
    for (const versioned_row& each : rows) {
        sql(&each == rows.data() ? "((" : ", (");
        for (const value& part : each.key) put(part).sql(", ");
        put(each.version).sql(")");
    }
    sql(")");
    return is_compared ? sql(" AND ").is_claimed_as(mapping, add(rows[0].claimed_as)) : *this;
}

claim_statement& claim_statement::set(const std::string& column) {
    return sql(", ").name(column, words_.set_prefix).sql(" = ");
}

claim_statement& claim_statement::set_claimed(
    const versioned_mapping& mapping, const std::string& claimed_as
) {
    name(mapping.version, words_.set_prefix).sql(" = ").name(mapping.version).sql(" + 1");
    if (!mapping.state.column.empty()) set(mapping.state.column).put(mapping.state.to);
    if (!mapping.claimed_by.empty()) set(mapping.claimed_by).put(claimed_as);
    if (!mapping.claimed_at.empty()) set(mapping.claimed_at).sql(words_.now(mapping.times));
    if (!mapping.expires_at.empty()) {
        const std::string term = add(std::int64_t{mapping.term.value().count()});
        set(mapping.expires_at).sql(words_.later(mapping.times, term));
    }
    return *this;
}

claim_statement& claim_statement::set_changed(const change_request& wanted, bool is_claimed) {
    const versioned_mapping& mapping = wanted.mapping;
    name(mapping.version, words_.set_prefix).sql(" = ").name(mapping.version).sql(" + 1");
    const bool has_state = !mapping.state.column.empty();
    if (wanted.what == claim_change::finish && has_state && !mapping.state.done.is_null()) {
        set(mapping.state.column).put(mapping.state.done);
    }
    if (wanted.what == claim_change::release) {
        if (has_state) set(mapping.state.column).put(mapping.state.from);
        if (!mapping.claimed_by.empty()) set(mapping.claimed_by).sql("NULL");
        if (!mapping.claimed_at.empty()) set(mapping.claimed_at).sql("NULL");
    }
    if (!mapping.expires_at.empty() && is_claimed) {
        if (wanted.what == claim_change::update) {
            const std::string term = add(std::int64_t{mapping.term.value().count()});
            set(mapping.expires_at).sql(words_.later(mapping.times, term));
        } else {
            set(mapping.expires_at).sql("NULL");
        }
    }
    for (const assignment& each : wanted.to) {
        set(each.column);
        each.to.is_null() ? sql("NULL") : put(each.to);
    }
    return *this;
}

}  // namespace leasehold
