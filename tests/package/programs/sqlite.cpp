// Locks a key in the file named on the command line.
#include <leasehold/driver/sqlite.hpp>
#include <leasehold/leasehold.hpp>

#include <cstdio>

int main(int, char** arguments) {
    const leasehold::database db = leasehold::sqlite::open(std::string{"sqlite:"} + arguments[1]);
    leasehold::migrate(db);
    leasehold::session session{db};
    leasehold::mutex one{session, "stranger"};
    leasehold::mutex other{session, "stranger"};
    leasehold::acquisition lease = one.try_acquire();
    if (!lease || !lease->verify()) return 1;
    if (const auto second = other.try_acquire()) return 2;
    std::puts("done");
}
