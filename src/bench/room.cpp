#include "bench/room.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "bench/texts.hpp"
#include "leasehold/error.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/open.hpp"

namespace leasehold::bench {
namespace {

constexpr std::chrono::minutes patience{1};

std::string random_name() {
    std::random_device source;
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(source()));
    return digits.data();
}

}  // namespace

room::room(const std::string& url, const std::string& schema) {
    place_.url = url;
    place_.names = {.prefix = "leasehold_bench_" + random_name() + "_", .schema = schema};
    if (driver_of(url) == "sqlite") {
        constexpr std::string_view scheme = "sqlite:";
        file_ = url.substr(scheme.size()) + ".bench-" + random_name();
        place_.url = std::string{scheme} + file_;
    }
    try {
        make();
    } catch (...) {
        try {
            remove();
        } catch (const std::exception&) {  // the first failure says more
        }
        throw;
    }
}

room::~room() {
    try {
        remove();
    } catch (const std::exception&) {  // who wants to know calls remove()
    }
}

void room::make() {
    const database db = place_.open(1, patience);
    migrate(db);
    db.execute(text_of(db.server().engine, "make_locks", place_.names));
}

void room::remove() {
    if (is_removed_) return;
    if (!file_.empty()) {
        for (const char* end : {"", "-wal", "-shm", "-journal", ".bell"}) {
            std::filesystem::remove(file_ + end);
        }
    } else {
        const database db = place_.open(1, patience);
        const auto which = db.server().engine;
        db.execute(text_of(which, "drop_locks", place_.names));
        for (const char* whose : {"leasehold", "floor", "library"}) {
            db.execute(text_of(which, "drop_tasks", place_.names, whose));
        }
        migrate_down(db, 0);
    }
    is_removed_ = true;
}

}  // namespace leasehold::bench
