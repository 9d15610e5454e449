#pragma once
// A database of its own with as many rows as a large installation has, and how many rows the
// server reads for one call of a store. Each <engine>_filled.cpp defines it.
//
// The counters: PostgreSQL's statistics of the tables and indexes, flushed by the connection that
// ran the call; MySQL's and MariaDB's session counters Handler_read…, less what asking for them
// costs. SQLite has no rows to count: there a step of its machine counts, of which a row takes ten
// to thirty.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/key.hpp"
#include "leasehold/once.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/session.hpp"
#include "sql/store_set.hpp"

namespace leasehold::testing {

// The contents. Keys: lock_key(1) to lock_key(locks), of which the odd ones are held by owner
// numbered(i), in turns by all sessions; `queued` with the waiters, each of a session of its own;
// `pair` with two, `mourned_key(i)` with twenty, of whom ten are dead before the first that lives;
// the semaphore `crowded` with the holders and room for ten more, and `sparse` with two of them.
// Sessions numbered(1) to numbered(sessions) live for a day. As many runs and fences have the names
// of the first locks, and their tokens; the runs of those that are held are under way.
//
// Jobs: the queue `plain` has so many that are available, without keys, of priorities 0 to 4, and
// a tenth of that number each that are due and not due yet; `keyed` has a tenth in keys of ten, of
// which the first is available; `crowded` has as many again that are available, and crowded_jobs
// that run in sessions that live and ten more in each that is dead. The history is of `plain`: so
// many that are kept for a day, of ids from 1,000,000,000 on, and pruned_jobs whose time is over.
//
// Grants that have ended: one of each lock, as many of `busy`, and pruned_grants of `old` a minute
// ago.
struct volume {
    std::int64_t locks, sessions, waiters, holders, jobs, history;
};
inline constexpr std::int64_t crowded_jobs = 300;
inline constexpr std::int64_t pruned_jobs = 2'000;
inline constexpr std::int64_t pruned_grants = 300;
inline constexpr std::int64_t dead_sessions = 10;  // after those that live
inline constexpr std::int64_t mourned_keys = 5;
inline constexpr std::int64_t spare_permits = 10;

// By LEASEHOLD_COST_SCALE; see tests/README.md.
volume volume_wanted();

identity numbered(std::int64_t number);
key lock_key(std::int64_t number);
key mourned_key(std::int64_t number);

// The number of rows a call may read on each engine; on SQLite the number of steps it may take.
struct bound {
    std::int64_t postgres, mysql, sqlite;
};

// The planner chooses by the statistics of the tables. The server gathers none by itself meanwhile.
enum class statistics {
    fresh,            // gathered after these were filled
    with_histograms,  // the same, and of the values of each column; PostgreSQL always has them
    of_empty_tables,  // gathered before
    of_one_row,       // gathered while each had one row or two
    never,            // none was gathered
};

class filled {
public:
    // Made once for all tests of a program that ask for it.
    static const filled& once(const std::string& plan);

    explicit filled(statistics known);
    ~filled();
    filled(const filled&) = delete;
    filled& operator=(const filled&) = delete;

    const volume& size() const noexcept { return size_; }
    static std::int64_t of(const bound& all) noexcept;

    // Whether the statistics are those of what is there.
    bool is_fresh() const noexcept {
        return known_ == statistics::fresh || known_ == statistics::with_histograms;
    }

    // The engine plans by the statistics, and PostgreSQL also by its mode for prepared statements,
    // which plan() sets.
    static std::vector<std::string> plans();
    void plan(const std::string& which) const;

    // Runs a call on the one connection there is. Its changes stay.
    using call = std::function<void(connection&, store_set&)>;
    void run(const call& what) const;
    std::int64_t reads_of(const call& what) const;
    // The same tables, by a connection more.
    database beside() const;

private:
    class state;
    const volume size_ = volume_wanted();
    const statistics known_;
    std::unique_ptr<state> state_;
};

// The words in which an engine writes the contents.
struct wording {
    std::function<std::string(const std::string&, int)> padded;  // a number, to so many digits
    std::function<std::string(const std::string&, const std::string&)> joined;
    std::function<std::string(const std::string&)> bytes;  // of a text
    std::function<std::string(std::int64_t)> numbers;      // rows n.n from 1 to so many
    std::string now, later, before;                        // instants a day away
    std::string wall_now, wall_later, wall_before;         // the same where a job has them
    std::string gather;      // what gathers the statistics of the table whose name follows
    std::string keep_stale;  // behind ALTER TABLE and a name: the server gathers none by itself
};

// Fills empty tables with the default names, one INSERT each.
void fill(connection& on, const volume& size, const wording& words, statistics known);

// The settings of one connection, whose statements may take long.
database_settings patient_settings();

}  // namespace leasehold::testing
