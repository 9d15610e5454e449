#pragma once
// A page of memory that the conductor and its workers share: where each worker is just now, so that
// a fault can be aimed, and the word that it is time to go.
//
// Threads and processes: safe.
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>

namespace leasehold::soak {

constexpr int max_workers = 32;

enum class place : std::uint32_t {
    elsewhere = 0,
    working = 1,         // granted, between reading and writing
    in_transaction = 2,  // has written, and may or may not have proved, but has not committed
    holding = 3,         // the same as `working`, of anything but a mutex
    doing_jobs = 4,      // its handlers are, whatever its duties do: see jobs_of()
};

class signal_page {
public:
    // Made by the conductor; the workers open what is there.
    static signal_page create(const std::filesystem::path& file);
    static signal_page open(const std::filesystem::path& file);
    signal_page(signal_page&& other) noexcept;
    signal_page& operator=(signal_page&&) = delete;
    ~signal_page();

    std::atomic<place>& place_of(int worker) noexcept { return shared_->places.at(index(worker)); }
    // The number of handlers that run in the worker.
    std::atomic<std::uint32_t>& jobs_of(int worker) noexcept {
        return shared_->jobs.at(index(worker));
    }
    bool is_at(int worker, place where) noexcept {
        return where == place::doing_jobs ? jobs_of(worker) > 0 : place_of(worker) == where;
    }
    std::atomic<std::uint64_t>& operations() noexcept { return shared_->operations; }
    std::atomic<bool>& is_over() noexcept { return shared_->is_over; }

private:
    struct page {
        std::array<std::atomic<place>, max_workers> places;
        std::array<std::atomic<std::uint32_t>, max_workers> jobs;
        std::atomic<std::uint64_t> operations;  // that were answered
        std::atomic<bool> is_over;
    };
    static_assert(std::atomic<place>::is_always_lock_free);
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    explicit signal_page(page* shared) : shared_(shared) {}
    static page* map(const std::filesystem::path& file, int flags);
    static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }

    page* shared_;
};

}  // namespace leasehold::soak
