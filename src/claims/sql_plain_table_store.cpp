#include "claims/sql_plain_table_store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "core/hexadecimal.hpp"
#include "leasehold/error.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

char lower(char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
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

bool plain_table_store::is_same_column(const std::string& left, const std::string& right) const {
    return std::ranges::equal(left, right, {}, lower, lower);
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
    constexpr std::size_t availability = 0, row_begin = 1;
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
    const row& first = found.rows[0];
    if (first.is_null(row_begin + mapping.key.size())) {
        throw error(
            errc::constraint,
            "column " + mapping.version + " of table " + mapping.table.name +
                ", the version, is null in this row, which cannot be claimed or changed: set it to "
                "0, and make the column NOT NULL"
        );
    }
    return found_row{
        versioned_row_of(first, row_begin, mapping.key.size(), mapping.columns.size()),
        first.integer(availability) == 1};
}

// Two ranges of one index, each with a limit of its own, because an OR of them would be a scan:
// rows never claimed, and rows whose term has passed. Their limits are literals, and powers of two:
// PostgreSQL takes a limit that is a parameter for a tenth of the table or plans anew each time,
// and few texts are prepared.
claim_statement& plain_table_store::ranges(
    claim_statement& asking, const several_request& wanted, const std::vector<std::string>& columns
) {
    const versioned_mapping& mapping = wanted.mapping;
    std::vector<std::string> selected = columns;
    for (const order_by& each : mapping.order) selected.push_back(each.column);
    const std::string limit = std::to_string(std::bit_ceil(static_cast<unsigned>(wanted.limit)));
    const auto range = [&](bool is_fresh) {
        asking.sql("SELECT * FROM (SELECT ");
        for (std::size_t at = 0; at < selected.size(); ++at) {
            asking.sql(at == 0 ? "" : ", ").name(selected[at]).sql(" AS c" + std::to_string(at));
        }
        asking.from(mapping.table, is_fresh ? wanted.index : wanted.late_index).sql(" WHERE ");
        is_fresh ? asking.fresh(mapping) : asking.late(mapping);
        asking.sql(" AND ").all_of(wanted.where, mapping.times).ordered(mapping.order);
        asking.sql(" LIMIT " + limit).sql(is_fresh ? ") AS fresh" : ") AS late");
    };
    range(true);
    if (!mapping.expires_at.empty()) {
        asking.sql(" UNION ALL ");
        range(false);
    }
    for (std::size_t at = 0; at < mapping.order.size(); ++at) {
        asking.sql(at == 0 ? " ORDER BY " : ", ").sql(std::to_string(columns.size() + at + 1));
        if (mapping.order[at].is_descending) asking.sql(" DESC");
    }
    return asking.sql(" LIMIT ").put(wanted.limit);
}

std::vector<versioned_row> plain_table_store::candidates(
    connection& inside, const several_request& wanted
) const {
    std::vector<std::string> selected = wanted.mapping.key;
    selected.push_back(wanted.mapping.version);
    claim_statement asking = begin("");
    const result found = ranges(asking, wanted, selected).run(inside);
    std::vector<versioned_row> rows;
    for (const row& each : found.rows) {
        rows.push_back(versioned_row_of(each, 0, wanted.mapping.key.size(), 0));
    }
    return rows;
}

bool plain_table_store::shows_full(connection& inside, const several_request& wanted) const {
    if (wanted.version_most == std::numeric_limits<std::int64_t>::max()) return false;
    const auto seen = candidates(inside, wanted);
    return std::ranges::any_of(seen, [&](const versioned_row& each) {
        return each.version >= wanted.version_most;
    });
}

// Positions in random parts, each part in order. Random, so that concurrent workers do not all try
// the same rows; in order, because MariaDB's SKIP LOCKED queues for an instant, and takes two
// batches that try each other's rows in opposite directions for a deadlock.
std::vector<std::size_t> plain_table_store::turns(std::size_t size, std::size_t part) {
    std::vector<std::size_t> positions(size);
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    if (part >= size) return positions;
    thread_local std::mt19937 random{std::random_device{}()};
    std::ranges::shuffle(positions, random);
    for (std::size_t first = 0; first < size; first += part) {
        const auto at = [&](std::size_t position) {
            return positions.begin() + static_cast<std::ptrdiff_t>(std::min(position, size));
        };
        std::sort(at(first), at(first + part));
    }
    return positions;
}

// Reads candidates without a lock, and takes as many as are missing, until the batch is full. If
// many others claim, too, it stops at a smaller batch, before the terms of its first rows run out.
several_claimed plain_table_store::claim_in_turns(
    connection& inside, const several_request& wanted, const taking& take
) const {
    several_claimed got;
    std::vector<versioned_row> seen = candidates(inside, wanted);
    const auto is_full = [&](const versioned_row& row) {
        return row.version >= wanted.version_most;
    };
    got.has_passed_over = std::erase_if(seen, is_full) > 0;
    const auto count = static_cast<std::size_t>(wanted.count);
    const std::size_t part = wanted.is_shuffled ? count : seen.size();
    const std::vector<std::size_t> positions = turns(seen.size(), part);
    const std::size_t enough = wanted.is_shuffled ? 2 * count : seen.size();
    for (std::size_t tried = 0; tried < seen.size() && got.rows.size() < count;) {
        if (tried >= enough && !got.rows.empty()) break;
        std::vector<versioned_row> chosen;
        const std::size_t missing = count - got.rows.size();
        for (; chosen.size() < missing && tried < seen.size(); ++tried) {
            chosen.push_back(std::move(seen[positions[tried]]));
        }
        auto taken = take(chosen);
        std::ranges::move(taken, std::back_inserter(got.rows));
    }
    return got;
}

claim_statement plain_table_store::rows_text(const row_request& wanted, const char* before) const {
    const row_mapping& mapping = wanted.mapping;
    claim_statement asking = begin(before);
    asking.sql("SELECT ").key_as(mapping.key);
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

versioned_row plain_table_store::versioned_row_of(
    const row& from, std::size_t first, std::size_t keys, std::size_t columns
) {
    versioned_row made;
    const auto begin = from.columns.begin() + static_cast<std::ptrdiff_t>(first);
    const auto version = begin + static_cast<std::ptrdiff_t>(keys);
    made.key.assign(begin, version);
    made.version = version->is_null() ? 0 : from.integer(first + keys);
    made.columns.columns.assign(version + 1, version + 1 + static_cast<std::ptrdiff_t>(columns));
    return made;
}

bool plain_table_store::is_one(std::int64_t affected_rows, const versioned_mapping& mapping) {
    require_at_most(1, affected_rows, mapping);
    return affected_rows == 1;
}

void plain_table_store::require_at_most(
    std::size_t keys, std::int64_t affected_rows, const versioned_mapping& mapping
) {
    if (affected_rows <= static_cast<std::int64_t>(keys)) return;
    throw error(
        errc::database_error,
        (keys == 1 ? "a key" : std::to_string(keys) + " keys") + " of table " + mapping.table.name +
            " named " + std::to_string(affected_rows) +
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
