// Opening connects to nothing, so this needs no server.
#include <leasehold/driver/mysql.hpp>

#include <cstdio>

int main() {
    const leasehold::database db =
        leasehold::mysql::open("mysql://app:word@127.0.0.1:3306/app", {.max_connections = 2});
    if (db.settings().max_connections != 2) return 1;
    std::puts("done");
}
