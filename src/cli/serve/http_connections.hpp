#pragma once
// The connections of an HTTP server; each has one request. One thread reads the requests from all
// connections and writes the answers. A request reaches the handler when it is whole, so that
// clients that are idle, that send slowly or that take their answer slowly keep no thread of the
// handler's.
//
// A request has 2 s to arrive, and its answer 5 s to be taken; then the connection is closed. There
// are 512 at once: one more closes the oldest that is not being answered. That bounds the memory
// and the descriptors that clients can take.
//
// Threads: serve() belongs to one; reply() and stop() may be called from any.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {

// The size of the request that begins with these bytes, as its headers say it; 0 while they have
// not ended. `looked`: how many bytes were looked at before; it grows. A body that is larger than
// `max_body`, or whose size the headers do not say, is not read, and the handler refuses the
// request.
std::size_t request_size(const std::string& bytes, std::size_t& looked, std::size_t max_body);

class http_connections {
public:
    // The thread of serve() calls this, and must not be blocked: a later reply() has the answer.
    using request_handler = std::function<void(std::uint64_t connection, std::string request)>;

    http_connections(request_handler handler, std::size_t max_body);
    http_connections(const http_connections&) = delete;
    http_connections& operator=(const http_connections&) = delete;
    ~http_connections();

    // Takes connections from that socket until stop(). False if it can take no more.
    bool serve(int listener);
    void reply(std::uint64_t connection, std::string answer);
    void stop();

private:
    using clock = std::chrono::steady_clock;
    enum class stage { arriving, with_handler, leaving };
    struct peer {
        int socket;
        clock::time_point until;
        stage at = stage::arriving;
        std::string bytes{};     // of the request, then of the answer
        std::size_t looked = 0;  // of the request
        std::size_t passed = 0;  // of the answer
        std::size_t size = 0;    // of the request, once it is known
    };
    using peers = std::map<std::uint64_t, peer>;

    void wait(int listener);
    bool accept_all(int listener);
    peers::iterator slowest();
    void take_replies();
    void read_from(peers::iterator from);
    void write_to(peers::iterator to);
    void close_late();
    peers::iterator close(peers::iterator which);
    void wake() const;

    const request_handler handler_;
    const std::size_t max_body_;
    int wake_ = -1;
    std::atomic<bool> is_stopped_ = false;
    peers peers_;  // by number, so that the oldest comes first
    std::uint64_t last_ = 0;
    bool is_full_ = false;  // there was no room for one more
    std::vector<pollfd> asked_;
    std::vector<std::uint64_t> asked_of_;
    std::mutex mutex_;
    std::vector<std::pair<std::uint64_t, std::string>> replies_;  // under the mutex
};

}  // namespace leasehold::cli
