#include "leasehold/value.hpp"

#include <charconv>

#include "leasehold/engine.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

[[noreturn]] void wrong_type(const char* wanted, const value& found) {
    constexpr const char* names[] = {"null", "an integer", "a real number", "text", "bytes"};
    throw error(
        errc::database_error,
        std::string("a column holds ") + names[found.held().index()] + " where " + wanted +
            " was expected; is the schema the one `leasehold migrate` made?"
    );
}

}  // namespace

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
    if (const auto* digits = std::get_if<std::string>(&held_)) {
        std::int64_t number = 0;
        const char* const end = digits->data() + digits->size();
        const auto [stop, failure] = std::from_chars(digits->data(), end, number);
        if (failure == std::errc{} && stop == end && !digits->empty()) return number;
    }
    wrong_type("an integer", *this);
}

double value::real() const {
    if (const auto* number = std::get_if<double>(&held_)) return *number;
    if (const auto* whole = std::get_if<std::int64_t>(&held_)) return static_cast<double>(*whole);
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
        case engine::memory:
            return "memory";
    }
    return "unknown";
}

}  // namespace leasehold
