// The time that each operation takes in a database of LEASEHOLD_COST_SCALE rows, as in tests/cost.
// One line of JSON for each, beside an empty round trip of the same connection.
//
//     growth_postgres postgres ROUNDS    0: what a row costs while somebody has an old snapshot
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cost/filled.hpp"
#include "database/schema_store.hpp"
#include "locks/hold_store.hpp"
#include "locks/waiter_store.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::steady_clock;

class growth {
public:
    explicit growth(const filled& of) : of_(of) {}

    void measure(int rounds) {
        of_.run([&](connection& on, store_set& stores) {
            for (int each = 0; each < rounds; ++each) round(on, stores);
        });
    }

    // The cost of a row of which so many versions are kept for somebody's snapshot.
    void measure_beside_a_snapshot(const std::string& engine) {
        const database other = of_.beside();
        const bool is_postgres = engine == "postgres";
        if (!is_postgres) {
            other.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
        transaction reading = other.begin();
        if (is_postgres) reading.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        reading.execute("SELECT COUNT(*) FROM leasehold_lock");
        of_.run([&](connection& on, store_set& stores) {
            int made = 0;
            for (const int versions : {0, 1'000, 3'000, 10'000, 30'000}) {
                for (; made < versions; made += 2) {
                    pair(on, stores, "");
                    heartbeat(on, stores, 1, "");
                    // Otherwise the server ends the idle connection.
                    if (made % 100 == 0) reading.execute("SELECT 1");
                }
                const std::string after = " after " + std::to_string(versions);
                for (int each = 0; each < 100; ++each, made += 2) {
                    pair(on, stores, "pair" + after);
                    heartbeat(on, stores, 1, "heartbeat" + after);
                }
            }
        });
        reading.rollback();
    }

    void print(const std::string& engine) const {
        for (const auto& [name, all] : taken_) {
            if (name.empty()) continue;
            std::vector<double> sorted = all;
            std::sort(sorted.begin(), sorted.end());
            const auto at = [&](double share) {
                const auto last = static_cast<double>(sorted.size() - 1);
                return sorted[static_cast<std::size_t>(share * last)];
            };
            std::cout << R"({"engine":")" << engine << R"(","locks":)" << of_.size().locks
                      << R"(,"sessions":)" << of_.size().sessions << R"(,"waiters":)"
                      << of_.size().waiters << R"(,"operation":")" << name << R"(","p50_us":)"
                      << at(0.5) << R"(,"p90_us":)" << at(0.9) << R"(,"p99_us":)" << at(0.99)
                      << "}\n";
        }
    }

private:
    template <class Call>
    void time(const std::string& name, Call&& call) {
        const auto began = steady_clock::now();
        call();
        const std::chrono::duration<double, std::micro> took = steady_clock::now() - began;
        taken_[name].push_back(took.count());
    }

    // From 1; `is_held`: an odd one.
    std::int64_t any_lock(bool is_held) {
        const std::int64_t half = std::max<std::int64_t>(of_.size().locks / 2, 1);
        const auto number = static_cast<std::int64_t>(random_() % static_cast<std::size_t>(half));
        return number * 2 + (is_held ? 1 : 2);
    }
    acquire_request request(const key& name) const {
        return {name, identity::random(), numbered(1), "growth", std::nullopt};
    }

    void round(connection& on, store_set& stores) {
        time("round trip", [&] { on.execute("SELECT 1"); });
        const acquire_request wanted = request(lock_key(any_lock(false)));
        acquire_result got;
        time("acquire", [&] { got = stores.get<hold_store>().try_acquire(on, wanted); });
        if (got.status == acquire_status::granted) {
            const hold held{wanted.key, wanted.owner, got.token};
            time("release", [&] { stores.get<hold_store>().release(on, held); });
        }
        const acquire_request refused = request(lock_key(any_lock(true)));
        time("refused", [&] { stores.get<hold_store>().try_acquire(on, refused); });
        const auto sessions = static_cast<std::size_t>(of_.size().sessions);
        const auto whose = static_cast<std::int64_t>(random_() % sessions);
        heartbeat(on, stores, whose + 1, "heartbeat");
        hand_over(on, stores);
        time("reap, a look at 1,000", [&] {
            const auto long_ago = std::chrono::hours{1000};
            const auto seen = stores.get<upkeep_store>().look(
                on, upkeep_task::dead_locks, place_, 1000, long_ago
            );
            place_ = seen.place;
        });
    }

    void heartbeat(connection& on, store_set& stores, std::int64_t whose, const std::string& name) {
        time(name, [&] {
            stores.get<session_store>().heartbeat(on, numbered(whose), std::chrono::hours{24}, {});
        });
    }

    // One key, again and again.
    void pair(connection& on, store_set& stores, const std::string& name) {
        const acquire_request wanted = request(lock_key(2));
        time(name, [&] {
            const auto got = stores.get<hold_store>().try_acquire(on, wanted);
            stores.get<hold_store>().release(on, {wanted.key, wanted.owner, got.token});
        });
    }

    // The first waiter of the long queue gets the key, and the one that had it queues again.
    void hand_over(connection& on, store_set& stores) {
        const key queued{"queued"};
        const auto holder = stores.get<hold_store>().describe(on, queued, false);
        const hold held{queued, holder.value().info.owner.value(), holder->info.token};
        hand_over_result next;
        time("hand over", [&] { next = stores.get<waiter_store>().hand_over(on, held); });
        const acquire_request again = request(queued);
        enqueue_result place;
        time("queue", [&] { place = stores.get<waiter_store>().enqueue(on, again); });
        const waiter_id who{queued, again.owner, place.ticket};
        time("look", [&] { stores.get<waiter_store>().look(on, {who}); });
    }

    const filled& of_;
    std::mt19937_64 random_{1};  // the same keys each time
    std::string place_;
    std::map<std::string, std::vector<double>> taken_;
};

}  // namespace
}  // namespace leasehold::testing

int main(int count, char** values) try {
    using namespace leasehold::testing;
    const filled all{statistics::fresh};
    const std::string engine = count > 1 ? values[1] : "";
    const int rounds = count > 2 ? std::stoi(values[2]) : 300;
    growth measured{all};
    if (rounds > 0) {
        measured.measure(rounds);
    } else {
        measured.measure_beside_a_snapshot(engine);
    }
    measured.print(engine);
    return 0;
} catch (const std::exception& failed) {
    std::cerr << "growth: " << failed.what() << std::endl;
    return 1;
}
