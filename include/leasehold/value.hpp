#pragma once
// The data that travels between a program and its database: typed values, rows, results.
//
//   leasehold::result found = connection.execute("SELECT id FROM seat WHERE row = $1", {7});
//   for (const leasehold::row& each : found.rows) sell(each.integer(0));
//
// Threads: plain values.
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

// Bytes that are not text: keys, identities, payloads.
struct blob {
    std::string bytes{};
    bool operator==(const blob&) const = default;
};

// std::int8_t to std::uint64_t, by whatever names; not bool, nor characters.
template <class Number>
concept whole_number = std::integral<Number> && sizeof(Number) <= sizeof(std::int64_t) &&
                       !std::same_as<Number, bool> && !std::same_as<Number, char> &&
                       !std::same_as<Number, wchar_t> && !std::same_as<Number, char8_t> &&
                       !std::same_as<Number, char16_t> && !std::same_as<Number, char32_t>;

// A parameter or a column: null, integer, floating point, text (UTF-8) or bytes.
class LEASEHOLD_EXPORT value {
public:
    value() = default;
    value(std::nullptr_t) {}
    value(int number) : held_(std::int64_t{number}) {}
    value(std::int64_t number) : held_(number) {}
    // Throws invalid_argument for an unsigned number beyond std::int64_t: send its digits as text.
    template <whole_number Number>
    value(Number number) : held_(to_int64(number)) {}
    value(bool) = delete;  // engines disagree on what a truth value is: send 0 or 1
    value(char) = delete;  // a number, or text of one letter: say which
    value(double number) : held_(number) {}
    value(fencing_token token) : held_(token.number) {}
    value(std::string text) : held_(std::move(text)) {}
    value(std::string_view text) : held_(std::string(text)) {}
    value(const char* text) : held_(std::string(text)) {}
    value(blob bytes) : held_(std::move(bytes)) {}
    // Null if `given` is empty.
    template <class Held>
    requires std::is_constructible_v<value, Held> value(std::optional<Held> given)
        : value(given ? value(*std::move(given)) : value()) {}
    value(std::nullopt_t) {}

    bool is_null() const noexcept { return std::holds_alternative<std::monostate>(held_); }

    // Each throws leasehold::error (database_error) if the value is of another type or null;
    // integer() also reads text that is a whole decimal number, and bytes() reads text.
    std::int64_t integer() const;
    double real() const;
    const std::string& text() const;
    const std::string& bytes() const;

    using alternatives = std::variant<std::monostate, std::int64_t, double, std::string, blob>;
    const alternatives& held() const noexcept { return held_; }
    bool operator==(const value&) const = default;

private:
    template <whole_number Number>
    static std::int64_t to_int64(Number number) {
        if (!std::in_range<std::int64_t>(number)) refuse(static_cast<std::uint64_t>(number));
        return static_cast<std::int64_t>(number);
    }
    [[noreturn]] static void refuse(std::uint64_t number);

    alternatives held_;
};

using parameters = std::vector<value>;

struct row {
    std::vector<value> columns{};

    const value& at(std::size_t column) const { return columns.at(column); }
    bool is_null(std::size_t column) const { return at(column).is_null(); }
    std::int64_t integer(std::size_t column) const { return at(column).integer(); }
    const std::string& text(std::size_t column) const { return at(column).text(); }
    const std::string& bytes(std::size_t column) const { return at(column).bytes(); }
};

struct result {
    std::vector<row> rows{};
    std::int64_t affected_rows = 0;  // changed by INSERT, UPDATE, DELETE; 0 for anything else
};

}  // namespace leasehold
