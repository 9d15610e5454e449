#include "leasehold/doctor.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "admin/drift.hpp"
#include "admin/health_store.hpp"
#include "admin/history_store.hpp"
#include "admin/migration_store.hpp"
#include "admin/queue_findings.hpp"
#include "admin/work_findings.hpp"
#include "core/in_words.hpp"
#include "core/shell_word.hpp"
#include "database/database.hpp"
#include "database/schema_check.hpp"
#include "database/schema_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"

namespace leasehold {
namespace {

using std::chrono::microseconds;

void require_valid(const diagnosis_settings& settings) {
    using namespace std::chrono_literals;
    const auto is_age = [](std::chrono::seconds age) {
        return age >= 1s && age <= 100 * 366 * 24h;
    };
    const bool is_valid = is_age(settings.held_longer_than) &&
                          is_age(settings.waiting_longer_than) &&
                          is_age(settings.snapshot_older_than) &&
                          is_age(settings.dead_longer_than) && settings.clock_difference >= 1ms &&
                          settings.clock_difference <= 24h && settings.connections_percent >= 0 &&
                          settings.connections_percent <= 100 && settings.max_dead_rows >= 0 &&
                          settings.max_history_length >= 0 && settings.max_slot_bytes >= 0;
    if (is_valid) return;
    throw error(
        errc::invalid_argument,
        "a limit of the doctor is out of range: ages are 1 s to 100 years, clock_difference is "
        "1 ms to a day, connections_percent is 0 to 100, and nothing is negative"
    );
}

void append(std::vector<finding>& all, std::vector<finding> more) {
    std::ranges::move(more, std::back_inserter(all));
}

// One examination, on one connection: each part adds its findings.
class examination {
public:
    examination(const database& db, const diagnosis_settings& settings LEASEHOLD_LIFETIMEBOUND)
        : db_(db), settings_(settings) {}

    std::vector<finding> all() {
        look("the server", [&](connection& on, store_set& stores) {
            add_server(on.server());
            add_environment(on, stores.get<session_store>());
            add_clock(on, stores.get<health_store>());
            append(found_, stores.get<health_store>().examine_server(on, settings_));
            say_how_written();
        });
        if (!is_reached_) return std::move(found_);
        look("the schema", [&](connection& on, store_set& stores) { add_schema(on, stores); });
        if (!has_tables_) return std::move(found_);
        look("the pooler", [&](connection& on, store_set& stores) {
            add_pooler(on, stores.get<health_store>());
        });
        look("the tables", [&](connection& on, store_set& stores) {
            append(found_, stores.get<health_store>().examine_tables(on, settings_));
        });
        look("sessions", [&](connection& on, store_set& stores) { add_sessions(on, stores); });
        look("the clean-up", [&](connection& on, store_set& stores) { add_clean_up(on, stores); });
        look("held keys", [&](connection& on, store_set& stores) { add_long_holds(on, stores); });
        look("queues", [&](connection& on, store_set& stores) {
            append(found_, find_in_queues(on, stores.get<health_store>(), settings_));
        });
        look("jobs that were given up", [&](connection& on, store_set& stores) {
            append(found_, find_discarded(on, stores.get<health_store>()));
        });
        look("runs", [&](connection& on, store_set& stores) {
            append(found_, find_in_runs(on, stores.get<run_store>()));
        });
        look("schedules", [&](connection& on, store_set& stores) {
            append(found_, find_in_schedules(on, stores.get<job_schedule_store>()));
        });
        look("the history", [&](connection& on, store_set& stores) { add_history(on, stores); });
        return std::move(found_);
    }

private:
    void add(
        severity weight,
        const char* name,
        std::string what,
        std::string why = {},
        std::string how = {}
    ) {
        found_.push_back({weight, name, std::move(what), std::move(why), std::move(how)});
    }

    // A part that fails becomes a finding, and the other parts follow while the server answers.
    template <class Use>
    void look(const char* at, Use&& use) {
        if (is_gone_) return;
        try {
            db_.inner()->use_unchecked(use);
        } catch (const error& failure) {
            if (is_reached_ && is_silent(failure) && !answers()) {
                is_gone_ = true;
                add(severity::error,
                    "unreachable",
                    std::string{"the server stopped answering, when it was asked for "} + at +
                        ": " + failure.what(),
                    unreachable_matters,
                    "see whether the server runs, and the network to it; then run the doctor again "
                    "for the rest");
            } else if (is_reached_) {
                found_.push_back(not_looked_at(at, failure));
            } else if (failure.code() == errc::schema_missing) {
                // SQLite: there is no file yet.
                add(severity::error,
                    "schema_missing",
                    failure.what(),
                    "nothing works without",
                    run_migrate);
            } else {
                add(severity::error,
                    "unreachable",
                    failure.what(),
                    unreachable_matters,
                    "see to what the message says: the address, the server, the password");
            }
        }
    }

    static bool is_silent(const error& failure) {
        return failure.connection_is_lost() || failure.code() == errc::timed_out;
    }

    // A failure may concern one question alone: a lock, or a connection that somebody ended.
    bool answers() {
        try {
            db_.inner()->use_unchecked([](connection& on, store_set& stores) {
                stores.get<health_store>().clock(on);
            });
            return true;
        } catch (const error&) {
            return false;
        }
    }

    void add_history(connection& on, store_set& stores) {
        if (!stores.get<history_store>().status(on).is_broken) return;
        add(severity::warning,
            "history_not_written",
            "history is on, but its triggers are missing or disabled",
            "grants that end now are not in it, as after a restore without triggers",
            "leasehold history on");
    }

    void add_server(const server_info& server) {
        is_reached_ = true;
        add(severity::good,
            "server",
            std::string{name_of(server.engine)} + " " + server.version_text);
    }

    void add_unsuitable(const std::string& reason) {
        add(severity::error,
            "unsuitable",
            reason,
            "programs fail here with this message, or with one like it",
            "see to what it says");
    }

    // Looks for the problems that programs look for before their first statement.
    void add_environment(connection& on, session_store& sessions) {
        constexpr const char* forgets =
            "what a crash or a fail-over forgets can be granted a second time, under the same "
            "token";
        try {
            const server_environment found = sessions.environment(on);
            if (!found.unsuitable.empty()) add_unsuitable(found.unsuitable);
            // The finding `replication` names the standbys.
            if (found.durability.empty()) return;
            add(severity::warning,
                "weak_durability",
                found.durability,
                forgets,
                "set what is named so that each commit is on the disk");
        } catch (const error& failure) {
            if (is_silent(failure)) throw;
            add_unsuitable(words_of(failure));
        }
    }

    // In a cluster the way of writing is a setting of the handle, unknown to the server.
    void say_how_written() {
        for (finding& each : found_) {
            if (each.name != "several_writers") continue;
            each.what += db_.settings().one_node_is_written_to
                             ? "; this program says that all write to one and the same node"
                             : "; proofs and takeovers are certified by the cluster, and row_claim "
                               "is refused: docs/clusters.md";
        }
    }

    void add_clock(connection& on, health_store& health) {
        const auto ours = [] {
            const auto now = std::chrono::system_clock::now().time_since_epoch();
            return std::chrono::duration_cast<microseconds>(now);
        };
        const microseconds before = ours();
        const microseconds theirs = health.clock(on);
        const microseconds after = ours();
        const microseconds ahead = theirs < before  ? theirs - before
                                   : theirs > after ? theirs - after
                                                    : microseconds{0};
        if (std::chrono::abs(ahead) <= settings_.clock_difference) return;
        add(severity::warning,
            "clock",
            "the server's clock is " + in_words(std::chrono::abs(ahead)) +
                (ahead.count() > 0 ? " ahead of" : " behind") + " this machine's",
            "no lock depends on it, but ticks of `once` and schedules go by the server's, and logs "
            "do not fit together",
            "let both run NTP");
    }

    // The process that has answered us answers another connection, while ours is open and idle: a
    // pooler by session would not do that. May overlook a pooler that takes its servers in turn.
    void add_pooler(connection& on, health_store& health) {
        if (!on.server().is_pooled) return;
        bool is_by_transaction = false;
        const std::int64_t first = health.server_process(on);
        db_.inner()->use_beside(bounds{}, [&](connection& other, store_set&) {
            other.begin();
            is_by_transaction = health.server_process(other) == first;
            other.rollback();
        });
        add(severity::good,
            "pooler",
            is_by_transaction ? "a pooler stands between that lends servers by transaction; "
                                "leasehold's own statements need no more"
                              : "a pooler stands between");
    }

    // One finding for all of them, however many there are. Returns the way to the first.
    std::string add_others(const std::vector<installation>& all) {
        constexpr std::size_t most_named = 3;
        std::string way, named;
        std::size_t found = 0;
        for (const installation& each : all) {
            if (each.is_ours) continue;
            if (found == 0) way = way_to(each.names);
            if (++found > most_named) continue;
            named += (named.empty() ? "'" : ", '") + each.names.prefix + "'";
            if (!each.names.schema.empty()) named += " in schema " + each.names.schema;
        }
        if (found == 0) return way;
        if (found > most_named) named += " and " + std::to_string(found - most_named) + " more";
        add(severity::warning,
            "other_installation",
            "there are tables of prefix " + named + " as well",
            "a lock there excludes nobody who locks here",
            "let all programs use the same names, or see to it that theirs are other keys");
        return way;
    }

    void add_schema(connection& on, store_set& stores) {
        append(found_, stores.get<health_store>().hidden_rows(on));
        const auto records = recorded(on, stores);
        const auto steps = compare(stores.get<schema_store>().known(), records);
        const std::string theirs = add_others(stores.get<migration_store>().installations(on));
        if (!records || records->empty()) {
            add(severity::error,
                "schema_missing",
                "there are no tables of leasehold here",
                "programs are refused",
                // A migration would make a second installation, which does not exclude the first's
                // users.
                theirs.empty() ? run_migrate
                               : "if programs use the other tables, name those: `" + theirs +
                                     "`, or set the user's search_path; if not, " + run_migrate);
            return;
        }
        bool is_whole = true;
        for (const migration_step& each : steps) {
            if (each.problem.empty() && each.is_applied) continue;
            if (each.is_newer && each.problem.empty()) continue;
            const std::string name = std::to_string(each.version) + " (" + each.name + ")";
            is_whole = false;
            add(severity::error,
                "schema_version",
                each.problem.empty() ? "migration " + name + " is not applied"
                                     : "migration " + name + ": " + each.problem,
                "programs of this version are refused",
                run_migrate);
        }
        has_tables_ = is_whole;
        const bool has_newer = std::ranges::any_of(steps, &migration_step::is_newer);
        if (is_whole && !has_newer) {
            append(found_, find_drift(on, stores.get<health_store>(), db_.settings().names));
        }
        if (is_whole) add_rights(on, stores.get<health_store>());
    }

    static std::string way_to(const table_names& names) {
        return "leasehold" + (names.schema.empty() ? "" : " --schema " + shell_word(names.schema)) +
               " --table-prefix " + shell_word(names.prefix) + " doctor";
    }

    // A user who lacks even the right to read the applied migrations was forgotten in the grants.
    std::optional<std::vector<migration_record>> recorded(connection& on, store_set& stores) {
        try {
            return stores.get<schema_store>().recorded(on);
        } catch (const error& refused) {
            if (refused.code() != errc::permission_denied) throw;
            if (!add_rights_if_told(on, stores.get<health_store>()))
                add_missing_rights(refused.what());
            throw;
        }
    }
    // If the user lacks even the right to use the tables' names, missing rights cannot be listed.
    bool add_rights_if_told(connection& on, health_store& health) {
        try {
            return add_rights(on, health);
        } catch (const error& failure) {
            if (failure.connection_is_lost()) throw;
            return false;
        }
    }

    // True when rights are missing.
    bool add_rights(connection& on, health_store& health) {
        const auto missing = health.missing_rights(on);
        if (missing.empty()) return false;
        std::string all;
        for (const std::string& each : missing) all += (all.empty() ? "" : "; ") + each;
        add_missing_rights("this user lacks " + all);
        return true;
    }
    void add_missing_rights(std::string what) {
        add(severity::warning,
            "missing_rights",
            std::move(what),
            "a program of this user fails where it needs them; to look on they are not needed",
            "leasehold migrate sql --grants USER prints the GRANTs; run them as the tables' owner");
    }

    void add_sessions(connection& on, store_set& stores) {
        const session_counts counts = stores.get<health_store>().count_sessions(on);
        const auto per_second = std::lround(counts.heartbeats_per_second);
        add(severity::good,
            "heartbeats",
            in_words(counts.live, "live session") + (counts.live == 1 ? " sends" : " send") +
                " some " + in_words(std::int64_t{per_second}, "heartbeat") + " a second");
        if (counts.overdue == 0) return;
        constexpr std::int64_t percent = 100, many = 5, some = 3;
        const bool is_server =
            counts.overdue > some && counts.overdue * percent > counts.live * many;
        add(severity::warning,
            "stuck_session",
            std::to_string(counts.overdue) + " of " + std::to_string(counts.live) +
                " live sessions have an overdue heartbeat, longest that of " + counts.example,
            "what they hold is free when their ttl is over, and their programs are told before",
            is_server ? "so many at once means that the server cannot keep up, or a network: raise "
                        "the ttl, or spread keys over several databases"
                      : "look whether that process is stopped, swaps, or has lost its network");
    }

    void add_clean_up(connection& on, store_set& stores) {
        const std::int64_t dead =
            stores.get<health_store>().dead_holds(on, settings_.dead_longer_than) +
            stores.get<health_store>().dead_shares(on, settings_.dead_longer_than);
        std::int64_t unfinished = 0;
        for (const upkeep_progress& each : stores.get<upkeep_store>().progress(on)) {
            unfinished = std::max(unfinished, each.unfinished);
        }
        constexpr std::int64_t max_unfinished = 10;
        if (dead == 0 && unfinished < max_unfinished) return;
        add(severity::warning,
            "clean_up_behind",
            in_words(dead, "hold") + (dead == 1 ? " is" : " are") +
                " there of sessions that ended more than " + in_words(settings_.dead_longer_than) +
                " ago, and " + in_words(unfinished, "turn") + " of the clean-up " +
                (unfinished == 1 ? "was" : "were") + " not finished",
            "nothing depends on it, but tables grow",
            "run `leasehold reap`, or let a program have a session open: each cleans up");
    }

    void add_long_holds(connection& on, store_set& stores) {
        constexpr int max_shown = 5;
        const microseconds since = settings_.held_longer_than;
        auto all = stores.get<health_store>().long_holds(on, since, max_shown);
        auto shares = stores.get<health_store>().long_shares(on, since, max_shown);
        const std::int64_t keys =
            (all.empty() ? 0 : all.front().holds) + (shares.empty() ? 0 : shares.front().holds);
        std::ranges::move(shares, std::back_inserter(all));
        std::ranges::stable_sort(all, std::ranges::greater{}, &long_hold::held_for);
        if (all.size() > max_shown) all.resize(max_shown);
        for (const long_hold& each : all) {
            add(severity::good,
                "held_long",
                "'" + each.key + "' is held for " + in_words(each.held_for) + " by " +
                    each.node_info +
                    (keys > max_shown ? "; " + std::to_string(keys) + " keys are held for that long"
                                      : ""));
        }
    }

    static constexpr const char* unreachable_matters =
        "nobody who asks this way gets a key, and who holds one loses it with its ttl";
    static constexpr const char* run_migrate = "run `leasehold migrate` as the owner of the tables";

    const database& db_;
    const diagnosis_settings& settings_;
    std::vector<finding> found_;
    bool is_reached_ = false;
    bool is_gone_ = false;  // the server was reached, and answers no more
    bool has_tables_ = false;
};

}  // namespace

const char* name_of(severity weight) noexcept {
    switch (weight) {
        case severity::good:
            return "good";
        case severity::warning:
            return "warning";
        case severity::error:
            return "error";
    }
    return "unknown";
}

severity worst_of(const std::vector<finding>& findings) noexcept {
    severity worst = severity::good;
    for (const finding& each : findings) worst = std::max(worst, each.severity);
    return worst;
}

std::vector<finding> diagnose(const database& db, const diagnosis_settings& settings) {
    require_valid(settings);
    return examination{db, settings}.all();
}

}  // namespace leasehold
