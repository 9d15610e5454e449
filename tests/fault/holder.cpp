// A process of its own that holds a key, for process_test.cpp to kill and to stop.
//
//   holder URL PREFIX KEY TTL_MS hold    takes KEY, says "held TOKEN", and then obeys:
//                                        "verify_in" → "proved" or "refused CODE";
//                                        "wait KEY" → "got TOKEN" or "refused CODE";
//                                        says "lost REASON" when it is told
//   holder URL PREFIX KEY TTL_MS shared  the same with KEY as a shared mutex, shared
//   holder URL PREFIX KEY TTL_MS permit  the same with KEY as a semaphore of one permit
//   holder URL PREFIX KEY TTL_MS churn   takes and releases KEY for ever: "held TOKEN" each time
#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>

#include "fault/where.hpp"
#include "leasehold/error.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/semaphore.hpp"
#include "leasehold/shared_mutex.hpp"

namespace {

std::mutex speaking;

void say(const std::string& line) {
    const std::lock_guard guard{speaking};
    std::cout << line << std::endl;  // the other side waits for it
}

void prove(leasehold::lease& held, const leasehold::database& db) {
    leasehold::transaction tx = db.begin();
    held.verify_in(tx);
    tx.commit();
    say("proved");
}

void wait_for(const std::string& key, leasehold::session& session) {
    auto got = leasehold::mutex{session, key, {.detects_deadlock = true}}.acquire();
    say("got " + std::to_string(got->token().number));
}

void obey(leasehold::lease& held, const leasehold::database& db, leasehold::session& session) {
    const std::string wait = "wait ";
    for (std::string command; std::getline(std::cin, command);) {
        try {
            if (command.rfind(wait, 0) == 0) {
                wait_for(command.substr(wait.size()), session);
            } else {
                prove(held, db);
            }
        } catch (const leasehold::error& failure) {
            say(std::string("refused ") + name_of(failure.code()));
        }
    }
}

leasehold::acquisition take(
    const std::string& key, leasehold::session& session, std::string_view mode
) {
    if (mode == "shared") return leasehold::shared_mutex{session, key}.acquire_shared();
    if (mode == "permit") return leasehold::semaphore{session, key, 1}.acquire();
    return leasehold::mutex{session, key}.acquire();
}

void run(const leasehold::database& db, const std::string& key, int ttl_ms, std::string_view mode) {
    leasehold::session_settings settings{.name = "holder"};
    settings.ttl = std::chrono::milliseconds{ttl_ms};
    leasehold::session session{db, settings};
    const bool churns = mode == "churn";
    do {
        auto held = take(key, session, mode);
        say("held " + std::to_string(held->token().number));
        if (churns) continue;
        const std::stop_callback on_loss{
            held->lost(), [&] { say(std::string("lost ") + name_of(held->why_lost())); }};
        obey(*held, db, session);
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
        run(db, arguments[3], std::stoi(arguments[4]), arguments[5]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "holder: %s\n", failure.what());
        return 1;
    }
    return 0;
}
