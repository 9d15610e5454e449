#include "dialect/claim_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/hexadecimal.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

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

char lower(char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
}

// From `first` on: the key, the version, the columns.
versioned_row versioned_row_of(
    const row& from, std::size_t first, const versioned_mapping& mapping
) {
    versioned_row made;
    const auto begin = from.columns.begin() + static_cast<std::ptrdiff_t>(first);
    const auto version = begin + static_cast<std::ptrdiff_t>(mapping.key.size());
    made.key.assign(begin, version);
    made.version = version->is_null() ? 0 : version->integer();
    const auto end = version + 1 + static_cast<std::ptrdiff_t>(mapping.columns.size());
    made.columns.columns.assign(version + 1, end);
    return made;
}

std::string literal(const value& each, const claim_words& words) {
    if (const auto* text = std::get_if<std::string>(&each.held())) {
        return quoted_identifier(*text, '\'');
    }
    if (const auto* bytes = std::get_if<blob>(&each.held())) {
        return std::string{words.bytes_begin} + in_hexadecimal(bytes->bytes) +
               std::string{words.bytes_end};
    }
    if (const auto* real = std::get_if<double>(&each.held())) {
        std::array<char, 32> written{};
        char* const begin = written.data();
        return {begin, std::to_chars(begin, begin + written.size(), *real).ptr};
    }
    return std::to_string(each.integer());
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

std::string claim_statement::place() {
    return words_.has_numbered_places ? "$" + std::to_string(values_.size()) : "?";
}

claim_statement& claim_statement::put(const value& each) {
    values_.push_back(each);
    return sql(place());
}

claim_statement& claim_statement::from(const qualified_name& named, const std::string& index) {
    sql(" FROM ").table(named).sql(" AS t");
    if (words_.forces_indexes && !index.empty()) {
        sql(" FORCE INDEX (").name(index, "").sql(")");
    }
    return *this;
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
    }
    return is_past(mapping.expires_at, mapping.times);
}

claim_statement& claim_statement::is_past(const std::string& column, time_kind times) {
    if (words_.began != nullptr) name(column).sql(" <= ").sql(words_.began(times)).sql(" AND ");
    return name(column).sql(" <= ").sql(words_.now(times));
}

claim_statement& claim_statement::available(const versioned_mapping& mapping) {
    sql("(").fresh(mapping);
    if (!mapping.expires_at.empty()) sql(" OR ").late(mapping);
    return sql(") AND ").all_of(mapping.available, mapping.times);
}

claim_statement& claim_statement::still_is(
    const versioned_mapping& mapping, const versioned_row& at
) {
    key_is(mapping.key, at.key).sql(" AND ").name(mapping.version).sql(" = ").put(at.version);
    // Whose transaction did not commit has a version that may be that of somebody else's claim.
    if (!mapping.claimed_by.empty() && !at.claimed_as.empty()) {
        // Letter by letter, since a collation may take two claimers' names for one.
        values_.emplace_back(at.claimed_as);
        const std::string who = "t." + quoted_identifier(mapping.claimed_by, words_.quote);
        sql(" AND ").sql(words_.is_exactly(who, place()));
    }
    if (!at.is_claimed || mapping.expires_at.empty()) return *this;
    sql(" AND (").name(mapping.expires_at).sql(" IS NULL OR ").name(mapping.expires_at);
    return sql(" > ").sql(words_.now(mapping.times)).sql(")");
}

claim_statement& claim_statement::set(const std::string& column) {
    return sql(", ").name(column, words_.set_prefix).sql(" = ");
}

claim_statement& claim_statement::set_claimed(
    const versioned_mapping& mapping, const versioned_row& as_read
) {
    name(mapping.version, words_.set_prefix).sql(" = ").name(mapping.version).sql(" + 1");
    if (!mapping.state.column.empty()) set(mapping.state.column).put(mapping.state.to);
    if (!mapping.claimed_by.empty()) set(mapping.claimed_by).put(as_read.claimed_as);
    if (!mapping.claimed_at.empty()) set(mapping.claimed_at).sql(words_.now(mapping.times));
    if (!mapping.expires_at.empty()) {
        values_.emplace_back(std::int64_t{mapping.term.count()});
        set(mapping.expires_at).sql(words_.later(mapping.times, place()));
    }
    return *this;
}

claim_statement& claim_statement::set_changed(
    const versioned_mapping& mapping,
    const versioned_row& at,
    claim_change what,
    const assignments& to
) {
    name(mapping.version, words_.set_prefix).sql(" = ").name(mapping.version).sql(" + 1");
    const bool has_state = !mapping.state.column.empty();
    if (what == claim_change::finish && has_state && !mapping.state.done.is_null()) {
        set(mapping.state.column).put(mapping.state.done);
    }
    if (what == claim_change::release) {
        if (has_state) set(mapping.state.column).put(mapping.state.from);
        if (!mapping.claimed_by.empty()) set(mapping.claimed_by).sql("NULL");
        if (!mapping.claimed_at.empty()) set(mapping.claimed_at).sql("NULL");
    }
    if (!mapping.expires_at.empty() && at.is_claimed) {
        if (what == claim_change::update) {
            values_.emplace_back(std::int64_t{mapping.term.count()});
            set(mapping.expires_at).sql(words_.later(mapping.times, place()));
        } else {
            set(mapping.expires_at).sql("NULL");
        }
    }
    for (const assignment& each : to) {
        set(each.column);
        each.to.is_null() ? sql("NULL") : put(each.to);
    }
    return *this;
}

// ---------------------------------------------------------------------------- the common store

bool plain_table_store::is_same_column(const std::string& left, const std::string& right) const {
    return std::equal(
        left.begin(),
        left.end(),
        right.begin(),
        right.end(),
        [](char one, char other) { return lower(one) == lower(other); }
    );
}

std::string_view plain_table_store::type_of(column_kind kind) const {
    switch (kind) {
        case column_kind::integer:
            return words_.integer_type;
        case column_kind::number:
            return words_.number_type;
        case column_kind::bytes:
            return words_.bytes_type;
        case column_kind::instant:
            return words_.instant_type;
        case column_kind::utc:
            return words_.utc_type;
        case column_kind::text:
        case column_kind::boolean:
        case column_kind::other:
        case column_kind::any:
            break;
    }
    return words_.text_type;
}

std::string plain_table_store::change_column_text(
    const qualified_name& table, const column_change& wanted
) const {
    if (wanted.wish != column_wish::add) return "";
    claim_statement text = begin("ALTER TABLE ");
    text.table(table).sql(" ADD COLUMN ").name(wanted.column.name, "");
    text.sql(" ").sql(type_of(wanted.column.kind));
    if (!wanted.not_null_default) return text.text();
    return text.sql(" NOT NULL DEFAULT ").sql(literal(*wanted.not_null_default, words_)).text();
}

std::string plain_table_store::add_index_text(
    const qualified_name& table, const std::vector<order_by>& columns, std::string_view suffix
) const {
    claim_statement text = begin("CREATE INDEX ");
    const qualified_name index{table.name + std::string{suffix}, table.schema};
    const bool is_before = words_.has_schema_before_index;
    text.table(is_before ? index : qualified_name{index.name}).sql(" ON ");
    text.table(is_before ? qualified_name{table.name} : table).sql(" (");
    for (std::size_t at = 0; at < columns.size(); ++at) {
        text.sql(at == 0 ? "" : ", ").name(columns[at].column, "");
        if (columns[at].is_descending) text.sql(" DESC");
    }
    return text.sql(")").text();
}

std::optional<found_row> plain_table_store::read(
    connection& inside, const versioned_mapping& mapping, const parameters& key
) const {
    claim_statement asking = begin("SELECT ");
    const bool is_claimable =
        !mapping.state.column.empty() || !mapping.claimed_by.empty() || !mapping.expires_at.empty();
    if (is_claimable) {
        asking.sql("CASE WHEN ").available(mapping).sql(" THEN 1 ELSE 0 END");
    } else {
        asking.sql("0");
    }
    for (const std::string& each : mapping.key) asking.sql(", ").name(each);
    asking.sql(", ").name(mapping.version);
    for (const std::string& each : mapping.columns) asking.sql(", ").name(each);
    const result found =
        asking.from(mapping.table).sql(" WHERE ").key_is(mapping.key, key).run(inside);
    if (found.rows.empty()) return std::nullopt;
    return found_row{versioned_row_of(found.rows[0], 1, mapping), found.rows[0].integer(0) == 1};
}

// Two ranges of one index, each with a limit of its own, because an OR of them would be a scan:
// those never claimed, and those whose term has passed. Not locked: the UPDATE decides.
std::vector<versioned_row> plain_table_store::candidates(
    connection& inside, const candidate_request& wanted
) const {
    const versioned_mapping& mapping = wanted.mapping;
    std::vector<std::string> selected = mapping.key;
    selected.push_back(mapping.version);
    selected.insert(selected.end(), mapping.columns.begin(), mapping.columns.end());
    const std::size_t ordered_first = selected.size();
    for (const order_by& each : mapping.order) selected.push_back(each.column);
    claim_statement asking = begin("");
    const auto range = [&](bool is_fresh) {
        asking.sql("SELECT * FROM (SELECT ");
        for (std::size_t at = 0; at < selected.size(); ++at) {
            asking.sql(at == 0 ? "" : ", ").name(selected[at]).sql(" AS c" + std::to_string(at));
        }
        asking.from(mapping.table, is_fresh ? wanted.index : wanted.late_index).sql(" WHERE ");
        is_fresh ? asking.fresh(mapping) : asking.late(mapping);
        asking.sql(" AND ").all_of(wanted.where, mapping.times).ordered(mapping.order);
        asking.sql(" LIMIT ").put(wanted.limit).sql(is_fresh ? ") AS fresh" : ") AS late");
    };
    range(true);
    if (!mapping.expires_at.empty()) {
        asking.sql(" UNION ALL ");
        range(false);
    }
    for (std::size_t at = 0; at < mapping.order.size(); ++at) {
        asking.sql(at == 0 ? " ORDER BY " : ", ").sql(std::to_string(ordered_first + at + 1));
        if (mapping.order[at].is_descending) asking.sql(" DESC");
    }
    const result found = asking.sql(" LIMIT ").put(wanted.limit).run(inside);
    std::vector<versioned_row> rows;
    for (const row& each : found.rows) rows.push_back(versioned_row_of(each, 0, mapping));
    return rows;
}

claim_statement plain_table_store::rows_text(const row_request& wanted) const {
    const row_mapping& mapping = wanted.mapping;
    claim_statement asking = begin("SELECT ");
    asking.key_as(mapping.key);
    for (const std::string& each : mapping.columns) asking.sql(", ").name(each);
    asking.from(mapping.table, wanted.keys.empty() ? wanted.index : "").sql(" WHERE ");
    for (std::size_t at = 0; at < wanted.keys.size(); ++at) {
        asking.sql(at == 0 ? "((" : " OR (").key_is(mapping.key, wanted.keys[at]).sql(")");
    }
    if (!wanted.keys.empty()) asking.sql(") AND ");
    asking.all_of(wanted.where, mapping.times);
    if (wanted.keys.empty()) asking.ordered(mapping.order);
    return asking;
}

std::vector<claimed_row> plain_table_store::rows_of(
    const result& found, const row_mapping& mapping
) {
    std::vector<claimed_row> rows;
    for (const row& each : found.rows) {
        const auto key_end = each.columns.begin() + static_cast<std::ptrdiff_t>(mapping.key.size());
        rows.push_back(
            {parameters(each.columns.begin(), key_end), row{{key_end, each.columns.end()}}}
        );
    }
    return rows;
}

bool plain_table_store::is_one(std::int64_t affected_rows, const versioned_mapping& mapping) {
    if (affected_rows <= 1) return affected_rows == 1;
    throw error(
        errc::database_error,
        "a key of table " + mapping.table.name + " named " + std::to_string(affected_rows) +
            " rows, and all were changed: roll back, and make the key unique"
    );
}

std::vector<parameters> plain_table_store::look(connection& inside, const row_request& wanted)
    const {
    const result found = rows_text(wanted).sql(" LIMIT ").put(wanted.limit).run(inside);
    std::vector<parameters> keys;
    for (claimed_row& each : rows_of(found, wanted.mapping)) keys.push_back(std::move(each.key));
    return keys;
}

claimed_rows plain_table_store::lock_by_key(connection& inside, const row_request& wanted) const {
    auto rows = lock_rows(inside, wanted);
    if (!rows.empty()) return {claim_status::claimed, std::move(rows)};
    return {look(inside, wanted).empty() ? claim_status::none : claim_status::busy, {}};
}

}  // namespace leasehold
