// A soci::session of the caller's, with SOCI's backends postgresql, mysql (to both servers) and
// sqlite3.
#include <soci/mysql/soci-mysql.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
// Declares sqlite3.h inside of a namespace: no other header may have included it.
#include <soci/sqlite3/soci-sqlite3.h>

#include <optional>
#include <regex>
#include <stdexcept>

#include "claim/way.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/driver/soci.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/row_claim.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

// "host=… port=… dbname=… user=… password=…", as SOCI's backends want it.
std::string soci_words(const std::string& url, const std::string& database_word) {
    static const std::regex shape{"[a-z]+://([^:@]+):([^@]*)@([^:/]+):([0-9]+)/([^?]+).*"};
    std::smatch parts;
    if (!std::regex_match(url, parts, shape)) throw std::runtime_error("not a test server's URL");
    return "host=" + parts[3].str() + " port=" + parts[4].str() + " " + database_word + "=" +
           parts[5].str() + " user=" + parts[1].str() + " password=" + parts[2].str();
}

class lent_session final : public lent {
public:
    lent_session(
        const soci::backend_factory& backend,
        const std::string& words,
        const std::vector<std::string>& begin
    )
        : sql_(backend, words) {
        for (const std::string& each : begin) sql_ << each;
        borrowed_.emplace(borrow(sql_));
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { sql_.commit(); }
    void rollback() override { sql_.rollback(); }

private:
    soci::session sql_;
    std::optional<borrowed_connection> borrowed_;
};

// A soci::transaction, on a session that was set up as README.md says.
class lent_transaction final : public lent {
public:
    lent_transaction(const soci::backend_factory& backend, const std::string& words, engine which)
        : sql_(backend, words) {
        if (which == engine::sqlite) sql_ << "PRAGMA busy_timeout = 10000";
        if (which == engine::mysql) {
            sql_ << "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        }
        open_.emplace(sql_);
        borrowed_.emplace(borrow(sql_));
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { open_->commit(); }
    void rollback() override { open_->rollback(); }

private:
    soci::session sql_;
    std::optional<soci::transaction> open_;
    std::optional<borrowed_connection> borrowed_;
};

using opener = std::function<database(database_settings)>;

way lending(
    const opener& open, engine which, const soci::backend_factory& backend, const std::string& words
) {
    return {
        open(patient()),
        [=, &backend](begun how) -> std::unique_ptr<lent> {
            if (how == begun::by_the_client) {
                return std::make_unique<lent_transaction>(backend, words, which);
            }
            auto begin = words_to_begin(which, how);
            if (begin.empty() && how != begun::not_at_all) return nullptr;
            return std::make_unique<lent_session>(backend, words, begin);
        },
        open};
}

opener at(database (*open)(url_text, database_settings), const std::string& url) {
    return [=](database_settings settings) { return open(url, std::move(settings)); };
}

}  // namespace

std::vector<std::string> way_names() {
    return {"sqlite_soci", "postgres_soci", "mariadb_soci", "mysql_soci"};
}

way open_way(const std::string& name) {
    if (name == "sqlite_soci") {
        static const folder place;
        const std::string file = place.path() + "/claim.db";
        const std::string url = "sqlite:" + file;
        migrate(sqlite::open(url, patient()));  // makes the file
        return lending(at(sqlite::open, url), engine::sqlite, soci::sqlite3, file);
    }
    if (name == "postgres_soci") {
        const std::string url = require_url("postgres");
        const std::string words = soci_words(url, "dbname");
        return lending(at(postgres::open, url), engine::postgres, soci::postgresql, words);
    }
    const std::string url = require_url(name == "mysql_soci" ? "mysql" : "mariadb");
    return lending(at(mysql::open, url), engine::mysql, soci::mysql, soci_words(url, "db"));
}

}  // namespace leasehold::testing
