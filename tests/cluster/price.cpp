// The cost of a cluster: grants and proofs per second on a plain server, on one node that is
// written to, and on all nodes, in turns, so that other work of the machine meets all alike.
//
//   tests/support/servers run --backends mariadb -- bash, and in that shell
//   tests/cluster/servers run galera -- cluster_price
//
// LEASEHOLD_TEST_FSYNC=on: commits reach the disk. LEASEHOLD_PRICE_ROUNDS: 5.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "cluster/cluster.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/leasehold.hpp"
#include "support/eventually.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

constexpr int max_threads = 6;

std::string variable(const char* name, const char* otherwise) {
    const char* const found = std::getenv(name);
    return found ? found : otherwise;
}

// One thread's own connection, session, key and row.
class client {
public:
    client(database on, const std::string& prefix, int number)
        : on_(std::move(on)),
          row_("UPDATE " + prefix + "priced SET n = n + 1 WHERE id = " + std::to_string(number)),
          session_(on_, {.name = "price"}),
          granted_(session_, key{"granted/" + std::to_string(number)}),
          held_(*mutex{session_, "held/" + std::to_string(number)}.acquire_for(20s)) {}

    // Each client does this once; false: the cluster rolled it back.
    bool grant() {
        auto got = granted_.try_acquire();
        return got && got->release() == release_outcome::released;
    }
    bool write(bool proves) {
        transaction tx = on_.begin();
        tx.execute(row_);
        if (proves) held_.verify_in(tx);
        tx.commit();
        return true;
    }

private:
    const database on_;
    const std::string row_;
    session session_;
    mutex granted_;
    lease held_;
};

struct subject {
    std::string name;
    std::vector<std::unique_ptr<client>> clients;
};

using work = std::function<bool(client&)>;

double per_second(subject& of, int threads, const work& each) {
    std::atomic<bool> is_over = false;
    std::atomic<std::int64_t> done = 0;
    std::vector<std::jthread> all;
    const auto start = local_clock::now();
    for (int number = 0; number < threads; ++number) {
        all.emplace_back([&, &mine = *of.clients.at(static_cast<std::size_t>(number))] {
            while (!is_over) {
                try {
                    done += each(mine);
                } catch (const error& failure) {
                    if (!failure.is_transient()) std::fprintf(stderr, "%s\n", failure.what());
                }
            }
        });
    }
    stopped({}, 1000ms);
    is_over = true;
    all.clear();  // waits for them
    const std::chrono::duration<double> took = local_clock::now() - start;
    return static_cast<double>(done) / took.count();
}

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of.at(of.size() / 2);
}

void make_rows(const database& on, const std::string& prefix) {
    on.execute("CREATE TABLE " + prefix + "priced (id INT PRIMARY KEY, n BIGINT NOT NULL)");
    for (int each = 0; each < max_threads; ++each) {
        on.execute("INSERT INTO " + prefix + "priced VALUES (" + std::to_string(each) + ", 0)");
    }
}

subject made(
    const std::string& name, const std::function<database(int)>& open, const std::string& prefix
) {
    subject all{name, {}};
    for (int number = 0; number < max_threads; ++number) {
        all.clients.push_back(std::make_unique<client>(open(number), prefix, number));
    }
    return all;
}

void measure(std::vector<std::function<subject()>>& subjects) {
    const int rounds = std::stoi(variable("LEASEHOLD_PRICE_ROUNDS", "5"));
    const std::vector<std::pair<std::string, work>> works{
        {"commit", [](client& by) { return by.write(false); }},
        {"proof", [](client& by) { return by.write(true); }},
        {"grant and release", [](client& by) { return by.grant(); }},
    };
    std::map<std::pair<std::string, int>, std::map<std::string, std::vector<double>>> all;
    std::vector<std::string> names;
    for (int round = 0; round < rounds; ++round) {
        for (const auto& make : subjects) {
            subject now = make();
            if (round == 0) names.push_back(now.name);
            for (const auto& [what, each] : works) {
                for (const int threads : {1, max_threads}) {
                    all[{what, threads}][now.name].push_back(per_second(now, threads, each));
                }
            }
        }
    }
    std::printf("%-20s %7s", "per second", "threads");
    for (const auto& name : names) std::printf(" | %-26s", name.c_str());
    std::printf("\n");
    for (const auto& [what, each] : works) {
        for (const int threads : {1, max_threads}) {
            const auto& by_name = all[{what, threads}];
            const auto& plain = by_name.at(names.front());
            std::printf("%-20s %7d", what.c_str(), threads);
            for (const auto& name : names) {
                const auto& mine = by_name.at(name);
                std::vector<double> ratios;
                for (std::size_t round = 0; round < mine.size(); ++round) {
                    ratios.push_back(mine[round] / plain[round]);
                }
                std::printf(" | %8.0f  %12.2f times", median(mine), median(ratios));
            }
            std::printf("\n");
        }
    }
}

void run() {
    const cluster nodes;
    const std::string plain_url = require_url(
        std::string_view{std::getenv("LEASEHOLD_TEST_CLUSTER")} == "galera" ? "mariadb" : "mysql"
    );
    const auto open_plain = [&](int) {
        database_settings settings;
        settings.names.prefix = nodes.prefix();
        return mysql::open(plain_url, settings);
    };
    const auto open_one = [&](int) {
        database_settings settings;
        settings.one_node_is_written_to = true;
        return nodes.open(0, settings);
    };
    const auto on_first = [&](int) { return nodes.open(0); };
    const auto on_all = [&](int number) {
        return nodes.open(static_cast<std::size_t>(number) % nodes.size());
    };
    migrate(open_plain(0));
    make_rows(open_plain(0), nodes.prefix());
    make_rows(nodes.open(0), nodes.prefix());
    const std::string& prefix = nodes.prefix();
    std::vector<std::function<subject()>> subjects{
        [&] { return made("plain server", open_plain, prefix); },
        [&] { return made("one writer", open_one, prefix); },
        [&] { return made("several, at one node", on_first, prefix); },
        [&] { return made("several, at all nodes", on_all, prefix); },
    };
    measure(subjects);
    nodes.open(0).execute("DROP TABLE " + prefix + "priced");
    open_plain(0).execute("DROP TABLE " + prefix + "priced");
    migrate_down(open_plain(0), 0);
}

}  // namespace
}  // namespace leasehold::testing

int main() {
    try {
        leasehold::testing::run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "cluster_price: %s\n", failure.what());
        return 1;
    }
    return 0;
}
