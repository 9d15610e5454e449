// Jobs on SQLite beside others who have the file open: a reader whose snapshot keeps the log from
// being written back, and a writer that keeps its lock.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "database/database.hpp"
#include "jobs/job_store.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

class sqlite_jobs_test : public ::testing::Test {
protected:
    struct closes {
        void operator()(sqlite3* handle) const { sqlite3_close(handle); }
    };
    using handle = std::unique_ptr<sqlite3, closes>;

    sqlite_jobs_test() { migrate(db_); }

    // Somebody else's connection, without this library.
    handle stranger() const {
        sqlite3* opened = nullptr;
        EXPECT_EQ(sqlite3_open(file_.c_str(), &opened), SQLITE_OK);
        return handle{opened};
    }
    static void run(const handle& on, const char* sql) {
        ASSERT_EQ(sqlite3_exec(on.get(), sql, nullptr, nullptr, nullptr), SQLITE_OK)
            << sql << ": " << sqlite3_errmsg(on.get());
    }
    std::uintmax_t log_bytes() const { return std::filesystem::file_size(file_ + "-wal"); }

    // Does all there is, and counts.
    worker_report drain(
        std::atomic<int>& done, const std::function<void()>& each = [] {}
    ) const {
        session mine{db_, calm("worker")};
        worker does{
            mine, {.queues = {"q"}, .concurrency = 2, .prefetch = 10, .stop_when_idle = true}};
        does.handle_all([&](job&) {
            each();
            ++done;
        });
        return does.run();
    }

    const folder folder_;
    const std::string file_ = folder_ / "jobs.db";
    const database db_ = sqlite::open("sqlite:" + file_);
    const job_queue queue_{db_, "q"};
};

TEST_F(sqlite_jobs_test, a_reader_that_stays_makes_the_log_grow_and_nothing_else) {
    constexpr int jobs = 2'000;
    queue_.enqueue_many(std::vector<new_job>(jobs));
    const handle reader = stranger();
    run(reader, "BEGIN; SELECT count(*) FROM leasehold_job");
    const auto before = log_bytes();
    std::atomic<int> done = 0;
    EXPECT_EQ(drain(done).completed, jobs);
    EXPECT_EQ(done, jobs);
    EXPECT_GT(log_bytes(), before) << "the reader keeps it";
    run(reader, "COMMIT");
    run(reader, "PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(log_bytes(), 0U) << "nobody of ours keeps it";
}

TEST_F(sqlite_jobs_test, a_writer_that_stays_makes_workers_wait_and_nothing_is_lost) {
    constexpr int jobs = 200;
    queue_.enqueue_many(std::vector<new_job>(jobs));
    const handle writer = stranger();
    std::atomic<int> done = 0;
    std::atomic<int> holds = 0;
    std::atomic<bool> is_over = false;
    worker_report report;
    thread drains{[&] {
        // The second half begins after the writer has come back.
        report = drain(done, [&] { eventually([&] { return done < jobs / 2 || holds > 1; }); });
        is_over = true;
    }};
    // Again and again for longer than a moment, until nothing is left.
    ASSERT_TRUE(eventually(
        [&] {
            if (sqlite3_exec(writer.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) ==
                SQLITE_OK) {
                ++holds;
                const int seen = done;
                eventually([&] { return done > seen + 20; }, 100ms);
                run(writer, "COMMIT");
            }
            return is_over.load();
        },
        60s
    ));
    drains.join();
    EXPECT_GT(holds, 1);
    EXPECT_EQ(report.completed, jobs);
    EXPECT_EQ(done, jobs);
}

// As a worker asks that lost the answer to its claim.
TEST_F(sqlite_jobs_test, a_running_row_that_cannot_be_read_keeps_no_other_claim_from_being_found) {
    queue_.enqueue_many(std::vector<new_job>(3));
    session mine{db_, calm("worker")};
    db_.inner()->use([&](connection& on, store_set& stores) {
        job_store& jobs = stores.get<job_store>();
        const auto claimed = jobs.claim(on, {"q", {}, 3, mine.id(), "node"}).jobs;
        ASSERT_EQ(claimed.size(), 3U);
        const handle by_hand = stranger();
        run(by_hand, "UPDATE leasehold_job SET attempts = 'many' WHERE id = 1");
        run(by_hand, "UPDATE leasehold_job SET token = x'00' WHERE id = 2");
        const auto found = jobs.find_claims(on, "q", mine.id());
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].id, 3);
    });
}

// The wait would end no earlier than the transaction, which ends no earlier than the call.
TEST_F(sqlite_jobs_test, a_call_beside_a_transaction_of_its_own_thread_says_so_at_once) {
    session mine{db_, calm("mine")};
    mutex nightly{mine, "nightly"};
    const auto start = local_clock::now();
    transaction tx = db_.begin();
    const auto expect_refused = [](const std::function<void()>& call) {
        try {
            call();
            ADD_FAILURE() << "it has the file, and so has the transaction";
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), errc::wrong_transaction) << failure.what();
            EXPECT_NE(std::string_view{failure.what()}.find("this very thread"), std::string::npos);
        }
    };
    expect_refused([&] { (void)nightly.try_acquire(); });
    expect_refused([&] { (void)nightly.acquire_for(1h); });
    expect_refused([&] { queue_.enqueue({.kind = "k"}); });
    expect_refused([&] { (void)db_.begin(); });
    EXPECT_LT(local_clock::now() - start, database_settings{}.statement_timeout);
    auto taken = nightly.try_acquire_in(tx);
    EXPECT_TRUE(taken);
    queue_.enqueue_in(tx, {.kind = "k"});
    expect_refused([&] { (void)taken->confirm(); });
    tx.commit();
    EXPECT_TRUE(taken->confirm());
    queue_.enqueue({.kind = "k"});
}

TEST_F(sqlite_jobs_test, a_call_waits_for_a_transaction_that_another_thread_goes_on_with) {
    const database hasty = sqlite::open("sqlite:" + file_, {.statement_timeout = 200ms});
    transaction tx = hasty.begin();
    thread{[&] { tx.execute("SELECT 1"); }}.join();
    try {
        (void)hasty.begin();
        ADD_FAILURE() << "two have the file";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::transient) << failure.what();
    }
}

}  // namespace
}  // namespace leasehold::testing
