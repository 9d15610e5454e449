#include <sqlite3.h>

#include <atomic>
#include <chrono>

#include "cost/filled.hpp"
#include "database/database.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "session/session_store.hpp"
#include "sql/sqlite/boot_clock.hpp"
#include "support/folder.hpp"

namespace leasehold::testing {
namespace {

// The counter of the whole process, since SQLite calls its hook for all new connections.
std::atomic<std::int64_t> steps = 0;

int on_event(unsigned, void*, void* subject, void*) {
    steps += sqlite3_stmt_status(static_cast<sqlite3_stmt*>(subject), SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
}

int on_open(sqlite3* handle, char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, &on_event, nullptr);
}

std::string instant(std::int64_t seconds_from_now) {
    return std::to_string(boot_clock::now_microseconds() + seconds_from_now * 1'000'000);
}

std::string date(std::int64_t seconds_from_now) {
    using namespace std::chrono;
    const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch());
    return std::to_string((now + seconds{seconds_from_now}).count());
}

wording words() {
    return {
        .padded = [](const std::string& number, int width
                  ) { return "printf('%0" + std::to_string(width) + "d', " + number + ")"; },
        .joined = [](const std::string& left,
                     const std::string& right) { return left + " || " + right; },
        .bytes = [](const std::string& text) { return "CAST(" + text + " AS BLOB)"; },
        .numbers =
            [](std::int64_t count) {
                return "(WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n "
                       "< " +
                       std::to_string(count) + ") SELECT n FROM n) AS n";
            },
        .now = instant(0),
        .later = instant(86'400),
        .before = instant(-60),
        .wall_now = date(0),
        .wall_later = date(86'400),
        .wall_before = date(-60),
        .gather = "ANALYZE",
        .keep_stale = "",
    };
}

}  // namespace

class filled::state {
public:
    state() {
        sqlite3_auto_extension(hook());
        inside_.emplace(sqlite::open("sqlite:" + folder_.path() + "/cost.db", patient_settings()));
        migrate(*inside_);
    }
    ~state() {
        inside_.reset();
        sqlite3_cancel_auto_extension(hook());
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    static void (*hook())() { return reinterpret_cast<void (*)()>(&on_open); }

    const folder folder_;
    std::optional<database> inside_;
};

filled::filled(statistics known) : known_(known), state_(std::make_unique<state>()) {
    run([&](connection& on, store_set& stores) {
        // The first write of a boot frees everything, so there has to be one before.
        stores.get<session_store>().start(on, {identity::random(), "first", std::chrono::hours{1}});
        fill(on, size_, words(), known);
        on.execute("ANALYZE sqlite_schema");  // each connection reads them once
    });
}
filled::~filled() = default;

std::int64_t filled::of(const bound& all) noexcept {
    return all.sqlite;
}

std::vector<std::string> filled::plans() {
    return {"fresh", "of_empty_tables", "of_one_row", "never_gathered"};
}
void filled::plan(const std::string&) const {}

void filled::run(const call& what) const {
    state_->inside_->inner()->use(what);
}

database filled::beside() const {
    return sqlite::open("sqlite:" + state_->folder_.path() + "/cost.db", patient_settings());
}

std::int64_t filled::reads_of(const call& what) const {
    std::int64_t taken = 0;
    run([&](connection& on, store_set& stores) {
        const std::int64_t before = steps;
        what(on, stores);
        taken = steps - before;
    });
    return taken;
}

}  // namespace leasehold::testing
