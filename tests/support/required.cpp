#include "support/required.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "leasehold/identity.hpp"

namespace leasehold::testing {
namespace {

constexpr int skipped = 77;

bool is_required(std::string_view name) {
    const char* const list = std::getenv("LEASEHOLD_REQUIRED_BACKENDS");
    const std::string padded = "," + std::string(list ? list : "") + ",";
    return padded.find("," + std::string(name) + ",") != std::string::npos;
}

std::string require(const std::string& name, const char* what) {
    std::string variable = "LEASEHOLD_TEST_";
    for (const char each : name) variable += static_cast<char>(each - 'a' + 'A');
    variable += what;
    if (const char* const url = std::getenv(variable.c_str())) return url;
    std::fprintf(stderr, "%s is not set: run by tests/run, or set it\n", variable.c_str());
    std::exit(is_required(name) ? EXIT_FAILURE : skipped);
}

}  // namespace

std::string require_url(const std::string& name) {
    return require(name, "_URL");
}

std::string require_program_url(const std::string& name) {
    return require(name, "_PROGRAM_URL");
}

unsigned long seed() {
    static const unsigned long chosen = [] {
        const char* const given = std::getenv("LEASEHOLD_TEST_SEED");
        const unsigned long made = given ? std::stoul(given) : std::random_device{}();
        std::printf("LEASEHOLD_TEST_SEED=%lu\n", made);
        return made;
    }();
    return chosen;
}

std::string fresh_prefix() {
    return "t" + identity::random().text().substr(0, 8) + "_";
}

}  // namespace leasehold::testing
