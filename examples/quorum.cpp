// A lock on the majority of three databases, which outlives any one of them. Here three files; on
// servers of your own give each its driver. quorum sqlite:a.db sqlite:b.db sqlite:c.db
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count < 2) {
        std::cerr << "usage: quorum sqlite:PATH...\n";
        return 64;
    }
    try {
        std::vector<leasehold::database> each;
        for (int at = 1; at < count; ++at) {
            each.push_back(leasehold::sqlite::open(arguments[at]));
            try {
                leasehold::migrate(each.back());
            } catch (const leasehold::error& failure) {
                std::cerr << "quorum: " << failure.what() << '\n';  // one may be down
            }
        }
        leasehold::quorum servers{each, {.server_timeout = 5s}};
        leasehold::quorum_lock leader{servers, "leader"};
        auto held = leader.acquire_for(10s);
        if (!held) {
            for (const auto& problem : held.servers().problems) std::cerr << problem << '\n';
            return 75;
        }
        std::cout << "held on " << held->held_count() << " of " << servers.size() << '\n';
        // Work here until held->lost() fires.
    } catch (const leasehold::error& failure) {
        std::cerr << "quorum: " << failure.what() << '\n';
        return 1;
    }
}
