// A task table from a service's past. One process worked on it; now a cluster does, and tasks are
// done twice. First the bug, shown; then the cure, for which the table needs one more column.
//
//   task_table sqlite:PATH
#include <atomic>
#include <iostream>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int tasks = 40;
constexpr int workers = 4;

void run(const leasehold::database& db, const std::string& sql) {
    leasehold::transaction tx = db.begin();
    tx.execute(sql);
    tx.commit();
}

// The number of tasks that were done twice or more, or never.
std::int64_t not_done_once(const leasehold::database& db) {
    leasehold::transaction tx = db.begin();
    return tx.execute("SELECT COUNT(*) FROM task WHERE done <> 1").rows.at(0).integer(0);
}

template <class Work>
void in_a_cluster(Work&& work) {
    std::vector<std::jthread> threads;
    for (int each = 0; each < workers; ++each) threads.emplace_back([&work, each] { work(each); });
}

// As it was: look for a task, then say that it is taken. Between the two, somebody else looks.
void the_old_way(const leasehold::database& db) {
    std::latch has_looked{workers};
    in_a_cluster([&](int) {
        for (bool is_first = true;; is_first = false) {
            leasehold::transaction looking = db.begin();
            const auto found =
                looking.execute("SELECT id FROM task WHERE state = 'ready' ORDER BY id LIMIT 1");
            looking.commit();
            if (is_first) has_looked.arrive_and_wait();  // all at once, as on a busy morning
            if (found.rows.empty()) return;
            leasehold::transaction tx = db.begin();
            tx.execute(
                "UPDATE task SET state = 'done', done = done + 1 WHERE id = ?",
                {found.rows[0].integer(0)}
            );
            tx.commit();
        }
    });
}

const leasehold::versioned_mapping mapping{
    .table = "task",
    .key = {"id"},
    .version = "version",
    .state = {"state", "ready", "running", "done"},
    .order = {"id"}};

void by_version(const leasehold::database& db, const leasehold::versioned_claim& claims) {
    in_a_cluster([&](int) {
        for (;;) {
            leasehold::transaction claiming = db.begin();
            auto mine = claims.try_claim_some_in(claiming, 3);
            claiming.commit();
            if (mine.empty()) return;
            for (leasehold::versioned_row& each : mine) {
                leasehold::transaction tx = db.begin();
                tx.execute("UPDATE task SET done = done + 1 WHERE id = ?", {each.key.at(0)});
                // Not ours any more: our writes here go with the transaction.
                if (claims.finish_in(tx, each) != leasehold::change_outcome::done) continue;
                tx.commit();
            }
        }
    });
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: task_table sqlite:PATH\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        run(db, "CREATE TABLE task (id INTEGER PRIMARY KEY, state TEXT NOT NULL, done INTEGER)");
        run(db, "CREATE INDEX task_ready ON task (state, id)");
        for (int id = 1; id <= tasks; ++id) {
            run(db, "INSERT INTO task VALUES (" + std::to_string(id) + ", 'ready', 0)");
        }
        the_old_way(db);
        const auto bug = not_done_once(db);
        std::cout << "the old way: " << bug << " tasks not done exactly once\n";

        run(db, "UPDATE task SET state = 'ready', done = 0");
        const leasehold::versioned_claim claims{mapping};
        try {
            claims.check(db);
        } catch (const leasehold::error& missing) {
            std::cout << missing.what() << '\n';  // with the ALTER TABLE that would cure it
        }
        run(db, "ALTER TABLE task ADD COLUMN version INTEGER NOT NULL DEFAULT 0");
        claims.check(db);
        by_version(db, claims);
        const auto cured = not_done_once(db);
        std::cout << "by version: " << cured << " tasks not done exactly once\n";
        return bug > 0 && cured == 0 ? 0 : 1;
    } catch (const leasehold::error& failure) {
        std::cerr << "task_table: " << failure.what() << '\n';
        return 2;
    }
}
