#include "leasehold/driver/mysql.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "driver/mysql_connection.hpp"
#include "driver/mysql_exchange.hpp"
#include "driver/mysql_settings.hpp"
#include "driver/mysql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace mysql {
namespace {

// The caller's own connection. Nothing of it is changed: no settings, no autocommit, nothing that
// ends a transaction; and nothing is asked of it that it may not have, such as several statements
// in one packet.
class lent_connection final : public connection {
public:
    explicit lent_connection(sql::Connection* lent) : lent_(lent) {
        try {
            // From the server's greeting; sends nothing. A proxy may greet with another version.
            server_ = server_from(lent_->getMetaData()->getDatabaseProductVersion().asStdString());
        } catch (const sql::SQLException& said) {
            error_facts facts;
            facts.native_code = said.getErrorCode();
            throw error{
                errc::connection_lost, "the connection to borrow is closed", std::move(facts)};
        }
        place_ = title_of(server_.engine) + " on a borrowed connection";
    }

    const server_info& server() const noexcept override { return server_; }

    // Autocommit as Connector/C++ knows it: set by setAutoCommit(). Within it the server has to be
    // asked for an explicit transaction.
    connection_state state() noexcept override {
        try {
            if (is_lost_ || lent_->isClosed()) return connection_state::lost;
            return !lent_->getAutoCommit() || is_in_explicit_transaction()
                       ? connection_state::in_transaction
                       : connection_state::idle;
        } catch (const std::exception&) {
            return connection_state::lost;
        }
    }

    result execute(std::string_view sql, const parameters& values) override {
        require_unbent();
        return run(with_literals(sql, values));
    }

    // One after the other: the caller may have connected without CLIENT_MULTI_STATEMENTS.
    result execute_script(std::string_view sql, const parameters& values) override {
        require_unbent();
        const std::string text = with_literals(sql, values);
        result found;
        bool is_first = true;
        for (const std::string_view each : split(text)) {
            bool has_rows = false;
            result said = run(std::string{each}, &has_rows);
            if (has_rows) found.rows = std::move(said.rows);
            if (std::exchange(is_first, false)) found.affected_rows = said.affected_rows;
        }
        return found;
    }

    void begin() override { refuse("begun"); }
    void commit() override { refuse("committed"); }
    // Cannot throw; what was lent is the caller's to roll back.
    void rollback() noexcept override {}
    // The caller's settings stay: how long a call may last is decided by them.
    void set_statement_timeout(std::chrono::milliseconds) override {}

private:
    [[noreturn]] void refuse(const char* what) const {
        throw error{
            errc::unsupported,
            place_ + ": it is " + what + " only by its owner, through Connector/C++"};
    }

    void require_unbent() {
        if (is_unbent_) return;
        mysql::require_unbent(place_, run(std::string{lent_question}).rows.at(0));
        is_unbent_ = true;
    }

    // MySQL has no variable for it. Outside of a transaction its SAVEPOINT does nothing, so that
    // there is none to release; inside neither of the two has any effect together.
    bool is_in_explicit_transaction() {
        if (server_.engine == engine::mariadb) {
            return run("SELECT @@in_transaction LIMIT 1").rows.at(0).integer(0) == 1;
        }
        constexpr int no_such_savepoint = 1305;
        run("SAVEPOINT leasehold_probe");
        try {
            run("RELEASE SAVEPOINT leasehold_probe");
            return true;
        } catch (const error& failure) {
            if (failure.native_code() != no_such_savepoint) throw;
            return false;
        }
    }

    result run(const std::string& text, bool* has_rows = nullptr) {
        if (is_lost_ || lent_->isClosed()) {
            throw error{
                errc::connection_lost, place_ + ": it is lost; its owner must connect again"};
        }
        // With autocommit on there may be an explicit transaction around us or none: then the
        // outcome of what was lost is not known.
        const bool is_at_stake =
            lent_->getAutoCommit() || step_of(text) == transaction_step::commits;
        std::size_t answered = 0;
        try {
            return exchange(*lent_, text, 1, answered, has_rows);
        } catch (const sql::SQLException& said) {
            const failure what = failure_of(said);
            is_lost_ = breaks_connection(what.code);
            throw statement_error(place_, what, is_at_stake);
        }
    }

    sql::Connection* lent_;
    server_info server_;
    std::string place_;
    bool is_unbent_ = false;
    bool is_lost_ = false;
};

}  // namespace

database open(std::string_view url, database_settings settings) {
    const auto limit = settings.statement_timeout;
    return database{
        [to = parse_url(url, std::getenv("MYSQL_PWD")), limit](std::chrono::milliseconds patience) {
            return connect(to, limit, patience);
        },
        std::move(settings)};
}

}  // namespace mysql

borrowed_connection borrow(sql::Connection* handle) {
    if (handle == nullptr) {
        throw error{errc::invalid_argument, "there is no sql::Connection to borrow"};
    }
    return borrowed_connection{std::make_unique<mysql::lent_connection>(handle)};
}

}  // namespace leasehold
