// Processes drain a queue of jobs, each with an effect in the transaction that completes it, while
// they are killed with -9 and started again, and while their server crashes once. In the end each
// job has its effect exactly once.
//
// LEASEHOLD_DRAIN_JOBS     how many there are; 20000 on PostgreSQL, elsewhere 4000
// LEASEHOLD_DRAIN_THREADS  of each of the four processes; 8, on SQLite 2
// LEASEHOLD_TEST_SEED      which of them are killed, and when
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <random>

#include "fault/server_control.hpp"
#include "leasehold/leasehold.hpp"
#include "soak/drain/ledger.hpp"
#include "soak/faults.hpp"
#include "soak/tables.hpp"
#include "support/folder.hpp"
#include "support/required.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;
using testing::server_control;

constexpr int processes = 4;
// A session ends with its process or in an outage, and each end may hit the same job again. Three
// rescues, as usual, would quarantine it: here it is not the jobs that kill their workers. Nor does
// a job fail that meets an outage.
constexpr int max_ends_of_sessions = 10'000;

std::int64_t variable(const char* name, std::int64_t otherwise) {
    const char* const found = std::getenv(name);
    return found ? std::stoll(found) : otherwise;
}

class job_drain : public ::testing::Test {
protected:
    void SetUp() override {
        const char* const backend = std::getenv("LEASEHOLD_TEST_BACKEND");
        backend_ = backend ? backend : "sqlite";
        const bool is_sqlite = backend_ == "sqlite";
        const std::string url = is_sqlite ? "sqlite:" + (folder_ / "drain.db").string()
                                          : testing::require_url(backend_);
        setenv("LEASEHOLD_SOAK_URL", url.c_str(), 1);
        threads_ = variable("LEASEHOLD_DRAIN_THREADS", is_sqlite ? 2 : 8);
        random_.seed(testing::seed());
        database_.emplace(open_database(url, prefix_, time_outs::of_the_conductor));
        migrate(*database_);
        done_.create(*database_);
    }
    void TearDown() override {
        crew_.clear();
        if (!database_) return;
        done_.drop(*database_);
        database_->execute("DELETE FROM " + prefix_ + "session");  // of killed workers
        database_->execute("DELETE FROM " + prefix_ + "job");
        migrate_down(*database_, 0);
    }

    void enqueue(std::int64_t jobs) {
        const job_queue queue{*database_, drained_queue};
        constexpr std::int64_t at_once = 10'000;
        new_job what;
        what.max_rescues = max_ends_of_sessions;
        what.retry = {max_ends_of_sessions, 100ms, 1s};
        for (std::int64_t first = 0; first < jobs; first += at_once) {
            std::vector<new_job> some;
            for (std::int64_t each = first; each < std::min(jobs, first + at_once); ++each) {
                what.payload = std::to_string(each);
                some.push_back(what);
            }
            queue.enqueue_many(some);
        }
    }

    void start(const std::string& path) {
        crew_.clear();
        for (int each = 0; each < processes; ++each) crew_.push_back(start_one(path));
    }
    process start_one(const std::string& path) const {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        return process{
            {here / "job_drain_worker", folder_.path(), prefix_, std::to_string(threads_), path}};
    }
    void kill_one(const std::string& path) {
        process& victim = crew_.at(random_() % crew_.size());
        victim.send(SIGKILL);
        while (!victim.status()) nap(1ms);
        victim = start_one(path);
    }

    std::int64_t between(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{least, most}(random_);
    }
    std::int64_t done_by_word() { return static_cast<std::int64_t>(page_.operations().load()); }

    // False where nothing has been done for a long time, or a process has ended by itself.
    bool done_reaches(std::int64_t mark) {
        constexpr auto timeout = 90s;
        auto last = done_by_word();
        auto since = clock::now();
        while (done_by_word() < mark && !is_empty()) {
            if (std::ranges::any_of(crew_, [](process& each) {
                    return each.status().has_value();
                })) {
                ADD_FAILURE() << "a worker has ended by itself";
                return false;
            }
            if (done_by_word() != last) {
                last = done_by_word();
                since = clock::now();
            } else if (clock::now() > since + timeout) {
                ADD_FAILURE() << "nothing is done any more, after " << last << " jobs";
                return false;
            }
            nap(5ms);
        }
        return true;
    }

    // Asked of the database each second, since a process that was killed may not have said all.
    bool is_empty() {
        if (is_empty_ || clock::now() < look_at_) return is_empty_;
        look_at_ = clock::now() + 1s;
        const auto left = list_jobs(*database_, {.queue = drained_queue, .limit = 1});
        is_empty_ = left.empty();
        if (is_empty_) return true;
        EXPECT_NE(left[0].state, job_state::discarded) << left[0].error;
        return false;
    }

    void end() {
        page_.is_over() = true;
        for (process& each : crew_) {
            const auto deadline = clock::now() + 60s;
            while (!each.status() && clock::now() < deadline) nap(5ms);
            EXPECT_EQ(each.status(), 0);
        }
    }

    // All of it, with so many processes killed on the way.
    void drain(std::int64_t jobs, int kills, const std::string& path) {
        enqueue(jobs);
        const auto from = clock::now();
        start(path);
        const int crash_after = static_cast<int>(between(kills / 4, kills / 2));
        // In the mean spread over the whole drain.
        const std::int64_t step_most = std::max<std::int64_t>(1, 2 * jobs / (kills + 2));
        for (int next = 1; next <= kills; ++next) {
            if (!done_reaches(done_by_word() + between(1, step_most)) || is_empty()) break;
            kill_one(path);
            ++kills_;
            if (next == crash_after && backend_ != "sqlite") crash();
        }
        while (!is_empty() && done_reaches(INT64_MAX) && !HasFailure()) {
        }
        seconds_ = clock::now() - from;
        end();
    }
    void crash() {
        server_control server{backend_};
        server.kill();
        server.start();
        ++crashes_;
    }

    void print(std::int64_t jobs, const ledger::sums& all) const {
        std::printf(
            "%s: %lld jobs in %.0f s (%.0f/s), 4 processes of %lld threads; %d killed, the server "
            "%d times; %lld rescues of %lld jobs, of one at most %lld\n",
            backend_.c_str(),
            static_cast<long long>(jobs),
            seconds_.count(),
            static_cast<double>(jobs) / seconds_.count(),
            static_cast<long long>(threads_),
            kills_,
            crashes_,
            static_cast<long long>(all.rescues),
            static_cast<long long>(all.rescued_jobs),
            static_cast<long long>(all.rescues_most)
        );
    }

    std::string backend_;
    const std::string prefix_ = testing::fresh_prefix();
    const testing::folder folder_{};
    signal_page page_ = signal_page::create(folder_ / "signals");
    const ledger done_{prefix_};
    std::optional<database> database_;
    std::mt19937_64 random_;
    std::int64_t threads_ = 0;
    std::vector<process> crew_;
    clock::time_point look_at_{};
    bool is_empty_ = false;
    std::chrono::duration<double> seconds_{0};
    int kills_ = 0, crashes_ = 0;
};

TEST_F(job_drain, each_job_has_its_effect_exactly_once_although_workers_and_server_are_killed) {
    const auto jobs = variable("LEASEHOLD_DRAIN_JOBS", backend_ == "postgres" ? 20'000 : 4'000);
    const int kills = static_cast<int>(std::clamp<std::int64_t>(jobs / 2'000, 10, 200));
    drain(jobs, kills, "within");
    const ledger::sums all = done_.read(*database_);
    print(jobs, all);
    EXPECT_EQ(all.rows, jobs);
    EXPECT_EQ(all.jobs, jobs);
    EXPECT_EQ(all.least, 0);
    EXPECT_EQ(all.greatest, jobs - 1);
    EXPECT_TRUE(list_jobs(*database_, {.queue = drained_queue}).empty());
    EXPECT_GE(kills_, kills / 2) << "too few were killed to show anything";
    EXPECT_GE(all.rescues, kills_) << "nobody had a job when he was killed";
}

TEST_F(job_drain, without_completing_in_the_same_transaction_some_have_it_twice) {
    constexpr std::int64_t jobs = 2'000;
    drain(jobs, 10, "apart");
    const ledger::sums all = done_.read(*database_);
    print(jobs, all);
    EXPECT_EQ(all.jobs, jobs);
    EXPECT_GT(all.rows, jobs) << "nothing would have shown";
}

}  // namespace
}  // namespace leasehold::soak
