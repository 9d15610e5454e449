// A program for tests of the tool: arrives at a latch, once, and ends.
//
//   arrive URL PREFIX KEY COUNT
#include <cstdlib>
#include <iostream>

#include "leasehold/error.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/open.hpp"

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "usage: arrive URL PREFIX KEY COUNT\n";
        return 64;
    }
    try {
        leasehold::database_settings settings;
        settings.names.prefix = arguments[2];
        const leasehold::database db = leasehold::open(arguments[1], settings);
        leasehold::session mine{db, {.name = "arrive"}};
        leasehold::latch door{
            mine, leasehold::key{arguments[3]}, std::strtoll(arguments[4], nullptr, 10)};
        if (leasehold::acquisition place = door.try_join()) {
            door.arrive(std::move(*place));
            return 0;
        }
        std::cerr << "arrive: all places are taken\n";
    } catch (const leasehold::error& failure) {
        std::cerr << "arrive: " << failure.what() << '\n';
    }
    return 1;
}
