// The README's claims as a whole program: a seat by its version, then some tasks by locking them.
//
//   own_tables sqlite:PATH
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

void make_tables(const leasehold::database& db) {
    leasehold::transaction tx = db.begin();
    tx.execute("CREATE TABLE seat (id INTEGER PRIMARY KEY, version INTEGER, status TEXT)");
    tx.execute("INSERT INTO seat VALUES (42, 1, 'free')");
    tx.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, state TEXT, payload TEXT)");
    tx.execute("INSERT INTO task VALUES (1, 'ready', 'one'), (2, 'done', 'two'), (3, 'ready', '3')"
    );
    tx.commit();
}

bool was_sold = false;
void sell(leasehold::transaction& /*tx*/, const leasehold::versioned_row& /*seat*/) {
    was_sold = true;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: own_tables sqlite:PATH\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        make_tables(db);
        leasehold::transaction tx = db.begin();
        // README: begin
        leasehold::versioned_claim seats{
            {.table = "seat",
             .key = {"id"},
             .version = "version",
             .state = {"status", "free", "sold"}}};
        if (auto seat = seats.try_claim_in(tx, {42}))
            sell(tx, *seat);  // one UPDATE, by the version

        leasehold::row_claim tasks{
            {.table = "task",
             .key = {"id"},
             .columns = {"payload"},
             .where = {{"state", leasehold::comparison::equal, "ready"}},
             .order = {"id"}}};
        auto mine = tasks.claim_some_in(tx, 10, leasehold::skip_locked);  // FOR UPDATE SKIP LOCKED
        // README: end
        tx.commit();
        std::cout << (was_sold ? "sold" : "not sold") << ", " << mine.rows.size() << " tasks\n";
    } catch (const leasehold::error& failure) {
        std::cerr << "own_tables: " << failure.what() << '\n';
        return 1;
    }
}
