#pragma once
// One process's life in the database: all its holds live as long as its session does.
//
//   leasehold::session session{db, {.name = "billing-7"}};
//
// A session is one row and one heartbeat, however much it holds. When the process dies the row
// expires by the database's clock, and its holds are free, without anybody cleaning up.
//
// | state  | becomes                                                                            |
// |--------|------------------------------------------------------------------------------------|
// | live   | lost when its local deadline passes unrenewed, or the database says it has ended;   |
// |        | ended by end() or its destructor                                                    |
// | lost   | for ever: lost() fires, every lease of it is lost, and a late answer changes nothing |
// | ended  | for ever: lost() fires, and what lived with it is released; a fixed term (mutex.hpp) |
// |        | goes on                                                                              |
//
// A program that takes one lock and ends needs only two commits with `begins_with_grant` and
// end_with(). The constructor then looks whether the database can be used, and writes nothing. The
// first grant of a mutex inserts the row; so does any other act in the session, before it acts. A
// refused try inserts nothing. Until the row is there the session is live, has no deadline, and is
// in no list, and mutex::try_acquire_in() throws wrong_transaction.
// The call that begins the session throws what the constructor would throw: the database cannot be
// reached, or ttl is too short for it. Other threads' calls wait for that call, within their own
// deadlines. If the answer to that call is lost, the session counts as begun; if it has not, its
// next heartbeat finds that out, and the session is lost. If no thread can be started for the
// session (a std::system_error that is no leasehold::error), the session is lost and its key free.
//
// Promises: lost() fires *before* the database lets anyone else have what this session holds: the
// local deadline counts from before the last successful heartbeat was sent, on a clock that runs
// during suspend, minus a margin. Only force_release() does not wait for that: its holder is told
// by the next heartbeat. An expired session is never revived.
// Does not promise: that work stops by itself. Heed lost(), or write under lease.verify_in(tx). Nor
// that lost() comes first if the database's clock jumps forward (a fail-over to a server whose
// clock is ahead, a step of its time). A jump of more than what is left of their ttl ends all
// sessions at once: others may be granted their keys, and their holders are told by their next
// heartbeat. verify_in(tx) refuses as ever. SQLite's clock does not jump.
//
// fork(): a child has no heartbeat and no right to the parent's connections. In a process that is a
// fork of the one that opened them, a database handle, its transactions, sessions, leases, workers
// and quorums are lost: lost() is stopped, why_lost() is other_process, calls throw session_lost or
// unsupported or answer as those of a lost object do, and destructors send nothing, wait for
// nothing and leave memory as it is. A stop token that was taken before the fork does not fire in
// the child, and the child has copies of the parent's sockets until it ends or calls exec, which
// closes them (those of MySQL and MariaDB where the system has /proc). So fork first, as daemon(3)
// does, and open the database then: examples/daemon.cpp.
//
// Errors: the constructor throws leasehold::error when the database cannot be reached, its schema
// is missing or of another version, or a setting is out of range. handle.hpp says what an object
// does that was moved from.
//
// Threads: safe, all of it. Two background threads: one sends heartbeats (and cleans up after the
// dead), the other only watches the deadline, so that a hanging database cannot delay the alarm.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "leasehold/callable.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/lock_info.hpp"

namespace leasehold {

class lease;

// A session lives, and gives signs of life, by these settings.
struct session_settings {
    // For people: shown by `leasehold sessions`. Cut to 100 bytes. Empty: the program's name.
    std::string name{};
    // The time that the database waits for a sign of life: 1 s to 24 h. A crashed process blocks
    // others for at most this long.
    std::chrono::milliseconds ttl{30'000};
    // Unset: a third of ttl. At most half of ttl - margin, so that one heartbeat may fail.
    std::optional<std::chrono::milliseconds> heartbeat_every{};
    // The time before the database's expiry at which the holder is told. Unset: the smaller of 2 s
    // and ttl / 6. Less than half of ttl.
    std::optional<std::chrono::milliseconds> margin{};
    // The session begins with the first grant, in one commit with it; see above.
    bool begins_with_grant = false;
    // The session cleans up after dead sessions in the background, about once in this time, at most
    // 366 days; never if unset.
    std::optional<std::chrono::milliseconds> reap_every{std::chrono::milliseconds{60'000}};
};

// A session or a lease is lost for one of these reasons.
enum class loss_reason {
    none = 0,             // not lost
    expired = 1,          // the deadline passed without a successful heartbeat
    ended_by_server = 2,  // the database says the session has ended
    taken_over = 3,       // the lease is held by somebody else, or was freed by force
    released = 4,         // released by its owner
    session_ended = 5,    // the session was ended by its owner
    other_process = 6,    // this process is a fork of the one that opened the session
};

LEASEHOLD_EXPORT const char* name_of(loss_reason reason) noexcept;

class LEASEHOLD_EXPORT session {
public:
    [[nodiscard]] explicit session(leasehold::database db, session_settings settings = {});
    session(session&&) noexcept;
    session& operator=(session&&) noexcept;
    // Ends the session. Never throws; holds that could not be released end with the TTL.
    ~session();

    // Releases everything held and removes the row. Later calls do nothing. Holders are told first.
    // If the database does not answer, this and the destructors of all leases together take one
    // statement time-out: 4 s by default, and under 5 s on MySQL and MariaDB, whose client library
    // counts in whole seconds. If the database was silent before, they take half a second, in which
    // they try to connect. After that nothing more is tried, also if only one connection was lost.
    // The observer is told, and holds that could not be released end with the TTL. A heartbeat that
    // hangs in its client library is not waited for: its thread ends when the library gives up. A
    // call that begins the session meanwhile (begins_with_grant) is waited for as long again.
    void end() noexcept;

    // last.release(), and end(); of a spent lease only end(). One commit if this mutex is all that
    // the session has, or ever had, it is not recursive, and nobody waits for it. Answers, and
    // throws, as the release does. The session is ended in any case, and a caller that has entered
    // the lease once more by then is told.
    release_outcome end_with(lease&& last);

    session_id id() const;
    bool is_live() const;
    // Fires once, when the session is lost or its owner ends it. The reason: why_lost(). lost() of
    // its leases fires first. lease::lost() says what a callback may do.
    std::stop_token lost() const;
    loss_reason why_lost() const;
    // The moment until which the session counts as live if no further heartbeat succeeds.
    local_clock::time_point deadline() const;
    // The longest time so far in which no heartbeat got through. If it comes near ttl - margin,
    // such as in a fail-over, the session was nearly lost; beyond two thirds of that the observer
    // is warned.
    std::chrono::milliseconds longest_gap() const;
    const session_settings& settings() const&;  // with the defaults filled in
    session_settings settings() const&& { return settings(); }
    const leasehold::database& database() const;

    class implementation;  // private: src/session/session.hpp
    const std::shared_ptr<implementation>& inner() const { return inner_; }

private:
    friend struct handle_maker;
    explicit session(std::shared_ptr<implementation> adopted) noexcept;

    handle<std::shared_ptr<implementation>, "session"> inner_;
};

// A lost session stays lost, and so do the locks that were made in it. This call opens a session
// for `body`, and another one if the first was lost, for as long as `body` is to run. Make the
// locks in `body`, and return from it, or throw, when lost() fires.
//
//   leasehold::run_in_session(db, {.name = "billing-7"}, [&](leasehold::session& mine) {
//       leasehold::mutex closing{mine, "invoices/closing"};
//       while (!quit.stop_requested()) close_next(closing);
//   }, quit);
//
// | the session …            | `body` …                 | this call                           |
// |--------------------------|--------------------------|-------------------------------------|
// | cannot be opened         | was not called           | opens it again if the error is      |
// |                          |                          | transient, and else throws it       |
// | was lost                 | returns, or throws error | calls it again in a new session     |
// | lives, or `body` ends it | returns                  | returns                             |
// | lives, or `body` ends it | throws                   | throws the same                     |
//
// When `stop` is requested it opens no session any more, and returns. Between two sessions it
// waits for 50 ms to 2 s.
LEASEHOLD_EXPORT void run_in_session(
    const database& db,
    const session_settings& settings,
    const callable<void(session&)>& body,
    const std::stop_token& stop = {}
);

}  // namespace leasehold
