#include "driver/soci_mysql.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/number_in.hpp"
#include "driver/mysql_errors.hpp"
#include "driver/mysql_lent.hpp"
#include "driver/mysql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

constexpr unsigned binary_character_set = 63;

struct result_closer {
    void operator()(MYSQL_RES* open) const noexcept { mysql_free_result(open); }
};
using result_handle = std::unique_ptr<MYSQL_RES, result_closer>;

template <class Number>
value number_or_text(std::string text) {
    // Unsigned and beyond 63 bits: keeps the digits, rather than another number.
    if (const auto number = number_in<Number>(text)) return {*number};
    return {std::move(text)};
}

value bits(const std::string& bytes) {
    std::uint64_t number = 0;
    for (const char each : bytes) number = (number << 8U) | static_cast<unsigned char>(each);
    return {static_cast<std::int64_t>(number)};
}

// Everything travels as text; the column says the type. DECIMAL, dates and JSON stay text.
value value_of(const MYSQL_FIELD& column, std::string text) {
    switch (column.type) {
        case MYSQL_TYPE_TINY:
        case MYSQL_TYPE_SHORT:
        case MYSQL_TYPE_INT24:
        case MYSQL_TYPE_LONG:
        case MYSQL_TYPE_LONGLONG:
        case MYSQL_TYPE_YEAR:
            return number_or_text<std::int64_t>(std::move(text));
        case MYSQL_TYPE_FLOAT:
        case MYSQL_TYPE_DOUBLE:
            return number_or_text<double>(std::move(text));
        case MYSQL_TYPE_BIT:
            return bits(text);
        case MYSQL_TYPE_GEOMETRY:
            return {blob{std::move(text)}};
        case MYSQL_TYPE_STRING:
        case MYSQL_TYPE_VAR_STRING:
        case MYSQL_TYPE_VARCHAR:
        case MYSQL_TYPE_TINY_BLOB:
        case MYSQL_TYPE_BLOB:
        case MYSQL_TYPE_MEDIUM_BLOB:
        case MYSQL_TYPE_LONG_BLOB:
            if (column.charsetnr == binary_character_set) return {blob{std::move(text)}};
            return {std::move(text)};
        default:
            return {std::move(text)};
    }
}

std::vector<row> rows_of(MYSQL_RES* from) {
    const unsigned count = mysql_num_fields(from);
    const MYSQL_FIELD* const columns = mysql_fetch_fields(from);
    std::vector<std::string> names;
    for (unsigned at = 0; at < count; ++at) names.emplace_back(columns[at].name);
    const auto shared = std::make_shared<column_names::element_type>(std::move(names));
    std::vector<row> rows;
    while (MYSQL_ROW found = mysql_fetch_row(from)) {
        const unsigned long* const lengths = mysql_fetch_lengths(from);
        row& each = rows.emplace_back();
        each.names = shared;
        each.columns.reserve(count);
        for (unsigned at = 0; at < count; ++at) {
            if (found[at] == nullptr) {
                each.columns.emplace_back();
            } else {
                each.columns.push_back(value_of(columns[at], {found[at], lengths[at]}));
            }
        }
    }
    return rows;
}

server_info server_of(MYSQL* lent) {
    const char* const said = mysql_get_server_info(lent);  // of the greeting; sends nothing
    server_info found;
    found.version_text = said == nullptr ? "" : said;
    const bool is_mariadb = found.version_text.find("MariaDB") != std::string::npos;
    found.engine = is_mariadb ? engine::mariadb : engine::mysql;
    found.version = static_cast<int>(mysql_get_server_version(lent));
    return found;
}

class lent_by_soci final : public lent_connection {
public:
    explicit lent_by_soci(MYSQL* lent)
        : lent_connection(server_of(lent), "on a borrowed SOCI session", "SOCI"), lent_(lent) {}

    // Goes by the status that came with the server's last answer. With autocommit off, the next
    // statement is inside a transaction.
    connection_state state() noexcept override {
        if (is_lost_) return connection_state::lost;
        const bool begins_by_itself = (lent_->server_status & SERVER_STATUS_AUTOCOMMIT) == 0;
        const bool is_inside = (lent_->server_status & SERVER_STATUS_IN_TRANS) != 0;
        return begins_by_itself || is_inside ? connection_state::in_transaction
                                             : connection_state::idle;
    }

private:
    result run(const std::string& text, bool* has_rows) override {
        if (is_lost_) throw error{errc::connection_lost, place() + ": it is lost"};
        const bool is_at_stake =
            state() == connection_state::idle || step_of(text) == transaction_step::commits;
        if (mysql_real_query(lent_, text.data(), text.size()) != 0) fail(is_at_stake);
        result found;
        bool is_first = true;
        while (true) {
            take(found, std::exchange(is_first, false), has_rows, is_at_stake);
            // More than one answer: a CALL. After the last, or a failure, nothing is left to read.
            const int next = mysql_next_result(lent_);
            if (next < 0) return found;
            if (next > 0) fail(is_at_stake);
        }
    }

    // Takes the whole result at once, so that no answer is left unread whatever happens.
    void take(result& into, bool is_first, bool* has_rows, bool is_at_stake) {
        const result_handle rows{mysql_store_result(lent_)};
        if (rows != nullptr) {
            into.rows = rows_of(rows.get());
            if (has_rows != nullptr) *has_rows = true;
        } else if (mysql_field_count(lent_) != 0) {
            fail(is_at_stake);
        } else if (is_first) {
            into.affected_rows = static_cast<std::int64_t>(mysql_affected_rows(lent_));
        }
    }

    [[noreturn]] void fail(bool is_at_stake) {
        const failure what{
            static_cast<int>(mysql_errno(lent_)), mysql_sqlstate(lent_), mysql_error(lent_)};
        is_lost_ = breaks_connection(what.code);
        throw statement_error(place(), what, is_at_stake);
    }

    MYSQL* const lent_;
    bool is_lost_ = false;
};

}  // namespace

std::unique_ptr<connection> adapt(MYSQL* lent) {
    if (lent == nullptr) {
        throw error{
            errc::connection_lost, "the SOCI session to borrow is not connected; open it first"};
    }
    return std::make_unique<lent_by_soci>(lent);
}

}  // namespace leasehold::mysql
