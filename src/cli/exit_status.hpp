#pragma once
// The tool's exit statuses and their meanings: the numbers of sysexits.h where one fits.
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

#include "leasehold/error.hpp"

namespace leasehold::cli {

namespace exit_status {
constexpr int done = 0;
constexpr int usage = 64;         // EX_USAGE: a key, duration, URL or option that cannot be
constexpr int unreachable = 69;   // EX_UNAVAILABLE: the database cannot be reached, or is silent
constexpr int failed = 70;        // EX_SOFTWARE: anything else the database refused
constexpr int not_acquired = 75;  // EX_TEMPFAIL: held by somebody else
constexpr int lease_lost = 76;  // EX_PROTOCOL: the command was stopped, or may not have been alone
constexpr int schema = 78;      // EX_CONFIG: tables missing or of another version
constexpr int not_executable = 126;  // as shells say it
constexpr int not_found = 127;       // as shells say it
constexpr int by_signal = 128;       // plus the signal's number
}  // namespace exit_status

// The table for --help.
extern const char* const exit_status_help;

int exit_status_of(errc code) noexcept;

// A failure that ends the tool: its exit status, a stable name for --json, and one line.
class failure : public std::runtime_error {
public:
    failure(int status, const char* name, const std::string& message)
        : std::runtime_error(message), status_(status), name_(name) {}

    int status() const noexcept { return status_; }
    const char* name() const noexcept { return name_; }
    // The fields that --json has beside the name and the message: an object.
    nlohmann::json fields() const;
    failure with(nlohmann::json fields) &&;
    failure with(int status) &&;

private:
    int status_;
    const char* name_;
    // Held by a pointer, so that copying does not throw.
    std::shared_ptr<const nlohmann::json> fields_;
};

failure usage_failure(const std::string& message);
// The meaning of an error of the library to the tool.
failure failure_of(const error& what);

}  // namespace leasehold::cli
