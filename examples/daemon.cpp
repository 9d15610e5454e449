// A daemon that works under a lock: it forks first, and opens the database then. A session, a lease
// and a connection stay with the process that opened them.
//
//   daemon sqlite:demo.db
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

void serve(const char* url) {
    leasehold::database db = leasehold::sqlite::open(url);
    leasehold::migrate(db);
    leasehold::session session{db, {.name = "daemon"}};
    leasehold::mutex only{session, "the daemon"};
    const auto lease = only.acquire();
    // Its work would be here, until lease->lost() says stop.
    const bool is_daemon = ::getsid(0) == ::getpid();  // it leads a session of its own
    std::printf("%s holds the lock\n", is_daemon ? "a daemon" : "what has a terminal");
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fputs("usage: daemon sqlite:PATH\n", stderr);
        return 64;
    }
    constexpr int stays_in_folder = 1, keeps_output = 1;
    if (::daemon(stays_in_folder, keeps_output) != 0) {
        std::perror("daemon");
        return 1;
    }
    try {
        serve(arguments[1]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "daemon: %s\n", failure.what());
        return 1;
    }
    return 0;
}
