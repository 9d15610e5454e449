// MySQL or MariaDB, as LEASEHOLD_TEST_BACKEND says: leasehold's own transactions, and a
// sql::Connection* of the caller's.
#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/statement.h>

#include <cstdlib>
#include <optional>
#include <regex>
#include <stdexcept>

#include "claim/way.hpp"
#include "leasehold/driver/mysql.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

std::unique_ptr<sql::Connection> connect(const std::string& url) {
    static const std::regex shape{"mysql://([^:@]+):([^@]*)@([^:/]+):([0-9]+)/([^?]+).*"};
    std::smatch parts;
    if (!std::regex_match(url, parts, shape)) throw std::runtime_error("not a test server's URL");
    sql::ConnectOptionsMap options;
    options["hostName"] = sql::SQLString{"tcp://" + parts[3].str() + ":" + parts[4].str()};
    options["userName"] = sql::SQLString{parts[1].str()};
    options["password"] = sql::SQLString{parts[2].str()};
    options["schema"] = sql::SQLString{parts[5].str()};
    return std::unique_ptr<sql::Connection>{get_driver_instance()->connect(options)};
}

class native final : public lent {
public:
    native(const std::string& url, const std::vector<std::string>& words) : handle_(connect(url)) {
        for (const std::string& each : words) run_words(each);
        borrowed_.emplace(borrow(handle_.get()));
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { run_words("COMMIT"); }
    void rollback() override { run_words("ROLLBACK"); }

private:
    void run_words(const std::string& words) {
        const std::unique_ptr<sql::Statement> each{handle_->createStatement()};
        each->execute(words);
    }

    const std::unique_ptr<sql::Connection> handle_;
    std::optional<borrowed_connection> borrowed_;
};

// The client begins a transaction with its next statement, as README.md says.
class without_autocommit final : public lent {
public:
    explicit without_autocommit(const std::string& url) : handle_(connect(url)) {
        handle_->setAutoCommit(false);
        const std::unique_ptr<sql::Statement> each{handle_->createStatement()};
        each->execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        borrowed_.emplace(borrow(handle_.get()));
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { handle_->commit(); }
    void rollback() override { handle_->rollback(); }

private:
    const std::unique_ptr<sql::Connection> handle_;
    std::optional<borrowed_connection> borrowed_;
};

std::string backend() {
    const char* const name = std::getenv("LEASEHOLD_TEST_BACKEND");
    return name == nullptr ? "mariadb" : name;
}

}  // namespace

std::vector<std::string> way_names() {
    return {backend(), backend() + "_connector"};
}

way open_way(const std::string& name) {
    const std::string url = require_url(backend());
    const database db = mysql::open(url, patient());
    const auto open = [url](database_settings settings) {
        return mysql::open(url, std::move(settings));
    };
    if (name == backend()) return {db, [db](begun how) { return begin_own(db, how); }, open};
    return {
        db,
        [url](begun how) -> std::unique_ptr<lent> {
            if (how == begun::by_the_client) return std::make_unique<without_autocommit>(url);
            auto words = words_to_begin(engine::mysql, how);
            if (words.empty() && how != begun::not_at_all) return nullptr;
            return std::make_unique<native>(url, words);
        },
        open};
}

}  // namespace leasehold::testing
