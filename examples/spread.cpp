// Keys spread over several databases, for when one does not suffice: each key is locked in the one
// that its name leads to, the same for every program that has the same list.
//
//   spread KEY URL...    says where, and under which token
#include <cstdint>
#include <iostream>
#include <string_view>
#include <vector>

#include "leasehold/leasehold.hpp"

namespace {

// FNV-1a: the same on every host and in every build, which std::hash need not be.
std::size_t place_of(std::string_view key, std::size_t places) {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    for (const char each : key) {
        hash ^= static_cast<unsigned char>(each);
        hash *= 1'099'511'628'211U;
    }
    return hash % places;
}

}  // namespace

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count < 3) {
        std::cerr << "usage: spread KEY URL...\n";
        return 64;
    }
    const std::string key = arguments[1];
    const std::vector<std::string> urls(arguments + 2, arguments + count);
    try {
        std::vector<leasehold::database> databases;
        std::vector<leasehold::session> sessions;
        for (const std::string& url : urls) {
            databases.push_back(leasehold::open(url));
            leasehold::migrate(databases.back());
            sessions.emplace_back(databases.back(), leasehold::session_settings{.name = "spread"});
        }
        const std::size_t place = place_of(key, sessions.size());
        leasehold::mutex mutex{sessions.at(place), key};
        auto lease = mutex.acquire_for(5s);
        if (!lease) {
            std::cerr << "busy\n";
            return 75;
        }
        std::cout << key << ": database " << place << ", token " << lease->token().number << '\n';
    } catch (const leasehold::error& failure) {
        std::cerr << "spread: " << failure.what() << '\n';
        return 1;
    }
}
