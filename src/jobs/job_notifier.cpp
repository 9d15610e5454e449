#include "jobs/job_notifier.hpp"

#include <cstdint>
#include <exception>

#include "locks/waiter_store.hpp"

namespace leasehold {
namespace {

// The most workers to notify: usually few jobs are new, and more workers would look in vain.
constexpr int max_notified = 16;

}  // namespace

// Fowler, Noll and Vo: FNV-1a, of 64 bits, from two beginnings, which makes 128 bits: the workers
// of two queues with the same id would get each other's notifications.
owner_id job_notifier::id_of(std::string_view queue) {
    std::string bytes;
    for (std::uint64_t hash : {0xcbf29ce484222325U, 0x84222325cbf29ce4U}) {
        for (const char each : queue) {
            hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
        }
        for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(hash >> shift);
    }
    return owner_id::from_bytes(bytes);
}

std::vector<job_subscriber> job_notifier::subscribers_of(
    connection& on, store_set& stores, const std::string& queue
) {
    const auto now = local_clock::now();
    {
        const thread_guard guard{mutex_};
        const known& of_queue = known_[queue];
        if (of_queue.is_read && now - of_queue.read_at < known_for) return of_queue.subscribers;
    }
    auto subscribers =
        stores.get<job_subscriber_store>().list(on, queue, owner_id::random(), max_notified);
    const thread_guard guard{mutex_};
    // A program may know thousands of queues and use few at a time: this forgets the stale ones.
    constexpr std::size_t max_known = 1000;
    if (known_.size() > max_known) {
        std::erase_if(known_, [&](const auto& each) {
            return now - each.second.read_at > known_for && now > each.second.next_of_database;
        });
    }
    known& of_queue = known_[queue];
    of_queue.subscribers = subscribers;
    of_queue.read_at = now;
    of_queue.is_read = true;
    return subscribers;
}

bool job_notifier::may_notify_by_database(const std::string& queue) {
    const auto now = local_clock::now();
    const thread_guard guard{mutex_};
    known& of_queue = known_[queue];
    if (now < of_queue.next_of_database) return false;
    of_queue.next_of_database = now + database_notified_every;
    return true;
}

void job_notifier::notify(connection& on, store_set& stores, const std::string& queue) noexcept {
    if (is_suppressed_) return;
    try {
        bool are_all_notified = true;
        for (const job_subscriber& each : subscribers_of(on, stores, queue)) {
            ++notifications_;
            are_all_notified = notifier_.send(each.address, each.id) && are_all_notified;
        }
        if (are_all_notified || !may_notify_by_database(queue)) return;
        stores.get<waiter_store>().notify(on, id_of(queue));
    } catch (const std::exception&) {
        // A lost notification is harmless: workers look by themselves.
    }
}

void job_notifier::forget(const std::string& queue) {
    const thread_guard guard{mutex_};
    if (const auto found = known_.find(queue); found != known_.end()) found->second.is_read = false;
}

}  // namespace leasehold
