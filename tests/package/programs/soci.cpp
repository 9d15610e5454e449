// Writes under a lease, in a SOCI session's own transaction, to the file on the command line.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <leasehold/driver/soci.hpp>
#include <leasehold/driver/sqlite.hpp>
#include <leasehold/leasehold.hpp>

#include <cstdio>

int main(int, char** arguments) {
    const leasehold::database db = leasehold::sqlite::open(std::string{"sqlite:"} + arguments[1]);
    leasehold::migrate(db);
    leasehold::session session{db};
    leasehold::mutex mutex{session, "stranger"};
    leasehold::acquisition lease = mutex.try_acquire();
    if (!lease) return 1;

    soci::session sql{soci::sqlite3, arguments[1]};
    sql << "CREATE TABLE invoice (id INTEGER)";
    soci::transaction tr{sql};
    sql << "INSERT INTO invoice VALUES (1)";
    lease->verify_in(leasehold::borrow(sql));
    tr.commit();
    std::puts("done");
}
