#pragma once
// Columns that may be null, and durations in microseconds, as several stores read them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "leasehold/identity.hpp"
#include "leasehold/value.hpp"

namespace leasehold {

inline std::string text_or_empty(const row& from, std::size_t column) {
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
