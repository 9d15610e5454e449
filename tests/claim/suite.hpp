#pragma once
// The parts that the claim suites share: a way to a database, and a table as users have them.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "claim/way.hpp"
#include "leasehold/error.hpp"
#include "leasehold/key.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/versioned_claim.hpp"
#include "support/eventually.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

using namespace std::chrono_literals;

// seat: id, status ('free'), event (0), version (1), note, buyer, claimed_at, expires_at; an index
// on (status, event, id). Ten rows, ids 1 to 10.
class claim_suite : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        way_.emplace(open_way(GetParam()));
        engine_ = way_->db.server().engine;
        table_ = fresh_prefix() + "seat";
        const std::string text = is_mysql() ? "VARCHAR(40)" : "TEXT";
        define(
            "CREATE TABLE " + table_ +
            " (id BIGINT NOT NULL PRIMARY KEY, status VARCHAR(10) NOT NULL, " +
            "event BIGINT NOT NULL, version BIGINT NOT NULL, note " + text + ", buyer " + text +
            ", claimed_at " + time_type() + ", expires_at " + time_type() + ")" + table_options()
        );
        define("CREATE INDEX " + table_ + "_ix ON " + table_ + " (status, event, id)");
        std::string rows;
        for (int id = 1; id <= 10; ++id) {
            rows += (id == 1 ? "(" : ", (") + std::to_string(id) + ", 'free', 0, 1, 'row " +
                    std::to_string(id) + "')";
        }
        define("INSERT INTO " + table_ + " (id, status, event, version, note) VALUES " + rows);
    }
    void TearDown() override {
        if (way_) define("DROP TABLE " + table_);
    }

    bool is_mysql() const { return engine_ == engine::mysql || engine_ == engine::mariadb; }
    bool is_postgres() const { return engine_ == engine::postgres; }
    // Rows can be locked one by one, and two transactions write at once.
    bool has_row_locks() const { return engine_ != engine::sqlite; }

    std::string time_type() const {
        return is_postgres() ? "TIMESTAMPTZ" : is_mysql() ? "TIMESTAMP(6) NULL" : "TEXT";
    }
    std::string table_options() const { return is_mysql() ? " ENGINE=InnoDB" : ""; }
    // A time column's value an hour ago.
    std::string an_hour_ago() const {
        if (is_postgres()) return "clock_timestamp() - interval '1 hour'";
        return is_mysql() ? "SYSDATE(6) - INTERVAL 1 HOUR"
                          : "strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 hour')";
    }

    // Lets the term of the claim on a seat pass.
    void expire(int id) {
        define(
            "UPDATE " + table_ + " SET expires_at = " + an_hour_ago() +
            " WHERE id = " + std::to_string(id)
        );
    }

    // Runs `sql` in a transaction of our own, and commits.
    result define(const std::string& sql) {
        transaction tx = way_->db.begin();
        result said = tx.execute(sql);
        tx.commit();
        return said;
    }
    std::string ask(const std::string& what, int id) {
        const result said =
            define("SELECT " + what + " FROM " + table_ + " WHERE id = " + std::to_string(id));
        const value& found = said.rows.at(0).at(0);
        if (found.is_null()) return "null";
        if (const auto* number = std::get_if<std::int64_t>(&found.held())) {
            return std::to_string(*number);
        }
        return found.text();
    }
    std::string state_of(int id) { return ask("status", id) + "/" + ask("version", id); }

    std::unique_ptr<lent> begin(begun how = begun::plainly) { return way_->begin(how); }

    // The mapping of a ticket shop.
    versioned_mapping seats() const {
        versioned_mapping made;
        made.table = table_;
        made.key = {"id"};
        made.version = "version";
        made.state = {"status", "free", "taken", "sold"};
        made.order = {"event", "id"};
        made.columns = {"note"};
        return made;
    }
    // The same, with claims that run out.
    versioned_mapping leased_seats() const {
        versioned_mapping made = seats();
        made.claimed_by = "buyer";
        made.claimed_at = "claimed_at";
        made.expires_at = "expires_at";
        made.term = 1h;
        return made;
    }
    row_mapping rows() const {
        row_mapping made;
        made.table = table_;
        made.key = {"id"};
        made.columns = {"note", "version"};
        made.where = {{"status", comparison::equal, "free"}};
        made.order = {"event", "id"};
        return made;
    }

    std::optional<way> way_;
    engine engine_{};
    std::string table_;
};

// Beside the seats: a table made by each test, with id, status, version and what it wants besides.
class other_table_suite : public claim_suite {
protected:
    void SetUp() override {
        claim_suite::SetUp();
        other_ = table_ + "_x";
    }
    void TearDown() override {
        if (way_) define("DROP TABLE IF EXISTS " + other_);
        claim_suite::TearDown();
    }

    versioned_mapping tickets() const {
        versioned_mapping made;
        made.table = other_;
        made.key = {"id"};
        made.version = "version";
        made.state = {"status", "free", "taken", "sold"};
        return made;
    }

    std::string other_;
};

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// The error that an operation threw, or nothing.
template <class Run>
std::optional<error> thrown_by(Run&& run) {
    try {
        run();
    } catch (const error& failure) {
        return failure;
    }
    return std::nullopt;
}

inline std::vector<std::int64_t> ids_of(const std::vector<versioned_row>& rows) {
    std::vector<std::int64_t> ids;
    for (const auto& each : rows) ids.push_back(each.key.at(0).integer());
    return ids;
}
inline std::vector<std::int64_t> ids_of(const claimed_rows& got) {
    std::vector<std::int64_t> ids;
    for (const auto& each : got.rows) ids.push_back(each.key.at(0).integer());
    return ids;
}

}  // namespace leasehold::testing
