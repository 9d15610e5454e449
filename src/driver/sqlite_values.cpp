#include "driver/sqlite_values.hpp"

#include <new>
#include <utility>

namespace leasehold::sqlite {

int bind(sqlite3_stmt* statement, int at, const value& given) {
    const auto& held = given.held();
    if (const auto* number = std::get_if<std::int64_t>(&held)) {
        return sqlite3_bind_int64(statement, at, *number);
    }
    if (const auto* real = std::get_if<double>(&held)) {
        return sqlite3_bind_double(statement, at, *real);
    }
    if (const auto* text = std::get_if<std::string>(&held)) {
        return sqlite3_bind_text64(
            statement, at, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8
        );
    }
    if (const auto* bytes = std::get_if<blob>(&held)) {
        // A null pointer would bind NULL, which an empty string's data() need not avoid.
        const char* const first = bytes->bytes.empty() ? "" : bytes->bytes.data();
        return sqlite3_bind_blob64(statement, at, first, bytes->bytes.size(), SQLITE_TRANSIENT);
    }
    return sqlite3_bind_null(statement, at);
}

column_names names_of(sqlite3_stmt* statement) {
    std::vector<std::string> names;
    for (int at = 0; at < sqlite3_column_count(statement); ++at) {
        const char* const name = sqlite3_column_name(statement, at);
        if (name == nullptr) throw std::bad_alloc{};
        names.emplace_back(name);
    }
    return std::make_shared<column_names::element_type>(std::move(names));
}

value column_of(sqlite3_stmt* statement, int at) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
    switch (sqlite3_column_type(statement, at)) {
        case SQLITE_INTEGER:
            return {std::int64_t{sqlite3_column_int64(statement, at)}};
        case SQLITE_FLOAT:
            return {sqlite3_column_double(statement, at)};
        case SQLITE_TEXT: {
            const auto* text = sqlite3_column_text(statement, at);
            return {std::string(reinterpret_cast<const char*>(text), size)};
        }
        case SQLITE_BLOB: {
            const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, at));
            return {blob{bytes ? std::string(bytes, size) : std::string()}};
        }
        default:
            return {};
    }
}

}  // namespace leasehold::sqlite
