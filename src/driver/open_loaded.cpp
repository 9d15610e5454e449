// Loads the driver that is needed when it is: a client library brings thirty others with it, which
// take longer to load than the tool takes for its work.
//
// Each is a module (open_module.cpp) in a folder that is found from the program's own place, so
// that an installed tree can be moved. It is never unloaded: the database that it made is in use.
#include <dlfcn.h>
#include <sys/auxv.h>

#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "driver/open_drivers.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

std::string path_of(const std::string& driver) {
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!program.is_absolute()) {
        throw error(
            errc::unsupported,
            "the driver " + driver + " cannot be found without /proc, which says where this " +
                "program is; mount it"
        );
    }
    // With raised rights a caller could start this program by a link, and put a library of its own
    // beside that.
    if (getauxval(AT_SECURE) != 0) {
        throw error(
            errc::unsupported,
            "the driver " + driver + " is not loaded with the rights of another user; run this " +
                "program without setuid, setgid and file capabilities"
        );
    }
    const auto folder = program.parent_path() / LEASEHOLD_MODULES;
    return (folder / (driver + LEASEHOLD_MODULE_SUFFIX)).lexically_normal().string();
}

[[noreturn]] void refuse(const std::string& driver) {
    const char* const said = dlerror();
    throw error(
        errc::unsupported,
        "the driver " + driver + " cannot be loaded: " + (said ? said : "it is no driver") +
            "; see that it, and its client library, are installed (Debian: leasehold-" + driver +
            ")"
    );
}

opener load(const std::string& driver) {
    // RTLD_LOCAL keeps its names from other libraries; RTLD_LAZY binds functions at their first
    // call, since most are never called.
    void* const module = dlopen(path_of(driver).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!module) refuse(driver);
    const auto* const found = static_cast<const opener*>(dlsym(module, "leasehold_driver"));
    if (!found) refuse(driver);
    return *found;
}

}  // namespace

opener opener_of(std::string_view driver) noexcept {
#if LEASEHOLD_OPEN_SQLITE
    if (driver == "sqlite") {
        return [](url_source source, database_settings settings) {
            return load("sqlite")(std::move(source), std::move(settings));
        };
    }
#endif
#if LEASEHOLD_OPEN_POSTGRES
    if (driver == "postgres") {
        return [](url_source source, database_settings settings) {
            return load("postgres")(std::move(source), std::move(settings));
        };
    }
#endif
#if LEASEHOLD_OPEN_MYSQL
    if (driver == "mysql") {
        return [](url_source source, database_settings settings) {
            return load("mysql")(std::move(source), std::move(settings));
        };
    }
#endif
    return nullptr;
}

bool is_installed(std::string_view driver) noexcept {
    if (!opener_of(driver)) return false;
    try {
        return std::filesystem::exists(path_of(std::string{driver}));
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace leasehold
