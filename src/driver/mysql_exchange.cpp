#include "driver/mysql_exchange.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/broken_pipe.hpp"
#include "core/number_in.hpp"

namespace leasehold::mysql {
namespace {

enum class column_kind { text = 0, bytes = 1, integer = 2, real = 3 };

// Connector/C++ itself tells VARBINARY from VARCHAR, and BLOB from TEXT, by the column's character
// set being `binary` (63). Dates are of that character set too, and text to us. JSON is a type that
// libmariadb does not know (UNKNOWN): text as well. DECIMAL stays text, so that nothing is lost.
column_kind kind_of(int type) {
    switch (type) {
        case sql::DataType::BIT:
        case sql::DataType::TINYINT:
        case sql::DataType::SMALLINT:
        case sql::DataType::MEDIUMINT:
        case sql::DataType::INTEGER:
        case sql::DataType::BIGINT:
        case sql::DataType::YEAR:
            return column_kind::integer;
        case sql::DataType::REAL:
        case sql::DataType::DOUBLE:
            return column_kind::real;
        case sql::DataType::BINARY:
        case sql::DataType::VARBINARY:
        case sql::DataType::LONGVARBINARY:
        case sql::DataType::GEOMETRY:
            return column_kind::bytes;
        default:
            return column_kind::text;
    }
}

value decoded(column_kind kind, std::string text) {
    switch (kind) {
        case column_kind::integer:
            // Unsigned and beyond 63 bits: keeps the digits, rather than another number.
            if (const auto whole = number_in<std::int64_t>(text)) return value{*whole};
            break;
        case column_kind::real:
            if (const auto real = number_in<double>(text)) return value{*real};
            break;
        case column_kind::bytes:
            return value{blob{std::move(text)}};
        case column_kind::text:
            break;
    }
    return value{std::move(text)};
}

column_names names_of(sql::ResultSetMetaData& columns, std::size_t count) {
    std::vector<std::string> names;
    names.reserve(count);
    for (std::size_t at = 1; at <= count; ++at) {
        names.push_back(columns.getColumnLabel(static_cast<unsigned>(at)).asStdString());
    }
    return std::make_shared<column_names::element_type>(std::move(names));
}

std::vector<row> rows_of(sql::ResultSet& from) {
    sql::ResultSetMetaData& columns = *from.getMetaData();  // belongs to the result
    std::vector<column_kind> kinds(columns.getColumnCount());
    for (std::size_t at = 0; at < kinds.size(); ++at) {
        kinds[at] = kind_of(columns.getColumnType(static_cast<unsigned>(at + 1)));
    }
    column_names names;
    std::vector<row> rows;
    while (from.next()) {
        if (!names) names = names_of(columns, kinds.size());
        row& each = rows.emplace_back();
        each.names = names;
        each.columns.reserve(kinds.size());
        for (std::size_t at = 0; at < kinds.size(); ++at) {
            const auto number = static_cast<unsigned>(at + 1);
            if (from.isNull(number)) {
                each.columns.emplace_back();
            } else {
                each.columns.push_back(decoded(kinds[at], from.getString(number).asStdString()));
            }
        }
    }
    return rows;
}

// Without an error of its own the client could not read the rows that were announced.
std::unique_ptr<sql::ResultSet> announced_rows(sql::Statement& from) {
    constexpr int lost = 2013;  // SERVER_LOST
    std::unique_ptr<sql::ResultSet> rows{from.getResultSet()};
    if (rows == nullptr) throw sql::SQLException("the rows did not come", "HY000", lost);
    return rows;
}

// `left`: the number of statements that may still answer with "OK", which looks like the end of all
// answers.
void drain(sql::Statement& from, std::size_t left) {
    for (std::size_t quiet = 0; quiet <= left;) {
        if (from.getMoreResults()) {
            announced_rows(from);
        } else {
            ++quiet;
        }
    }
}

void drain_after_error(sql::Statement& from, std::size_t left) noexcept {
    try {
        drain(from, left);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // After an error there are no more answers, and the one to report is thrown already.
    }
}

void take(sql::Statement& from, bool has_rows, bool is_first, result& into) {
    if (has_rows) {
        into.rows = rows_of(*announced_rows(from));
    } else if (is_first) {
        into.affected_rows = static_cast<std::int64_t>(from.getUpdateCount());
    }
}

}  // namespace

result exchange(
    sql::Connection& on,
    const std::string& text,
    std::size_t statements,
    std::size_t& answered,
    bool* has_rows
) {
    answered = 0;
    const broken_pipe_guard guard;
    const std::unique_ptr<sql::Statement> statement{on.createStatement()};
    // Not left to the connection's default, which for a borrowed one may be to fetch row by row.
    statement->setResultSetType(sql::ResultSet::TYPE_SCROLL_INSENSITIVE);
    result found;
    bool is_query = statement->execute(text);
    try {
        while (true) {
            take(*statement, is_query, answered == 0, found);
            if (has_rows != nullptr) *has_rows = *has_rows || is_query;
            if (++answered >= statements) break;
            is_query = statement->getMoreResults();
        }
    } catch (...) {
        drain_after_error(*statement, statements - answered);
        throw;
    }
    try {
        drain(*statement, 0);
    } catch (...) {
        --answered;  // a procedure that fails after its first rows
        throw;
    }
    return found;
}

}  // namespace leasehold::mysql
