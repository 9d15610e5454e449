// Rows that nothing can be done with, as many as one statement reads and one more: somebody's open
// transaction has them locked, or their change is refused. The row behind them is in time.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance/job_suite.hpp"
#include "jobs/fire.hpp"
#include "jobs/job_schedule_store.hpp"
#include "jobs/needs.hpp"
#include "leasehold/worker.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {
namespace {

std::string list_of_numbers(const std::vector<job_id>& ids) {
    std::string list;
    for (const job_id each : ids) list += (list.empty() ? "" : ", ") + std::to_string(each);
    return "(" + list + ")";
}

// MariaDB makes a join of a list of 1,000 and more, and locks each row that it reads for that.
std::string is_one_of(const std::vector<job_id>& ids) {
    constexpr std::ptrdiff_t most = 900;
    std::string all;
    for (auto from = ids.begin(); from != ids.end();) {
        const auto end = from + std::min(most, ids.end() - from);
        all += (all.empty() ? "id IN " : " OR id IN ") + list_of_numbers({from, end});
        from = end;
    }
    return all;
}

class stuck_rows : public job_suite {
protected:
    std::string table(const char* name) const { return first_.settings().names.prefix + name; }
    static void execute(const database& on, const std::string& text) {
        transaction tx = on.begin();
        tx.execute(text);
        tx.commit();
    }
    // As of somebody who has changed them and thinks about it.
    void lock(transaction& tx, const char* name, const std::string& which) const {
        tx.execute("SELECT * FROM " + table(name) + " WHERE " + which + " FOR UPDATE");
    }
    bool is_available(job_id id) const { return state(id) == job_state::available; }
    static void tell_nobody(const std::string&) {}
};

// A batch of what is stuck and one more stand before the good one.
struct scene {
    const char* table = "job";
    std::string stuck;  // which of its rows are locked
    std::function<void()> pass;
    std::function<bool()> is_done;      // the good one
    std::function<bool()> is_all_done;  // also those that were locked
};

class locked_rows : public stuck_rows, public ::testing::WithParamInterface<int> {
protected:
    static constexpr int batch = 5;

    scene jobs_scene(
        std::vector<job_id> stuck,
        std::function<void()> pass,
        job_id good,
        std::function<bool(job_id)> is_done
    ) const {
        scene made{"job", is_one_of(stuck), std::move(pass), {}, {}};
        made.is_done = [is_done, good] { return is_done(good); };
        made.is_all_done = [is_done, stuck] { return std::ranges::all_of(stuck, is_done); };
        return made;
    }
    scene available_scene(std::vector<job_id> ids, std::function<void()> pass) const {
        const job_id good = ids.back();
        ids.pop_back();
        return jobs_scene(std::move(ids), std::move(pass), good, [this](job_id id) {
            return is_available(id);
        });
    }

    scene pruned() const {
        auto ids = enqueue_many(batch + 2);
        for (std::size_t at = 0; at < ids.size(); ++at) {
            EXPECT_EQ(cancel(ids[at], 1s), cancel_outcome::cancelled);
            current().age_job(ids[at], 48h - 1min * static_cast<int>(at));
        }
        const job_id good = ids.back();
        ids.pop_back();
        const auto pass = [this] {
            with_queues([](connection& on, job_queue_store& queues) {
                return queues.prune(on, batch, 0);
            });
        };
        scene made = jobs_scene(ids, pass, good, [this](job_id id) { return !find(id); });
        made.table = "job_history";
        return made;
    }
    scene rescued() {
        const auto ids = enqueue_many(batch + 2);
        EXPECT_EQ(one_.claim(batch + 2).size(), ids.size());
        expire(one_.mine);
        return available_scene(ids, [this] { rescue(batch); });
    }
    // Rescues jobs of sessions, of which one row is locked.
    scene rescued_from_others() {
        const auto ids = enqueue_many(batch + 2);
        EXPECT_EQ(one_.claim(batch + 1).size(), batch + 1U);
        EXPECT_EQ(two_.claim(1).size(), 1U);
        expire(one_.mine);
        expire(two_.mine);
        scene made = available_scene(ids, [this] { rescue(batch); });
        const std::string of_one = " WHERE id = " + std::to_string(ids.front());
        made.table = "session";
        made.stuck = "id = (SELECT session_id FROM " + table("job") + of_one + ")";
        return made;
    }
    scene promoted() const {
        std::vector<job_id> ids;
        for (int each = 0; each < batch + 2; ++each) {
            ids.push_back(enqueue(delayed(1h)));
            current().age_job(ids.back(), 3h - 1min * each);
        }
        return available_scene(ids, [this] { promote(batch); });
    }
    scene unblocked() {
        std::vector<job_id> ids;
        for (int each = 0; each < batch + 2; ++each) {
            ids.push_back(enqueue(keyed("k" + std::to_string(each))));
        }
        execute(
            first_, "UPDATE " + table("job") + " SET state = 5 WHERE id IN " + list_of_numbers(ids)
        );
        return available_scene(ids, [this] { unblock(batch, place_); });
    }

    // As many jobs and one more that wait for one that has ended by this step.
    std::vector<job_id> waiting_for_ended(job_step step, std::size_t count) const {
        const job_queue jobs{first_, queue_};
        const job_id first = jobs.enqueue({}).id;
        const std::vector<new_job> all(count + 2, new_job{.depends_on = {first}});
        std::vector<job_id> ids;
        for (const enqueued_job& each : jobs.enqueue_many(all)) ids.push_back(each.id);
        EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), step, 0s, "ended")));
        return ids;
    }
    void settle_left() {
        with_stores(second_, [&](connection& on, store_set& stores) {
            return settle_left_needs(on, stores, queue_, needs_, tell_nobody);
        });
    }
    scene gone_on() {
        const auto ids = waiting_for_ended(job_step::complete, job_need_store::max_passed);
        return available_scene(ids, [this] { settle_left(); });
    }
    scene given_up() {
        auto ids = waiting_for_ended(job_step::discard, job_need_store::max_passed);
        const job_id good = ids.back();
        ids.pop_back();
        return jobs_scene(
            ids,
            [this] { settle_left(); },
            good,
            [this](job_id id) { return state(id) == job_state::cancelled; }
        );
    }
    scene left_waiting() {
        const auto ids = waiting_for_ended(job_step::complete, job_need_store::max_passed);
        execute(
            first_, "DELETE FROM " + table("job_need") + " WHERE job_id IN " + list_of_numbers(ids)
        );
        return available_scene(ids, [this] { settle_left(); });
    }
    // By the worker that has ended the job they wait for.
    scene gone_on_at_once() {
        const auto ids = waiting_for_ended(job_step::complete, job_need_store::max_rows);
        ended_ = {ids.front() - 1};
        return available_scene(ids, [this] {
            with_stores(second_, [&](connection& on, store_set& stores) {
                ended_ = settle_some_needs(on, stores, ended_, tell_nobody);
                // The look for left needs settles the jobs that were locked.
                if (ended_.empty()) {
                    settle_left_needs(on, stores, queue_, needs_, tell_nobody);
                }
                return true;
            });
        });
    }
    scene fired_schedules() {
        const std::string name = fresh("schedule");
        for (int each = 0; each < job_schedule_store::max_rows + 2; ++each) {
            job_schedule one;
            one.name = name + "/" + std::to_string(1000 + each);
            one.queue = queue_;
            one.every = 1h;
            one.job.kind = one.name;
            set_job_schedule(first_, one);
        }
        execute(
            first_,
            "UPDATE " + table("job_schedule") +
                " SET next_at = next_at - 7200000000 WHERE queue = '" + queue_ + "'"
        );
        const std::string last =
            name + "/" + std::to_string(1000 + job_schedule_store::max_rows + 1);
        execute(
            first_,
            "UPDATE " + table("job_schedule") + " SET next_at = next_at + 60000000 WHERE name = '" +
                last + "'"
        );
        scene made;
        made.table = "job_schedule";
        made.stuck = "queue = '" + queue_ + "' AND name <> '" + last + "'";
        made.pass = [this] {
            with_stores(second_, [&](connection& on, store_set& stores) {
                const auto done = fire_schedules(
                    on,
                    stores,
                    queue_,
                    fires_,
                    [](const auto& which, const auto& why) {
                        ADD_FAILURE() << which << ": " << why;
                    }
                );
                return done.jobs;
            });
        };
        const auto jobs = [this] {
            return list_jobs(second_, {.queue = queue_, .limit = 10'000}).size();
        };
        made.is_done = [jobs] { return jobs() == 1; };
        made.is_all_done = [jobs] { return jobs() == job_schedule_store::max_rows + 2; };
        return made;
    }

    blocked_place place_;
    need_places needs_;
    fire_place fires_;
    std::vector<job_id> ended_;

public:
    struct kind {
        const char* name;
        scene (*make)(locked_rows&);
    };
    static const std::vector<kind>& kinds() {
        static const std::vector<kind> all{
            {"prune", [](locked_rows& of) { return of.pruned(); }},
            {"rescue", [](locked_rows& of) { return of.rescued(); }},
            {"rescue_of_sessions", [](locked_rows& of) { return of.rescued_from_others(); }},
            {"promote", [](locked_rows& of) { return of.promoted(); }},
            {"unblock", [](locked_rows& of) { return of.unblocked(); }},
            {"needs", [](locked_rows& of) { return of.gone_on(); }},
            {"needs_of_failed", [](locked_rows& of) { return of.given_up(); }},
            {"left_waiting", [](locked_rows& of) { return of.left_waiting(); }},
            {"needs_at_once", [](locked_rows& of) { return of.gone_on_at_once(); }},
            {"schedules", [](locked_rows& of) { return of.fired_schedules(); }},
        };
        return all;
    }
};

TEST_P(locked_rows, are_in_nobodys_way) {
    if (!current().has_concurrent_writers) {
        GTEST_SKIP() << "one writer at a time: no row is locked by itself";
    }
    const scene now = kinds().at(static_cast<std::size_t>(GetParam())).make(*this);
    transaction somebody = first_.begin();
    lock(somebody, now.table, now.stuck);
    for (int pass = 0; pass < 2; ++pass) now.pass();
    EXPECT_TRUE(now.is_done());
    somebody.rollback();
    for (int pass = 0; pass < 40 && !now.is_all_done(); ++pass) now.pass();
    EXPECT_TRUE(now.is_all_done()) << "once nobody has them locked";
}

INSTANTIATE_TEST_SUITE_P(
    stuck,
    locked_rows,
    ::testing::Range(0, static_cast<int>(locked_rows::kinds().size())),
    [](const auto& of) {
        return std::string{locked_rows::kinds().at(static_cast<std::size_t>(of.param)).name};
    }
);

// The worker looks again when the other one is due, and not in an hour.
TEST_F(stuck_rows, a_job_that_is_due_behind_a_locked_one_starts_in_time) {
    if (!current().has_concurrent_writers) {
        GTEST_SKIP() << "one writer at a time: no row is locked by itself";
    }
    const job_id locked = enqueue(delayed(1s)), good = enqueue(delayed(2s));
    transaction somebody = first_.begin();
    lock(somebody, "job", "id = " + std::to_string(locked));
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 1h}};
    std::atomic<job_id> last = 0;
    does.handle_all([&](job& what) { last = what.id(); });
    std::stop_source stop;
    thread runs{[&] { does.run(stop.get_token()); }};
    EXPECT_TRUE(eventually([&] { return last == good; }));
    somebody.rollback();
    EXPECT_TRUE(eventually([&] { return last == locked; }));
    stop.request_stop();
}

// By a key of somebody's own table, or a trigger.
TEST_F(stuck_rows, what_has_ended_and_may_not_be_removed_keeps_no_other_row_and_no_worker) {
    auto ids = enqueue_many(4);
    for (std::size_t at = 0; at < ids.size(); ++at) {
        EXPECT_EQ(cancel(ids[at], 1s), cancel_outcome::cancelled);
        current().age_job(ids[at], 48h - 1min * static_cast<int>(at));
    }
    const job_id good = ids.back();
    ids.pop_back();
    const database owner = current().open_as_owner({});
    const std::string history = table("job_history"), keeper = table("keeper");
    const bool has_keys = current().name != "sqlite";
    if (has_keys) {
        execute(
            owner,
            "CREATE TABLE " + keeper + " (id BIGINT NOT NULL, FOREIGN KEY (id) REFERENCES " +
                history + " (id))"
        );
        for (const job_id each : ids) {
            execute(owner, "INSERT INTO " + keeper + " VALUES (" + std::to_string(each) + ")");
        }
    } else {
        execute(
            owner,
            "CREATE TRIGGER " + keeper + " BEFORE DELETE ON " + history + " WHEN old.id IN " +
                list_of_numbers(ids) + " BEGIN SELECT RAISE(ABORT, 'kept'); END"
        );
    }
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, {.queues = {queue_}, .concurrency = 1, .poll_every = 20ms}};
    std::atomic<int> done = 0;
    does.handle_all([&](job&) { ++done; });
    std::stop_source stop;
    thread runs{[&] { EXPECT_NO_THROW(does.run(stop.get_token())); }};
    EXPECT_TRUE(eventually([&] { return !find(good); }));
    enqueue();
    EXPECT_TRUE(eventually([&] { return done > 0; }));
    stop.request_stop();
    for (const job_id each : ids) EXPECT_TRUE(find(each));
    execute(owner, std::string{has_keys ? "DROP TABLE " : "DROP TRIGGER "} + keeper);
}

}  // namespace
}  // namespace leasehold::testing
