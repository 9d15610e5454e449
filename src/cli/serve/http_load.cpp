// Loads the module of http_module.cpp from beside the drivers; see src/driver/open_loaded.cpp.
#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/serve/http.hpp"

namespace leasehold::cli {

#if LEASEHOLD_SERVE
namespace {

[[noreturn]] void refuse_http(const std::string& why) {
    throw usage_failure("what speaks HTTP cannot be loaded: " + why);
}

http_maker loaded_http() {
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!program.is_absolute()) refuse_http("without /proc it is not found; mount it");
    // The program may run under a name that its caller chose, with any other file beside that name.
    if (getauxval(AT_SECURE) != 0) {
        refuse_http("run this program without setuid, setgid and file capabilities");
    }
    const auto path =
        program.parent_path() / LEASEHOLD_MODULES / ("http" + std::string(LEASEHOLD_MODULE_SUFFIX));
    void* const module = dlopen(path.lexically_normal().c_str(), RTLD_LAZY | RTLD_LOCAL);
    const void* const maker = module ? dlsym(module, "leasehold_http") : nullptr;
    if (!maker) {
        const char* const said = dlerror();
        refuse_http(
            std::string(said ? said : "it is no module") +
            "; see that it, and the library of cpp-httplib, are installed"
        );
    }
    return *static_cast<const http_maker*>(maker);
}

}  // namespace
#endif

std::unique_ptr<http_server> make_http_server(http_handler handler) {
#if LEASEHOLD_SERVE
    return loaded_http()(std::move(handler));
#else
    static_cast<void>(handler);
    throw usage_failure(
        "this build has no serve: install cpp-httplib (Debian: libcpp-httplib-dev) and build with "
        "LEASEHOLD_SERVE=ON"
    );
#endif
}

}  // namespace leasehold::cli
