#pragma once
// The lines of `leasehold agent`: a program sends one object of JSON a line on the agent's socket,
// and the agent answers each with one line, in the order of the requests.
//
//   {"id":1,"do":"lock","key":"invoices/closing","wait":10}
//   {"id":1,"answer":"held","hold":1,"key":"invoices/closing","token":7,"owner":"9f2c..."}
//
// docs/locks-from-other-languages.md has all requests and answers, and what is promised.
//
// Threads: safe.
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "leasehold/export.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::cli {

// The "id" of a line, as it goes back; nothing if there is none, or if it is a list or an object.
std::optional<nlohmann::json> id_of(const nlohmann::json& line);

// One request, which the line outlives. Members that it does not know are ignored. The calls throw
// a failure, invalid_argument, for a member that is missing or of another type.
class agent_request {
public:
    explicit agent_request(const nlohmann::json& line LEASEHOLD_LIFETIMEBOUND);

    const std::string& what() const noexcept { return what_; }
    // {"answer": name}
    static nlohmann::json answer(const char* name) { return {{"answer", name}}; }

    std::string text(const char* member) const;  // empty if it is not there
    std::string key() const;
    std::int64_t hold() const;
    bool has_succeeded() const;
    // nullopt: as long as it takes.
    std::optional<std::chrono::milliseconds> wait() const;
    std::optional<std::chrono::milliseconds> keep_alive() const;
    schedule when() const;

private:
    std::optional<std::chrono::milliseconds> seconds(const char* member) const;

    const nlohmann::json& line_;
    std::string what_;
};

}  // namespace leasehold::cli
