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

constexpr std::chrono::minutes timeout{1};
constexpr std::string_view scheme = "sqlite:";
constexpr const char* prefix = "leasehold_bench_";
constexpr const char* between = ".bench-";  // the user's file and a random name
constexpr std::array<const char*, 5> file_ends{"", "-wal", "-shm", "-journal", ".signal"};

std::string random_name() {
    std::random_device source;
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(source()));
    return digits.data();
}

void remove_tables(const place& at) {
    const database db = at.open(1, timeout);
    const auto which = db.server().engine;
    db.execute(text_of(which, "drop_locks", at.names));
    for (const char* whose : {"leasehold", "floor", "library", "connection", "apart", "held"}) {
        db.execute(text_of(which, "drop_tasks", at.names, whose));
        db.execute(text_of(which, "drop_jobs", at.names, whose));
    }
    migrate_down(db, 0);
}

}  // namespace

room::room(const std::string& url, const std::string& schema) {
    place_.url = url;
    place_.names = {.prefix = prefix + random_name() + "_", .schema = schema};
    if (driver_of(url) == "sqlite") {
        file_ = url.substr(scheme.size()) + between + random_name();
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
    } catch (const std::exception&) {  // a caller that wants to know calls remove()
    }
}

void room::make() {
    const database db = place_.open(1, timeout);
    migrate(db);
    db.execute(text_of(db.server().engine, "make_locks", place_.names));
}

void room::remove() {
    if (is_removed_) return;
    if (file_.empty()) {
        remove_tables(place_);
    } else {
        for (const char* end : file_ends) std::filesystem::remove(file_ + end);
    }
    is_removed_ = true;
}

std::vector<std::string> remove_left_behind(const std::string& url) {
    std::vector<std::string> removed;
    if (driver_of(url) == "sqlite") {
        const std::filesystem::path file{url.substr(scheme.size())};
        const std::string begins = file.filename().string() + between;
        const auto folder = file.has_parent_path() ? file.parent_path() : ".";
        for (const auto& each : std::filesystem::directory_iterator{folder}) {
            const std::string name = each.path().filename().string();
            if (name.starts_with(begins)) removed.push_back(each.path().string());
        }
        for (const std::string& each : removed) std::filesystem::remove(each);
        return removed;
    }
    for (const installation& each : list_installations(place{url}.open(1, timeout))) {
        if (!each.names.prefix.starts_with(prefix)) continue;
        remove_tables({url, each.names});
        removed.push_back(each.names.prefix);
    }
    return removed;
}

}  // namespace leasehold::bench
