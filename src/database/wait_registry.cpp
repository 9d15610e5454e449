#include "database/wait_registry.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "locks/waiter_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// The time for which the connection is kept when the last waiter has left: the next often comes
// soon.
constexpr std::chrono::seconds linger{5};
// The pause after a datagram that told of no turn.
constexpr milliseconds deafness{5};

}  // namespace

event handed_over(const key& what, const successor& to, event_reason why) noexcept {
    return {event_kind::handed_over, what.name(), to.token.number, "", why};
}

wait_registry::wait_registry(database::implementation& of) : of_(of), notifier_(of.notifier()) {}

wait_registry::~wait_registry() = default;

std::string wait_registry::address() {
    if (hints_are_suppressed_) return "";
    std::string complaint;
    std::string found = notifier_.address(complaint);
    if (!complaint.empty()) {
        of_.tell({event_kind::warning, "", 0, "no datagrams for calls that wait: " + complaint});
    }
    return datagrams_are_suppressed_ ? "" : found;
}

std::shared_ptr<wait_registry::waiter> wait_registry::expect(
    const key& name, const owner_id& owner, polling looks, std::function<void()> on_news
) {
    auto made = std::make_shared<waiter>(waiter_id{name, owner, 0}, looks, std::move(on_news));
    const thread_guard guard{mutex_};
    waiters_.emplace(owner, made);
    if (!thread_.joinable()) {
        thread_ = std::jthread{[this](std::stop_token stop) { tend(stop); }};
    }
    return made;
}

void wait_registry::enter(waiter& which, std::int64_t ticket) {
    {
        const thread_guard guard{mutex_};
        entry& its = entry_of(which);
        its.who.ticket = ticket;
        its.is_queued = true;
        const auto first_look = its.was_notified ? milliseconds{0}
                                : hears()        ? its.looks.most
                                                 : its.looks.least;
        const auto due = local_clock::now() + first_look;
        if (sleeps_until_ && due < *sleeps_until_) notifier_.wake();
        next_look_ = queued_ == 0 ? due : std::min(next_look_, due);
        dull_looks_ = 0;
        ++queued_;
    }
    changed_.notify_all();
}

void wait_registry::leave(waiter& which) noexcept {
    const thread_guard guard{mutex_};
    const entry& its = entry_of(which);
    if (waiters_.erase(its.who.owner) == 0 || !its.is_queued) return;
    if (--queued_ == 0) linger_end_ = local_clock::now() + linger;
}

std::optional<wait_registry::news> wait_registry::heard(waiter& which) {
    const thread_guard guard{mutex_};
    const entry& its = entry_of(which);
    if (its.failure) std::rethrow_exception(its.failure);
    return its.heard;
}

void wait_registry::wait_for_news(
    waiter& which,
    local_clock::time_point until,
    const std::stop_token& cancel,
    const std::stop_token& lost
) {
    const std::stop_callback on_loss{lost, [&] {
                                         const thread_guard guard{mutex_};
                                         entry_of(which).changed.notify_all();
                                     }};
    thread_guard guard{mutex_};
    entry& its = entry_of(which);
    wait_until(guard, its.changed, cancel, until, [&] {
        return its.heard || its.failure || lost.stop_requested();
    });
}

bool wait_registry::tell(const owner_id& whom, const news& what) {
    const thread_guard guard{mutex_};
    const auto found = waiters_.find(whom);
    if (found == waiters_.end()) return false;
    entry& its = entry_of(*found->second);
    if (!its.heard) its.heard = what;
    its.tell();
    return true;
}

void wait_registry::announce(
    connection& on, store_set& stores, const successor& next, local_clock::time_point sent
) noexcept {
    if (hints_are_suppressed_) return;
    try {
        news granted{look_status::granted, next.token, std::nullopt};
        if (next.fixed_term) granted.term_end = sent + *next.fixed_term;
        if (tell(next.owner, granted)) return;
        ++notifications_;
        if (!datagrams_are_suppressed_ && notifier_.send(next.wakeup_address, next.owner)) {
            ++datagrams_;
            return;
        }
        if (database_notifications_are_suppressed_) return;
        stores.get<waiter_store>().notify(on, next.owner);
    } catch (const std::exception&) {
        // Each waiter looks by itself.
    }
}

// ----------------------------------------------------------------------------------- the thread

void wait_registry::tend(std::stop_token stop) {
    const std::stop_callback on_stop{stop, [&] { notifier_.wake(); }};
    while (!stop.stop_requested()) {
        try {
            attend(stop);
        } catch (const error& failure) {
            if (failure.code() == errc::timed_out && own_connection_ &&
                own_connection_->state() == connection_state::lost) {
                of_.connections().note_silence();
            }
            of_.connections().note_broken();
            of_.connections().retire(std::move(own_connection_));
            if (!failure.is_transient()) tell_failure(std::current_exception());
        } catch (const std::exception&) {
            of_.connections().retire(std::move(own_connection_));
            tell_failure(std::current_exception());
        }
        const thread_guard guard{mutex_};
        if (!own_connection_) is_listening_ = false;
        plan_next_look(false);
    }
}

// Goes on until something fails.
void wait_registry::attend(std::stop_token stop) {
    while (!stop.stop_requested()) {
        const waiters due = waiters_due(stop);
        if (!due.empty()) look_after(due, stop);
    }
}

// Waits until the registry has a waiter. Closes the connection, which listens to notifications
// meanwhile, if nobody comes for a while. False when it is time to stop.
bool wait_registry::wait_for_waiters(const std::stop_token& stop) {
    thread_guard guard{mutex_};
    const auto somebody_waits = [&]() LEASEHOLD_REQUIRES(mutex_) { return queued_ > 0; };
    if (own_connection_ && !somebody_waits()) {
        const auto now = local_clock::now();
        if (notifier_.is_open() && now < linger_end_) return !stop.stop_requested();
        if (!notifier_.is_open() &&
            wait_until(guard, changed_, stop, now + linger, somebody_waits)) {
            return true;
        }
        guard.unlock();
        own_connection_.reset();
        guard.lock();
        is_listening_ = false;
    }
    return wait_until(guard, changed_, stop, local_clock::time_point::max(), somebody_waits);
}

// If nobody waits it is no later than the first look that a newcomer may want.
local_clock::time_point wait_registry::next_wake() const {
    if (queued_ > 0) return next_look_;
    return std::min(linger_end_, local_clock::now() + looks_most_);
}

wait_registry::waiters wait_registry::waiters_due(std::stop_token stop) {
    if (!wait_for_waiters(stop)) return {};
    const bool is_new = !own_connection_;
    if (is_new) own_connection(stop);
    waiters due;
    thread_guard guard{mutex_};
    // A notification may have come before the connection listened.
    if (is_new && hears()) next_look_ = local_clock::now();
    const auto until = next_wake();
    if (is_listening_ || notifier_.is_open()) {
        sleeps_until_ = until;
        guard.unlock();
        due = wait_for_notifications(until);
        guard.lock();
        sleeps_until_.reset();
        if (!due.empty() && local_clock::now() < next_look_) return due;
        due.clear();  // a look at all waiters is due, and includes these
    } else {
        wait_until(guard, changed_, stop, until, [&]() LEASEHOLD_REQUIRES(mutex_) {
            return next_look_ < until;
        });
    }
    if (queued_ == 0 || local_clock::now() < next_look_) return {};
    for (const auto& [owner, each] : waiters_) {
        const entry& its = entry_of(*each);
        if (its.is_queued && !its.heard) due.push_back(each);
    }
    plan_next_look(false);
    return due;
}

// Returns the waiters that were notified; all waiters if a notification names none.
wait_registry::waiters wait_registry::wait_for_notifications(local_clock::time_point until) {
    connection* from = nullptr;
    {
        const thread_guard guard{mutex_};
        if (is_listening_ && !(names_nobody_ && trusts_datagrams())) from = own_connection_.get();
    }
    const auto heard = notifier_.hear(from, until);
    waiters notified;
    const thread_guard guard{mutex_};
    for (const notifier::heard& each : heard) note(each, notified);
    return notified;
}

// Ignores notifications for waiters of other handles. While the registry is deaf, the next look is
// for all waiters.
void wait_registry::note(const notifier::heard& what, waiters& notified) {
    if (!what.whom) names_nobody_ = true;
    const bool is_deaf = what.is_datagram && local_clock::now() < deaf_until_;
    auto at = what.whom ? waiters_.find(*what.whom) : waiters_.begin();
    for (; at != waiters_.end() && (!what.whom || at->first == *what.whom); ++at) {
        entry& its = entry_of(*at->second);
        if (its.heard) continue;
        its.was_notified = true;
        its.got_datagram = its.got_datagram || what.is_datagram;
        if (!its.is_queued) continue;
        if (is_deaf) {
            next_look_ = std::min(next_look_, deaf_until_);
        } else if (std::ranges::find(notified, at->second) == notified.end()) {
            notified.push_back(at->second);
        }
    }
}

connection& wait_registry::own_connection(const std::stop_token& stop) {
    if (own_connection_ && own_connection_->state() != connection_state::idle) {
        of_.connections().retire(std::move(own_connection_));
    }
    if (own_connection_) return *own_connection_;
    own_connection_ = of_.connections().connect_apart(of_.settings().connect_timeout, stop);
    const bool can_listen = !hints_are_suppressed_ && !database_notifications_are_suppressed_ &&
                            own_connection_->can_notify();
    const bool is_listening = can_listen && listens(*own_connection_);
    const thread_guard guard{mutex_};
    is_listening_ = is_listening;
    return *own_connection_;
}

// False if the connection cannot listen. Then the registry polls.
bool wait_registry::listens(connection& on) {
    try {
        on.listen(of_.store_for(on).get<waiter_store>().channel());
        return true;
    } catch (const error& failure) {
        if (failure.connection_is_lost()) throw;
        of_.tell({event_kind::warning, "", 0, failure.what()});
        return false;
    }
}

void wait_registry::look_after(const waiters& due, const std::stop_token& stop) {
    connection& on = own_connection(stop);
    store_set& stores = of_.store_for(on);
    std::vector<waiter_id> who;
    std::vector<bool> got_datagram;
    {
        const thread_guard guard{mutex_};
        for (const auto& each : due) {
            entry& its = entry_of(*each);
            who.push_back(its.who);
            got_datagram.push_back(std::exchange(its.got_datagram, false));
        }
    }
    ++looks_;
    const auto sent = local_clock::now();
    const auto found = stores.get<waiter_store>().look(on, who);
    std::set<std::string> takeable;
    bool is_lively = false, is_vain = false;
    for (std::size_t at = 0; at < found.size(); ++at) {
        if (found[at].status == look_status::waiting) {
            if (found[at].looks_takeable) takeable.insert(who[at].key.name());
            is_vain = is_vain || got_datagram[at];
            continue;
        }
        news heard{found[at].status, found[at].token, std::nullopt};
        if (found[at].term_left) heard.term_end = sent + *found[at].term_left;
        if (tell(who[at].owner, heard) && found[at].status == look_status::granted) {
            const thread_guard guard{mutex_};
            turns_told_ = got_datagram[at] ? std::min(turns_told_ + 1, turns_to_trust) : 0;
        }
        is_lively = true;
    }
    for (const auto& each : takeable) serve(on, stores, key{each});
    const thread_guard guard{mutex_};
    if (is_vain) deaf_until_ = local_clock::now() + deafness;
    if (!is_lively && takeable.empty()) return;
    const auto planned = next_look_;  // of all: a notification for some does not put it off
    plan_next_look(true);
    next_look_ = std::min(planned, next_look_);
}

void wait_registry::serve(connection& on, store_set& stores, const key& name) {
    const auto sent = local_clock::now();
    const auto passed = stores.get<waiter_store>().serve(on, name);
    if (!passed.next) return;
    // This is no hint but the answer to our own request.
    news granted{look_status::granted, passed.next->token, std::nullopt};
    if (passed.next->fixed_term) granted.term_end = sent + *passed.next->fixed_term;
    of_.tell(handed_over(name, *passed.next, event_reason::found_free));
    if (!tell(passed.next->owner, granted)) announce(on, stores, *passed.next, sent);
}

void wait_registry::tell_failure(const std::exception_ptr& failure) {
    const thread_guard guard{mutex_};
    for (const auto& [owner, each] : waiters_) {
        entry& its = entry_of(*each);
        if (!its.is_queued || its.heard) continue;
        its.failure = failure;
        its.tell();
    }
}

// Looks often while there is news, or no notification to wait for; then ever more rarely.
void wait_registry::plan_next_look(bool is_lively) {
    if (waiters_.empty()) return;
    polling looks = entry_of(*waiters_.begin()->second).looks;
    for (const auto& [owner, each] : waiters_) {
        const polling& its = entry_of(*each).looks;
        looks.least = std::min(looks.least, its.least);
        looks.most = std::min(looks.most, its.most);
    }
    looks_most_ = looks.most;
    dull_looks_ = is_lively ? 0 : std::min(dull_looks_ + 1, 30);
    const auto pause =
        hears() ? jittered(looks.most) : backed_off(dull_looks_ + 1, looks.least, looks.most);
    next_look_ = local_clock::now() + pause;
}

}  // namespace leasehold
