// One of several processes that drain a table of tasks, to be killed at any moment.
//
//   claim_drain_worker_<engine> URL TABLE PATH THREADS
//
// PATH: `versioned` claims and commits, and finishes in a second transaction; `rows` does it all
// in one. Either way a row of the table's _done is written by the transaction that ends the task,
// and nothing but the claim keeps a task from having two. `unguarded` is without the claim: it
// does what it has found, to prove that it would show.
#include <atomic>
#include <cstdio>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fault/where.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr int batch = 20;

class drain {
public:
    drain(database db, const std::string& table)
        : db_(std::move(db)),
          table_(table),
          versions_{versioned_mapping{
              .table = table,
              .key = {"id"},
              .version = "version",
              .state = {"state", "ready", "running", "done"},
              .order = {"priority", "id"},
              .claimed_by = "worker",
              .expires_at = "expires_at",
              .term = 15s}},
          rows_{row_mapping{
              .table = table,
              .key = {"id"},
              .where = {{"state", comparison::equal, "ready"}},
              .order = {"priority", "id"}}} {}

    void run(std::string_view path, std::stop_token stop) {
        while (!stop.stop_requested()) {
            try {
                const bool got = path == "versioned" ? versioned_batch()
                                 : path == "rows"    ? locked_batch()
                                                     : unguarded_batch();
                if (!got && is_empty()) return;
                // Others have the rest, and may die.
                if (!got) eventually([] { return false; }, 20ms);
            } catch (const error& failure) {
                if (!failure.is_transient()) throw;
                std::fprintf(stderr, "drain: %s\n", failure.what());
            }
        }
    }

private:
    bool versioned_batch() {
        transaction claiming = db_.begin();
        auto mine = versions_.try_claim_some_in(claiming, batch);
        claiming.commit();
        if (mine.empty()) return false;
        transaction finishing = db_.begin();
        for (versioned_row& each : mine) {
            if (versions_.finish_in(finishing, each) != change_outcome::done) continue;
            record(finishing, each.key);
        }
        finishing.commit();
        return true;
    }

    bool locked_batch() {
        transaction tx = db_.begin();
        const claimed_rows mine = rows_.claim_some_in(tx, batch, skip_locked);
        for (const claimed_row& each : mine.rows) {
            tx.execute("UPDATE " + table_ + " SET state = 'done' WHERE id = " + text_of(each.key));
            record(tx, each.key);
        }
        tx.commit();
        return !mine.rows.empty();
    }

    bool unguarded_batch() {
        transaction looking = db_.begin();
        const result found = looking.execute(
            "SELECT id FROM " + table_ + " WHERE state = 'ready' ORDER BY priority, id LIMIT " +
            std::to_string(batch)
        );
        looking.commit();
        transaction tx = db_.begin();
        for (const row& each : found.rows) {
            const parameters key{each.at(0)};
            tx.execute("UPDATE " + table_ + " SET state = 'done' WHERE id = " + text_of(key));
            record(tx, key);
        }
        tx.commit();
        return !found.rows.empty();
    }

    void record(transaction& tx, const parameters& key) {
        tx.execute("INSERT INTO " + table_ + "_done (id) VALUES (" + text_of(key) + ")");
    }

    bool is_empty() {
        transaction tx = db_.begin();
        const std::string left = " FROM " + table_ + " WHERE state IN ('ready', 'running') LIMIT 1";
        return tx.execute("SELECT 1" + left).rows.empty();
    }

    static std::string text_of(const parameters& key) {
        return std::to_string(key.at(0).integer());
    }

    const database db_;
    const std::string table_;
    const versioned_claim versions_;
    const row_claim rows_;
};

}  // namespace
}  // namespace leasehold::testing

int main(int count, char** arguments) {
    using namespace leasehold;
    constexpr int arguments_count = 5;
    if (count != arguments_count) return 64;
    const std::string_view path{arguments[3]};
    if (path != "versioned" && path != "rows" && path != "unguarded") return 64;
    database_settings settings;
    settings.connect_timeout = std::chrono::seconds{30};
    settings.statement_timeout = std::chrono::seconds{60};
    const database there = leasehold::testing::open_at(arguments[1], settings);
    leasehold::testing::drain work{there, arguments[2]};
    std::atomic<bool> has_failed = false;
    std::stop_source stop;
    {
        std::vector<std::jthread> threads;
        for (int each = 0; each < std::stoi(arguments[4]); ++each) {
            threads.emplace_back([&] {
                try {
                    work.run(path, stop.get_token());
                } catch (const std::exception& failure) {
                    std::fprintf(stderr, "drain: %s\n", failure.what());
                    has_failed = true;
                    stop.request_stop();
                }
            });
        }
    }
    std::puts(has_failed ? "failed" : "empty");
    return has_failed ? 1 : 0;
}
