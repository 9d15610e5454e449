// Shows leasehold's work as metrics and as lines of JSON:
//
//   ./metrics sqlite:demo.db            the page for /metrics on standard output
//   ./metrics sqlite:demo.db 2>log      and a line for each event in the log
//
// Work under a lease ends when the lease is lost, when the program is asked to stop, or when
// somebody asks for the key: one token for all of it.
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

// Invoices are many, and kinds of work few.
std::string kind_of_work(std::string_view key) {
    return std::string{key.substr(0, key.find('/'))};
}

int steps_until(const std::stop_token& enough) {
    int done = 0;
    while (!enough.stop_requested() && done < 3) ++done;
    return done;
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 2) {
        std::cerr << "usage: metrics DATABASE\n";
        return 64;
    }
    try {
        leasehold::metrics_settings labels;
        labels.label_of_key = kind_of_work;
        labels.label_name = "work";
        const auto counts = std::make_shared<leasehold::metrics>(labels);
        const auto log = std::make_shared<leasehold::json_lines>(std::clog);

        leasehold::database_settings settings;
        settings.observer = std::make_shared<leasehold::observers>(counts, log);
        leasehold::database db = leasehold::sqlite::open(arguments[1], settings);
        leasehold::migrate(db);

        std::stop_source shutting_down;  // by a handler of signals, say
        leasehold::session session{db, {.name = "billing"}};
        int steps = 0;
        for (const char* const key : {"invoice/1", "invoice/2", "report"}) {
            leasehold::mutex closing{session, key};
            if (auto lease = closing.try_acquire()) {
                const leasehold::stop_when enough{
                    *lease, shutting_down.get_token(), leasehold::also_when_revoked};
                steps += steps_until(enough.token());
                leasehold::mutex again{session, key};
                if (const auto second = again.try_acquire()) return 1;
            }
        }
        std::cout << counts->text(db);
        return steps == 9 && log->dropped() == 0 ? 0 : 1;
    } catch (const std::exception& failure) {
        std::cerr << "metrics: " << failure.what() << '\n';
        return 1;
    }
}
