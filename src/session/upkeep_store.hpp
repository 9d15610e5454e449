#pragma once
// The operations that clear leasehold's own tables of the dead. The general MUSTs: hold_store.hpp.
//
// No index finds the dead: each heartbeat or grant would have to write such an index. The clean-up
// looks for them in the order of the primary keys, some rows at a time, and the database remembers
// the position, called the *place*:
//
// Words: a *task* goes through one table; once through is a *pass*, part of it a *step*. A process
// that steps has taken a *turn*, which lasts until another one takes a turn. Safety does not rest
// on turns: they spare the server double work, and only the turn's owner can write a place.
//
//     progress() → begin_turn() → look() → clear() what was found → advance() → look() …
//
// | what happens                               | then                                         |
// |--------------------------------------------|----------------------------------------------|
// | the turn's owner dies, hangs or fails      | it stands in `unfinished`; others take turns |
// | somebody else takes the turn in the middle | advance() is refused: the step is done again |
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"

namespace leasehold {

class sql_dialect;

enum class upkeep_task {
    dead_locks = 1,    // holds of the dead, and queues that nobody serves
    dead_holders = 2,  // rows of holders that are dead
    dead_waiters = 3,  // rows of waiters that are dead
    old_sessions = 4,  // sessions that expired long ago, and that nothing refers to
    idle_locks = 5,    // lock rows that nobody held for long
};

// The progress of a task.
struct upkeep_progress {
    upkeep_task task = upkeep_task::dead_locks;
    std::int64_t turn = 0;
    std::chrono::microseconds since_turn{0};  // how long ago it began
    std::int64_t unfinished = 0;  // turns that began, less steps that were made; at least 0
    std::string place;            // of the last row that was looked at; empty: a pass begins
    std::int64_t passes = 0;      // that were completed
};

struct upkeep_finding {
    std::string place;       // the row's, in the order of its table
    bool is_queued = false;  // a lock row that somebody may wait for, see waiter_store::serve
};

struct upkeep_look {
    std::vector<upkeep_finding> found;
    std::string place;  // where the next look begins; empty: this one has reached the end
    // The earliest end among the sessions of the findings, by the database's clock; and among those
    // of all other rows, such as a key that is closed for its lock_delay.
    std::optional<std::chrono::microseconds> oldest{}, oldest_passed_over{};
};

class upkeep_store {
public:
    virtual ~upkeep_store() = default;
    static std::unique_ptr<upkeep_store> make(const std::shared_ptr<const sql_dialect>& how);

    // All tasks, in no order. Plain read.
    virtual std::vector<upkeep_progress> progress(connection& on) = 0;

    // Takes the turn, if it is the same as in `seen` and began at least `every` ago: `seen` is true
    // then, with `turn` and `unfinished` greater by 1. Otherwise answers false and writes nothing.
    // A clock that was set back MUST NOT keep everybody from the turn.
    virtual bool begin_turn(
        connection& on, const upkeep_progress& seen, std::chrono::microseconds every
    ) = 0;

    // The step that began at `from` is done, and the next one begins at `look.place`. `leaves` says
    // that some of the findings still exist. False, writing nothing, if another process took the
    // turn. MAY commit asynchronously.
    virtual bool advance(
        connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves
    ) = 0;

    // Goes through the next `rows` rows behind `place`, reads other rows only by primary key, and
    // answers with the rows that look as if they had to be cleared. Plain read.
    //
    // `retention` is for the last two tasks. A session is old once it expired that long ago, and
    // the tasks before it have each begun a pass since and completed it, leaving nothing of it.
    virtual upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) = 0;

    // Clears at most 100 of these rows: each that the same transaction proves to be dead. Skips
    // rows locked by others and does not wait for them. Answers with the number of rows cleared.
    //
    // dead_locks    frees them. Proved is what try_acquire takes for proof, a fixed term that
    //               passed, and a session whose row is gone: a hold can only have been granted
    //               while that row existed, so a snapshot that has the hold and not the row is
    //               proof.
    // dead_holders, dead_waiters
    //               removes them, on the same proof.
    // old_sessions  removes them.
    // idle_locks    removes them. MUST raise the high-water mark to at least their fences in the
    //               same transaction, having locked the mark before the first delete. Waits for
    //               grants of new keys that are under way.
    virtual std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) = 0;

    // Removes at most that many grants of the history whose time to be kept is over, the oldest
    // first; answers with their number. If there are none it reads two rows and writes nothing. MAY
    // commit asynchronously.
    virtual std::int64_t prune_history(connection& on, int max_rows) = 0;
};

}  // namespace leasehold
