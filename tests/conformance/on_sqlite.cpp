// The suite on SQLite: a file in a folder of its own, in WAL mode, as `migrate` makes it.
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "conformance/sql_backend.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/versioned_claim.hpp"
#include "support/folder.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* names_sql =
    "SELECT name FROM sqlite_master WHERE instr(name, ?1) = 1 OR instr(tbl_name, ?1) = 1";

const sql_words words{"MICROS", "?1", "INTEGER", names_sql};

database open_prefixed(const std::string& file, const std::string& prefix) {
    database_settings settings;
    settings.names.prefix = prefix;
    return sqlite::open("sqlite:" + file, settings);
}

// The error that `attempt` threw in a process that file modes bind: they do not bind root.
std::optional<error> thrown_by_another_user(const std::function<void()>& attempt) {
    int answer[2];
    if (pipe(answer) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        std::string said = "?";
        const bool is_bound = geteuid() != 0 || (setgroups(0, nullptr) == 0 &&
                                                 setgid(nobody) == 0 && setuid(nobody) == 0);
        try {
            if (is_bound) attempt();
            if (is_bound) said.clear();
        } catch (const error& failure) {
            said = static_cast<char>(failure.code()) + std::string(failure.what());
        }
        const auto written = write(answer[1], said.data(), said.size());
        _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(answer[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(answer[0], buffer, sizeof buffer)) > 0;) {
        said.append(buffer, static_cast<std::size_t>(count));
    }
    close(answer[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || said == "?") throw std::runtime_error("the other user's process failed");
    if (said.empty()) return std::nullopt;
    return error(static_cast<errc>(said[0]), said.substr(1));
}

forbidden_place::outcome try_as_another_user(
    const std::string& file, const std::string& prefix, const forbidden_place::attempt& attempt
) {
    forbidden_place::outcome found;
    found.thrown = thrown_by_another_user([&] { attempt(open_prefixed(file, prefix)); });
    if (fs::exists(file)) found.left = names_in(open_prefixed(file, prefix), words, prefix);
    return found;
}

forbidden_place closed_folder() {
    const auto run = [](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const std::string folder = fresh_folder();
        fs::permissions(folder, fs::perms{0555});
        auto found = try_as_another_user(folder + "/leasehold.db", prefix, attempt);
        if (!fs::is_empty(folder)) found.left.push_back("a file");
        fs::permissions(folder, fs::perms{0755});
        fs::remove_all(folder);
        return found;
    };
    return {"a folder that may not be written", errc::read_only, run};
}

// The file has the tables of another prefix, and its folder could take the log.
forbidden_place read_only_file() {
    const auto run = [](const std::string& prefix, const forbidden_place::attempt& attempt) {
        const std::string folder = fresh_folder();
        const std::string file = folder + "/leasehold.db";
        migrate(open_prefixed(file, fresh_prefix()));
        fs::permissions(file, fs::perms{0444});
        fs::permissions(folder, fs::perms{0777});
        const auto found = try_as_another_user(file, prefix, attempt);
        fs::remove_all(folder);
        return found;
    };
    return {"a file that may not be written", errc::read_only, run};
}

}  // namespace

backend make_backend() {
    const std::string folder = fresh_folder();
    const std::string url = "sqlite:" + folder + "/conformance.db";
    const auto open = [url](database_settings settings) {
        return sqlite::open(url, std::move(settings));
    };
    const std::string prefix = fresh_prefix();
    database_settings settings;
    settings.names.prefix = prefix;
    migrate(open(settings));  // makes the file, which the helpers below open
    backend made = make_sql_backend("sqlite", words, {open, open}, prefix);
    made.has_notifications = true;
    made.has_concurrent_writers = false;
    made.forbidden_places = {closed_folder(), read_only_file()};
    made.run_elsewhere = [folder, prefix](const backend::visit& visit) {
        const std::string file = folder + "/elsewhere.db";
        {
            const database there = open_prefixed(file, prefix);
            migrate(there);
            visit(there);
        }
        fs::remove(file);
    };
    made.writes_so_far = [folder] {
        // Every write of every connection goes through the log, which only grows until it restarts.
        return static_cast<std::int64_t>(fs::file_size(folder + "/conformance.db-wal"));
    };
    made.destroy = [folder, drop = made.destroy] {
        drop();
        fs::remove_all(folder);
    };
    return made;
}

}  // namespace leasehold::testing
