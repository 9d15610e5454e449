#pragma once
// Private to the MySQL driver: the sockets of this process that lead to a server.
//
// The client library opens its socket so that programs which this process starts inherit it, logged
// in as it is, and has no call that would tell its number.
#include <map>
#include <string>

#include "driver/mysql_url.hpp"

namespace leasehold::mysql {

// Their descriptors, and what these are links to; none where the system has no /proc.
std::map<int, std::string> sockets_to(const address& server);

// Marks those that are not in `before` so that exec closes them. A program that another thread
// starts while this process connects may still inherit one.
void close_new_at_exec(const address& server, const std::map<int, std::string>& before);

}  // namespace leasehold::mysql
