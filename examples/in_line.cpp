// Five processes, here five threads with sessions of their own, wait in line for one key: each gets
// it in turn, from the hand of the one before. In line: in_line sqlite:demo.db
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count != 2) {
        std::cerr << "usage: in_line sqlite:PATH\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::session first{db, {.name = "first"}};
        auto held = leasehold::mutex{first, "counter"}.acquire_for(5s);
        if (!held) return 75;

        std::mutex printing;
        std::vector<std::jthread> others;
        for (int number = 1; number <= 5; ++number) {
            others.emplace_back([&, number] {
                leasehold::session mine{db, {.name = "customer-" + std::to_string(number)}};
                leasehold::mutex counter{mine, "counter", {.metadata = "buying a ticket"}};
                auto lease = counter.acquire_for(30s);
                const std::lock_guard guard{printing};
                if (lease) std::cout << number << " served under " << lease->token().number << '\n';
            });
            // One after the other, so that the order can be seen.
            while (leasehold::describe(db, "counter")->waiters < number) std::this_thread::yield();
        }
        held->release();  // the first in line has it now
    } catch (const leasehold::error& failure) {
        std::cerr << "in_line: " << failure.what() << '\n';
        return 1;
    }
}
