// Promise 3 where a synchronous standby is configured: nothing is answered as granted that a
// fail-over may lose, whatever synchronous_commit a role or a database brings.
//
// Each statement of the library runs as ever, but inside of a transaction whose way to commit is
// asked for afterwards. So no standby is needed.
#include <gtest/gtest.h>

#include <mutex>

#include "database/database.hpp"
#include "fault/hostile_place.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/once.hpp"
#include "leasehold/quorum_lock.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"
#include "support/calm.hpp"
#include "support/eventually.hpp"
#include "support/required.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

struct committed {
    std::string statement;
    std::string how;  // synchronous_commit of its transaction
};

// The statements that wrote something.
class commit_log {
public:
    void add(committed what) {
        const std::lock_guard guard{mutex_};
        all_.push_back(std::move(what));
    }
    std::vector<committed> take() {
        const std::lock_guard guard{mutex_};
        return std::exchange(all_, {});
    }
    std::size_t size() {
        const std::lock_guard guard{mutex_};
        return all_.size();
    }

private:
    std::mutex mutex_;
    std::vector<committed> all_;
};

class watched_connection final : public connection {
public:
    watched_connection(std::unique_ptr<connection> inside, std::shared_ptr<commit_log> log)
        : inside_(std::move(inside)), log_(std::move(log)) {}

    const server_info& server() const noexcept override { return inside_->server(); }
    connection_state state() noexcept override { return inside_->state(); }
    result execute(std::string_view sql, const parameters& values) override {
        if (state() != connection_state::idle) return inside_->execute(sql, values);
        inside_->begin();
        try {
            result found = inside_->execute(sql, values);
            const row how = inside_
                                ->execute(
                                    "SELECT current_setting('synchronous_commit'), "
                                    "pg_current_xact_id_if_assigned() IS NOT NULL"
                                )
                                .rows.at(0);
            inside_->commit();
            if (how.integer(1) == 1) log_->add({std::string{sql}, how.text(0)});
            return found;
        } catch (...) {
            inside_->rollback();
            throw;
        }
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        return inside_->execute_script(sql, values);
    }
    void begin() override { inside_->begin(); }
    void commit() override { inside_->commit(); }
    void rollback() noexcept override { inside_->rollback(); }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        inside_->set_statement_timeout(limit);
    }

private:
    const std::unique_ptr<connection> inside_;
    const std::shared_ptr<commit_log> log_;
};

// The setting of a role, and the least that a grant's commit must have.
struct durability {
    const char* given;
    const char* wanted;
};

void PrintTo(const durability& each, std::ostream* out) {
    *out << each.given;
}

class durable_grants : public ::testing::TestWithParam<durability> {
protected:
    durable_grants() {
        migrate(plain_);
        const auto connect = [plain = plain_, log = log_, given = GetParam().given](auto timeout) {
            auto made = plain.inner()->connections().connect_apart(timeout);
            made->execute(std::string{"SET synchronous_commit = "} + given);
            return std::make_unique<watched_connection>(std::move(made), log);
        };
        watched_ = database{connect, settings()};
    }
    ~durable_grants() override { migrate_down(plain_, 0); }

    // One of the statements of `grant` commits as a grant has to. Others may have made free rows
    // before, or found afterwards that nobody waits.
    template <class Grant>
    auto durably(const char* what, Grant&& grant) {
        log_->take();
        auto got = grant();
        EXPECT_TRUE(bool{got}) << what;
        expect_wanted(what);
        return got;
    }

    void expect_wanted(const char* what) {
        std::string all;
        bool is_among = false;
        for (const committed& each : log_->take()) {
            is_among = is_among || each.how == GetParam().wanted;
            all += each.how + ": " + each.statement + "\n";
        }
        EXPECT_TRUE(is_among) << what << " wrote\n" << all;
    }

    database_settings settings() const {
        database_settings chosen;
        chosen.names.prefix = prefix_;
        return chosen;
    }
    static mutex_settings keen() {
        mutex_settings chosen;
        chosen.min_poll = 1ms;
        chosen.max_poll = 20ms;
        return chosen;
    }
    void wait_for_a_waiter(const key& name) const {
        EXPECT_TRUE(eventually([&] { return describe(plain_, name)->waiters == 1; }));
    }

    const std::string prefix_ = fresh_prefix();
    const std::shared_ptr<commit_log> log_ = std::make_shared<commit_log>();
    const database plain_ = postgres::open(require_url("postgres"), settings());
    database watched_ = plain_;
};

TEST_P(durable_grants, of_mutexes) {
    const auto one =
        durably("session", [&] { return std::make_unique<session>(watched_, calm("one")); });
    mutex_settings levels;
    levels.recursive = true;
    mutex ours{*one, "k", levels};
    auto made = durably("a new key", [&] { return ours.try_acquire(); });
    auto level = durably("a level", [&] { return ours.try_acquire(); });
    level->release();
    made->release();
    auto again = durably("a free key", [&] { return ours.try_acquire(); });
    durably("by force", [&] { return force_release(watched_, "k"); });
    multi_lock set{*one, {"s1", "s2"}};
    auto all = durably("a new set", [&] { return set.try_acquire(); });
    all->release();
    const auto set_again = durably("a set", [&] { return set.try_acquire(); });
    auto parcel = ours.try_acquire();
    ASSERT_TRUE(parcel);
    std::optional<detached_lease> detached;
    durably("detached for a term", [&] {
        detached = detach_for(std::move(*parcel), 1min);
        return true;
    });
    session two{watched_, calm("two")};
    (void)durably("adopted", [&] { return adopt(two, *detached); });
}

TEST_P(durable_grants, of_sessions_that_begin_with_them) {
    session before{plain_, calm("before")};
    ASSERT_TRUE(mutex(before, "k").try_acquire());  // so that its row is there
    session_settings late = calm("late");
    late.begins_with_grant = true;
    session one{watched_, late};
    log_->take();
    const auto got = mutex{one, "k"}.try_acquire();
    EXPECT_TRUE(got);
    EXPECT_EQ(log_->size(), 1U) << "the session with the grant";
    expect_wanted("a first grant");
}

TEST_P(durable_grants, of_hand_overs) {
    session one{plain_, calm("one")}, two{plain_, calm("two")}, three{watched_, calm("three")};
    auto held = mutex{three, "k"}.try_acquire();
    ASSERT_TRUE(held);
    {
        const thread waiting{[&] { EXPECT_TRUE((mutex{one, "k", keen()}.acquire_for(60s))); }};
        wait_for_a_waiter("k");
        durably("a release that hands over", [&] {
            return held->release() == release_outcome::released;
        });
    }
    auto of_the_dead = mutex{two, "l"}.try_acquire();
    ASSERT_TRUE(of_the_dead);
    std::optional<acquisition> got;
    {
        const thread waiting{[&] { got = mutex{three, "l", keen()}.acquire_for(60s); }};
        wait_for_a_waiter("l");
        log_->take();
        transaction tx = plain_.begin();
        tx.execute(
            "UPDATE " + prefix_ +
                "session SET expires_at = expires_at - interval '2 hours' "
                "WHERE id = $1",
            {blob{two.id().bytes()}}
        );
        tx.commit();
    }
    ASSERT_TRUE(got && *got);
    expect_wanted("served in place of the dead");
}

TEST_P(durable_grants, of_those_that_several_hold) {
    session one{watched_, calm("one")};
    semaphore permits{one, "sem", 3};
    (*durably("a new semaphore", [&] { return permits.try_acquire(); })).release();
    const auto permit = durably("a permit", [&] { return permits.try_acquire(); });
    shared_mutex prices{one, "prices"};
    auto reading =
        durably("an upgradeable reader", [&] { return prices.try_acquire_upgradeable(); });
    auto writing = durably("an upgrade", [&] { return prices.try_upgrade(std::move(*reading)); });
    durably("a downgrade", [&] {
        prices.downgrade(*writing);
        return true;
    });
    latch parts{one, "parts", 2};
    auto place = durably("a place at a latch", [&] { return parts.try_join(); });
    durably("an arrival", [&] {
        parts.arrive(std::move(*place));
        return true;
    });
}

TEST_P(durable_grants, of_runs_and_heartbeats) {
    session one{watched_, calm("one")};
    const auto hourly = schedule::every(1h);
    (void)(*durably("a task's first run", [&] {
        return once{one, "task", hourly}.try_start();
    })).finish();
    session_settings lively = calm("lively");
    lively.heartbeat_every = 20ms;
    session beating{watched_, lively};
    log_->take();
    EXPECT_TRUE(eventually([&] { return log_->size() > 0; }));
    expect_wanted("a heartbeat");
}

INSTANTIATE_TEST_SUITE_P(
    synchronous_commit,
    durable_grants,
    ::testing::Values(
        durability{"off", "on"},
        durability{"local", "on"},
        durability{"remote_write", "on"},
        durability{"on", "on"},
        durability{"remote_apply", "remote_apply"}
    ),
    [](const auto& each) { return std::string{each.param.given}; }
);

}  // namespace
}  // namespace leasehold::testing
