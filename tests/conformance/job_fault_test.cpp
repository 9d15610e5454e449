// A worker's connections fail at each of its calls in turn, in each of the ways that connections
// have: a deadlock, one that is lost before a statement or behind it, a statement that is carried
// out when its client has given it up. COMMIT is one of the calls.
#include <atomic>
#include <bit>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>

#include "conformance/suite.hpp"
#include "jobs/job_queue_store.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/worker.hpp"
#include "support/faulty_connection.hpp"
#include "support/told_events.hpp"

namespace leasehold::testing {
namespace {

struct planned_fault {
    fault how;
    bool is_in_turn;  // claims are made in turn, for a limit and a key
};

class job_fault_suite : public suite, public ::testing::WithParamInterface<planned_fault> {
protected:
    static void SetUpTestSuite() {
        prefix_ = "f" + identity::random().text().substr(0, 8) + "_";
        if (current().name != "memory") migrate(current().open_with_prefix(prefix_, nullptr));
    }
    static void TearDownTestSuite() {
        if (current().name != "memory") {
            const database plain = current().open_with_prefix(prefix_, nullptr);
            for (const char* each : {"job", "job_history", "session"}) {
                transaction tx = plain.begin();
                tx.execute(std::string{"DELETE FROM "} + prefix_ + each);
                tx.commit();
            }
            migrate_down(plain, 0);
        }
    }

    // Each job's effect is a job in another queue: there it is counted.
    void enqueue() {
        queue_ = fresh("queue");
        effects_ = fresh("effects");
        const job_queue queue{plain_, queue_};
        queue_limits limits;
        limits.keep_completed = keep_completed_;
        limits.keep_discarded = keep_discarded_;
        limits.keep_cancelled = keep_cancelled_;
        if (GetParam().is_in_turn) limits.max_running = 1;
        if (limits != queue_limits{}) queue.set_limits(limits);
        std::vector<new_job> all(count_);
        for (std::size_t at = 0; at < all.size(); ++at) {
            all[at].payload = std::to_string(at);
            all[at].retry = {max_attempts_, retry_delay_, 1h};
            if (GetParam().is_in_turn) all[at].ordering_key = "one";
        }
        queue.enqueue_many(all);
    }
    // Does what is there; whether a call came that was to fail.
    bool work(const database& on, const fault_plan::chooser& fails) {
        session mine{on, calm("worker")};
        plan_->fail_when(fails);
        worker_settings by;
        by.queues = {queue_};
        by.concurrency = 1;
        by.prefetch = prefetch_;
        by.poll_every = 10ms;
        by.stop_when_idle = true;
        leasehold::worker does{mine, by};
        does.handle_all([&](leasehold::job& each) {
            if (ends_by_) return ends_by_(each);
            transaction tx = on.begin();
            job_queue{on, effects_}.enqueue_in(tx, {.payload = each.payload()});
            if (completes_within_) each.complete_in(tx);
            commits_effect_ = true;
            tx.commit();
            commits_effect_ = false;
        });
        add(does.run());
        const bool has_failed = plan_->strikes() > 0;
        plan_->heal();
        return has_failed;
    }
    void add(const worker_report& report) {
        counted_.completed += report.completed;
        counted_.failed += report.failed;
        counted_.returned += report.returned;
        counted_.cancelled += report.cancelled;
        counted_.discarded += report.discarded;
        counted_.lost += report.lost;
        counted_.unknown += report.unknown;
    }
    // Rescues the jobs of an ended worker that nobody has told of their ends.
    void rescue() const {
        plain_.inner()->use([&](connection& on, store_set& stores) {
            stores.get<job_queue_store>().rescue(on, queue_, 100, {});
        });
    }

    bool fail_when(const fault_plan::chooser& fails) {
        enqueue();
        bool has_failed = false;
        {
            const database on = current().open_told_with_prefix(prefix_, plan_->wrapper(), told_);
            // A server goes on with what its client has given up.
            const std::jthread late{[&](const std::stop_token& over) {
                ask_until(
                    [&] {
                        plan_->carry_out_the_late();
                        return over.stop_requested();
                    },
                    10min
                );
            }};
            has_failed = work(on, fails);
        }
        plan_->carry_out_the_late();
        rescue();
        work(plain_, nullptr);
        return has_failed;
    }

    std::multiset<std::string> effects() const {
        std::multiset<std::string> all;
        for (const job_info& each : list_jobs(plain_, {.queue = effects_})) {
            all.insert(each.payload);
        }
        return all;
    }

    inline static std::string prefix_;
    const std::shared_ptr<told_events> told_ = std::make_shared<told_events>();
    const database plain_ = current().open_told_with_prefix(prefix_, nullptr, told_);
    const std::shared_ptr<fault_plan> plan_ = std::make_shared<fault_plan>();
    std::string queue_, effects_;
    bool completes_within_ = true;
    std::function<void(leasehold::job&)> ends_by_{};  // instead of an effect
    std::chrono::milliseconds retry_delay_{0};
    std::chrono::seconds keep_completed_{0}, keep_discarded_{std::chrono::hours{1}};
    std::chrono::seconds keep_cancelled_ = queue_limits{}.keep_cancelled;
    int max_attempts_ = 100;
    std::size_t count_ = 2;
    int prefetch_ = 0;
    worker_report counted_;
    // True while this thread sends the commit of a handler.
    inline static thread_local bool commits_effect_ = false;
};

TEST_P(job_fault_suite, each_job_has_its_effect_once_whichever_call_fails) {
    constexpr int max_calls = 200;
    int number = 0;
    bool has_failed = true;
    while (has_failed && ++number < max_calls && !HasFailure()) {
        SCOPED_TRACE("call " + std::to_string(number));
        has_failed = fail_when([&](std::string_view, int call) {
            return call == number ? std::optional{GetParam().how} : std::nullopt;
        });
        EXPECT_EQ(effects(), (std::multiset<std::string>{"0", "1"}));
        const auto left = list_jobs(plain_, {.queue = queue_});
        EXPECT_TRUE(left.empty()) << left.size() << " left, " << name_of(left[0].state);
    }
    EXPECT_GT(number, 10) << "so few calls make no worker";
    EXPECT_LT(number, max_calls);
}

class job_end_fault_suite : public job_fault_suite {
protected:
    int told(event_reason how) const {
        const auto all = told_->of(event_kind::job_ended, "");
        return static_cast<int>(std::ranges::count(all, how, &told_event::reason));
    }
    // No less and no more than the reports of the workers say.
    void expect_told() const {
        using why = event_reason;
        EXPECT_EQ(told(why::completed), counted_.completed);
        EXPECT_EQ(told(why::retried), counted_.failed);
        EXPECT_EQ(told(why::snoozed) + told(why::released), counted_.returned);
        EXPECT_EQ(told(why::discarded), counted_.discarded);
        EXPECT_EQ(told(why::cancelled), counted_.cancelled);
        EXPECT_EQ(told(why::lost), counted_.lost);
        EXPECT_EQ(told(why::unknown), counted_.unknown);
        EXPECT_EQ(told(why::snoozed), count_ == 5 ? 1 : 0);
    }
    // Each call fails in turn.
    void fail_at_each_call(const std::function<void()>& expect_counts) {
        constexpr int max_calls = 200;
        int number = 0;
        bool has_failed = true;
        while (has_failed && ++number < max_calls && !HasFailure()) {
            SCOPED_TRACE("call " + std::to_string(number));
            counted_ = {};
            told_->forget();
            has_failed = fail_when([&](std::string_view, int call) {
                return call == number ? std::optional{GetParam().how} : std::nullopt;
            });
            expect_counts();
            EXPECT_EQ(counted_.lost, 0);
            if (!may_be_unknown_) {
                EXPECT_EQ(counted_.unknown, 0);
            }
        }
        EXPECT_GT(number, 8) << "so few calls make no worker";
        EXPECT_LT(number, max_calls);
    }
    void expect_each_once() const {
        EXPECT_EQ(counted_.completed, 1);
        EXPECT_EQ(counted_.discarded, 1);
        EXPECT_EQ(counted_.failed, count_ > 2 ? 1 : 0);
        EXPECT_EQ(counted_.returned, count_ > 3 ? 1 : 0);
        EXPECT_EQ(counted_.cancelled, count_ > 4 ? 1 : 0);
        expect_told();
    }
    void end_each_in_its_way() {
        ends_by_ = [this](leasehold::job& each) {
            if (each.payload() == "1") each.discard("no use");
            if (each.payload() == "2") throw std::runtime_error("not now");
            if (each.payload() == "3") each.snooze_for(1h);
            if (each.payload() != "4") return;
            cancel_job(plain_, each.id());
            throw std::runtime_error("asked to end");
        };
    }

    bool may_be_unknown_ = false;
};

TEST_P(job_end_fault_suite, each_end_is_counted_once_as_what_it_is_whichever_call_fails) {
    end_each_in_its_way();
    fail_at_each_call([&] { expect_each_once(); });
}

TEST_P(job_end_fault_suite, each_way_to_end_is_counted_once_whichever_call_fails) {
    end_each_in_its_way();
    count_ = 5;
    retry_delay_ = 1h;
    keep_completed_ = 1h;
    fail_at_each_call([&] { expect_each_once(); });
}

TEST_P(job_end_fault_suite, a_last_attempt_that_leaves_no_row_is_told_as_discarded) {
    ends_by_ = [](leasehold::job&) { throw std::runtime_error("never"); };
    max_attempts_ = 1;
    keep_discarded_ = 0s;
    fail_at_each_call([&] {
        EXPECT_EQ(counted_.failed, 2);
        EXPECT_EQ(told(event_reason::discarded), 2);
        EXPECT_EQ(told_->count(event_kind::job_ended), 2);
    });
}

// The worker does not hear of the request, and no row is left to ask.
TEST_P(job_end_fault_suite, one_cancelled_that_leaves_no_row_is_never_told_as_to_be_tried_again) {
    ends_by_ = [this](leasehold::job& each) {
        cancel_job(plain_, each.id());
        throw std::runtime_error("not now");
    };
    keep_cancelled_ = 0s;
    may_be_unknown_ = true;
    fail_at_each_call([&] {
        EXPECT_EQ(counted_.cancelled + counted_.unknown, 2);
        EXPECT_EQ(counted_.failed, 0);
        EXPECT_EQ(told(event_reason::retried), 0);
        expect_told();
    });
}

// They travel by hundreds, and some of each packet may have been carried out.
TEST_P(job_end_fault_suite, each_of_a_thousand_ends_is_counted_once_whichever_calls_fail) {
    ends_by_ = [](leasehold::job& each) {
        if (each.payload() == "1") each.discard("no use");
    };
    count_ = 1000;
    prefetch_ = 1000;
    constexpr int first = 5;
    EXPECT_TRUE(fail_when([&](std::string_view, int call) {
        const bool fails = call % first == 0 && std::has_single_bit(unsigned(call / first));
        return fails ? std::optional{GetParam().how} : std::nullopt;
    }));
    EXPECT_EQ(counted_.completed, 999);
    EXPECT_EQ(counted_.discarded, 1);
    EXPECT_EQ(counted_.failed + counted_.lost + counted_.unknown, 0);
    expect_told();
}

class job_fault_control : public job_fault_suite {};

TEST_P(job_fault_control, without_completing_in_the_same_transaction_it_is_there_twice) {
    completes_within_ = false;
    std::atomic<bool> is_first = true;
    const bool has_failed = fail_when([&](std::string_view, int) {
        const bool is_meant = commits_effect_ && is_first.exchange(false);
        commits_effect_ = false;
        return is_meant ? std::optional{GetParam().how} : std::nullopt;
    });
    EXPECT_TRUE(has_failed);
    EXPECT_EQ(effects().size(), 3U) << "nothing would have shown";
}

INSTANTIATE_TEST_SUITE_P(
    of,
    job_fault_control,
    ::testing::Values(planned_fault{fault::lost_after_it, false}),
    [](const auto& each) { return std::string{name_of(each.param.how)}; }
);

INSTANTIATE_TEST_SUITE_P(
    of,
    job_end_fault_suite,
    ::testing::ValuesIn([] {
        std::vector<planned_fault> all;
        for (const fault how : all_faults) all.push_back({how, false});
        return all;
    }()),
    [](const auto& each) { return std::string{name_of(each.param.how)}; }
);

INSTANTIATE_TEST_SUITE_P(
    of,
    job_fault_suite,
    ::testing::ValuesIn([] {
        std::vector<planned_fault> all;
        for (const fault how : all_faults) {
            for (const bool is_in_turn : {false, true}) all.push_back({how, is_in_turn});
        }
        all.push_back({fault::read_only, false});
        return all;
    }()),
    [](const auto& each) {
        return std::string{name_of(each.param.how)} + (each.param.is_in_turn ? "_in_turn" : "");
    }
);

}  // namespace
}  // namespace leasehold::testing
