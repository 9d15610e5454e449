#include <optional>

#include "claim/way.hpp"
#include "database/database.hpp"

namespace leasehold::testing {
namespace {

class own final : public lent {
public:
    explicit own(const database& db) : tx_(db.begin()) {}
    transaction_ref ref() override { return tx_; }
    void commit() override { tx_.commit(); }
    void rollback() override { tx_.rollback(); }

private:
    transaction tx_;
};

// A connection without a transaction.
class bare final : public lent {
public:
    explicit bare(const database& db)
        : on_(db.inner()->connections().connect_apart(std::chrono::seconds{5})) {}
    transaction_ref ref() override { return {*on_}; }
    void commit() override {}
    void rollback() override {}

private:
    std::unique_ptr<connection> on_;
};

}  // namespace

std::unique_ptr<lent> begin_own(const database& db, begun how) {
    if (how == begun::plainly) return std::make_unique<own>(db);
    if (how == begun::not_at_all) return std::make_unique<bare>(db);
    return nullptr;
}

std::vector<std::string> words_to_begin(engine which, begun how) {
    const bool is_sqlite = which == engine::sqlite;
    const bool is_postgres = which == engine::postgres;
    const auto at = [&](const std::string& level) -> std::vector<std::string> {
        if (is_sqlite) return {};
        if (is_postgres) return {"BEGIN ISOLATION LEVEL " + level};
        return {"SET SESSION TRANSACTION ISOLATION LEVEL " + level, "START TRANSACTION"};
    };
    switch (how) {
        case begun::plainly:
            return is_sqlite
                       ? std::vector<std::string>{"PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE"}
                       : at("READ COMMITTED");
        case begun::repeatable:
            return at("REPEATABLE READ");
        case begun::serializable:
            return at("SERIALIZABLE");
        case begun::deferred:
            if (is_sqlite) return {"PRAGMA busy_timeout = 0", "BEGIN"};
            break;
        case begun::deferred_patient:
            if (is_sqlite) return {"PRAGMA busy_timeout = 10000", "BEGIN"};
            break;
        case begun::not_at_all:
        case begun::by_the_client:
            break;
    }
    return {};
}

}  // namespace leasehold::testing
