// A stranger who brings a driver of their own needs the core alone.
#include <leasehold/leasehold.hpp>

#include <cstdio>

int main() {
    const std::string sql = leasehold::migration_sql(leasehold::engine::postgres, {});
    try {
        const leasehold::key refused{""};
        return 1;
    } catch (const leasehold::error& failure) {
        if (failure.code() != leasehold::errc::invalid_argument) return 2;
    }
    if (sql.find("leasehold_lock") == std::string::npos) return 3;
    std::puts("done");
}
