#include "jobs/job_listener.hpp"

#include <algorithm>
#include <utility>

#include "jobs/job_notifier.hpp"
#include "leasehold/error.hpp"
#include "locks/waiter_store.hpp"

namespace leasehold {
namespace {

// The time between attempts to listen to the database's notifications.
constexpr std::chrono::seconds tries_every{5};
// The notification is only a hint: the worker also looks by itself, and the end of the session
// deletes the row.
constexpr const char* unknown_address = "a worker could not say where it hears of new jobs: ";
// The longest time of one wait.
constexpr std::chrono::seconds listening_slice{1};

}  // namespace

job_listener::job_listener(
    std::shared_ptr<session::implementation> within,
    const std::vector<std::string>& queues,
    on_notification heard
)
    : session_(std::move(within)),
      heard_(std::move(heard)),
      notifier_(host_of_wakeup_address(session_->database().settings().wakeup_address)) {
    for (const std::string& each : queues) {
        queue_of_.emplace(owner_id::random(), each);
        of_database_.emplace(job_notifier::id_of(each), each);
    }
}

void job_listener::start() {
    std::string complaint;
    address_ = notifier_.address(complaint);
    if (!complaint.empty()) warn("no datagrams for a worker: ", complaint);
    if (notifier_.is_open()) thread_ = std::jthread{[this](std::stop_token stop) { listen(stop); }};
}

void job_listener::stop() noexcept {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void job_listener::announce() {
    if (is_announced_ || !thread_.joinable()) return;
    database::implementation& of = session_->database();
    try {
        of.use(session_->one_request(), [&](connection& on, store_set& stores) {
            is_written_ = true;  // or a part of it
            for (const auto& [id, queue] : queue_of_) {
                stores.get<job_subscriber_store>().add(on, {queue}, session_->id(), {id, address_});
                of.part<job_notifier>().forget(queue);
            }
        });
        is_announced_ = true;
        known_everywhere_at_ = local_clock::now() + job_notifier::known_for;
    } catch (const error& failure) {
        if (!std::exchange(has_complained_of_address_, true)) warn(unknown_address, failure.what());
    }
}

void job_listener::withdraw() {
    if (!is_written_) return;
    try {
        const auto of_request = session_->one_request();
        session_->database().use(of_request, [&](connection& on, store_set& stores) {
            for (const auto& [id, queue] : queue_of_)
                stores.get<job_subscriber_store>().remove(on, {queue}, id);
        });
        is_announced_ = is_written_ = false;
    } catch (const error& failure) {
        warn(unknown_address, failure.what());
    }
}

void job_listener::warn(const std::string& said, const std::string& why) const {
    session_->database().tell({event_kind::warning, "", 0, said + why});
}

void job_listener::listen(std::stop_token stop) {
    const std::stop_callback on_stop{stop, [this] { notifier_.wake(); }};
    while (!stop.stop_requested()) {
        try {
            tune_in(stop);
            hear();
        } catch (const std::exception& failure) {
            database_notifications_.reset();
            next_try_ = local_clock::now() + tries_every;
            if (!std::exchange(has_complained_, true)) {
                warn("a worker gets no more notifications of the database: ", failure.what());
            }
        }
    }
    database_notifications_.reset();
}

// Listens to the database's notifications on PostgreSQL, where each names its queue.
void job_listener::tune_in(const std::stop_token& stop) {
    database::implementation& of = session_->database();
    if (database_notifications_ || local_clock::now() < next_try_) return;
    if (of.which() != engine::postgres) return;
    next_try_ = local_clock::now() + tries_every;
    auto made = of.connections().connect_apart(of.settings().connect_timeout, stop);
    if (!made->can_notify()) return;
    made->listen(of.store_for(*made).get<waiter_store>().channel());
    database_notifications_ = std::move(made);
    has_complained_ = false;
}

void job_listener::hear() {
    auto until = local_clock::now() + listening_slice;
    for (const auto& [queue, again] : again_at_) until = std::min(until, again);
    for (const notifier::heard& each : notifier_.hear(database_notifications_.get(), until)) {
        if (!each.whom) continue;
        const auto& queues = each.is_datagram ? queue_of_ : of_database_;
        const auto found = queues.find(*each.whom);
        if (found == queues.end()) continue;
        heard_(found->second);
        if (each.is_datagram) continue;
        again_at_[found->second] = local_clock::now() + job_notifier::database_notified_every;
    }
    const auto now = local_clock::now();
    std::erase_if(again_at_, [&](const auto& each) {
        if (now < each.second) return false;
        heard_(each.first);
        return true;
    });
}

}  // namespace leasehold
