// A process of its own that holds a key, for process_test.cpp to kill and to stop.
//
//   holder URL PREFIX KEY TTL_MS hold    takes KEY, says "held TOKEN", and then obeys:
//                                        "verify_in" → "proved" or "refused CODE";
//                                        says "lost REASON" when it is told
//   holder URL PREFIX KEY TTL_MS churn   takes and releases KEY for ever: "held TOKEN" each time
#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>

#include "fault/where.hpp"

namespace {

std::mutex speaking;

void say(const std::string& line) {
    const std::lock_guard guard{speaking};
    std::cout << line << std::endl;  // the other side waits for it
}

void obey(leasehold::lease& held, const leasehold::database& db) {
    for (std::string command; std::getline(std::cin, command);) {
        try {
            leasehold::transaction tx = db.begin();
            held.verify_in(tx);
            tx.commit();
            say("proved");
        } catch (const leasehold::error& failure) {
            say(std::string("refused ") + name_of(failure.code()));
        }
    }
}

void run(const leasehold::database& db, const std::string& key, int ttl_ms, bool churns) {
    leasehold::session_settings settings{.name = "holder"};
    settings.ttl = std::chrono::milliseconds{ttl_ms};
    leasehold::session session{db, settings};
    leasehold::mutex mutex{session, key};
    do {
        auto held = mutex.acquire();
        say("held " + std::to_string(held->token().number));
        if (churns) continue;
        const std::stop_callback on_loss{
            held->lost(), [&] { say(std::string("lost ") + name_of(held->why_lost())); }};
        obey(*held, db);
    } while (churns);
}

}  // namespace

int main(int count, char** arguments) {
    constexpr int arguments_count = 6;
    if (count != arguments_count) return 64;
    try {
        leasehold::database_settings settings;
        settings.names.prefix = arguments[2];
        const auto db = leasehold::testing::open_at(arguments[1], settings);
        run(db, arguments[3], std::stoi(arguments[4]), std::string_view{arguments[5]} == "churn");
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "holder: %s\n", failure.what());
        return 1;
    }
    return 0;
}
