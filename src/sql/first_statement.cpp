#include "sql/first_statement.hpp"

#include <functional>
#include <string>

namespace leasehold {
namespace {

std::uint64_t hash_of(const key& name) noexcept {
    return std::hash<std::string>{}(name.name()) | 1U;
}

}  // namespace

first_statement::choice first_statement::of(const key& name) noexcept {
    if (is_suppressed_.load(std::memory_order_relaxed)) return choice::whole;
    const std::uint64_t hash = hash_of(name);
    if (place_of(hash).load(std::memory_order_relaxed) == hash) return choice::look;
    if (misses_.load(std::memory_order_relaxed) < max_misses) return choice::take_free;
    const unsigned number = tries_.fetch_add(1, std::memory_order_relaxed);
    const bool is_time = number % tries_between_small_ones == tries_between_small_ones - 1;
    return is_time ? choice::take_free : choice::whole;
}

void first_statement::note_taken() noexcept {
    if (misses_.load(std::memory_order_relaxed) != 0) misses_.store(0, std::memory_order_relaxed);
}

void first_statement::note_missed() noexcept {
    const int before = misses_.load(std::memory_order_relaxed);
    if (before < max_misses) misses_.store(before + 1, std::memory_order_relaxed);
}

void first_statement::note_refused(const key& name) noexcept {
    const std::uint64_t hash = hash_of(name);
    place_of(hash).store(hash, std::memory_order_relaxed);
}

void first_statement::note_granted(const key& name) noexcept {
    const std::uint64_t hash = hash_of(name);
    std::atomic<std::uint64_t>& place = place_of(hash);
    if (place.load(std::memory_order_relaxed) == hash) place.store(0, std::memory_order_relaxed);
}

}  // namespace leasehold
