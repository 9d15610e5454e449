#pragma once
// The common parts of the stores of MySQL and MariaDB: their makers, and how they send.
#include <memory>
#include <string>
#include <string_view>

#include "leasehold/error.hpp"
#include "sql/sql_store.hpp"

namespace leasehold::mysql_dialect {

using shared_dialect = std::shared_ptr<const sql_dialect>;

// The error of an insert if another insert of its key was faster: ER_DUP_ENTRY.
inline constexpr int duplicate_key_code = 1062;

// Our tables hold text as bytes.
parameters as_bytes(parameters values);

// Sends a statement of any form once. If it is a packet whose last statement reports on the others,
// an error may come after the commit of the change: unless the error rules that out, this throws it
// as one of unknown outcome. Rolls back a transaction that failed within its packet.
result send(connection& on, const statement& what, const parameters& values);

// Statements of a dialect put together to one packet, which is a transaction of its own.
class packet {
public:
    packet& add(std::string_view statements);
    packet& add(const statement& what, const parameters& values);
    // Places are ?, one for each value.
    packet& add(std::string_view statements, const parameters& values);
    result send(connection& on) const;

private:
    std::string text_ = "START TRANSACTION;";
    parameters values_;
    written_nodes written_ = written_nodes::one;
};

// Sends statements without a transaction of their own: one inside a packet, or parts of the
// transaction that is open. Parts on a connection that was lent are sent one by one.
result send_in_transaction(connection& on, const statement& what, const parameters& values);

// Calls `insert`; where another insert of its key was faster, `otherwise`.
template <class Insert, class Otherwise>
auto insert_or(Insert&& insert, Otherwise&& otherwise) {
    try {
        return insert();
    } catch (const error& failure) {
        if (failure.native_code() != duplicate_key_code) throw;
    }
    return otherwise();
}

// A list of numbers in the form that statements take: JSON.
template <class Numbers>
std::string list_of(const Numbers& numbers) {
    std::string all;
    for (const auto& each : numbers) all += (all.empty() ? "" : ",") + std::to_string(each);
    return "[" + all + "]";
}

// "READ-COMMITTED", … of the session: the level of the transaction itself cannot be asked for
// without the PROCESS privilege.
std::string session_isolation(connection& inside);

// "$5, $6, $7"
std::string numbered_places(std::size_t count, std::size_t first);
// Replaces each {keys} by such a list, and each {size} by the number of keys.
std::string for_keys(std::string_view text, std::size_t count, std::size_t first);

// A deadlock rolled everything back and may not happen again; so did a commit that was refused
// because another node of a cluster had changed a row before (1213 of Galera, 3101 of Group
// Replication). A lock wait that timed out (1205) is not repeated: it has used up the time of the
// call.
inline constexpr int deadlock_code = 1213;
inline constexpr int refused_commit_code = 3101;
inline constexpr int max_deadlock_attempts = 4;

template <typename Operation>
auto despite_deadlocks(Operation&& operation) {
    for (int attempt = 1;; ++attempt) {
        try {
            return operation();
        } catch (const error& failure) {
            const int code = failure.native_code();
            const bool was_undone = code == deadlock_code || code == refused_commit_code;
            if (!was_undone || attempt == max_deadlock_attempts) throw;
        }
    }
}

}  // namespace leasehold::mysql_dialect
