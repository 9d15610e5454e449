#include "leasehold/value.hpp"

#include <algorithm>

#include "core/model_engine.hpp"
#include "core/number_in.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

[[noreturn]] void wrong_type(const char* wanted, const value& found) {
    constexpr const char* names[] = {"null", "an integer", "a real number", "text", "bytes"};
    throw error(
        errc::database_error,
        std::string("a column holds ") + names[found.held().index()] + " where " + wanted +
            " was expected; in a table of leasehold's, is the schema the one `leasehold migrate` "
            "made? In one of yours, ask is_null(), or for the type that the column has"
    );
}

template <class Number>
std::optional<Number> number_in_text(const value::alternatives& held) {
    const auto* const text = std::get_if<std::string>(&held);
    return text ? number_in<Number>(*text) : std::nullopt;
}

}  // namespace

value::value(const char* text) {
    if (text == nullptr) {
        throw error(
            errc::invalid_argument, "a value of text got a null pointer; send nullptr for null"
        );
    }
    held_ = std::string(text);
}

void value::refuse(std::uint64_t number) {
    throw error(
        errc::invalid_argument,
        "the number " + std::to_string(number) +
            " is beyond the 64-bit integers of databases, which end at 9223372036854775807; send "
            "its digits as text"
    );
}

std::int64_t value::integer() const {
    if (const auto* number = std::get_if<std::int64_t>(&held_)) return *number;
    if (const auto number = number_in_text<std::int64_t>(held_)) return *number;
    wrong_type("an integer", *this);
}

bool value::boolean() const {
    if (const auto* number = std::get_if<std::int64_t>(&held_)) {
        if (*number == 0 || *number == 1) return *number == 1;
    }
    wrong_type("a truth value, 0 or 1,", *this);
}

double value::real() const {
    if (const auto* number = std::get_if<double>(&held_)) return *number;
    if (const auto* whole = std::get_if<std::int64_t>(&held_)) return static_cast<double>(*whole);
    if (const auto number = number_in_text<double>(held_)) return *number;
    wrong_type("a real number", *this);
}

const std::string& value::text() const {
    if (const auto* characters = std::get_if<std::string>(&held_)) return *characters;
    wrong_type("text", *this);
}

const std::string& value::bytes() const {
    if (const auto* binary = std::get_if<blob>(&held_)) return binary->bytes;
    if (const auto* characters = std::get_if<std::string>(&held_)) return *characters;
    wrong_type("bytes", *this);
}

const value& row::at(std::string_view name) const {
    if (names) {
        const auto found = std::ranges::find(*names, name);
        if (found != names->end()) return at(static_cast<std::size_t>(found - names->begin()));
    }
    std::string known;
    for (const std::string& each : names ? *names : std::vector<std::string>{}) {
        known += (known.empty() ? "" : ", ") + each;
    }
    throw error(
        errc::database_error,
        "a row has no column '" + std::string(name) +
            (known.empty() ? "': its columns have no names" : "'; its columns are: " + known)
    );
}

void row::refuse_type(const value& of) const {
    const auto place = static_cast<std::size_t>(&of - columns.data());
    const bool is_named = names && place < names->size();
    const std::string name = is_named ? "'" + (*names)[place] + "'" : std::to_string(place);
    try {
        throw;
    } catch (const error& failure) {
        throw error(failure.code(), "column " + name + " of a row: " + failure.what());
    }
}

void row::refuse(std::size_t place) const {
    throw error(
        errc::database_error,
        "a row has no column " + std::to_string(place) + ": it has " +
            std::to_string(columns.size()) + ", counted from 0"
    );
}

std::string_view name_of(engine which) noexcept {
    switch (which) {
        case engine::postgres:
            return "postgres";
        case engine::mysql:
            return "mysql";
        case engine::mariadb:
            return "mariadb";
        case engine::sqlite:
            return "sqlite";
    }
    return which == model_engine ? "memory" : "unknown";
}

}  // namespace leasehold
