// Locks a key in the file named on the command line, whose tables another program has made.
#include <leasehold/driver/sqlite.hpp>
#include <leasehold/error.hpp>
#include <leasehold/mutex.hpp>

#include <cstdio>
#include <string>

int main(int, char** arguments) {
    const leasehold::database db = leasehold::sqlite::open(std::string{"sqlite:"} + arguments[1]);
    try {
        leasehold::session session{db};
        leasehold::mutex one{session, "stranger"};
        leasehold::acquisition lease = one.acquire();
        if (!lease || !lease->verify()) return 1;
    } catch (const leasehold::error& failure) {
        // There are no tables: this program does not make them.
        if (failure.code() != leasehold::errc::schema_missing) return 2;
    }
    std::puts("done");
}
