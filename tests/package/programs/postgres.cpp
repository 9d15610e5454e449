// Opening connects to nothing, so this needs no server.
#include <leasehold/driver/postgres.hpp>

#include <cstdio>

int main() {
    const leasehold::database db =
        leasehold::postgres::open("postgresql://app@127.0.0.1/app", {.connections_max = 2});
    if (db.settings().connections_max != 2) return 1;
    std::puts("done");
}
