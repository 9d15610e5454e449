#include "cost/filled.hpp"
#include "database/database.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

const wording words{
    .padded = [](const std::string& number, int width
              ) { return "lpad((" + number + ")::text, " + std::to_string(width) + ", '0')"; },
    .joined = [](const std::string& left,
                 const std::string& right) { return left + " || " + right; },
    .bytes = [](const std::string& text) { return "convert_to(" + text + ", 'UTF8')"; },
    .numbers = [](std::int64_t count
               ) { return "generate_series(1, " + std::to_string(count) + ") AS n (n)"; },
    .now = "clock_timestamp()",
    .later = "clock_timestamp() + interval '1 day'",
    .before = "clock_timestamp() - interval '1 minute'",
    .wall_now = "clock_timestamp()",
    .wall_later = "clock_timestamp() + interval '1 day'",
    .wall_before = "clock_timestamp() - interval '1 minute'",
    .gather = "VACUUM ANALYZE",
    .keep_stale = "SET (autovacuum_enabled = false)",
};

// Index entries, too, where the row itself was not needed.
constexpr const char* reads_sql =
    "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::bigint"
    " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint";

}  // namespace

class filled::state {
public:
    state()
        : server_(require_url("postgres")),
          watch_(postgres::open(server_, patient_settings())),
          name_(fresh_prefix() + "cost") {
        ask(watch_, "CREATE DATABASE " + name_);
        inside_.emplace(postgres::open(with_database(server_, name_), patient_settings()));
        migrate(*inside_);
    }
    ~state() {
        inside_.reset();
        ask(watch_, "DROP DATABASE " + name_ + " WITH (FORCE)");
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    static void ask(const database& db, const std::string& sql) {
        db.inner()->use_unchecked([&](connection& on, store_set&) { on.execute(sql); });
    }

    const std::string server_;
    const database watch_;
    const std::string name_;
    std::optional<database> inside_;
};

filled::filled(statistics known) : known_(known), state_(std::make_unique<state>()) {
    run([&](connection& on, store_set&) { fill(on, size_, words, known); });
}
filled::~filled() = default;

// Besides the statement's own: to plan it, the ends of the indexes are looked at.
std::int64_t filled::of(const bound& all) noexcept {
    constexpr std::int64_t to_plan = 12;
    return all.postgres + to_plan;
}

std::vector<std::string> filled::plans() {
    return {
        "force_generic_plan",
        "force_custom_plan",
        "force_generic_plan_of_empty_tables",
        "force_custom_plan_of_empty_tables",
        "force_generic_plan_of_one_row",
        "force_custom_plan_of_one_row",
        "force_custom_plan_never_gathered"};
}

void filled::plan(const std::string& which) const {
    run([&](connection& on, store_set&) {
        on.execute("ANALYZE leasehold_queue");  // as autovacuum does at any time
        const std::string mode = which.substr(0, which.find("_plan"));
        on.execute("SET plan_cache_mode = " + mode + "_plan");
    });
}

void filled::run(const call& what) const {
    state_->inside_->inner()->use(what);
}

database filled::beside() const {
    return postgres::open(with_database(state_->server_, state_->name_), patient_settings());
}

std::int64_t filled::reads_of(const call& what) const {
    std::int64_t reads = 0;
    run([&](connection& on, store_set& stores) {
        // Forces the counts out, which would come up to a second later otherwise.
        const auto counted = [&] {
            on.execute("SELECT pg_stat_force_next_flush()");
            return on.execute(reads_sql).rows.at(0).integer(0);
        };
        const std::int64_t before = counted();
        what(on, stores);
        reads = counted() - before;
    });
    return reads;
}

}  // namespace leasehold::testing
