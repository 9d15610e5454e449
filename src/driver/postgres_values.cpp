#include "driver/postgres_values.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <variant>

#include "core/hexadecimal.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {
namespace {

// Numbers of built-in types, fixed for ever (pg_type.dat); the server header that has them is not
// ours.
constexpr Oid oid_bool = 16;
constexpr Oid oid_bytea = 17;
constexpr Oid oid_int8 = 20;
constexpr Oid oid_int2 = 21;
constexpr Oid oid_int4 = 23;
constexpr Oid oid_oid = 26;
constexpr Oid oid_float4 = 700;
constexpr Oid oid_float8 = 701;
// The server infers the type, so that text can be compared with enum, varchar or uuid columns.
constexpr Oid oid_inferred = 0;

constexpr std::size_t max_parameters = 65535;  // 16 bits in the protocol

template <typename Number>
Number number_from(std::string_view text) {
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem == std::errc::result_out_of_range && std::is_floating_point_v<Number>) {
        return number;  // a subnormal that rounds to 0: as near as a double comes
    }
    if (problem != std::errc{} || end != text.data() + text.size()) {
        throw error{errc::database_error, "PostgreSQL sent a number that cannot be read"};
    }
    return number;
}

// Reads both forms of bytea_output: a lent or pooled connection may have either.
blob bytes_from(std::string_view text) {
    if (text.substr(0, 2) == "\\x") {
        blob bytes;
        bytes.bytes.reserve(text.size() / 2);
        for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
            const int high = hexadecimal_value(text[at]);
            const int low = hexadecimal_value(text[at + 1]);
            if (high < 0 || low < 0) {
                throw error{errc::database_error, "PostgreSQL sent bytes that cannot be read"};
            }
            bytes.bytes.push_back(static_cast<char>(high * 16 + low));
        }
        return bytes;
    }
    std::size_t size = 0;
    const std::unique_ptr<unsigned char, decltype(&PQfreemem)> plain{
        PQunescapeBytea(reinterpret_cast<const unsigned char*>(text.data()), &size), &PQfreemem};
    if (plain == nullptr) throw std::bad_alloc{};
    return blob{std::string{reinterpret_cast<const char*>(plain.get()), size}};
}

value decoded(Oid type, std::string_view text) {
    switch (type) {
        case oid_bool:
            return value{std::int64_t{text == "t"}};
        case oid_int2:
        case oid_int4:
        case oid_int8:
        case oid_oid:
            return value{number_from<std::int64_t>(text)};
        case oid_float4:
        case oid_float8:
            return value{number_from<double>(text)};
        case oid_bytea:
            return value{bytes_from(text)};
        default:
            return value{text};
    }
}

// Independent of the locale, and exact when read back.
void write_number(double number, std::array<char, 32>& into) {
    if (std::isnan(number)) {
        std::strcpy(into.data(), "NaN");
        return;
    }
    *std::to_chars(into.data(), into.data() + into.size() - 1, number).ptr = '\0';
}

void write_number(std::int64_t number, std::array<char, 32>& into) {
    *std::to_chars(into.data(), into.data() + into.size() - 1, number).ptr = '\0';
}

}  // namespace

bound_parameters::bound_parameters(const parameters& values) {
    if (values.size() > max_parameters) {
        throw error{
            errc::invalid_argument,
            "a statement has " + std::to_string(values.size()) +
                " parameters; PostgreSQL takes at most 65535"};
    }
    numbers_.resize(values.size());
    types_.resize(values.size(), oid_inferred);
    texts_.resize(values.size(), nullptr);
    sizes_.resize(values.size(), 0);
    formats_.resize(values.size(), 0);
    signature_.resize(values.size(), 'n');
    for (std::size_t index = 0; index < values.size(); ++index) bind(index, values[index]);
}

void bound_parameters::bind(std::size_t index, const value& each) {
    const auto& held = each.held();
    if (const auto* number = std::get_if<std::int64_t>(&held)) {
        write_number(*number, numbers_[index]);
        texts_[index] = numbers_[index].data();
        types_[index] = oid_int8;
        signature_[index] = 'i';
    } else if (const auto* real = std::get_if<double>(&held)) {
        write_number(*real, numbers_[index]);
        texts_[index] = numbers_[index].data();
        types_[index] = oid_float8;
        signature_[index] = 'd';
    } else if (const auto* text = std::get_if<std::string>(&held)) {
        if (text->find('\0') != std::string::npos) {
            throw error{
                errc::invalid_argument,
                "parameter " + std::to_string(index + 1) +
                    " is text with a zero byte, which PostgreSQL cannot hold: send a blob"};
        }
        texts_[index] = text->c_str();
    } else if (const auto* bytes = std::get_if<blob>(&held)) {
        if (bytes->bytes.size() > std::size_t{std::numeric_limits<int>::max()}) {
            throw error{
                errc::invalid_argument,
                "parameter " + std::to_string(index + 1) + " is larger than 2 GiB"};
        }
        texts_[index] = bytes->bytes.data();
        sizes_[index] = static_cast<int>(bytes->bytes.size());
        formats_[index] = 1;
        types_[index] = oid_bytea;
        signature_[index] = 'b';
    }
}

std::string statement_text(std::string_view sql) {
    if (sql.find('\0') != std::string_view::npos) {
        throw error{errc::invalid_argument, "a statement has a zero byte in its text"};
    }
    return std::string{sql};
}

std::string script_text(std::string_view sql, const parameters& values) {
    if (values.empty()) return statement_text(sql);
    throw error{
        errc::unsupported,
        "PostgreSQL takes no parameters for several statements at once; use execute()"};
}

std::vector<row> rows_of(const PGresult* from) {
    std::vector<row> rows;
    if (PQresultStatus(from) != PGRES_TUPLES_OK) return rows;
    const int columns = PQnfields(from);
    rows.resize(static_cast<std::size_t>(PQntuples(from)));
    if (rows.empty()) return rows;
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column) names.emplace_back(PQfname(from, column));
    const auto shared = std::make_shared<column_names::element_type>(std::move(names));
    for (std::size_t index = 0; index < rows.size(); ++index) {
        const int line = static_cast<int>(index);
        rows[index].names = shared;
        rows[index].columns.reserve(static_cast<std::size_t>(columns));
        for (int column = 0; column < columns; ++column) {
            if (PQgetisnull(from, line, column) == 1) {
                rows[index].columns.emplace_back();
                continue;
            }
            const std::string_view text{
                PQgetvalue(from, line, column),
                static_cast<std::size_t>(PQgetlength(from, line, column))};
            // Binary cursors answer in binary whatever was asked for.
            rows[index].columns.push_back(
                PQfformat(from, column) == 1 ? value{blob{std::string{text}}}
                                             : decoded(PQftype(from, column), text)
            );
        }
    }
    return rows;
}

std::int64_t affected_rows_of(PGresult* from) {
    const std::string_view tag{PQcmdStatus(from)};
    for (const std::string_view verb : {"INSERT ", "UPDATE ", "DELETE ", "MERGE "}) {
        if (tag.substr(0, verb.size()) == verb) {
            return number_from<std::int64_t>(std::string_view{PQcmdTuples(from)});
        }
    }
    return 0;
}

result result_of(PGresult* from) {
    return {rows_of(from), affected_rows_of(from)};
}

result last_result_of(std::span<const result_handle> all) {
    result last;
    for (const result_handle& each : all) {
        if (PQresultStatus(each.get()) == PGRES_TUPLES_OK) last.rows = rows_of(each.get());
        if (const auto changed = affected_rows_of(each.get()); changed > 0) {
            last.affected_rows = changed;
        }
    }
    return last;
}

}  // namespace leasehold::postgres
