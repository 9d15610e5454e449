// The rights that a program needs, by those that grants_sql() prints: with them all of its work is
// done, and each of them is needed for some of it.
#include <gtest/gtest.h>

#include "admin/history_store.hpp"
#include "database/schema_store.hpp"
#include "jobs/job_queue_store.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/job_store.hpp"
#include "jobs/job_subscriber_store.hpp"
#include "leasehold/error.hpp"
#include "leasehold/fence_guard.hpp"
#include "leasehold/grant_history.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/once.hpp"
#include "leasehold/session.hpp"
#include "leasehold/shared_mutex.hpp"
#include "locks/fence_store.hpp"
#include "locks/waiter_store.hpp"
#include "runs/run_store.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"
#include "support/calm.hpp"
#include "upkeep/place.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

key fresh() {
    return key{identity::random().text()};
}

void use_locks(const database& db) {
    session one{db, calm("one")}, other{db, calm("other")};
    const key name = fresh();
    for (int times = 0; times < 2; ++times) {  // of a new key, and of a known one
        auto held = mutex{one, name}.try_acquire();
        ASSERT_TRUE(held);
        held->release();
    }
    shared_mutex lock{one, fresh()};
    auto shared = lock.try_acquire();
    ASSERT_TRUE(shared);
    lock.downgrade(*shared);
    shared->release();
    // Somebody waits, and is handed the key.
    auto held = mutex{one, name}.try_acquire();
    ASSERT_TRUE(held);
    db.inner()->use([&](connection& on, store_set& stores) {
        const acquire_request wanted{name, owner_id::random(), other.id(), "waits", {}};
        stores.get<waiter_store>().enqueue(on, wanted);
    });
    request_revoke(db, name);
    held->release();
    list_locks(db);
    list_sessions(db);
}

void use_tasks(const database& db) {
    db.inner()->use([&](connection& on, store_set& stores) {
        const run_claim run{fresh(), {1}, owner_id::random(), "node", schedule::instant{}};
        EXPECT_TRUE(stores.get<run_store>().claim(on, run));
        EXPECT_TRUE(stores.get<run_store>().finish(on, {run.name, run.token, run.owner, {}}));
        stores.get<run_store>().list(on, "", "", 10);
        EXPECT_TRUE(stores.get<run_store>().forget(on, run.name));
    });
    const std::string resource = identity::random().text();
    for (const std::int64_t token : {1, 2}) {
        transaction tx = db.begin();
        db.inner()->use([&](connection&, store_set& stores) {
            connection& inside = transaction_ref{tx}.inside();
            EXPECT_TRUE(stores.get<fence_store>().admit(inside, key{resource}, fencing_token{token})
            );
        });
        tx.commit();
    }
}

// A schedule is made, changed, found, fires, and is removed.
void use_schedules(const database& db) {
    job_schedule what;
    what.name = what.queue = identity::random().text();
    what.every = 1h;
    EXPECT_TRUE(set_job_schedule(db, what));
    EXPECT_TRUE(pause_job_schedule(db, what.name));
    EXPECT_TRUE(find_job_schedule(db, what.name));
    db.inner()->use([&](connection& on, store_set& stores) {
        stores.get<job_schedule_store>().due(on, what.queue, {});
        on.begin();
        auto row = stores.get<job_schedule_store>().find(on, what.name).rows.at(0);
        EXPECT_TRUE(stores.get<job_schedule_store>().advance(on, row));
        stores.get<job_schedule_store>().note_job(on, what.name, 1);
        on.commit();
    });
    EXPECT_TRUE(remove_job_schedule(db, what.name));
}

// A job that needs another waits, and goes on when that has ended.
void use_needs(const database& db) {
    const job_queue queue{db, identity::random().text()};
    const auto first = queue.enqueue({}), then = queue.enqueue({.depends_on = {first.id}});
    EXPECT_EQ(find_job(db, then.id).value().depends_on, std::vector{first.id});
    EXPECT_EQ(cancel_job(db, first.id), cancel_outcome::cancelled);
    EXPECT_EQ(find_job(db, then.id).value().state, job_state::cancelled);
}

// Rows of jobs are made, read, changed and removed, in every table of theirs.
void use_jobs(const database& db) {
    const session worker{db, calm("worker")};
    db.inner()->use([&](connection& on, store_set& stores) {
        const std::string queue = identity::random().text();
        job_store& jobs = stores.get<job_store>();
        job_queue_store& queues = stores.get<job_queue_store>();
        queues.set_limits(on, queue, {.max_running = 10});
        EXPECT_TRUE(queues.begin_maintenance(on, queue, 1h));
        jobs.enqueue(on, queue, {{.kind = "a", .ordering_key = "one"}, {.kind = "b"}});
        const auto running = jobs.claim(on, {queue, {}, 10, worker.id(), "node"}).jobs;
        ASSERT_EQ(running.size(), 2U);
        const job_id first = running[0].id, second = running[1].id;
        EXPECT_TRUE(jobs.note_progress(on, worker.id(), first, running[0].token, "half"));
        EXPECT_TRUE(jobs.save_checkpoint(on, worker.id(), {first, running[0].token}, "half"));
        jobs.standings(on, worker.id(), {{first, running[0].token}});
        const std::vector<job_end> ends{
            {first, running[0].token, job_state::completed, 0us, "with a result"},
            {second, running[1].token, job_state::retryable, 1h, "failed"}};
        const job_retention kept{0us, 1h, 1h, 1h};
        for (const auto& each : jobs.finish(on, worker.id(), ends, kept)) EXPECT_TRUE(each);
        queues.look(on, {queue});
        queues.promote(on, queue, 10);
        queues.rescue(on, queue, 10, kept);
        blocked_place place;
        queues.unblock(on, queue, 10, place);
        queues.prune(on, 10, 0);
        EXPECT_EQ(queues.retry(on, first), retry_outcome::redriven);
        EXPECT_EQ(queues.cancel(on, first, 1h), cancel_outcome::cancelled);
        EXPECT_EQ(queues.list(on, {.queue = queue}, {}).size(), 2U);
        queues.describe_queue(on, queue);
        queues.queue_names(on);
        queues.describe_queues(on);
        const auto id = identity::random();
        stores.get<job_subscriber_store>().add(on, {queue}, worker.id(), {id, "here"});
        stores.get<job_subscriber_store>().add(on, {queue}, worker.id(), {id, "there"});
        EXPECT_EQ(stores.get<job_subscriber_store>().list(on, queue, id, 1).size(), 1U);
        stores.get<job_subscriber_store>().remove(on, {queue}, id);
        stores.get<job_subscriber_store>().prune(on, queue);
    });
    use_needs(db);
    use_schedules(db);
}

// It does not matter if there is anything to clear: rights are asked for before rows.
void clean_up(const database& db) {
    db.inner()->use([&](connection& on, store_set& stores) {
        const auto id = session_id::random();
        EXPECT_TRUE(stores.get<session_store>().start(on, {id, "short", 1h}));
        stores.get<session_store>().heartbeat(on, id, 1h, {});
        stores.get<session_store>().end(on, id, std::nullopt);
        const std::string any_place = "a place of 24 bytes or so";
        for (const upkeep_progress& each : stores.get<upkeep_store>().progress(on)) {
            stores.get<upkeep_store>().begin_turn(on, each, 0us);
            stores.get<upkeep_store>().look(on, each.task, "", 10, 1h);
            stores.get<upkeep_store>().clear(on, each.task, {any_place}, 1h);
        }
    });
}

void use_history(const database& db) {
    EXPECT_FALSE(grant_history_state(db).is_broken);
    list_grants(db);
    db.inner()->use([](connection& on, store_set& stores) {
        stores.get<upkeep_store>().prune_history(on, 10);
    });
}

void work(const database& db) {
    clean_up(db);
    use_history(db);
    use_tasks(db);
    use_locks(db);
    use_jobs(db);
}

struct right {
    std::string table;
    std::string name;
};

// Reads the output of grants_sql(): GRANT A, B ON t, u TO …;
std::vector<right> rights_in(const std::string& sql) {
    std::vector<right> found;
    for (std::size_t at = 0; (at = sql.find("GRANT ", at)) != std::string::npos;) {
        const auto on = sql.find("ON ", at), to = sql.find(" TO ", on);
        const auto words = [&](std::size_t from, std::size_t end) {
            std::vector<std::string> list;
            std::string word;
            for (; from <= end; ++from) {
                const char each = from < end ? sql[from] : ',';
                if (each == ',')
                    list.push_back(std::exchange(word, ""));
                else if (each != ' ' && each != '\n')
                    word += each;
            }
            return list;
        };
        for (const std::string& name : words(at + 6, on)) {
            for (const std::string& table : words(on + 3, to)) found.push_back({table, name});
        }
        at = to;
    }
    return found;
}

TEST(rights_test, a_program_that_has_them_can_do_all_of_its_work) {
    const place here;
    migrate(here.open());
    here.load(here.grants());
    work(here.open_as_program());
    EXPECT_TRUE(migration_status(here.open_as_program()).back().is_applied);
}

TEST(rights_test, without_any_one_of_them_something_is_denied_in_words_that_help) {
    const place here;
    migrate(here.open());
    here.load(here.grants());
    const auto rights = rights_in(here.grants());
    EXPECT_GE(rights.size(), 37U) << "the grants were not read properly";
    for (const auto& [table, name] : rights) {
        if (table.starts_with("SCHEMA")) continue;
        SCOPED_TRACE(name + " on " + table);
        const std::string what = name + " ON " + table;
        here.load("REVOKE " + what + " FROM " + place::program_name() + ";\n");
        try {
            work(here.open_as_program());
            ADD_FAILURE() << "nothing was denied";
        } catch (const error& failure) {
            const std::string said = failure.what();
            const std::string plain = table.substr(table.find("leasehold_"));
            EXPECT_EQ(failure.code(), errc::permission_denied) << said;
            EXPECT_NE(said.find(plain), std::string::npos) << said;
            EXPECT_NE(said.find("leasehold migrate sql --grants"), std::string::npos) << said;
        }
        here.load("GRANT " + what + " TO " + place::program_name() + ";\n");
    }
    work(here.open_as_program());
}

// MySQL and MariaDB commit the statement that makes a trigger by itself.
TEST(rights_test, who_may_make_triggers_and_nothing_else_leaves_none_behind) {
    const place here;
    migrate(here.open());
    here.load(here.grants());
    for (const char* each : {"lock", "holder"}) {
        here.load(
            std::string{"GRANT TRIGGER ON leasehold_"} + each + " TO " + place::program_name() +
            ";\n"
        );
    }
    const database program = here.open_as_program();
    try {
        enable_grant_history(program);
        ADD_FAILURE() << "it was turned on";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::permission_denied) << failure.what();
    }
    use_locks(program);
    EXPECT_TRUE(list_grants(program).empty());
}

// Otherwise it could forge the list of applied migrations, and make or remove tables.
TEST(rights_test, a_program_can_neither_migrate_nor_forge_the_records) {
    const place here;
    migrate(here.open());
    here.load(here.grants());
    const database program = here.open_as_program();
    for (const char* statement :
         {"UPDATE leasehold_migration SET finished = finished",
          "DELETE FROM leasehold_migration",
          "DELETE FROM leasehold_fence_mark",
          "DELETE FROM leasehold_fence_guard",
          "DELETE FROM leasehold_queue",
          "UPDATE leasehold_grant_history SET ending = 1",
          "UPDATE leasehold_grant_history_rule SET is_on = 0",
          "CREATE TABLE leasehold_other (id BIGINT PRIMARY KEY)",
          "DROP TABLE leasehold_upkeep"}) {
        try {
            run_in(program, {statement});
            ADD_FAILURE() << statement;
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::permission_denied) << failure.what();
        }
    }
    EXPECT_TRUE(migrate(program).empty()) << "nothing to do needs no right";
    EXPECT_THROW(migrate_down(program, 0), error);
    EXPECT_NO_THROW(require_schema(program));
}

}  // namespace
}  // namespace leasehold::testing
