#pragma once
// Copies the commands' standard error to ours. Our reader may be stalled: a pipe that nobody
// empties, a terminal after Ctrl-S. So a thread of its own writes, and a caller of add() waits for
// nothing.
//
// Threads: safe.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>

namespace leasehold::cli {

// Writes as many bytes as standard error takes, after waiting for it at most so long, and answers
// with their number. Bytes that can never be written are lost, and count.
std::size_t write_error_words(std::string_view words, std::chrono::milliseconds timeout);

class error_copy {
public:
    static constexpr std::size_t max_waiting = std::size_t{1} << 20;

    error_copy();
    // Calls flush() first; text that is left then is lost.
    ~error_copy();
    error_copy(const error_copy&) = delete;
    error_copy& operator=(const error_copy&) = delete;

    bool has_room(std::size_t bytes) const;
    // Drops text beyond twice max_waiting.
    void add(std::string_view words);
    // Waits until all is written, or standard error has taken nothing for 2 s; for 30 s in all.
    void flush() noexcept;

private:
    struct state;
    static void write_all(const std::shared_ptr<state>& of);

    const std::shared_ptr<state> state_;
    std::thread writes_;
};

}  // namespace leasehold::cli
