// How long each operation takes in a database that has so many rows: LEASEHOLD_COST_SCALE, as in
// tests/cost. One line of JSON for each, beside an empty round trip of the same connection.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cost/filled.hpp"
#include "store/hold_store.hpp"
#include "store/schema_store.hpp"
#include "store/session_store.hpp"
#include "store/waiter_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::steady_clock;

class growth {
public:
    explicit growth(const filled& of) : of_(of) {}

    void measure(int rounds) {
        of_.run([&](connection& on, store& stores) {
            for (int each = 0; each < rounds; ++each) round(on, stores);
        });
    }

    void print(const std::string& engine) const {
        for (const auto& [name, all] : taken_) {
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
    void time(const char* name, Call&& call) {
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

    void round(connection& on, store& stores) {
        time("round trip", [&] { on.execute("SELECT 1"); });
        const acquire_request wanted = request(lock_key(any_lock(false)));
        acquire_result got;
        time("acquire", [&] { got = stores.holds->try_acquire(on, wanted); });
        if (got.status == acquire_status::granted) {
            const hold held{wanted.key, wanted.owner, got.token};
            time("release", [&] { stores.holds->release(on, held); });
        }
        const acquire_request refused = request(lock_key(any_lock(true)));
        time("refused", [&] { stores.holds->try_acquire(on, refused); });
        time("heartbeat", [&] {
            const auto whose = static_cast<std::int64_t>(
                random_() % static_cast<std::size_t>(of_.size().sessions)
            );
            stores.sessions->heartbeat(on, numbered(whose + 1), std::chrono::hours{24}, {});
        });
        hand_over(on, stores);
        time("reap, a look at 1,000", [&] {
            const auto long_ago = std::chrono::hours{1000};
            const auto seen =
                stores.schema->look(on, upkeep_task::dead_locks, place_, 1000, long_ago);
            place_ = seen.place;
        });
    }

    // The first waiter of the long queue gets the key, and the one that had it queues again.
    void hand_over(connection& on, store& stores) {
        const key queued{"queued"};
        const auto holder = stores.holds->describe(on, queued, false);
        const hold held{queued, holder.value().info.owner.value(), holder->info.token};
        hand_over_result next;
        time("hand over", [&] { next = stores.waiters->hand_over(on, held); });
        const acquire_request again = request(queued);
        enqueue_result place;
        time("queue", [&] { place = stores.waiters->enqueue(on, again); });
        const waiter_id who{queued, again.owner, place.ticket};
        time("look", [&] { stores.waiters->look(on, {who}); });
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
    const filled all;
    growth measured{all};
    measured.measure(count > 2 ? std::stoi(values[2]) : 300);
    measured.print(count > 1 ? values[1] : "");
    return 0;
} catch (const std::exception& failed) {
    std::cerr << "growth: " << failed.what() << std::endl;
    return 1;
}
