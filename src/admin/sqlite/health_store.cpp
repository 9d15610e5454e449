// The doctor's questions that are SQLite's own. The statements: health.sql.
#include "admin/sql_health_store.hpp"

#include <filesystem>

#include "admin/sqlite/network_file.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_health_store final : public sql_health_store {
public:
    explicit sqlite_health_store(shared_dialect how) : sql_health_store(std::move(how)) {}

    std::vector<finding> examine_server(connection& on, const diagnosis_settings& settings)
        override {
        std::vector<finding> found;
        look(found, "the database's file", [&] {
            const std::string file = only_text(read(on, "file"));
            add_journal(found, only_text(read(on, "journal")));
            if (file.empty()) return;
            add_library(found, on);
            add_log(found, file, settings);
            add_network(found, file);
        });
        return found;
    }

private:
    static void add_journal(std::vector<finding>& found, const std::string& mode) {
        if (mode == "wal") return;
        found.push_back(
            {severity::warning,
             "journal",
             "the file is not in WAL mode, but '" + mode + "'",
             "whoever reads keeps those who write waiting, heartbeats included",
             "PRAGMA journal_mode = wal, once, while nobody else has the file open"}
        );
    }

    // Sessions do not warn of it: most processes of a file meet the same SQLite.
    void add_library(std::vector<finding>& found, connection& on) const {
        constexpr int log_reset_fixed_in = 35103;
        if (on.server().version >= log_reset_fixed_in) return;
        const bool has_other_tables = !read(on, "other_tables").rows.empty();
        finding each{
            severity::good,
            "old_library",
            "SQLite " + on.server().version_text +
                " can, rarely, corrupt a file that several processes write (fixed in 3.51.3)"};
        if (has_other_tables) {
            each.severity = severity::warning;
            each.why = "locks are made anew after that, and your own tables in this file are not";
            each.remedy = "link a newer SQLite, or give leasehold a file of its own";
        }
        found.push_back(std::move(each));
    }

    static void add_log(
        std::vector<finding>& found, const std::string& file, const diagnosis_settings& settings
    ) {
        std::error_code none;
        const auto size = std::filesystem::file_size(file + "-wal", none);
        if (none || size < settings.max_log_bytes) return;
        constexpr std::uintmax_t bytes_per_mebibyte = 1024UL * 1024;
        found.push_back(
            {severity::warning,
             "write_ahead_log",
             file + "-wal has " + std::to_string(size / bytes_per_mebibyte) + " MiB",
             "reads become slower with it; it cannot be written back while somebody reads all the "
             "time, or keeps a read open",
             "find who keeps a transaction open (fuser " + file +
                 "), then: PRAGMA wal_checkpoint(TRUNCATE)"}
        );
    }

    static void add_network(std::vector<finding>& found, const std::string& file) {
        const std::string network = network_of(file);
        if (network.empty()) return;
        found.push_back(
            {severity::error,
             "network_file",
             file + " is on a network file system (" + network + ")",
             "SQLite's locks may not hold there: two can get one key, and the file can be damaged",
             "move the file to a disk of the one machine that uses it, or use a server"}
        );
    }
};

}  // namespace

std::unique_ptr<health_store> make_health_store(shared_dialect how) {
    return std::make_unique<sqlite_health_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
