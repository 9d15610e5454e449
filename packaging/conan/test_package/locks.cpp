// Locks a key of a new database, and finds it held.
#include <leasehold/leasehold.hpp>

#include <chrono>
#include <cstdio>
#include <string>

int main() {
    const char* const path = "leasehold_test_package.db";
    std::remove(path);
    const leasehold::database db = leasehold::open(std::string{"sqlite:"} + path);
    leasehold::migrate(db);
    leasehold::session session{db};
    leasehold::mutex one{session, "one"};
    auto lease = one.acquire_for(std::chrono::seconds{5});
    const bool is_held = lease && lease->verify() && leasehold::list_locks(db).size() == 1;
    std::puts(is_held ? "done" : "the key is not held");
    return is_held ? 0 : 1;
}
