// Stops where a debugger looks at values and handles of leasehold. Argument: a file for SQLite.
#include <iostream>
#include <leasehold/driver/sqlite.hpp>
#include <leasehold/leasehold.hpp>
#include <string>

namespace {

// Keeps its arguments, and is never inlined: a breakpoint.
__attribute__((noinline)) void look_at(
    const leasehold::key& name,
    const leasehold::session& mine,
    const leasehold::lease& held,
    const leasehold::lease& given_back,
    const leasehold::fencing_token& token
) {
    std::cout << name << ' ' << token << ' ' << mine.id() << ' ' << held.token()
              << given_back.held_locally() << '\n';
}

__attribute__((noinline)) void look_at_job(const leasehold::job& work) {
    std::cout << work.id() << '\n';
}

}  // namespace

int main(int, char** arguments) {
    const leasehold::database db = leasehold::sqlite::open(std::string{"sqlite:"} + arguments[1]);
    leasehold::migrate(db);
    leasehold::session mine{db};
    const leasehold::key name{"invoices/closing"};
    leasehold::acquisition held = leasehold::mutex{mine, name}.acquire();
    leasehold::acquisition given_back = leasehold::mutex{mine, "other"}.acquire();
    given_back->release();
    look_at(name, mine, *held, *given_back, held->token());

    leasehold::job_queue{db, "mail"}.enqueue({.kind = "welcome", .payload = "x"});
    leasehold::worker_settings settings;
    settings.queues = {"mail"};
    settings.stop_when_idle = true;
    leasehold::worker does{mine, settings};
    does.handle_all(look_at_job);
    does.run();
    std::cout << "done\n";
}
