#pragma once
// Stands between the library and a server and counts round trips, whatever the protocol: one for
// each time the client speaks after the server did. Several statements in one packet, or in one
// pipeline, are one; a client that waits for an answer before it sends more makes two.
//
// Threads: safe. Needs connections without TLS only in that it must not be asked what they say.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/mutex.hpp"

namespace leasehold::testing {

class relay {
public:
    // Leads to a server on 127.0.0.1.
    explicit relay(int server_port);
    ~relay();
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    int port() const noexcept { return port_; }
    std::int64_t round_trips() const noexcept { return round_trips_; }
    // Nobody waits for an answer now.
    bool is_quiet() const noexcept { return waiting_ == 0; }

private:
    void accept_all(std::stop_token stop);
    void carry(std::stop_token stop, int client);

    const int server_port_;
    int port_ = 0;
    int listener_ = -1;
    std::atomic<std::int64_t> round_trips_ = 0;
    std::atomic<int> waiting_ = 0;
    std::mutex mutex_;
    std::vector<std::jthread> carriers_;
    std::jthread acceptor_;
};

}  // namespace leasehold::testing
