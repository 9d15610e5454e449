// MySQL and MariaDB, whichever LEASEHOLD_TEST_BACKEND names.
#include <cstdlib>
#include <stdexcept>

#include "cost/filled.hpp"
#include "database/database.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/migrate.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

// A digit of its own for each power of ten.
std::string numbers_to(std::int64_t count) {
    std::string digit, from, number = "1";
    for (int each = 0; each < 10; ++each) {
        digit += (each == 0 ? "SELECT " : " UNION ALL SELECT ") + std::to_string(each) + " AS d";
    }
    for (std::int64_t power = 1; power < count || power == 1; power *= 10) {
        const std::string name = "d" + std::to_string(power);
        number += " + " + name + ".d * " + std::to_string(power);
        from += (power == 1 ? "(" : ", (") + digit + ") " + name;
    }
    return "(SELECT " + number + " AS n FROM " + from + ") n WHERE n.n <= " + std::to_string(count);
}

const wording words{
    .padded = [](const std::string& number,
                 int width) { return "LPAD(" + number + ", " + std::to_string(width) + ", '0')"; },
    .joined = [](const std::string& left,
                 const std::string& right) { return "CONCAT(" + left + ", " + right + ")"; },
    .bytes = [](const std::string& text) { return text; },
    .numbers = numbers_to,
    .now = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
    .later = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + 86400000000",
    .before = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) - 60000000",
    .wall_now = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
    .wall_later = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + 86400000000",
    .wall_before = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) - 60000000",
    .gather = "ANALYZE TABLE",
    .keep_stale = "STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0",
};

std::string backend_name() {
    const char* const name = std::getenv("LEASEHOLD_TEST_BACKEND");
    if (!name) throw std::runtime_error("set LEASEHOLD_TEST_BACKEND to mysql or mariadb");
    return name;
}

// Not of the dependencies, of which there are none yet: MariaDB then reads all of a job to forget
// some of them.
void make_histograms(connection& on) {
    const result columns = on.execute(
        "SELECT table_name, GROUP_CONCAT('`', column_name, '`') FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name <> 'leasehold_job_need'"
        " GROUP BY table_name"
    );
    for (const row& each : columns.rows) {
        const std::string analyze = "ANALYZE TABLE " + each.text(0);
        const bool is_mysql = on.server().engine == engine::mysql;
        on.execute(
            is_mysql ? analyze + " UPDATE HISTOGRAM ON " + each.text(1)
                     : analyze + " PERSISTENT FOR ALL"
        );
    }
}

std::int64_t handler_reads(connection& on) {
    std::int64_t sum = 0;
    for (const row& each : on.execute("SHOW SESSION STATUS LIKE 'Handler_read%'").rows) {
        sum += std::stoll(each.text(1));
    }
    return sum;
}

}  // namespace

class filled::state {
public:
    state()
        : server_(require_url(backend_name())),
          watch_(mysql::open(server_, patient_settings())),
          name_(fresh_prefix() + "cost") {
        if (name_of(watch_.server().engine) != backend_name()) {
            throw std::runtime_error("the server for " + backend_name() + " is another one");
        }
        ask("CREATE DATABASE " + name_);
        inside_.emplace(mysql::open(with_database(server_, name_), patient_settings()));
        migrate(*inside_);
    }
    ~state() {
        inside_.reset();
        ask("DROP DATABASE " + name_);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    void ask(const std::string& sql) const {
        watch_.inner()->use_unchecked([&](connection& on, store_set&) { on.execute(sql); });
    }

    const std::string server_;
    const database watch_;
    const std::string name_;
    std::optional<database> inside_;
};

filled::filled(statistics known) : known_(known), state_(std::make_unique<state>()) {
    run([&](connection& on, store_set&) {
        fill(on, size_, words, known);
        if (known == statistics::with_histograms) make_histograms(on);
    });
}
filled::~filled() = default;

std::int64_t filled::of(const bound& all) noexcept {
    return all.mysql;
}

std::vector<std::string> filled::plans() {
    return {"fresh", "of_empty_tables", "of_one_row", "with_histograms"};
}
void filled::plan(const std::string&) const {}

void filled::run(const call& what) const {
    state_->inside_->inner()->use(what);
}

database filled::beside() const {
    return mysql::open(with_database(state_->server_, state_->name_), patient_settings());
}

std::int64_t filled::reads_of(const call& what) const {
    std::int64_t reads = 0;
    run([&](connection& on, store_set& stores) {
        const std::int64_t first = handler_reads(on);
        const std::int64_t second = handler_reads(on);
        const std::int64_t asking = second - first;
        what(on, stores);
        reads = handler_reads(on) - second - asking;
    });
    return reads;
}

}  // namespace leasehold::testing
