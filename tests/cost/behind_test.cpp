// Jobs behind which very many others wait: an operation on the first reads no more of them than
// if there were a hundred. The same bounds for both, with the statistics of before there were any
// and with new ones.
#include <algorithm>
#include <string>
#include <vector>

#include "cost/suite.hpp"
#include "jobs/job_attempt.hpp"
#include "jobs/job_need_store.hpp"
#include "jobs/job_queue_store.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class behind_cost : public cost_suite {
protected:
    // Fills the queue `name` with copies of the last of `first` until it has so many.
    void fill_queue(const std::string& name, const std::vector<new_job>& first, std::int64_t count)
        const {
        run([&](connection& on, store_set& stores) {
            const job_id last = stores.get<job_store>().enqueue(on, name, first).back().id;
            const std::string columns =
                "queue, kind, state, priority, enqueued_at, due_at, ordering_key, payload";
            for (auto there = std::ssize(first); there < count;) {
                const std::int64_t more = std::min<std::int64_t>(there, count - there);
                on.execute(
                    "INSERT INTO leasehold_job (" + columns + ") SELECT " + copied(columns) +
                    " FROM leasehold_job o, leasehold_job l WHERE o.queue = '" + name +
                    "' AND l.id = " + std::to_string(last) + " LIMIT " + std::to_string(more)
                );
                there += more;
            }
        });
    }
    // All jobs of the queue wait for this one.
    void make_need(const std::string& name, job_id needed) const {
        run([&](connection& on, store_set&) {
            on.execute(
                "INSERT INTO leasehold_job_need (job_id, needs_id) SELECT id, " +
                std::to_string(needed) + " FROM leasehold_job WHERE queue = '" + name + "'"
            );
        });
    }
    void expect_over_is_flat(job_id needed, job_id ended, std::int64_t count) const {
        expect_reads(
            "over, of one that has not ended",
            {8, 12, 400},
            [&](connection& on, store_set& stores) {
                EXPECT_TRUE(stores.get<job_need_store>().over(on, {needed}).empty());
            }
        );
        constexpr auto most = static_cast<std::int64_t>(job_need_store::max_rows);
        const auto over = std::min(count, most);
        expect_reads(
            "over, of one that has ended",
            {4 * over, 6 * over, 150 * over},
            [&](connection& on, store_set& stores) {
                EXPECT_GE(std::ssize(stores.get<job_need_store>().over(on, {needed, ended})), over);
            }
        );
    }
    // The jobs of all tests go, so that none is measured beside those of another.
    void TearDown() override {
        run([](connection& on, store_set&) {
            on.execute("DELETE FROM leasehold_job WHERE queue LIKE 'behind%'");
            on.execute("DELETE FROM leasehold_job_need");
        });
        gather_statistics();
    }
    void gather_statistics() const {
        run([&](connection& on, store_set&) {
            switch (beside().server().engine) {
                case engine::postgres:
                    on.execute("VACUUM ANALYZE leasehold_job, leasehold_job_need");
                    break;
                case engine::sqlite:
                    on.execute("ANALYZE leasehold_job");
                    on.execute("ANALYZE leasehold_job_need");
                    break;
                default:
                    on.execute("ANALYZE TABLE leasehold_job, leasehold_job_need");
            }
        });
    }

    static new_job of_key(const std::string& name) {
        new_job made;
        made.ordering_key = name;
        return made;
    }
    static claim_request wants(const std::string& queue, int max_jobs) {
        return {queue, {}, max_jobs, numbered(1), "cost"};
    }
    std::vector<claimed_job> claimed(const claim_request& wanted) const {
        std::vector<claimed_job> got;
        run([&](connection& on, store_set& stores) {
            got = stores.get<job_store>().claim(on, wanted).jobs;
        });
        return got;
    }

    // All that is done to jobs of the key, which go on one by one.
    void expect_key_is_flat(const std::string& queue, const std::string& name) const {
        const auto claim_next = [&](connection& on, store_set& stores) {
            const auto got = stores.get<job_store>().claim(on, wants(queue, 10)).jobs;
            EXPECT_EQ(got.size(), 1U);
            return got;
        };
        const auto insert = [&](const std::string& of) {
            return [=](connection& on, store_set& stores) {
                stores.get<job_store>().enqueue(on, queue, {of_key(of)});
            };
        };
        expect_reads("insert of the key", {10, 20, 1'000}, insert(name));
        expect_reads("insert of another key", {10, 20, 1'000}, insert(name + " other"));
        if (beside().server().engine == engine::postgres) {
            const auto by_function = [&](const std::string& of) {
                return [=](connection& on, store_set&) {
                    on.execute("SELECT leasehold_enqueue($1, ordering_key => $2)", {queue, of});
                };
            };
            run(by_function("planned"));
            expect_reads("insert by the function", {10, 0, 0}, by_function("of the function"));
        }
        // The other ones go first, or they are in the way of what follows.
        run([&](connection& on, store_set& stores) {
            const auto all = stores.get<job_store>().claim(on, wants(queue, 10)).jobs;
            ASSERT_GE(all.size(), 2U);
            end(on, stores, all, job_step::complete);
        });
        for (const job_step step : {job_step::complete, job_step::snooze, job_step::discard}) {
            std::vector<claimed_job> got;
            expect_reads("claim", {40, 80, 4'000}, [&](connection& on, store_set& stores) {
                got = claim_next(on, stores);
            });
            const auto which = std::to_string(static_cast<int>(step));
            expect_reads("end " + which, {30, 60, 3'000}, [&](connection& on, store_set& stores) {
                end(on, stores, got, step);
            });
        }
        expect_reads("promote", {40, 80, 3'000}, [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<job_queue_store>().promote(on, queue, 100), 0);
        });
        const job_id next = run_and_release(queue);
        expect_reads("cancel", {30, 60, 3'000}, [&](connection& on, store_set& stores) {
            EXPECT_EQ(
                stores.get<job_queue_store>().cancel(on, next, 24h), cancel_outcome::cancelled
            );
        });
        // MySQL and MariaDB count what opening a table reads of it, which the first look does.
        run([&](connection& on, store_set& stores) {
            stores.get<job_queue_store>().look(on, {queue});
        });
        expect_reads("look", {16, 20, 700}, [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<job_queue_store>().look(on, {queue}).at(0).has_available);
        });
        blocked_place place;
        expect_reads("unblock", {100, 100, 5'000}, [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<job_queue_store>().unblock(on, queue, 50, place), 0);
            EXPECT_TRUE(place.is_beginning());
        });
    }

    void expect_insert_is_flat(const std::string& queue, const new_job& what) const {
        expect_reads("insert", {10, 20, 1'000}, [&](connection& on, store_set& stores) {
            stores.get<job_store>().enqueue(on, queue, {what});
        });
    }
    static void end(
        connection& on, store_set& stores, const std::vector<claimed_job>& jobs, job_step step
    ) {
        std::vector<job_end> ends;
        for (const claimed_job& each : jobs) ends.push_back(end_after(each, step, 24h, {}));
        const auto done = stores.get<job_store>().finish(on, numbered(1), ends, {});
        EXPECT_EQ(std::count(done.begin(), done.end(), std::nullopt), 0);
    }
    // The first of the queue, available again.
    job_id run_and_release(const std::string& queue) const {
        const auto got = claimed(wants(queue, 1));
        EXPECT_EQ(got.size(), 1U);
        run([&](connection& on, store_set& stores) { end(on, stores, got, job_step::release); });
        return got.empty() ? 0 : got.front().id;
    }

private:
    // With how job l has each; all but the first job of a key are blocked.
    static std::string copied(const std::string& columns) {
        std::string text;
        for (std::size_t from = 0; from < columns.size();) {
            const auto until = std::min(columns.find(", ", from), columns.size());
            text += (from == 0 ? "l." : ", l.") + columns.substr(from, until - from);
            from = until + 2;
        }
        return text;
    }
};

TEST_P(behind_cost, one_ordering_key) {
    for (const std::int64_t count : {std::int64_t{100}, size().jobs}) {
        for (const char* const which : {"old", "new"}) {
            const std::string queue = "behind " + std::to_string(count) + which;
            fill_queue(queue, {of_key("one"), of_key("one")}, count);
            if (which == std::string{"new"}) gather_statistics();
            std::cout << queue << ":\n";
            expect_key_is_flat(queue, "one");
        }
    }
}

TEST_P(behind_cost, a_queue_that_is_paused) {
    for (const std::int64_t count : {std::int64_t{100}, size().jobs}) {
        const std::string queue = "behind paused " + std::to_string(count);
        fill_queue(queue, {new_job{}}, count);
        run([&](connection& on, store_set& stores) {
            stores.get<job_queue_store>().set_paused(on, queue, true);
        });
        gather_statistics();
        expect_reads(
            "claim where it is paused",
            {10, 20, 800},
            [&](connection& on, store_set& stores) {
                EXPECT_TRUE(stores.get<job_store>().claim(on, wants(queue, 10)).jobs.empty());
            }
        );
        expect_insert_is_flat(queue, {});
        expect_reads(
            "look where it is paused",
            {10, 12, 500},
            [&](connection& on, store_set& stores) {
                EXPECT_TRUE(stores.get<job_queue_store>().look(on, {queue}).at(0).is_paused);
            }
        );
    }
}

TEST_P(behind_cost, priorities) {
    for (const std::int64_t count : {std::int64_t{100}, size().jobs}) {
        const std::string queue = "behind priorities " + std::to_string(count);
        new_job urgent, other;
        urgent.priority = -1;
        other.priority = 1;
        fill_queue(queue, {urgent, urgent}, count);
        fill_queue(queue, {other, other}, count);
        gather_statistics();
        claimed(wants(queue, 1));
        expect_insert_is_flat(queue, urgent);
        expect_reads(
            "claim of 10 urgent ones",
            {40, 120, 3'000},
            [&](connection& on, store_set& stores) {
                EXPECT_EQ(stores.get<job_store>().claim(on, wants(queue, 10)).jobs.size(), 10U);
            }
        );
    }
}

// Nobody handles their kind, and they stand before those that are handled. With one kind, with two
// and in turn.
TEST_P(behind_cost, a_kind_that_nobody_handles) {
    for (const std::int64_t count : {std::int64_t{100}, size().jobs}) {
        for (const char* const which : {"old", "new"}) {
            const std::string queue = "behind kinds " + std::to_string(count) + which;
            new_job other, mine;
            other.kind = "nobody";
            mine.kind = "mine";
            fill_queue(queue, {other}, count);
            if (which == std::string{"new"}) gather_statistics();
            expect_insert_is_flat(queue, other);
            for (const std::vector<std::string>& kinds :
                 {std::vector<std::string>{"mine"}, {"and another", "mine"}}) {
                for (const char* const key : {"", "k"}) {
                    const std::string ordering_key = key;
                    auto wanted = wants(queue, 10);
                    wanted.kinds = kinds;
                    const auto claims = [&](const std::string& what, std::size_t jobs) {
                        const std::string name = "claim of " + std::to_string(kinds.size()) +
                                                 " kinds, " + what + " " + ordering_key;
                        std::vector<claimed_job> got;
                        expect_reads(
                            name,
                            {60, 120, 3'000},
                            [&](connection& on, store_set& stores) {
                                got = stores.get<job_store>().claim(on, wanted).jobs;
                                EXPECT_EQ(got.size(), jobs) << name;
                            }
                        );
                        run([&](connection& on, store_set& stores) {
                            end(on, stores, got, job_step::complete);
                        });
                    };
                    claims("nothing", 0);
                    mine.ordering_key = ordering_key;
                    run([&](connection& on, store_set& stores) {
                        stores.get<job_store>().enqueue(on, queue, {mine, mine, mine});
                    });
                    claims("some", ordering_key.empty() ? 3 : 1);
                    if (!ordering_key.empty()) {
                        claims("the next", 1);
                        claims("the last", 1);
                    }
                }
            }
            expect_reads("count of a kind", {10, 20, 500}, [&](connection& on, store_set& stores) {
                EXPECT_TRUE(
                    stores.get<job_queue_store>().count_available(on, queue, "mine", 1).empty()
                );
            });
        }
    }
}

// They wait for a job that has not ended.
TEST_P(behind_cost, jobs_that_need_another) {
    for (const std::int64_t count : {std::int64_t{100}, size().jobs}) {
        const std::string queue = "behind needs " + std::to_string(count);
        new_job waits;
        waits.run_at = job_need_store::never;
        fill_queue(queue, {waits}, count);
        gather_statistics();
        expect_reads("look where they wait", {12, 18, 600}, [&](connection& on, store_set& stores) {
            EXPECT_TRUE(stores.get<job_queue_store>().look(on, {queue}).at(0).some_wait);
            EXPECT_FALSE(stores.get<job_queue_store>().look(on, {queue + " not"}).at(0).some_wait);
        });
        job_id last = 0;
        run([&](connection& on, store_set& stores) {
            last = stores.get<job_store>().enqueue(on, queue, {waits}).at(0).id;
        });
        expect_reads("free one of them", {10, 20, 800}, [&](connection& on, store_set& stores) {
            EXPECT_EQ(stores.get<job_need_store>().free(on, {last}), 1);
        });
        job_id place = last - 50;
        expect_reads(
            "who was left waiting",
            {300, 400, 20'000},
            [&](connection& on, store_set& stores) {
                stores.get<job_need_store>().left_waiting(on, queue, place);
            }
        );
        // Asked by each enqueue of one more that needs it, and where one that it needs has ended.
        const job_id needed = last, ended = 2'000'000'000 + count;
        make_need(queue, needed);
        make_need(queue, ended);
        for (const bool are_statistics_new : {false, true}) {
            if (are_statistics_new) gather_statistics();
            expect_over_is_flat(needed, ended, count);
        }
        run([](connection& on, store_set&) { on.execute("DELETE FROM leasehold_job_need"); });
        gather_statistics();
    }
}

INSTANTIATE_TEST_SUITE_P(
    plans,
    behind_cost,
    ::testing::ValuesIn(filled::plans()),
    [](const auto& which) { return which.param; }
);

}  // namespace
}  // namespace leasehold::testing
