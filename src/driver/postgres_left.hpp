#pragma once
// Private to the PostgreSQL driver: work of a given-up connection that goes on at its server.
//
// The server stops a statement before we give it up, and looks each second whether its client is
// there (client_connection_check_interval). If packets vanish, or a commit waits for a standby, its
// process lives on. So it is ended, as each role may do with its own, and counts until it is gone.
// Behind a pooler nobody knows the process: there the driver waits for a second look of the
// server's.
#include <memory>

#include "core/left_work.hpp"
#include "driver/postgres_standby_wait.hpp"

namespace leasehold::postgres {

std::unique_ptr<left_work> left_process(
    int process, const server_origin& on, local_clock::time_point given_up
);
std::unique_ptr<left_work> left_behind_pooler(local_clock::time_point given_up);

}  // namespace leasehold::postgres
