#pragma once
// The description of a session, for operators: see inspect.hpp.
#include <chrono>
#include <string>

#include "leasehold/identity.hpp"

namespace leasehold {

struct session_info {
    session_id id{};
    std::string node_info{};  // name@host:pid
    bool is_live = false;     // false: expired, waiting to be cleaned up
    std::chrono::microseconds started_ago{0};
    std::chrono::microseconds heartbeat_ago{0};
    std::chrono::microseconds remaining{0};  // negative: the time since it expired
};

}  // namespace leasehold
