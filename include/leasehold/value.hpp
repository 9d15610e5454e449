#pragma once
// The data that travels between a program and its database: typed values, rows, results.
//
//   const auto found = connection.execute("SELECT id, price FROM seat WHERE row = $1", {7});
//   for (const leasehold::row& each : found) sell(each.integer("id"), each.real("price"));
//
// Threads: plain values.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/whole_count.hpp"

namespace leasehold {

// Bytes that are not text: keys, identities, payloads.
struct blob {
    std::string bytes{};
    bool operator==(const blob&) const = default;
};

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
    // Engines disagree on what a truth value is: send 0 or 1. A character may be a number, or text
    // of one letter: say which.
    value(bool) = delete;
    value(char) = delete;
    template <std::integral Other>
    value(Other other) = delete;
    value(double number) : held_(number) {}
    value(fencing_token token) : held_(token.number) {}
    value(std::string text) : held_(std::move(text)) {}
    value(std::string_view text) : held_(std::string(text)) {}
    value(const char* text);  // throws invalid_argument for a null pointer: send nullptr
    value(blob bytes) : held_(std::move(bytes)) {}
    // Null if `given` is empty.
    template <class Held>
    requires std::is_constructible_v<value, Held> value(std::optional<Held> given)
        : value(given ? value(*std::move(given)) : value()) {}
    value(std::nullopt_t) {}

    bool is_null() const noexcept { return std::holds_alternative<std::monostate>(held_); }

    // Each throws leasehold::error (database_error) if the value is of another type or null;
    // integer() and real() also read text that is such a number, as which PostgreSQL's `numeric`
    // arrives; bytes() reads text; boolean() reads 0 and 1, as which truth values arrive.
    std::int64_t integer() const;
    bool boolean() const;
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

// Shared by the rows of one result.
using column_names = std::shared_ptr<const std::vector<std::string>>;

// A column is named by its place, from 0 on, or as the database names it, letter by letter. Of
// several of one name the first counts. Throws database_error where there is no such column, and
// where it holds null or another type than was asked for; the message names the column.
struct LEASEHOLD_EXPORT row {
    std::vector<value> columns{};
    column_names names{};

    const value& at(std::size_t place) const {
        if (place >= columns.size()) refuse(place);
        return columns[place];
    }
    template <whole_number Place>
    const value& at(Place place) const {
        return at(static_cast<std::size_t>(place));
    }
    const value& at(std::string_view name) const;
    template <class Column>
    bool is_null(Column column) const {
        return at(column).is_null();
    }
    template <class Column>
    std::int64_t integer(Column column) const {
        return read(column, &value::integer);
    }
    template <class Column>
    bool boolean(Column column) const {
        return read(column, &value::boolean);
    }
    template <class Column>
    double real(Column column) const {
        return read(column, &value::real);
    }
    template <class Column>
    const std::string& text(Column column) const {
        return read(column, &value::text);
    }
    template <class Column>
    const std::string& bytes(Column column) const {
        return read(column, &value::bytes);
    }

private:
    template <class Column, class Got>
    Got read(Column column, Got (value::*as)() const) const {
        const value& found = at(column);
        try {
            return (found.*as)();
        } catch (...) {
            refuse_type(found);
        }
    }
    // Throws the exception in flight again, with the name of that column in its message.
    [[noreturn]] void refuse_type(const value& of) const;
    [[noreturn]] void refuse(std::size_t place) const;
};

// A statement answers with its rows, or with the number of rows that it has changed.
struct result {
    std::vector<row> rows{};
    std::int64_t affected_rows = 0;  // changed by INSERT, UPDATE, DELETE; 0 for anything else

    auto begin() const noexcept { return rows.begin(); }
    auto end() const noexcept { return rows.end(); }
    bool empty() const noexcept { return rows.empty(); }
    std::size_t size() const noexcept { return rows.size(); }
};

}  // namespace leasehold
