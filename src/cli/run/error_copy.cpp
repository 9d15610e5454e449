#include "cli/run/error_copy.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>

namespace leasehold::cli {
namespace {

// If poll() says that a pipe is writable it takes this many bytes without waiting (PIPE_BUF).
constexpr std::size_t max_write = 4096;
constexpr std::chrono::milliseconds look_every{100};
constexpr std::chrono::seconds flush_timeout{2}, max_flush{30};
// The rest in a command's pipe comes when the command has ended, whether there is room or not.
constexpr std::size_t max_kept = 2 * error_copy::max_waiting;

}  // namespace

std::size_t write_error_words(std::string_view words, std::chrono::milliseconds timeout) {
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    if (poll(&out, 1, static_cast<int>(timeout.count())) <= 0) return 0;
    const auto count = write(STDERR_FILENO, words.data(), std::min(words.size(), max_write));
    if (count >= 0) return static_cast<std::size_t>(count);
    return errno == EAGAIN || errno == EINTR ? 0 : words.size();
}

struct error_copy::state {
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::string waiting;
    bool is_over = false;
};

error_copy::error_copy() : state_(std::make_shared<state>()), writes_(&write_all, state_) {}

error_copy::~error_copy() {
    flush();
    bool is_done = false;
    {
        const std::lock_guard guard{state_->mutex};
        state_->is_over = true;
        is_done = state_->waiting.empty();
    }
    state_->changed.notify_all();
    if (is_done) {
        writes_.join();
    } else {
        writes_.detach();  // it may stand in a write() for good
    }
}

bool error_copy::has_room(std::size_t bytes) const {
    const std::lock_guard guard{state_->mutex};
    return state_->waiting.size() + bytes <= max_waiting;
}

void error_copy::add(std::string_view words) {
    {
        const std::lock_guard guard{state_->mutex};
        state_->waiting += words.substr(0, max_kept - state_->waiting.size());
    }
    state_->changed.notify_all();
}

void error_copy::flush() noexcept {
    std::unique_lock guard{state_->mutex};
    const auto until = std::chrono::steady_clock::now() + max_flush;
    std::size_t left = 0;
    const auto has_progress = [&] { return state_->waiting.size() != left; };
    do {
        left = state_->waiting.size();
    } while (left > 0 && std::chrono::steady_clock::now() < until &&
             state_->changed.wait_for(guard, flush_timeout, has_progress));
}

void error_copy::write_all(const std::shared_ptr<state>& of) {
    std::unique_lock guard{of->mutex};
    while (true) {
        of->changed.wait(guard, [&] { return of->is_over || !of->waiting.empty(); });
        if (of->is_over) return;
        const std::string piece = of->waiting.substr(0, max_write);
        guard.unlock();
        const std::size_t count = write_error_words(piece, look_every);
        guard.lock();
        of->waiting.erase(0, count);
        of->changed.notify_all();
    }
}

}  // namespace leasehold::cli
