#pragma once
// The description of a run of a task: see once.hpp.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold {

// A run of a task is in one of these states.
enum class run_state {
    running = 1,    // started, and its lease is held
    succeeded = 2,  // finished
    failed = 3,     // finished, without success
    abandoned = 4,  // started, not finished, and its lease is not held any more: nobody knows why
};

// "running", "succeeded", "failed", "abandoned".
LEASEHOLD_EXPORT const char* name_of(run_state state) noexcept;

// The last run under a name, as the database sees it.
struct run_info {
    std::string name{};
    schedule::instant tick{};
    run_state state = run_state::running;
    fencing_token token{};
    owner_id owner{};
    std::string node_info{};                          // name@host:pid, for people
    std::chrono::microseconds started_ago{0};         // by the database's clock
    std::optional<std::chrono::microseconds> took{};  // nullopt if it has not finished
    std::chrono::microseconds closed_for{0};          // what is left of hold_at_least
    std::optional<std::int64_t> exit_status{};        // the one given to finish()
    std::string message{};
    // The schedule that started it, as schedule::text() says it; empty if an older program
    // started it.
    std::string schedule_text{};
    // In a list, if that is known: its next fire time, and the latest one that has passed and that
    // nobody has started, because nobody has called or because an earlier run goes on.
    std::optional<schedule::instant> next{};
    std::optional<schedule::instant> overdue{};
};

// A task ends its run with this result.
struct run_result {
    bool has_succeeded = true;
    std::optional<std::int64_t> exit_status{};
    std::string message{};  // for people: UTF-8, cut to 1,000 bytes
};

enum class [[nodiscard]] finish_outcome{
    recorded = 1,
    not_held = 2,  // somebody else has started since, or the record was removed
    unknown = 3,   // the answer was lost, again and again
};

constexpr const char* name_of(finish_outcome outcome) noexcept {
    switch (outcome) {
        case finish_outcome::recorded:
            return "recorded";
        case finish_outcome::not_held:
            return "not_held";
        case finish_outcome::unknown:
            return "unknown";
    }
    return "outcome this program does not know";
}

}  // namespace leasehold
