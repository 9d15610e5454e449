// The suite on SQLite: a file in a folder of its own, in WAL mode, as `migrate` makes it.
#include <stdlib.h>

#include <filesystem>

#include "conformance/sql_backend.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

backend make_backend() {
    std::string folder = (std::filesystem::temp_directory_path() / "leasehold-XXXXXX").string();
    if (!mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
    const std::string url = "sqlite:" + folder + "/conformance.db";
    const auto open = [url](database_settings settings) {
        return sqlite::open(url, std::move(settings));
    };
    const std::string prefix = fresh_prefix();
    database_settings settings;
    settings.names.prefix = prefix;
    migrate(open(settings));  // makes the file, which the helpers below open
    backend made = make_sql_backend("sqlite", {"MICROS", "?1", "INTEGER"}, open, prefix);
    made.has_concurrent_writers = false;
    made.writes_so_far = [folder] {
        // Every write of every connection goes through the log, which only grows until it restarts.
        return static_cast<std::int64_t>(std::filesystem::file_size(folder + "/conformance.db-wal"));
    };
    made.destroy = [folder, drop = made.destroy] {
        drop();
        std::filesystem::remove_all(folder);
    };
    return made;
}

}  // namespace leasehold::testing
