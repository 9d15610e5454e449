// Grants that stand or fall with a transaction of the caller's, on PostgreSQL.
#include "store/pending_store.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 the schema or ''. What would abort the caller's transaction if it were only tried. Finds the
// table as the move will, by the search_path of this connection or by its schema; to_regclass() of
// a name in a schema that the user may not use is an error.
constexpr std::string_view enter_sql = R"sql(
SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'),
       c.oid IS NOT NULL,
       coalesce(has_schema_privilege(c.relnamespace, 'USAGE')
                AND has_table_privilege(c.oid, 'SELECT')
                AND has_table_privilege(c.oid, 'UPDATE'), false)
  FROM (VALUES (1)) AS one (row)
  LEFT JOIN pg_class c
    ON c.relname = lower('{bare}lock' COLLATE "C")::name
   AND CASE $1::text WHEN '' THEN pg_table_is_visible(c.oid)
                     ELSE c.relnamespace = (SELECT n.oid FROM pg_namespace n
                                             WHERE n.nspname = $1::text::name) END)sql";

// $1 key, $2 owner, $3 token, $4 the other owner. SKIP LOCKED: a wait for whoever has the row for a
// moment could end by the caller's lock_timeout, which aborts. Index: lock_pkey. Reads: 2
// rows.
constexpr std::string_view move_sql = R"sql(
WITH mine AS MATERIALIZED (
    SELECT l.lock_key
      FROM {prefix}lock l
     WHERE l.lock_key = $1 AND l.owner = $2 AND l.fence = $3
       FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE {prefix}lock AS l
   SET owner = $4
  FROM mine
 WHERE l.lock_key = mine.lock_key AND l.owner = $2 AND l.fence = $3)sql";

class postgres_pending_store final : public pending_store {
public:
    explicit postgres_pending_store(const table_names& names)
        : schema_(names.schema),
          table_(fill_in("{prefix}lock", names)),
          enter_(fill_in(enter_sql, names)),
          move_(fill_in(move_sql, names)) {}

    pending_entry enter(connection& inside) override {
        const row found = inside.execute(enter_, {schema_}).rows.at(0);
        if (found.text(0) != "read committed") {
            throw error(
                errc::wrong_transaction,
                "an acquire needs READ COMMITTED and this transaction is at " + found.text(0) +
                    ", where it may go on reading what was there before the key's last holder "
                    "wrote: begin it with BEGIN ISOLATION LEVEL READ COMMITTED"
            );
        }
        if (found.text(1) != "off") {
            throw error(
                errc::read_only,
                "an acquire needs a transaction that may write: begin it with BEGIN READ WRITE, on "
                "a server that is no standby"
            );
        }
        if (found.integer(2) == 0) {
            throw error(
                errc::schema_missing,
                "the caller's connection finds no table " + table_ +
                    ": it is in another database, or its search_path does not name the schema"
            );
        }
        if (found.integer(3) == 0) {
            throw error(
                errc::permission_denied,
                "the user of the caller's connection may not read and update " + table_ +
                    ": grant SELECT and UPDATE, and USAGE of its schema"
            );
        }
        return pending_entry::beside;
    }

    bool move(connection& inside, const hold& held, const owner_id& to) override {
        const parameters values{
            bytes_of(held.key.name()),
            bytes_of(held.owner),
            value{held.token.number},
            bytes_of(to)};
        return inside.execute(move_, values).affected_rows == 1;
    }

private:
    const std::string schema_;
    const std::string table_;
    const std::string enter_;
    const std::string move_;
};

}  // namespace

std::unique_ptr<pending_store> make_pending_store(const table_names& names) {
    return std::make_unique<postgres_pending_store>(names);
}

}  // namespace leasehold::postgres_dialect
