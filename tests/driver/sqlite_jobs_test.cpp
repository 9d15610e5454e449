// Jobs on SQLite beside others who have the file open: a reader whose snapshot keeps the log from
// being written back, and a writer that keeps its lock.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <memory>

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
    worker_report drain(std::atomic<int>& done) const {
        session mine{db_, calm("worker")};
        worker does{
            mine, {.queues = {"q"}, .concurrency = 2, .prefetch = 10, .stop_when_idle = true}};
        does.handle_all([&](job&) { ++done; });
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
    std::atomic<bool> is_over = false;
    worker_report report;
    thread drains{[&] {
        report = drain(done);
        is_over = true;
    }};
    // Again and again for longer than a moment, until nothing is left.
    int holds = 0;
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

}  // namespace
}  // namespace leasehold::testing
