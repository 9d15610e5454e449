// PostgreSQL: pg_stat_statements of a database of our own, so that every statement in it is ours,
// BEGIN and COMMIT included.
#include "budget/meter.hpp"
#include "budget/relay.hpp"
#include "database/database.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

database_settings one_connection() {
    database_settings settings = patient();
    settings.max_connections = 1;
    return settings;
}

result ask(const database& db, const std::string& sql, const parameters& values = {}) {
    return db.inner()->use_unchecked([&](connection& on, store_set&) {
        return on.execute(sql, values);
    });
}

int port_of(const std::string& url) {
    const auto end = url.find('/', url.find("://") + 3);
    return std::stoi(url.substr(url.rfind(':', end) + 1));
}

}  // namespace

budget allowed() {
    return {
        .grant = {1, 1, 1},
        .new_grant = {2, 2, 1},  // a small statement that finds no free row, and the whole one
        .usual_new_grant = {1, 1, 1},
        .refusal = {1, 1, 0},
        .release = {1, 1, 1},
        .heartbeat = {1, 1, 1},
        .proof = {1, 1, 0},
        .life = {2, 2, 2},
        .nothing = {1, 1, 0},
    };
}

class meter::state {
public:
    state()
        : server_(require_url("postgres")),
          program_(require_program_url("postgres")),
          watch_(postgres::open(server_, one_connection())),
          relay_(port_of(server_)),
          name_(fresh_prefix() + "budget") {
        const auto libraries = ask(watch_, "SHOW shared_preload_libraries").rows.at(0).text(0);
        if (libraries.find("pg_stat_statements") == std::string::npos) {
            throw std::runtime_error("this server has no pg_stat_statements: nothing is counted");
        }
        ask(watch_, "SELECT pg_stat_statements_reset()");  // room for ours: 5000 texts at most
        ask(watch_, "CREATE DATABASE " + name_);
        const database owned = postgres::open(with_database(server_, name_), patient());
        migrate(owned);
        const std::string grants = grants_sql(engine::postgres, {}, user_of(program_));
        owned.inner()->use_unchecked([&](connection& on, store_set&) { on.execute_script(grants); }
        );
    }
    ~state() { ask(watch_, "DROP DATABASE " + name_ + " WITH (FORCE)"); }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    database open() const {
        const std::string url = with_database(with_port(program_, relay_.port()), name_);
        return postgres::open(with_option(url, "sslmode=disable"), one_connection());
    }
    // The least of what we need to know is what was thrown out to make room for others.
    void require_complete() const {
        const auto lost = ask(watch_, "SELECT dealloc FROM pg_stat_statements_info");
        if (lost.rows.at(0).integer(0) != 0) {
            throw std::runtime_error("pg_stat_statements had no room: the counts are not complete");
        }
    }
    row statements() const {
        return ask(watch_,
                   "SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(rows) FILTER "
                   "(WHERE query ~ 'UPDATE|INSERT|DELETE'), 0)::bigint, "
                   "coalesce(sum(wal_bytes), 0)::bigint FROM pg_stat_statements "
                   "WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = $1)",
                   {name_})
            .rows.at(0);
    }

    const std::string server_;
    const std::string program_;  // the same, with a program's rights
    const database watch_;
    const relay relay_;
    const std::string name_;
};

meter::meter() : state_(std::make_unique<state>()) {}
meter::~meter() = default;

database meter::open() const {
    return state_->open();
}

cost meter::spent() const {
    state_->require_complete();
    const row found = state_->statements();
    return {state_->relay_.round_trips(), found.integer(0), found.integer(1)};
}

// Transaction ids given out, to anybody.
std::int64_t meter::writes() const {
    const auto given_out =
        ask(state_->watch_, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
    return given_out.rows.at(0).integer(0);
}

std::optional<std::int64_t> meter::writes_per_transaction() {
    return 1;
}

bool meter::is_alone() {
    return false;
}

std::optional<std::int64_t> meter::logged() const {
    return state_->statements().integer(2);
}

void meter::settle() const {
    const database inside =
        postgres::open(with_database(state_->server_, state_->name_), patient());
    ask(inside, "VACUUM");
}

bool meter::counts_flushes() {
    return true;
}

std::int64_t meter::flushes(const database& by) const {
    ask(by, "SELECT pg_stat_force_next_flush()");  // or its counts come up to a second later
    return ask(state_->watch_, "SELECT wal_sync FROM pg_stat_wal").rows.at(0).integer(0);
}

}  // namespace leasehold::testing
