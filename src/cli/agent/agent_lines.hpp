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
#include <string_view>

#include "leasehold/clock.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::cli {

// The line's "id", as it goes back; nothing if there is none, or if it is a list or an object.
std::optional<nlohmann::json> id_of(std::string_view line);

// One request. Members that it does not know are ignored. The calls throw a failure,
// invalid_argument, for a member that is missing or of another type.
class agent_request {
public:
    explicit agent_request(std::string_view line);

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

    nlohmann::json line_;
    std::string what_;
};

}  // namespace leasehold::cli
