// The process that keeps a file locked: SQLite itself does not know. Linux lists the locks of files
// in /proc/locks, by the file's number; opening the file to ask for them one by one would, when it
// is closed again, take away those that this process has.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "locks/sql_stores.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

constexpr const char* stopped = "stopped";

// The byte that a writer locks: of the log's index with WAL, of the database itself without. Both
// are part of SQLite's file format.
constexpr std::int64_t write_lock_of_wal = 120;
constexpr std::int64_t write_lock_of_journal = 0x40000001;

// The name of a file in /proc/locks, "fd:01:1234"; empty if the file does not exist.
std::string number_of_file(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) return {};
    std::ostringstream number;
    number << std::hex;
    for (const unsigned each : {major(found.st_dev), minor(found.st_dev)}) {
        number.width(2);
        number.fill('0');
        number << each << ':';
    }
    number << std::dec << found.st_ino;
    return number.str();
}

// The process that has a lock for writing on this byte; 0: no visible process.
std::int64_t locker_of(const std::string& path, std::int64_t byte) {
    const std::string wanted = number_of_file(path);
    std::ifstream all{"/proc/locks"};
    for (std::string line; std::getline(all, line);) {
        std::istringstream words{line};
        std::string number, kind, advice, mode, file, end;
        std::int64_t process = 0, from = 0;
        words >> number >> kind >> advice >> mode >> process >> file >> from >> end;
        // A line with an arrow is about a waiter, and does not parse.
        if (!words || file != wanted || mode != "WRITE" || process <= 0) continue;
        const bool is_to_the_end = end == "EOF";
        if (from <= byte && (is_to_the_end || std::stoll(end) >= byte)) return process;
    }
    return 0;
}

std::string line_of(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    std::getline(file, line);
    return line;
}

// Finds the state in "1234 (name) T …": the name may have brackets of its own.
std::string state_of(const std::string& stat) {
    const auto end = stat.rfind(") ");
    const char letter = end == std::string::npos ? '?' : stat.at(end + 2);
    switch (letter) {
        case 'T':
        case 't':
            return stopped;
        case 'R':
            return "running";
        case 'S':
        case 'D':
        case 'I':
            return "sleeping";
        default:
            return {};
    }
}

}  // namespace

std::optional<row_lock_info> find_file_lock(
    const sql_dialect& how, connection& on, const key& name
) {
    const result seen = how.read(on, how.of(locks_sql, "row_lock")["file"], {});
    if (seen.rows.empty() || seen.rows[0].is_null(only_column)) return std::nullopt;
    const std::string path = only_text(seen);
    row_lock_info found;
    found.connection = locker_of(path + "-shm", write_lock_of_wal);
    if (found.connection == 0) found.connection = locker_of(path, write_lock_of_journal);
    if (found.connection == 0) return std::nullopt;
    const std::string process = std::to_string(found.connection);
    found.key = name.name();
    found.locks_all_keys = true;
    found.application = line_of("/proc/" + process + "/comm");
    found.state = state_of(line_of("/proc/" + process + "/stat"));
    // A stopped process receives no other signal.
    found.way_to_end = (found.state == stopped ? "kill -KILL " : "kill ") + process;
    return found;
}

}  // namespace leasehold::sqlite_dialect
