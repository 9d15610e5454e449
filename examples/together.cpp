// Three processes, here three threads with sessions of their own, load a part each: a latch opens
// when all parts are there, and a barrier keeps the rest of their work in step.
// Together: together sqlite:demo.db
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int workers = 3;
constexpr int steps = 2;

// The number of steps it passed, always with all of the others.
int work(leasehold::database& db, int number) {
    leasehold::session mine{db, {.name = "worker-" + std::to_string(number)}};
    leasehold::latch loaded{mine, "import/loaded", workers};
    if (auto place = loaded.try_join()) {  // a worker that dies here gives its place back
        loaded.arrive(std::move(*place));  // with the part that it has loaded
    }
    leasehold::barrier step{mine, "import/step", workers};
    int passed = 0;
    while (passed < steps && step.arrive_and_wait_for(30s)) ++passed;
    return passed;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: together sqlite:PATH\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        std::atomic<int> passed = 0;
        {
            leasehold::session mine{db, {.name = "publisher"}};
            leasehold::latch loaded{mine, "import/loaded", workers};
            std::vector<std::jthread> all;
            for (int number = 1; number <= workers; ++number) {
                all.emplace_back([&, number] { passed += work(db, number); });
            }
            if (loaded.wait_for(30s).is_open) std::cout << "all parts are loaded\n";
        }
        std::cout << passed << " steps in step\n";
    } catch (const leasehold::error& failure) {
        std::cerr << "together: " << failure.what() << '\n';
        return 1;
    }
}
