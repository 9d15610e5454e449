// The suite on PostgreSQL, at LEASEHOLD_TEST_POSTGRES_URL.
#include "conformance/sql_backend.hpp"
#include "leasehold/driver/postgres.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

backend make_backend() {
    const std::string url = require_url("postgres");
    const auto open = [url](database_settings settings) {
        return postgres::open(url, std::move(settings));
    };
    backend made = make_sql_backend(
        "postgres", {"make_interval(secs => MICROS / 1e6)", "$1", "bigint"}, open, fresh_prefix()
    );
    const auto own = std::make_shared<database>(open({}));
    made.writes_so_far = [own] {
        transaction tx = own->begin();
        // Transaction ids given out plus bytes of log: a refused try must move neither.
        const auto found = tx.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn + "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
        );
        return std::stoll(found.rows.at(0).text(0));
    };
    made.writes_tolerated_per_1000 = 20'000;  // checkpointer and autovacuum write while we look
    return made;
}

}  // namespace leasehold::testing
