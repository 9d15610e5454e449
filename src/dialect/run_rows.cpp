#include "dialect/run_rows.hpp"

#include <algorithm>

namespace leasehold {
namespace {

constexpr int started = 1;
constexpr int succeeded = 2;
constexpr int failed = 3;

// A clock that was set back must not make a duration negative.
std::chrono::microseconds duration_of(const row& from, std::size_t column) {
    return std::chrono::microseconds{std::max(std::int64_t{0}, from.integer(column))};
}

}  // namespace

run_info run_info_of(const row& from, std::size_t first) {
    run_info info;
    info.name = from.bytes(first);
    info.tick = instant_of(from.integer(first + 1));
    info.token = {from.integer(first + 2)};
    info.owner = identity::from_bytes(from.bytes(first + 3));
    info.node_info = from.bytes(first + 4);
    info.started_ago = duration_of(from, first + 5);
    if (!from.is_null(first + 6)) info.took = duration_of(from, first + 6);
    info.closed_for = duration_of(from, first + 7);
    const auto state = from.integer(first + 8);
    if (!from.is_null(first + 9)) info.exit_status = from.integer(first + 9);
    info.message = from.bytes(first + 10);
    if (state == started) {
        const bool is_held = from.integer(first + 11) != 0;
        info.state = is_held ? run_state::running : run_state::abandoned;
    } else {
        info.state = state == succeeded ? run_state::succeeded : run_state::failed;
    }
    return info;
}

int state_number(const run_result& result) noexcept {
    return result.has_succeeded ? succeeded : failed;
}

std::int64_t microseconds_since_1970(schedule::instant when) noexcept {
    return when.time_since_epoch().count();
}

schedule::instant instant_of(std::int64_t microseconds_since_1970) noexcept {
    return schedule::instant{std::chrono::microseconds{microseconds_since_1970}};
}

}  // namespace leasehold
