// Opens the file on the command line by its URL, and is told which drivers are not there.
#include <leasehold/leasehold.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

int main(int, char** arguments) {
    const leasehold::database db = leasehold::open(std::string{"sqlite:"} + arguments[1]);
    leasehold::migrate(db);
    leasehold::session session{db};
    leasehold::mutex one{session, "stranger"};
    const leasehold::acquisition lease = one.try_acquire();
    if (!lease) return 1;

    const auto built_in = leasehold::drivers_built_in();
    for (const char* url : {"postgres://app:word@127.0.0.1/app", "mariadb://app:word@db/app"}) {
        const auto driver = leasehold::driver_of(url);
        if (std::count(built_in.begin(), built_in.end(), driver) == 1) continue;
        try {
            const leasehold::database refused = leasehold::open(url);
            return 2;
        } catch (const leasehold::error& failure) {
            const std::string words = failure.what();
            if (failure.code() != leasehold::errc::unsupported) return 3;
            if (words.find("=ON") == std::string::npos) return 4;
            if (words.find("word") != std::string::npos) return 5;
        }
    }
    std::puts("done");
}
