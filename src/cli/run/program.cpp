#include "cli/run/program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "cli/exit_status.hpp"

namespace leasehold::cli {
namespace {

enum class found { nothing, folder, not_executable, executable };

found look_at(const std::string& path) {
    struct stat what {};
    if (stat(path.c_str(), &what) != 0) return found::nothing;
    if (S_ISDIR(what.st_mode)) return found::folder;
    const bool may_run = faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
    return may_run ? found::executable : found::not_executable;
}

failure not_executable(const std::string& name, const char* why) {
    return failure{
        exit_status::not_executable,
        "command_not_executable",
        "the command '" + name + "' cannot be run: " + why + "; nothing was locked"};
}

failure not_found(const std::string& name, const char* where) {
    return failure{
        exit_status::not_found,
        "command_not_found",
        "the command '" + name + "' was not found" + where + "; nothing was locked"};
}

// The first file in PATH that can be run; if there is none, why the last one found cannot be.
std::string search(const std::string& name) {
    const char* const from_environment = std::getenv("PATH");
    std::string_view folders = from_environment ? from_environment : "/usr/local/bin:/usr/bin:/bin";
    bool has_seen_one = false;
    while (true) {
        const auto end = folders.find(':');
        const std::string folder{folders.substr(0, end)};
        std::string path = (folder.empty() ? "." : folder) + "/" + name;
        const found what = look_at(path);
        if (what == found::executable) return path;
        has_seen_one = has_seen_one || what == found::not_executable;
        if (end == std::string_view::npos) break;
        folders.remove_prefix(end + 1);
    }
    if (has_seen_one) throw not_executable(name, "it is not executable");
    throw not_found(name, " in PATH");
}

}  // namespace

std::string program::name() const {
    const std::string& called = arguments.front();
    return called.substr(called.rfind('/') + 1);
}

std::optional<std::string> missing_interpreter(const program& what) {
    std::array<char, 256> first{};  // as much as the kernel reads
    std::ifstream{what.path}.read(first.data(), first.size() - 1);
    const std::string_view text{first.data()};
    if (!text.starts_with("#!")) return std::nullopt;
    std::istringstream words{std::string{text.substr(2, text.find('\n') - 2)}};
    std::string name;
    words >> name;
    if (name.empty()) return std::nullopt;
    if (look_at(name) == found::nothing) return name;
    if (!name.ends_with("/env")) return std::nullopt;
    words >> name;
    if (name == "-S") words >> name;
    // Other arguments of `env` are not understood here.
    if (!words || name.front() == '-' || name.find_first_of("=/'\"\\$") != std::string::npos) {
        return std::nullopt;
    }
    try {
        search(name);
    } catch (const failure&) {
        return name;
    }
    return std::nullopt;
}

program find_program(std::vector<std::string> arguments) {
    const std::string name = arguments.front();
    if (name.empty()) throw not_found(name, ", its name is empty");
    program wanted{std::move(arguments), name};
    if (name.find('/') == std::string::npos) wanted.path = search(name);
    switch (look_at(wanted.path)) {
        case found::nothing:
            throw not_found(name, "");
        case found::folder:
            throw not_executable(name, "it is a folder");
        case found::not_executable:
            throw not_executable(name, "it is not executable");
        case found::executable:
            break;
    }
    if (const auto missing = missing_interpreter(wanted)) {
        throw failure{
            exit_status::not_found,
            "command_not_found",
            "the command '" + name + "' cannot be run: its interpreter '" + *missing +
                "' was not found; nothing was locked"};
    }
    return wanted;
}

}  // namespace leasehold::cli
