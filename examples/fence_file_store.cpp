// Files guarded by a lock in a database: a holder that was deposed without noticing writes nothing.
// fence_file_store sqlite:demo.db FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

// Whole or not at all: the guard keeps others out, not crashes.
void replace(const std::filesystem::path& path, const std::string& text) {
    const std::filesystem::path fresh = path.string() + ".new";
    std::ofstream{fresh} << text << '\n';
    std::filesystem::rename(fresh, path);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: fence_file_store sqlite:PATH FOLDER\n";
        return 64;
    }
    const std::filesystem::path folder = arguments[2];
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        std::filesystem::create_directories(folder);
        const leasehold::fence_file guard{folder / "fence"};

        leasehold::session early{db, {.name = "early"}}, late{db, {.name = "late"}};
        auto first = leasehold::mutex{early, "reports"}.try_acquire();
        if (!first) return 75;
        guard.admit(first->token(), [&] { replace(folder / "report", "by the first"); });

        // The first holder is paused, say, and an operator gives the key to another.
        leasehold::force_release(db, "reports");
        auto second = leasehold::mutex{late, "reports"}.try_acquire();
        if (!second) return 75;
        guard.admit(second->token(), [&] { replace(folder / "report", "by the second"); });

        try {  // it wakes up, and has not noticed yet
            guard.admit(first->token(), [&] { replace(folder / "report", "too late"); });
        } catch (const leasehold::error& failure) {
            if (failure.code() != leasehold::errc::lease_lost) throw;
            std::cout << "refused: " << failure.what() << '\n';
        }
        std::string kept;
        std::getline(std::ifstream{folder / "report"}, kept);
        std::cout << "the report is " << kept << '\n';
        return kept == "by the second" ? 0 : 1;
    } catch (const leasehold::error& failure) {
        std::cerr << "fence_file_store: " << failure.what() << '\n';
        return 1;
    }
}
