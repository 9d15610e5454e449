#pragma once
// The history of grants: who held a key, when, for how long, and how each hold ended. Off by
// default.
//
//   leasehold::enable_grant_history(db, std::chrono::hours{24 * 30});  // once, by the owner
//   for (const auto& each : leasehold::list_grants_of(db, "invoices/closing")) print(each);
//
// Triggers on leasehold's own tables write the history: a grant's row is committed with its end,
// whichever program makes that end, older programs as well, and nothing is sent for it. If the
// history is off there are no triggers, and no cost. docs/guides/watching.md says what an end costs
// more if it is on.
//
// | how a grant ended | `ending`  | ended                                                        |
// |-------------------|-----------|--------------------------------------------------------------|
// | let go, or handed over to the next in the queue | released | then                          |
// | its session, or its fixed term, was over  | expired | when that was, whoever found out later |
// | freed by force    | forced    | then                                                         |
// | upgraded: a new grant of the same holder  | replaced | then                                  |
//
// The history has a grant once the grant has ended; list_locks() says who holds a key now. It has
// mutexes (and so elections, sets of keys and runs of tasks), shared mutexes and semaphores; no
// places at a latch or a barrier, and no jobs, which have a history of their own.
//
// Promises: each grant that ends after enable_grant_history() has returned, and before
// disable_grant_history() is called, is in the history exactly once, for as long as it is kept. It
// commits with its end or not at all.
// Does not promise: that a program has let go when its grant has ended, see lease.hpp. If a hold
// expired and its holder let go before anybody took it, its ending is "expired". After a reboot
// SQLite knows neither when a grant that the reboot ended was over (it says: at the first write
// after it) nor how long that grant was held.
//
// The clean-up (reaper.hpp) removes rows that are older than `keep`, at most 20,000 each time it
// comes round; `leasehold reap` removes all.
//
// Needs, except for reading: the rights of the user that migrates; on MySQL and MariaDB the right
// TRIGGER on the tables, too, and SUPER or log_bin_trust_function_creators = 1 if the server writes
// a binary log. The triggers act with the rights of the account that has made them, which must
// stay.
//
// Threads: safe. Errors: those of the database; invalid_argument for a `keep` that is less than a
// minute or more than 100 years.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_kind.hpp"

namespace leasehold {

// A grant ends in one of these ways.
enum class grant_ending {
    released = 1,
    expired = 2,
    forced = 3,
    replaced = 4,
};
constexpr const char* name_of(grant_ending ending) noexcept {
    switch (ending) {
        case grant_ending::released:
            return "released";
        case grant_ending::expired:
            return "expired";
        case grant_ending::forced:
            return "forced";
        case grant_ending::replaced:
            return "replaced";
    }
    return "ending this program does not know";
}

// The history keeps this of a grant that has ended.
struct grant_record {
    std::string key{};
    fencing_token token{};
    std::string node_info{};  // name@host:pid of the holder, for people
    std::string metadata{};   // the holder's own text when it ended; empty: none
    lock_kind kind = lock_kind::mutex;
    hold_mode mode = hold_mode::exclusive;
    std::int64_t permits = 0;                // of a semaphore: the number of permits it had
    std::chrono::microseconds ended_ago{0};  // by the database's clock
    std::optional<std::chrono::microseconds> held_for{};
    grant_ending ending = grant_ending::released;
};

// The state of the history, and how long its rows are kept. `is_broken`: it should be written, but
// triggers are missing or disabled, as after a restore that left them out; enable_grant_history()
// makes them again. On MySQL and MariaDB a user who lacks the right TRIGGER cannot know.
struct grant_history_status {
    bool is_on = false;
    bool is_broken = false;
    std::chrono::microseconds keep{0};
};
LEASEHOLD_EXPORT grant_history_status grant_history_state(const database& db);

// Turns the history on. `keep`, 1 minute to 100 years, is how long rows are kept, also existing
// rows; without it they are kept for as long as before, at first 30 days. Waits for transactions
// that have changed lock rows or proved a lease, and later ones wait behind it, no longer than a
// statement may: `timed_out`. Can be repeated, and changes no triggers then.
LEASEHOLD_EXPORT void enable_grant_history(
    const database& db, std::optional<std::chrono::microseconds> keep = {}
);

// Turns the history off. Existing rows stay for as long as they are kept. Waits as
// enable_grant_history() does.
LEASEHOLD_EXPORT void disable_grant_history(const database& db);

// list_grants() answers with the records that fit all of these.
struct grant_filter {
    std::string prefix{};                                     // only keys that begin so
    std::optional<std::chrono::microseconds> ended_within{};  // only ends that long ago at most
    int limit = 100;                                          // 1 to 100,000 records
};
// The latest ends first. Reads the later ends of other keys, too, until it has enough.
LEASEHOLD_EXPORT std::vector<grant_record> list_grants(
    const database& db, const grant_filter& filter = {}
);

// The grants of one key, the latest first: `filter` without its prefix. Reads no other grants.
LEASEHOLD_EXPORT std::vector<grant_record> list_grants_of(
    const database& db, const key& name, const grant_filter& filter = {}
);

}  // namespace leasehold
