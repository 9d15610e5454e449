#pragma once
// What commands say on standard error, on its way to ours. Our reader may be stalled: a pipe that
// nobody empties, a terminal after Ctrl-S. So a thread of its own writes, and whoever has words for
// it waits for nothing.
//
// Threads: safe.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <thread>

namespace leasehold::cli {

class error_copy {
public:
    static constexpr std::size_t waiting_max = std::size_t{1} << 20;

    error_copy();
    // Not before flush(); what is left then is lost.
    ~error_copy();
    error_copy(const error_copy&) = delete;
    error_copy& operator=(const error_copy&) = delete;

    bool has_room(std::size_t bytes) const;
    // Beyond waiting_max words are dropped.
    void add(std::string_view words);
    // Until all is written, or for a moment.
    void flush() noexcept;

private:
    struct state;
    static void write_all(const std::shared_ptr<state>& of);

    const std::shared_ptr<state> state_;
    std::thread writes_;
};

}  // namespace leasehold::cli
