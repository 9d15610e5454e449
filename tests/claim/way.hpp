#pragma once
// A way to a database: an engine, and whose client library the transaction belongs to. The suites
// know neither. Each on_<client>.cpp says which ways there are.
//
// Threads: one way, one thread at a time; ways are cheap to make.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

// The ways to begin a transaction of the caller's.
enum class begun {
    plainly = 1,       // READ COMMITTED; on SQLite with the write lock
    repeatable = 2,    // REPEATABLE READ; nothing on SQLite
    serializable = 3,  // nothing on SQLite
    not_at_all = 4,
    deferred = 5,          // SQLite alone: without the write lock, and it waits for nobody
    deferred_patient = 6,  // the same, and it waits for others
    // The client's own interface begins it: setAutoCommit(false), a soci::transaction. Nothing if
    // that would send BEGIN.
    by_the_client = 7,
};

// A connection that is the caller's, with a transaction on it. Ends what is open when destroyed.
class lent {
public:
    virtual ~lent() = default;
    virtual transaction_ref ref() = 0;
    virtual void commit() = 0;
    virtual void rollback() = 0;
    result run(const std::string& sql) { return ref().inside().execute(sql); }
};

struct way {
    database db;  // of our own, to look from elsewhere
    // Null where the client, or the engine, has no such transaction.
    std::function<std::unique_ptr<lent>(begun)> begin;
    // Others on the same server or file, with settings of their own.
    std::function<database(database_settings)> open;
};

// The ways that this executable offers: "postgres", "postgres_libpq", …
std::vector<std::string> way_names();
// Ends the process or skips the test, as tests/README.md says, when the server is not there.
way open_way(const std::string& name);

// ---- for the files that make ways

// Runs in leasehold's own transactions; on its own connections where `how` asks for no transaction.
std::unique_ptr<lent> begin_own(const database& db, begun how);

// Words to send, in order, for a transaction begun so.
std::vector<std::string> words_to_begin(engine which, begun how);

}  // namespace leasehold::testing
