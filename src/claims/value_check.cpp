#include "claims/value_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/utf8.hpp"

namespace leasehold {
namespace {

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
    Number read{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), read);
    const bool is_whole = problem == std::errc{} && end == text.data() + text.size();
    return is_whole ? std::optional{read} : std::nullopt;
}

bool is_within(std::int64_t number, const column_shape& column) {
    if (column.is_unsigned && number < 0) return false;
    if (column.bits >= 64) return true;
    const int bits = column.is_unsigned ? column.bits : column.bits - 1;
    const std::int64_t end = std::int64_t{1} << bits;
    return number < end && (column.is_unsigned || number >= -end);
}

// True for digits, as they are read from a column that holds more than 63 bits or decimals.
bool is_integer_text(std::string_view text, const column_shape& column) {
    if (const auto number = whole<std::int64_t>(text)) return is_within(*number, column);
    return column.is_unsigned && column.bits == 64 && whole<std::uint64_t>(text);
}

bool is_number_text(std::string_view text) {
    const bool has_other = text.find_first_not_of("+-.eE0123456789") != std::string_view::npos;
    if (has_other) return false;
    const bool has_plus = text.starts_with('+');
    if (has_plus) text.remove_prefix(1);
    return !text.starts_with('+') && !(has_plus && text.starts_with('-')) && whole<double>(text);
}

// True when a decimal column has room for a written number after rounding: PostgreSQL rounds away
// the digits after the scale, and an overflow is an error.
bool has_room(std::string_view text, const column_shape& column) {
    std::string digits;  // without leading zeros
    int whole = 0;       // how many of them stand before the point; negative: zeros behind it
    bool is_behind = false;
    std::size_t at = 0;
    for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
        if (text[at] == '.') is_behind = true;
        if (!is_digit(text[at])) continue;
        const bool is_leading = digits.empty() && text[at] == '0';
        if (!is_leading) digits += text[at];
        if (is_behind ? is_leading : !is_leading) whole += is_behind ? -1 : 1;
    }
    if (at < text.size()) {
        int exponent = 0;
        const std::size_t first = at + 1 < text.size() && text[at + 1] == '+' ? at + 2 : at + 1;
        std::from_chars(text.data() + first, text.data() + text.size(), exponent);
        whole += exponent;
    }
    const int room = column.precision - column.scale;
    if (digits.empty() || whole != room) return digits.empty() || whole < room;
    const auto kept = static_cast<std::size_t>(column.precision);
    const bool rounds_up = digits.size() > kept && digits[kept] >= '5';
    return !rounds_up || digits.find_first_not_of('9') < kept;
}

// True when the engine can read the number into 32 bits.
bool is_within_float(double number) {
    const auto narrow = static_cast<float>(number);
    return std::isfinite(narrow) && (narrow != 0.0F || number == 0.0);
}

// Judges a number for a column of numbers that is to hold it or, if text is sent, to be compared
// with it.
bool is_number_within(const value& given, const column_shape& column, value_use use) {
    const auto* text = std::get_if<std::string>(&given.held());
    const auto* real = std::get_if<double>(&given.held());
    const auto* number = std::get_if<std::int64_t>(&given.held());
    if (column.bits < 64 && (text || use == value_use::stored)) {
        double read = real ? *real : 0;
        const std::size_t sign = text && text->front() == '+' ? 1 : 0;
        if (text) std::from_chars(text->data() + sign, text->data() + text->size(), read);
        if (!is_within_float(read)) return false;
    }
    if (column.precision == 0 || use != value_use::stored) return true;
    if (text) return has_room(*text, column);
    if (number) return has_room(std::to_string(*number), column);
    // The form in which PostgreSQL turns floating point into decimals.
    constexpr int digits = std::numeric_limits<double>::digits10;
    std::array<char, 32> written{};
    char* const begin = written.data();
    const auto end =
        std::to_chars(begin, begin + written.size(), *real, std::chars_format::general, digits).ptr;
    return has_room({begin, static_cast<std::size_t>(end - begin)}, column);
}

// The common form of "2026-01-31 12:34:56.789+02:00" and its shorter forms: date, then time of day,
// then zone.
bool is_time_text(std::string_view text) {
    if (text == "infinity" || text == "-infinity") return true;
    const auto number = [&](std::size_t at, std::size_t size, int least, int most
                        ) -> std::optional<int> {
        if (text.size() < at + size) return {};
        const std::string_view digits = text.substr(at, size);
        if (!std::all_of(digits.begin(), digits.end(), is_digit)) return {};
        const auto read = whole<int>(digits);
        return read && *read >= least && *read <= most ? read : std::nullopt;
    };
    const auto is_at = [&](std::size_t at, std::string_view any) {
        return at < text.size() && any.find(text[at]) != std::string_view::npos;
    };
    const auto year = number(0, 4, 1, 9999), month = number(5, 2, 1, 12), day = number(8, 2, 1, 31);
    if (!year || !is_at(4, "-") || !month || !is_at(7, "-") || !day) return false;
    const std::chrono::year_month_day date{
        std::chrono::year{*year},
        std::chrono::month{static_cast<unsigned>(*month)},
        std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok()) return false;
    if (text.size() == 10) return true;
    if (!is_at(10, " T") || !number(11, 2, 0, 23) || !is_at(13, ":") || !number(14, 2, 0, 59)) {
        return false;
    }
    std::size_t at = 16;
    if (is_at(at, ":")) {
        if (!number(at + 1, 2, 0, 59)) return false;
        at += 3;
        if (is_at(at, ".")) {
            const std::size_t first = ++at;
            while (at < text.size() && is_digit(text[at])) ++at;
            if (at == first || at - first > 9) return false;
        }
    }
    if (at == text.size()) return true;
    if (text.substr(at) == "Z") return true;
    if (!is_at(at, "+-") || !number(at + 1, 2, 0, 15)) return false;
    at += 3;
    if (is_at(at, ":")) ++at;
    return at == text.size() || (number(at, 2, 0, 59) && at + 2 == text.size());
}

bool is_uuid_text(std::string_view text) {
    const auto is_part = [](char each) {
        return is_digit(each) || (each >= 'a' && each <= 'f') || (each >= 'A' && each <= 'F');
    };
    constexpr std::size_t size = 36;
    if (text.size() != size) return false;
    for (std::size_t at = 0; at < size; ++at) {
        const bool is_dash = at == 8 || at == 13 || at == 18 || at == 23;
        if (is_dash ? text[at] != '-' : !is_part(text[at])) return false;
    }
    return true;
}

std::int64_t characters_of(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char each) {
        return (static_cast<unsigned char>(each) & 0xc0U) != 0x80U;
    });
}

// Judges text for a column that text can be written to.
std::string text_misfit(const column_shape& column, const std::string& text, value_use use) {
    if (!is_utf8(text) || text.find('\0') != std::string::npos) return "is not UTF-8";
    const auto& labels = column.labels;
    if (!labels.empty() && std::find(labels.begin(), labels.end(), text) == labels.end()) {
        return "is none of its labels";
    }
    if (column.is_uuid && !is_uuid_text(text)) {
        return "is not of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    }
    const bool is_time =
        column.kind == column_kind::instant || column.kind == column_kind::utc || column.is_date;
    if (is_time && use != value_use::key && !is_time_text(text)) {
        return "is not of the form YYYY-MM-DD HH:MM:SS";
    }
    const bool is_long = column.max_length > 0 && characters_of(text) > column.max_length;
    return is_long && use == value_use::stored ? "is longer" : "";
}

std::string clause_of(const column_shape& column, const value& given, value_use use) {
    std::string another = std::string("is ") + name_of(kind_of(given));
    const auto* number = std::get_if<std::int64_t>(&given.held());
    const auto* text = std::get_if<std::string>(&given.held());
    switch (column.kind) {
        case column_kind::integer:
            if (number) {
                const bool is_fit = use != value_use::stored || is_within(*number, column);
                return is_fit ? "" : "is beyond its range";
            }
            return text && is_integer_text(*text, column) ? "" : another;
        case column_kind::number:
            if (const auto* real = std::get_if<double>(&given.held())) {
                if (!std::isfinite(*real)) return "is no finite number";
            } else if (!number && !(text && is_number_text(*text))) {
                return another;
            }
            return is_number_within(given, column, use) ? "" : "is beyond its range";
        case column_kind::boolean: {
            if (number) return *number == 0 || *number == 1 ? "" : "is neither 0 nor 1";
            const bool is_word =
                text && (*text == "true" || *text == "false" || *text == "t" || *text == "f");
            return is_word ? "" : another;
        }
        case column_kind::bytes:
            return std::holds_alternative<blob>(given.held()) ? "" : another;
        case column_kind::text:
        case column_kind::instant:
        case column_kind::utc:
        case column_kind::other:
            return text ? text_misfit(column, *text, use) : another;
        case column_kind::any:
            break;
    }
    return "";
}

}  // namespace

std::string misfit(const column_shape& column, const value& given, value_use use) {
    if (given.is_null()) {
        const bool is_fit = use != value_use::stored || column.is_nullable;
        return is_fit ? "" : "is NOT NULL, and the value for it is null";
    }
    if (use != value_use::stored && !column.is_comparable) {
        return "is " + column.type + ", which has no order: nothing is compared with it";
    }
    const std::string clause = clause_of(column, given, use);
    return clause.empty() ? "" : "is " + column.type + ", and the value for it " + clause;
}

column_kind kind_of(const value& each) {
    if (std::holds_alternative<std::int64_t>(each.held())) return column_kind::integer;
    if (std::holds_alternative<double>(each.held())) return column_kind::number;
    if (std::holds_alternative<blob>(each.held())) return column_kind::bytes;
    return column_kind::text;
}

const char* name_of(column_kind kind) {
    switch (kind) {
        case column_kind::integer:
            return "an integer";
        case column_kind::number:
            return "a number";
        case column_kind::text:
            return "text";
        case column_kind::bytes:
            return "bytes";
        case column_kind::instant:
            return "a time with a zone";
        case column_kind::utc:
            return "a time without a zone";
        case column_kind::boolean:
            return "a truth value";
        case column_kind::other:
        case column_kind::any:
            break;
    }
    return "of another type";
}

}  // namespace leasehold
