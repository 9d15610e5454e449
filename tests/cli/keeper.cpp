// A process of its own that keeps a row locked, for row_locked to stop.
//
//   keeper URL PREFIX KEY TTL_MS   takes KEY, proves the lease in a transaction, says "proved",
//                                  and keeps that transaction open until its input ends
#include <chrono>
#include <iostream>
#include <string>

#include "leasehold/error.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/open.hpp"

int main(int count, char** words) {
    if (count != 5) return 64;
    try {
        leasehold::database_settings settings;
        settings.names.prefix = words[2];
        const leasehold::database db = leasehold::open(words[1], settings);
        leasehold::session_settings timing;
        timing.ttl = std::chrono::milliseconds{std::stol(words[4])};
        timing.name = "keeper";
        leasehold::session own{db, timing};
        auto held = leasehold::mutex{own, words[3]}.try_acquire();
        if (!held) return 75;
        leasehold::transaction proving = db.begin();
        held->verify_in(proving);
        std::cout << "proved" << std::endl;  // the other side waits for it
        while (std::cin.get() != std::istream::traits_type::eof()) {
        }
        proving.rollback();
    } catch (const leasehold::error& failure) {
        std::cout << failure.what() << std::endl;
        return 1;
    }
    return 0;
}
