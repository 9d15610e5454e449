#pragma once
// The one exception of the library, and what a caller can learn from it.
//
//   try {
//       lease->verify_in(tx);
//   } catch (const leasehold::error& failure) {
//       if (failure.code() == leasehold::errc::lease_lost) return give_up();
//       if (failure.is_transient()) return try_again();
//       throw;
//   }
//
// Contention is never an exception: a busy key is an empty result. (A caller that takes the lease
// out of it without looking, as in `*mutex.acquire_for(5s)`, gets an exception all the same:
// errc::busy.) An exception means that a request could not be sent or got no answer, or that the
// answer proves a broken assumption.
//
// Promises: the message says what failed, on what, and what to do next, in one line, and holds no
// password. The server's own message may contain user data and is kept apart from it.
//
// Threads: an error is immutable; copies share their facts and copying never throws.
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>

#include "leasehold/export.hpp"

namespace leasehold {

// The errors, by what a caller can do about them.
enum class errc {
    invalid_argument = 1,  // a key, duration, URL or setting that can never be accepted
    connection_failed =
        2,                // could not connect: host, port, file, password, or too many connections
    connection_lost = 3,  // a connection that worked has gone
    timed_out = 4,        // the database did not answer within the time allowed
    transient = 5,   // deadlock, serialization or lock wait: the same call may succeed next time
    constraint = 6,  // the database refused a row by one of its constraints
    schema_missing = 7,      // leasehold's tables are missing: run `leasehold migrate`
    schema_mismatch = 8,     // the tables are of another version, edited, or half migrated
    permission_denied = 9,   // the database user lacks the right to do this
    read_only = 10,          // a replica, a read-only file or a read-only transaction
    lease_lost = 11,         // the lease is not held any more; nothing may be written under it
    session_lost = 12,       // the session has ended; open a new one
    wrong_transaction = 13,  // not in a transaction, or in one that failed, was not committed, or
                             // is of another engine
    unsupported = 14,        // this engine, version or build cannot do it
    busy = 15,               // the lease of an acquisition was asked for, and it had got none
    database_error = 16,     // anything else the database said
    would_deadlock = 17,     // waiting would never end: the holder of the key waits for us
};

// The answer of the database, for logs and for programs that know their engine.
struct error_facts {
    std::string sqlstate{};        // five characters, or empty if the engine has none
    int native_code = 0;           // the engine's own number, or 0
    std::string server_message{};  // may contain user data: not part of what()
    bool outcome_unknown = false;  // the request may have been carried out: ask before repeating it
    // True when the server may accept connections and requests later: after connection_failed if it
    // starts or is full, after database_error if it is out of disk space or memory, after read_only
    // if it is a standby as a whole, as in a fail-over.
    bool is_passing = false;
};

// The category of these errors as std::error_code, whose value is an errc. Its conditions are those
// of the standard, as far as there is one: `code == std::errc::timed_out`.
LEASEHOLD_EXPORT const std::error_category& error_category() noexcept;
LEASEHOLD_EXPORT std::error_code make_error_code(errc code) noexcept;

// Its base's code() is a std::error_code of error_category().
class LEASEHOLD_EXPORT error : public std::system_error {
public:
    error(errc code, const std::string& message, error_facts facts = {});

    error(const error&) noexcept = default;
    error& operator=(const error&) noexcept = default;

    errc code() const noexcept { return static_cast<errc>(std::system_error::code().value()); }
    const char* what() const noexcept override { return told_->message.c_str(); }

    // The same call, made again, may succeed: deadlock, time-out, lost connection, a server that is
    // starting, out of disk space or memory, or a standby.
    bool is_transient() const noexcept;

    // True when the connection cannot be used any more. After errc::timed_out it may be lost as
    // well, if the driver gave up waiting: its state() says so.
    bool connection_is_lost() const noexcept;

    // The request was sent and its answer was lost: the server may have carried it out, or not. The
    // library never repeats it blindly; operations on leases settle it by asking with the owner id.
    bool outcome_is_unknown() const noexcept { return told_->facts.outcome_unknown; }

    const std::string& sqlstate() const noexcept { return told_->facts.sqlstate; }
    int native_code() const noexcept { return told_->facts.native_code; }
    const std::string& server_message() const noexcept { return told_->facts.server_message; }

private:
    struct told {
        std::string message;
        error_facts facts;
    };
    std::shared_ptr<const told> told_;
};

// A stable, lower-case name of a code, for logs and `--json`: "connection_lost".
LEASEHOLD_EXPORT const char* name_of(errc code) noexcept;

}  // namespace leasehold

template <>
struct std::is_error_code_enum<leasehold::errc> : std::true_type {};
