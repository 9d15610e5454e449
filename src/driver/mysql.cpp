#include "leasehold/driver/mysql.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "core/openssl_exit.hpp"
#include "core/thread_mutex.hpp"
#include "driver/mysql_connection.hpp"
#include "driver/mysql_exchange.hpp"
#include "driver/mysql_hosts.hpp"
#include "driver/mysql_lent.hpp"
#include "driver/mysql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace mysql {
namespace {

// Comes from the server's greeting; sends nothing. A proxy may greet with another version.
server_info server_of(sql::Connection& lent) {
    try {
        return server_from(lent.getMetaData()->getDatabaseProductVersion().asStdString());
    } catch (const sql::SQLException& said) {
        error_facts facts;
        facts.native_code = said.getErrorCode();
        throw error{errc::connection_lost, "the connection to borrow is closed", std::move(facts)};
    }
}

class lent_by_connector final : public lent_connection {
public:
    explicit lent_by_connector(sql::Connection* lent)
        : lent_connection(server_of(*lent), "on a borrowed connection", "Connector/C++"),
          lent_(lent) {}

    // Goes by autocommit as Connector/C++ knows it: set by setAutoCommit(). With autocommit the
    // server has to be asked for an explicit transaction.
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

private:
    // MySQL has no variable for this. Outside of a transaction its SAVEPOINT does nothing, so that
    // there is none to release; inside neither of the two has any effect together.
    bool is_in_explicit_transaction() {
        if (server().engine == engine::mariadb) {
            constexpr std::size_t is_open = 0;  // its name comes in any character set
            return run("SELECT @@in_transaction LIMIT 1", nullptr).rows.at(0).integer(is_open) == 1;
        }
        constexpr int no_such_savepoint = 1305;
        run("SAVEPOINT leasehold_probe", nullptr);
        try {
            run("RELEASE SAVEPOINT leasehold_probe", nullptr);
            return true;
        } catch (const error& failure) {
            if (failure.native_code() != no_such_savepoint) throw;
            return false;
        }
    }

    result run(const std::string& text, bool* has_rows) override {
        if (is_lost_ || lent_->isClosed()) {
            throw error{
                errc::connection_lost, place() + ": it is lost; its owner must connect again"};
        }
        // With autocommit on there may be an explicit transaction around us or none: then the
        // outcome of a statement that lost its answer is not known.
        const bool is_at_stake =
            lent_->getAutoCommit() || step_of(text) == transaction_step::commits;
        std::size_t answered = 0;
        try {
            return exchange(*lent_, text, 1, answered, has_rows);
        } catch (const sql::SQLException& said) {
            const failure what = failure_of(said);
            is_lost_ = breaks_connection(what.code);
            throw statement_error(place(), what, is_at_stake);
        }
    }

    sql::Connection* const lent_;
    bool is_lost_ = false;
};

// The hosts of a URL that may change, and the driver's knowledge of them.
class host_source {
public:
    using opener = host_list::opener;

    host_source(url_source source, opener open_one)
        : source_(std::move(source)), open_one_(std::move(open_one)) {
        static_cast<void>(hosts());
    }
    std::shared_ptr<host_list> hosts() {
        std::string url = source_();
        const thread_guard guard{mutex_};
        if (!hosts_ || url != url_) {
            hosts_ =
                std::make_shared<host_list>(parse_url(url, std::getenv("MYSQL_PWD")), open_one_);
            url_ = std::move(url);
        }
        return hosts_;
    }

private:
    const url_source source_;
    const opener open_one_;
    thread_mutex mutex_;
    std::string url_ LEASEHOLD_GUARDED_BY(mutex_);
    std::shared_ptr<host_list> hosts_ LEASEHOLD_GUARDED_BY(mutex_);
};

}  // namespace

database open(url_text url, database_settings settings) {
    return open([url = std::string{url}] { return url; }, std::move(settings));
}

database open(url_source source, database_settings settings) {
    keep_openssl_to_the_end();
    const auto limit = settings.statement_timeout;
    const auto refusals = std::make_shared<standby_refusals>();
    const auto open_one = [limit, refusals, name = settings.name](
                              const address& to, std::chrono::milliseconds timeout
                          ) { return connect(to, limit, timeout, name, refusals); };
    const auto from = std::make_shared<host_source>(std::move(source), open_one);
    return database{
        [from](std::chrono::milliseconds timeout) { return from->hosts()->connect(timeout); },
        std::move(settings)};
}

}  // namespace mysql

borrowed_connection borrow(sql::Connection* handle) {
    if (handle == nullptr) {
        throw error{errc::invalid_argument, "there is no sql::Connection to borrow"};
    }
    return borrowed_connection{std::make_unique<mysql::lent_by_connector>(handle)};
}

}  // namespace leasehold
