#pragma once
// Private to the MySQL driver: chooses, from the hosts of a URL, one that takes writes.
//
// | the host …                          | then                                                   |
// |-------------------------------------|--------------------------------------------------------|
// | takes writes                        | it is connected to, and asked first from then on       |
// | cannot be reached, or refuses us    | the next one is asked                                  |
// | takes no writes, as a replica       | the next one is asked                                  |
// | is the last one, and of no use      | connection_failed, which says what each has answered   |
// | was not asked, as time was up       | the next call asks it first                            |
//
// The driver asks them in the order of the URL, but first the one that took writes last: if two of
// them do, such as when a former primary comes back, a program that reconnects stays at its own.
// It connects to a single host whether or not that takes writes.
//
// Threads: safe.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "driver/mysql_url.hpp"
#include "leasehold/connection.hpp"

namespace leasehold::mysql {

class host_list {
public:
    using opener = std::function<
        std::unique_ptr<connection>(const address& to, std::chrono::milliseconds timeout)>;

    // `all` has at least one.
    host_list(std::vector<address> all, opener open);

    // Connects within `timeout`, of which each host that is left gets its part, as far as the
    // client library can bound one: see connect().
    std::unique_ptr<connection> connect(std::chrono::milliseconds timeout);

private:
    std::vector<std::size_t> order() const;

    const std::vector<address> all_;
    const opener open_;
    std::atomic<std::size_t> preferred_ = 0;
};

}  // namespace leasehold::mysql
