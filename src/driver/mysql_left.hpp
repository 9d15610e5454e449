#pragma once
// Private to the MySQL driver: work of a given-up connection that goes on at its server.
//
// A statement that changes something has no time limit there (max_execution_time is of SELECT
// alone), nor has a commit that waits for the other members of a group, and the server notices that
// its client is gone when it has something to say. So the statement is killed, as each user may do
// with its own connections, and counts until it is in the server's list no more.
#include <cstdint>
#include <memory>
#include <string>

#include "core/left_work.hpp"

namespace leasehold::mysql {

// `server`: as `first_question` has it. `made`, `given_up`: the times of the connection.
std::unique_ptr<left_work> left_statement(
    std::int64_t number,
    std::string server,
    local_clock::time_point made,
    local_clock::time_point given_up
);

}  // namespace leasehold::mysql
