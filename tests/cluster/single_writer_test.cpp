// The one node that is written to is killed with -9. Its clients, whose URL names all nodes, go on
// at another: nothing that was acknowledged is missing, a holder that lost its lease was told
// before anybody else was granted the key, and tokens go on growing. Prints how long the gap was.
//
// With the servers' own time-outs, which docs/clusters.md has figures of, it takes longer:
//   LEASEHOLD_TEST_CLUSTER_TIMEOUTS=default tests/cluster/servers run galera -- single_writer_test
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string_view>

#include "cluster/cluster.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t writer = 1;
constexpr auto timeout = 120s;  // a fail-over by the servers' own time-outs

database_settings of_one_writer() {
    database_settings made;
    made.one_node_is_written_to = true;
    return made;
}

// Holds a key through it all, and writes under its proof again and again.
class holder {
public:
    holder(database on, std::string ledger, int number, seconds ttl)
        : on_(std::move(on)),
          ledger_(std::move(ledger)),
          number_(number),
          session_(on_, {.name = "holder", .ttl = ttl}),
          lease_(*mutex{session_, key()}.try_acquire()),
          token_(lease_.token()),
          told_(lease_.lost(), note{told_at_}),
          thread_([this](const std::stop_token& over) { work(over); }, over_.get_token()) {}

    ~holder() { end(); }
    void end() {
        over_.request_stop();
        thread_ = {};
    }

    std::string key() const { return "held/" + std::to_string(number_); }
    fencing_token token() const { return token_; }
    seconds ttl() const { return std::chrono::duration_cast<seconds>(session_.settings().ttl); }
    int number() const { return number_; }
    // No answer to a proof yet since this was last false.
    bool has_gone_on() const { return proofs_since_ > 0; }
    void begin_anew() { proofs_since_ = 0; }
    // When it was told of its loss; nothing where it was not.
    std::optional<local_clock::time_point> told_at() const {
        const auto at = told_at_.load();
        if (at == 0) return {};
        return local_clock::time_point{local_clock::duration{at}};
    }
    // After end():
    lease& held() { return lease_; }
    const std::set<std::int64_t>& acknowledged() const { return acknowledged_; }
    const std::set<std::int64_t>& unknown() const { return unknown_; }
    milliseconds gap() const { return gap_; }

private:
    struct note {
        std::atomic<std::int64_t>& at;
        void operator()() const { at = local_clock::now().time_since_epoch().count(); }
    };

    void work(const std::stop_token& over) {
        auto last = local_clock::now();
        for (std::int64_t each = 1; !over.stop_requested() && !told_at(); ++each) {
            if (write(each)) {
                const auto now = local_clock::now();
                gap_ = std::max(gap_, std::chrono::duration_cast<milliseconds>(now - last));
                last = now;
                ++proofs_since_;
            }
            stopped(over, 20ms);
        }
    }

    bool write(std::int64_t what) {
        try {
            transaction tx = on_.begin();
            tx.execute(
                "INSERT INTO " + ledger_ + " (holder, what, token) VALUES ($1, $2, $3)",
                {number_, what, token_.number}
            );
            lease_.verify_in(tx);
            tx.commit();
            acknowledged_.insert(what);
            return true;
        } catch (const error& failure) {
            if (failure.outcome_is_unknown()) unknown_.insert(what);
            return false;
        }
    }

    const database on_;
    const std::string ledger_;
    const int number_;
    std::atomic<std::int64_t> told_at_ = 0;
    std::atomic<std::int64_t> proofs_since_ = 0;
    std::set<std::int64_t> acknowledged_, unknown_;
    milliseconds gap_{0};
    session session_;
    lease lease_;
    const fencing_token token_;
    std::stop_callback<note> told_;
    std::stop_source over_;
    thread thread_;
};

// Wants what somebody holds, and may have it once that one has been told.
class heir {
public:
    heir(const database& on, session& within, const holder& of)
        : of_(of), thread_([this, on, &within] { wait(within); }) {}
    ~heir() { end(); }
    void end() {
        over_.request_stop();
        thread_ = {};
    }
    bool was_granted() const { return was_granted_; }

private:
    void wait(session& within) {
        while (!over_.stop_requested()) {
            try {
                auto got = mutex{within, of_.key()}.acquire(over_.get_token());
                if (!got) continue;
                const auto now = local_clock::now();
                const auto told = of_.told_at();
                EXPECT_TRUE(told) << of_.key() << ": granted while its holder believes in it";
                EXPECT_LT(told.value_or(now), now) << of_.key();
                EXPECT_GT(got->token().number, of_.token().number) << of_.key();
                was_granted_ = true;
                return;
            } catch (const error&) {  // the fail-over
                stopped(over_.get_token(), 20ms);
            }
        }
    }

    const holder& of_;
    std::stop_source over_;
    std::atomic<bool> was_granted_ = false;
    thread thread_;
};

class single_writer : public ::testing::Test {
protected:
    single_writer() {
        if (kind() == "group_replication_single") cluster_.control(writer, "promote");
        open().execute(
            "CREATE TABLE " + ledger() +
            " (holder INT NOT NULL, what BIGINT NOT NULL, token BIGINT NOT NULL,"
            " PRIMARY KEY (holder, what))"
        );
    }
    ~single_writer() override { open().execute("DROP TABLE " + ledger()); }

    static std::string_view kind() { return std::getenv("LEASEHOLD_TEST_CLUSTER"); }
    std::string ledger() const { return cluster_.prefix() + "ledger"; }
    database open() const { return cluster_.open_any({writer, 2, 0}, of_one_writer()); }

    std::set<std::int64_t> written_by(const holder& of) const {
        std::set<std::int64_t> all;
        const auto rows =
            open()
                .execute("SELECT what FROM " + ledger() + " WHERE holder = $1", {of.number()})
                .rows;
        for (const row& each : rows) all.insert(each.integer(0));
        return all;
    }

    void expect_its_commits(const holder& of) const {
        const auto there = written_by(of);
        for (const std::int64_t each : of.acknowledged()) {
            EXPECT_TRUE(there.contains(each)) << of.key() << ": " << each << " is missing";
        }
        for (const std::int64_t each : there) {
            EXPECT_TRUE(of.acknowledged().contains(each) || of.unknown().contains(each))
                << of.key() << ": " << each << " was refused, and is there";
        }
    }

    static void print(const holder& of) {
        std::printf(
            "  ttl %2ld s: %s; no proof for %ld ms; %zu proofs, %zu without an answer\n",
            long{of.ttl().count()},
            of.told_at() ? "lost" : "kept",
            long{of.gap().count()},
            of.acknowledged().size(),
            of.unknown().size()
        );
    }

    const cluster cluster_;
};

TEST_F(single_writer, its_death_loses_no_commit_and_lets_no_two_hold) {
    std::vector<std::unique_ptr<holder>> holders;
    for (const seconds ttl : {1s, 1s, 30s, 30s, 30s, 30s, 60s, 60s}) {
        const int number = static_cast<int>(holders.size());
        holders.push_back(std::make_unique<holder>(open(), ledger(), number, ttl));
    }
    const database others = open();
    session waiting{others, {.name = "heirs", .ttl = 300s}};
    std::vector<std::unique_ptr<heir>> heirs;
    for (const auto& each : holders) {
        heirs.push_back(std::make_unique<heir>(others, waiting, *each));
    }
    for (const auto& each : holders) {
        ASSERT_TRUE(eventually([&] { return each->has_gone_on(); })) << each->key();
    }
    cluster_.control(writer, "kill");
    for (const auto& each : holders) each->begin_anew();

    for (std::size_t at = 0; at < holders.size(); ++at) {
        const holder& each = *holders[at];
        EXPECT_TRUE(eventually(
            [&] { return each.told_at() ? heirs[at]->was_granted() : each.has_gone_on(); }, timeout
        )) << each.key()
           << (each.told_at() ? ": nobody has followed" : ": neither lost nor proved again");
    }
    for (const auto& each : heirs) each->end();
    for (const auto& each : holders) each->end();
    std::printf("%s, the node that was written to killed with -9:\n", kind().data());
    for (std::size_t at = 0; at < holders.size(); ++at) {
        print(*holders[at]);
        expect_its_commits(*holders[at]);
        EXPECT_EQ(heirs[at]->was_granted(), holders[at]->told_at().has_value());
        if (holders[at]->told_at()) {
            EXPECT_LT(holders[at]->ttl(), 60s) << "such a ttl outlives it";
            continue;
        }
        EXPECT_TRUE(holders[at]->held().verify());
        EXPECT_EQ(holders[at]->held().release(), release_outcome::released);
        auto next = mutex{waiting, holders[at]->key()}.try_acquire();
        ASSERT_TRUE(next);
        EXPECT_GT(next->token().number, holders[at]->token().number);
    }
}

}  // namespace
}  // namespace leasehold::testing
