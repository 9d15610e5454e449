#pragma once
// Private to the MySQL driver: the sockets of this process that lead to a server.
//
// The client library opens its socket so that programs which this process starts inherit it, logged
// in as it is, and has no call that would tell its number.
#include <cstdint>
#include <map>

#include "driver/mysql_url.hpp"

namespace leasehold::mysql {

// Their descriptors and inodes; none where the system has no /proc.
std::map<int, std::uint64_t> sockets_to(const address& server);

// Marks those that are not in `before` so that exec closes them. A program that another thread
// starts while this process connects may still inherit one.
void close_new_at_exec(const address& server, const std::map<int, std::uint64_t>& before);

}  // namespace leasehold::mysql
