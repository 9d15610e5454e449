// PostgreSQL: leasehold's own transactions, and a PGconn* of the caller's.
#include <libpq-fe.h>

#include <optional>
#include <stdexcept>

#include "claim/way.hpp"
#include "leasehold/driver/postgres.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

class native final : public lent {
public:
    native(const std::string& url, const std::vector<std::string>& words)
        : handle_(PQconnectdb(url.c_str())) {
        for (const std::string& each : words) run_words(each);
        borrowed_.emplace(borrow(handle_));
    }
    ~native() override {
        borrowed_.reset();
        PQfinish(handle_);
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { run_words("COMMIT"); }
    void rollback() override { run_words("ROLLBACK"); }

private:
    void run_words(const std::string& words) {
        PGresult* const said = PQexec(handle_, words.c_str());
        const bool is_done = PQresultStatus(said) == PGRES_COMMAND_OK;
        PQclear(said);
        if (!is_done) throw std::runtime_error(words + ": " + PQerrorMessage(handle_));
    }

    PGconn* const handle_;
    std::optional<borrowed_connection> borrowed_;
};

}  // namespace

std::vector<std::string> way_names() {
    return {"postgres", "postgres_libpq"};
}

way open_way(const std::string& name) {
    const std::string url = require_url("postgres");
    const database db = postgres::open(url, patient());
    const auto open = [url](database_settings settings) {
        return postgres::open(url, std::move(settings));
    };
    if (name == "postgres") return {db, [db](begun how) { return begin_own(db, how); }, open};
    return {
        db,
        [url](begun how) -> std::unique_ptr<lent> {
            auto words = words_to_begin(engine::postgres, how);
            if (words.empty() && how != begun::not_at_all) return nullptr;
            return std::make_unique<native>(url, words);
        },
        open};
}

}  // namespace leasehold::testing
