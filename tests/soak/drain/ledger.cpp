#include "soak/drain/ledger.hpp"

#include "soak/share_tables.hpp"

namespace leasehold::soak {

void ledger::create(const database& db) const {
    run_alone(db, "CREATE TABLE " + table_ + " (number BIGINT NOT NULL, rescues BIGINT NOT NULL)");
}

void ledger::drop(const database& db) const {
    run_alone(db, "DROP TABLE " + table_);
}

void ledger::add(transaction& tx, const std::string& number, int rescues) const {
    tx.execute(
        "INSERT INTO " + table_ + " (number, rescues) VALUES (" + number + ", " +
        std::to_string(rescues) + ")"
    );
}

ledger::sums ledger::read(const database& db) const {
    const auto found = db.execute(
        "SELECT COUNT(*), COUNT(DISTINCT number), COALESCE(MIN(number), 0), "
        "COALESCE(MAX(number), 0), CAST(COALESCE(SUM(rescues), 0) AS DECIMAL(18)), "
        "COUNT(CASE WHEN rescues > 0 THEN 1 END), COALESCE(MAX(rescues), 0) FROM " +
        table_
    );
    const row& all = found.rows.at(0);
    sums made;
    std::size_t column = 0;
    for (std::int64_t* each :
         {&made.rows,
          &made.jobs,
          &made.least,
          &made.greatest,
          &made.rescues,
          &made.rescued_jobs,
          &made.rescues_most}) {
        *each = all.integer(column++);
    }
    return made;
}

}  // namespace leasehold::soak
