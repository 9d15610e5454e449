#pragma once
// What travels between a program and its database: typed values, rows, results.
//
//   leasehold::result found = connection.execute("SELECT id FROM seat WHERE row = $1", {7});
//   for (const leasehold::row& each : found.rows) sell(each.integer(0));
//
// Threads: plain values.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leasehold {

// Bytes that are not text: keys, identities, payloads.
struct blob {
    std::string bytes;
    bool operator==(const blob&) const = default;
};

// A parameter or a column: null, integer, floating point, text (UTF-8) or bytes.
class value {
public:
    value() = default;
    value(std::nullptr_t) {}
    value(std::int64_t number) : held_(number) {}
    value(int number) : held_(std::int64_t{number}) {}
    value(bool) = delete;  // engines disagree on what a truth value is: send 0 or 1
    value(double number) : held_(number) {}
    value(std::string text) : held_(std::move(text)) {}
    value(std::string_view text) : held_(std::string(text)) {}
    value(const char* text) : held_(std::string(text)) {}
    value(blob bytes) : held_(std::move(bytes)) {}

    bool is_null() const noexcept { return std::holds_alternative<std::monostate>(held_); }

    // Each throws leasehold::error (database_error) where the value is of another type or null;
    // integer() also reads text that is a whole decimal number, and bytes() reads text.
    std::int64_t integer() const;
    double real() const;
    const std::string& text() const;
    const std::string& bytes() const;

    using alternatives = std::variant<std::monostate, std::int64_t, double, std::string, blob>;
    const alternatives& held() const noexcept { return held_; }
    bool operator==(const value&) const = default;

private:
    alternatives held_;
};

using parameters = std::vector<value>;

struct row {
    std::vector<value> columns;

    const value& at(std::size_t column) const { return columns.at(column); }
    bool is_null(std::size_t column) const { return at(column).is_null(); }
    std::int64_t integer(std::size_t column) const { return at(column).integer(); }
    const std::string& text(std::size_t column) const { return at(column).text(); }
    const std::string& bytes(std::size_t column) const { return at(column).bytes(); }
};

struct result {
    std::vector<row> rows;
    std::int64_t affected_rows = 0;  // changed by INSERT, UPDATE, DELETE; 0 for anything else
};

}  // namespace leasehold
