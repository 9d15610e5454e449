#include "cost/filled.hpp"
#include "leasehold/semaphore.hpp"
#include "support/patient.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace leasehold::testing {
namespace {

// The ends of the names of plans().
const std::map<std::string, statistics> names_of_statistics{
    {"of_empty_tables", statistics::of_empty_tables},
    {"of_one_row", statistics::of_one_row},
    {"never_gathered", statistics::never},
    {"with_histograms", statistics::with_histograms}};

std::string digits(std::int64_t number, int width) {
    std::string text = std::to_string(number);
    return std::string(static_cast<std::size_t>(width) - text.size(), '0') + text;
}

class filler {
public:
    filler(connection& on, const wording& words) : on_(on), words_(words) {}

    std::string id(const std::string& number) const {
        return words_.bytes(words_.padded(number, 16));
    }
    std::string name(const std::string& text) const { return words_.bytes("'" + text + "'"); }
    std::string name(const std::string& text, const std::string& number) const {
        return words_.bytes(words_.joined("'" + text + "'", words_.padded(number, 8)));
    }

    void sessions(std::int64_t count, const std::string& first, const std::string& expires_at)
        const {
        insert(
            "session (id, node_info, started_at, heartbeat_at, expires_at, notices)",
            id("n.n + " + first) + ", 'cost', " + words_.now + ", " + words_.now + ", " +
                expires_at + ", 0",
            count
        );
    }
    // Held where `is_held` is 1, by the session with that number.
    void locks(
        std::int64_t count,
        const std::string& named,
        const std::string& is_held,
        const std::string& session,
        const std::string& last_ticket = "0"
    ) const {
        const std::string when_held = "CASE WHEN " + is_held + " = 1 THEN ";
        insert(
            "lock (lock_key, fence, owner, session_id, node_info, reentrant_count, changed_at, "
            "last_ticket)",
            named + ", n.n, " + when_held + id("n.n") + " END, " + when_held + id(session) +
                " END, 'cost', " + is_held + ", " + words_.now + ", " + last_ticket,
            count
        );
    }
    void semaphore(const std::string& named, std::int64_t fence, std::int64_t capacity) const {
        insert(
            "lock (lock_key, fence, node_info, reentrant_count, changed_at, kind, capacity)",
            name(named) + ", " + std::to_string(fence) + ", 'cost', 0, " + words_.now + ", 3, " +
                std::to_string(capacity),
            1
        );
        insert(
            "holder (lock_key, owner, session_id, mode, permits, fence, node_info, granted_at)",
            name(named) + ", " + id("n.n") + ", " + id("n.n") + ", 1, 1, n.n, 'cost', " +
                words_.now,
            fence
        );
    }
    // Each of a session of its own, from the one that comes after `before`.
    void queue(const std::string& named, std::int64_t count, const std::string& before, int first)
        const {
        insert(
            "waiter (lock_key, ticket, owner, session_id, node_info, queued_at)",
            named + ", n.n + " + std::to_string(first) + ", " +
                id("n.n + 1000000 + " + std::to_string(first)) + ", " + id("n.n + " + before) +
                ", 'cost', " + words_.now,
            count
        );
    }

    // Under way: of the lock of the same name.
    void runs(std::int64_t count) const {
        insert(
            "run (name, tick, token, owner, node_info, started_at, opens_at, state, message)",
            name("lock/", "n.n") + ", n.n, n.n, " + id("n.n") + ", 'cost', " + words_.before +
                ", " + words_.before + ", 1, ''",
            count
        );
    }
    // Jobs of one queue, in one state. A due job has an instant for it, a running one a session.
    struct jobs_of {
        std::string queue;
        int state;
        std::string due_at = "NULL";
        std::string session = "NULL";
        std::string ordering_key = "NULL";
        std::string state_of_each{};  // instead of `state`
    };
    void jobs(std::int64_t count, const jobs_of& what) const {
        const std::string state =
            what.state_of_each.empty() ? std::to_string(what.state) : what.state_of_each;
        const bool is_running = what.state == 3;
        insert(
            "job (queue, kind, state, priority, attempts, token, enqueued_at, due_at, session_id, "
            "claimed_at, ordering_key, payload)",
            "'" + what.queue + "', 'cost', " + state + ", n.n % 5, " +
                (is_running ? "1, 1, " : "0, 0, ") + words_.wall_now + ", " + what.due_at + ", " +
                what.session + ", " + (is_running ? words_.wall_now : "NULL") + ", " +
                what.ordering_key + ", 'payload'",
            count
        );
    }
    void job_history(std::int64_t count, std::int64_t first, const std::string& prune_at) const {
        insert(
            "job_history (id, queue, kind, state, priority, attempts, rescues, token, enqueued_at, "
            "ended_at, prune_at, payload)",
            "n.n + " + std::to_string(first) + ", 'plain', 'cost', 6 + n.n % 3, 0, 1, 0, 1, " +
                words_.wall_before + ", " + words_.wall_now + ", " + prune_at + ", 'payload'",
            count
        );
    }
    // Grants that ended: of one key, or of as many keys.
    void grants(std::int64_t count, const std::string& of, const std::string& ended_at) const {
        insert(
            "grant_history (lock_key, token, kind, mode, permits, node_info, ended_at, held_for, "
            "ending)",
            of + ", n.n, 1, 2, 0, 'cost', " + ended_at + ", 1000, 1",
            count
        );
    }
    std::string text(const std::string& text, const std::string& number) const {
        return words_.joined("'" + text + "'", words_.padded(number, 8));
    }
    const wording& words() const { return words_; }

    void fences(std::int64_t count) const {
        insert("fence_guard (resource, fence)", name("lock/", "n.n") + ", n.n", count);
    }

private:
    void insert(const std::string& into, const std::string& values, std::int64_t count) const {
        on_.execute(
            "INSERT INTO leasehold_" + into + " SELECT " + values + " FROM " + words_.numbers(count)
        );
    }

    connection& on_;
    const wording& words_;
};

}  // namespace

volume volume_wanted() {
    const char* const scale = std::getenv("LEASEHOLD_COST_SCALE");
    if (!scale || std::string_view{scale}.empty())
        return {20'000, 5'000, 2'000, 300, 20'000, 40'000};
    if (std::string_view{scale} == "full") {
        return {1'000'000, 100'000, 10'000, 1'000, 1'000'000, 10'000'000};
    }
    volume made{};
    std::istringstream numbers{scale};
    char comma = ',';
    numbers >> made.locks >> comma >> made.sessions >> comma >> made.waiters;
    made.holders = 100;
    made.jobs = made.locks;
    made.history = made.locks;
    if (numbers && made.locks > 0 && made.sessions > 0 && made.waiters > 0) return made;
    throw std::invalid_argument(
        "LEASEHOLD_COST_SCALE is full, or numbers of locks, sessions and waiters with commas "
        "between, or is not set"
    );
}

identity numbered(std::int64_t number) {
    return identity::from_bytes(digits(number, 16));
}
key lock_key(std::int64_t number) {
    return key{"lock/" + digits(number, 8)};
}
key mourned_key(std::int64_t number) {
    return key{"mourned/" + digits(number, 8)};
}

const filled& filled::once(const std::string& plan) {
    static std::map<statistics, filled> made;
    auto known = statistics::fresh;
    for (const auto& [name, each] : names_of_statistics) {
        if (plan.find(name) != std::string::npos) known = each;
    }
    return made.try_emplace(known, known).first->second;
}

namespace {

// Those that fill() fills. No row refers to one of a later table.
constexpr std::array tables{
    "session",
    "lock",
    "waiter",
    "holder",
    "run",
    "fence_guard",
    "job",
    "job_history",
    "grant_history"};

void fill_jobs(const filler& rows, const volume& size) {
    const std::string sessions = std::to_string(size.sessions);
    const std::int64_t tenth = size.jobs / 10;
    rows.jobs(size.jobs, {.queue = "plain", .state = 2});
    rows.jobs(tenth, {.queue = "plain", .state = 1, .due_at = rows.words().wall_before});
    rows.jobs(tenth, {.queue = "plain", .state = 1, .due_at = rows.words().wall_later});
    rows.jobs(
        tenth,
        {.queue = "keyed",
         .state = 2,
         .ordering_key = rows.text("key/", "n.n - n.n % 10"),
         .state_of_each = "CASE WHEN n.n = 1 OR n.n % 10 = 0 THEN 2 ELSE 5 END"}
    );
    rows.jobs(tenth, {.queue = "crowded", .state = 2});
    rows.jobs(
        crowded_jobs,
        {.queue = "crowded", .state = 3, .session = rows.id("n.n % " + sessions + " + 1")}
    );
    rows.jobs(
        10 * dead_sessions,
        {.queue = "crowded", .state = 3, .session = rows.id("n.n % 10 + 1 + " + sessions)}
    );
    rows.job_history(pruned_jobs, 900'000'000, rows.words().wall_before);
    rows.job_history(size.history, 1'000'000'000, rows.words().wall_later);
}

void fill_one_row(const filler& rows) {
    rows.sessions(1, "0", rows.words().later);
    rows.semaphore("one", 1, 2);
    rows.queue(rows.name("one"), 1, "0", 0);
    rows.runs(1);
    rows.fences(1);
    rows.jobs(1, {.queue = "plain", .state = 2});
    rows.job_history(1, 0, rows.words().wall_later);
    rows.grants(1, rows.name("one"), rows.words().wall_later);
}

void fill_all(connection& on, const volume& size, const wording& words) {
    const filler rows{on, words};
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    rows.sessions(size.sessions, "0", words.later);
    rows.sessions(dead_sessions, text(size.sessions), words.before);
    rows.locks(
        size.locks, rows.name("lock/", "n.n"), "n.n % 2", "n.n % " + text(size.sessions) + " + 1"
    );
    rows.locks(1, rows.name("queued"), "1", "1", text(size.waiters));
    rows.queue(rows.name("queued"), size.waiters, "1", 0);
    rows.locks(1, rows.name("pair"), "1", "1", "2");
    rows.queue(rows.name("pair"), 2, "1", 0);
    rows.locks(mourned_keys, rows.name("mourned/", "n.n"), "1", "1", "20");
    for (std::int64_t number = 1; number <= mourned_keys; ++number) {
        const std::string named = rows.name("mourned/", text(number));
        rows.queue(named, dead_sessions, text(size.sessions), 0);
        rows.queue(named, 10, "1", dead_sessions);
    }
    rows.semaphore("crowded", size.holders, size.holders + spare_permits);
    rows.semaphore("sparse", 2, 2 + spare_permits);
    rows.runs(size.sessions);
    rows.fences(size.sessions);
    fill_jobs(rows, size);
    rows.grants(pruned_grants, rows.name("old"), words.wall_before);
    rows.grants(size.locks, rows.name("lock/", "n.n"), words.wall_later);
    rows.grants(size.locks, rows.name("busy"), words.wall_later);
}

}  // namespace

void fill(connection& on, const volume& size, const wording& words, statistics known) {
    const auto gather = [&] {
        for (const std::string table : tables) on.execute(words.gather + " leasehold_" + table);
    };
    for (const std::string table : tables) {
        if (words.keep_stale.empty()) break;
        on.execute("ALTER TABLE leasehold_" + table + " " + words.keep_stale);
    }
    if (known == statistics::of_empty_tables) gather();
    if (known == statistics::of_one_row) {
        fill_one_row(filler{on, words});
        gather();
        for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
            on.execute(std::string{"DELETE FROM leasehold_"} + *table);
        }
    }
    fill_all(on, size, words);
    if (known == statistics::fresh || known == statistics::with_histograms) gather();
}

database_settings patient_settings() {
    database_settings settings = patient();
    settings.max_connections = 1;
    settings.statement_timeout = std::chrono::minutes{10};
    return settings;
}

}  // namespace leasehold::testing
