#pragma once
// Reads the columns of a row: by the places in columns_<room>.hpp, which the build makes of the
// lists `-- gives:` of the statements; and by the functions only_… if there is one column.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/identity.hpp"
#include "leasehold/value.hpp"

namespace leasehold {

constexpr std::size_t only_column = 0;

inline std::int64_t only_integer(const result& answer) {
    return answer.rows.at(0).integer(only_column);
}
inline std::string only_text(const result& answer) {
    return answer.rows.at(0).bytes(only_column);
}

// Nothing if the answer has no row.
template <class As = std::int64_t>
std::optional<As> only_integer_if_any(const result& answer) {
    if (answer.rows.empty()) return std::nullopt;
    return As{only_integer(answer)};
}

template <class As = std::int64_t>
std::vector<As> only_integers(const result& answer) {
    std::vector<As> all;
    for (const row& each : answer.rows) all.push_back(As{each.integer(only_column)});
    return all;
}

inline std::vector<std::string> only_texts(const result& answer) {
    std::vector<std::string> all;
    for (const row& each : answer.rows) all.push_back(each.bytes(only_column));
    return all;
}

template <class Column>
std::string text_or_empty(const row& from, Column column) {
    return from.is_null(column) ? std::string{} : from.bytes(column);
}

inline std::int64_t number_or(const row& from, std::size_t column, std::int64_t otherwise) {
    return from.is_null(column) ? otherwise : from.integer(column);
}

// A row that somebody has damaged by hand hides no other row of a list: its id is that of nobody.
template <class Id>
Id identity_of(const row& from, std::size_t column) {
    const std::string& bytes = from.bytes(column);
    return bytes.size() == Id::size_bytes ? Id::from_bytes(bytes) : Id{};
}

// A clock that was set back must not make a duration negative. Null: 0.
inline std::chrono::microseconds duration_of(const row& from, std::size_t column) {
    return std::chrono::microseconds{std::max(std::int64_t{0}, number_or(from, column, 0))};
}

inline std::optional<std::chrono::microseconds> duration_or_nothing(
    const row& from, std::size_t column
) {
    if (from.is_null(column)) return std::nullopt;
    return duration_of(from, column);
}

}  // namespace leasehold
