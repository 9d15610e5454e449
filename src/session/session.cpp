#include "session/session.hpp"

#include <algorithm>

#include "core/jitter.hpp"
#include "core/program_name.hpp"
#include "leasehold/error.hpp"
#include "leasehold/reaper.hpp"
#include "upkeep/reaper.hpp"

namespace leasehold {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Condition variables do not count time spent in suspend: after waking up, a deadline is noticed
// within one nap.
constexpr milliseconds nap_max{200};

// How long a statement given up by its client can go on in a server: past every lock wait.
constexpr std::chrono::seconds doubt_duration{120};

milliseconds until(local_clock::time_point deadline) {
    return duration_cast<milliseconds>(deadline - local_clock::now());
}

}  // namespace

const char* name_of(loss_reason reason) noexcept {
    switch (reason) {
        case loss_reason::none: return "none";
        case loss_reason::expired: return "expired";
        case loss_reason::ended_by_server: return "ended_by_server";
        case loss_reason::taken_over: return "taken_over";
        case loss_reason::released: return "released";
        case loss_reason::session_ended: return "session_ended";
    }
    return "unknown";
}

session::implementation::implementation(leasehold::database within, session_settings settings)
    : database_(std::move(within)),
      settings_(completed(std::move(settings))),
      id_(session_id::random()),
      node_info_(node_info_of_this_process(
          settings_.name.empty() ? program_name() : settings_.name
      )) {
    start();
    if (settings_.reap_every > milliseconds{0}) {
        next_reap_ = local_clock::now() + jittered(settings_.reap_every);
    }
    heartbeat_thread_ = std::jthread{[this](std::stop_token stop) { keep_alive(stop); }};
    watch_thread_ = std::jthread{[this](std::stop_token stop) { keep_watch(stop); }};
}

session::implementation::~implementation() { end(); }

// Inserting the row again under the same id is harmless, so a lost answer is simply asked again.
void session::implementation::start() {
    const session_start row{id_, node_info_, settings_.ttl};
    constexpr int attempts_max = 3;
    for (int attempt = 1;; ++attempt) {
        const auto sent = local_clock::now();
        try {
            inner().use([&](connection& on, store& stores) { stores.sessions->start(on, row); });
        } catch (const error& failure) {
            if (!failure.is_transient() || attempt == attempts_max) throw;
            continue;
        }
        machine_.emplace(settings_, sent, local_clock::now());
        if (machine_->is_live()) return;
        throw error(
            errc::timed_out,
            "the database took longer than the session's ttl to start it; raise ttl"
        );
    }
}

bool session::implementation::is_live() const {
    const std::lock_guard guard{mutex_};
    return machine_->is_live() && local_clock::now() < machine_->deadline();
}

loss_reason session::implementation::reason() const {
    const std::lock_guard guard{mutex_};
    return machine_->reason();
}

local_clock::time_point session::implementation::deadline() const {
    const std::lock_guard guard{mutex_};
    return machine_->deadline();
}

void session::implementation::require_live() const {
    if (is_live()) return;
    throw error(
        errc::session_lost,
        std::string("the session has ended (") + name_of(reason()) + "); open a new one"
    );
}

std::int64_t session::implementation::notices() const {
    const std::lock_guard guard{mutex_};
    return notices_;
}

void session::implementation::watch(
    const std::shared_ptr<grant>& what, std::int64_t notices_when_sent
) {
    {
        const std::lock_guard guard{mutex_};
        grants_.emplace(what.get(), what);
        if (notices_ != notices_when_sent) {
            must_ask_ = true;
            machine_->hurry(local_clock::now());
        }
    }
    changed_.notify_all();
    tell_losses();
}

void session::implementation::forget(const grant& what) {
    const std::lock_guard guard{mutex_};
    grants_.erase(&what);
}

void session::implementation::settle_later(const key& name, const owner_id& owner) {
    {
        const std::lock_guard guard{mutex_};
        was_ever_in_doubt_ = true;
        doubts_.push_back({name, owner, local_clock::now() + doubt_duration});
    }
    inner().tell({event_kind::outcome_unknown, name.name(), 0, "an acquire lost its answer"});
}

std::vector<std::shared_ptr<grant>> session::implementation::watched() const {
    const std::lock_guard guard{mutex_};
    std::vector<std::shared_ptr<grant>> all;
    all.reserve(grants_.size());
    for (const auto& [address, each] : grants_) all.push_back(each);
    return all;
}

// ---------------------------------------------------------------------------- the watch thread

// Compares the clock with every deadline, and tells whoever lost. Never called with mutex_ held:
// callbacks may do anything.
void session::implementation::tell_losses() {
    std::vector<lost_grant> lost;
    bool session_is_lost = false;
    const auto now = local_clock::now();
    loss_reason why = loss_reason::none;
    {
        const std::lock_guard guard{mutex_};
        machine_->tick(now);
        why = machine_->reason();
        session_is_lost = !machine_->is_live();
        for (const auto& [address, each] : grants_) {
            if (each->term_end()) {
                if (now >= *each->term_end()) lost.emplace_back(each, loss_reason::expired);
            } else if (session_is_lost) {
                lost.emplace_back(each, why);
            }
        }
        for (const auto& [each, reason] : lost) grants_.erase(each.get());
    }
    if (session_is_lost && why != loss_reason::session_ended && lost_.request_stop()) {
        inner().tell({event_kind::lost, "", 0, std::string("session lost: ") + name_of(why)});
    }
    for (const auto& [each, reason] : lost) {
        if (each->lose(reason)) {
            const hold& what = each->what();
            inner().tell({event_kind::lost, what.key.name(), what.token.number, name_of(reason)});
        }
    }
}

local_clock::time_point session::implementation::earliest_deadline() const {
    const std::lock_guard guard{mutex_};
    auto earliest = local_clock::time_point::max();
    if (machine_->is_live()) earliest = machine_->deadline();
    for (const auto& [address, each] : grants_) {
        if (each->term_end()) earliest = std::min(earliest, *each->term_end());
    }
    return earliest;
}

void session::implementation::keep_watch(std::stop_token stop) {
    while (!stop.stop_requested()) {
        tell_losses();
        sleep_until(earliest_deadline(), stop);
    }
}

void session::implementation::sleep_until(local_clock::time_point wake, std::stop_token stop) {
    const auto pause = std::min<std::chrono::nanoseconds>(wake - local_clock::now(), nap_max);
    if (pause <= std::chrono::nanoseconds{0}) return;
    std::unique_lock guard{mutex_};
    changed_.wait_for(guard, stop, pause, [] { return false; });
}

// ------------------------------------------------------------------------ the heartbeat thread

void session::implementation::keep_alive(std::stop_token stop) {
    bool has_said_goodbye = false;
    while (!stop.stop_requested()) {
        local_clock::time_point next;
        bool live = false;
        {
            const std::lock_guard guard{mutex_};
            live = machine_->is_live();
            next = live ? machine_->next_heartbeat() : local_clock::now() + nap_max;
        }
        if (live && (local_clock::now() >= next)) {
            beat();
            settle_doubts();
            clean_up_after_the_dead();
        } else if (!live && !has_said_goodbye) {
            end_in_database(false);  // what it held is free now, not only when the row expires
            has_said_goodbye = true;
        } else {
            sleep_until(next, stop);
        }
    }
}

connection& session::implementation::own_connection(milliseconds patience) {
    if (own_connection_ && own_connection_->state() != connection_state::idle) {
        own_connection_.reset();
    }
    if (!own_connection_) own_connection_ = inner().connections().connect_apart(patience);
    const auto limit = std::min(patience, inner().settings().statement_timeout);
    own_connection_->set_statement_timeout(std::max(limit, milliseconds{50}));
    return *own_connection_;
}

void session::implementation::beat() {
    const auto sent = local_clock::now();
    try {
        connection& on = own_connection(std::max(until(deadline()), milliseconds{50}));
        store& stores = inner().store_for(on);
        if (std::lock_guard guard{mutex_}; must_ask_) notices_ = -1;  // any answer is news
        const auto answer = stores.sessions->heartbeat(on, id_, settings_.ttl, notices());
        const auto answered = local_clock::now();
        if (answer.status == heartbeat_status::noticed) {
            {
                // Before asking: a grant that is watched while the question is under way sets it again.
                const std::lock_guard guard{mutex_};
                notices_ = answer.notices;
                must_ask_ = false;
            }
            ask_what_is_held(stores, on);
            return;  // beats again at once, since the next one is still due
        }
        {
            const std::lock_guard guard{mutex_};
            if (answer.status == heartbeat_status::renewed) {
                machine_->renewed(sent, answered);
            } else {
                machine_->ended_by_server();
            }
        }
        if (answered - sent > settings_.heartbeat_every) {
            inner().tell({event_kind::late_heartbeat, "", 0, "a heartbeat took longer than its interval"});
        }
    } catch (const error& failure) {
        own_connection_.reset();
        {
            const std::lock_guard guard{mutex_};
            machine_->failed(local_clock::now());
            must_ask_ = true;  // the question may have been the one that failed
        }
        inner().tell({event_kind::late_heartbeat, "", 0, failure.what()});
    }
    changed_.notify_all();  // the watch thread may have a later, or an earlier, deadline now
    tell_losses();
}

void session::implementation::ask_what_is_held(store& stores, connection& on) {
    const auto grants = watched();
    std::vector<hold> holds;
    holds.reserve(grants.size());
    for (const auto& each : grants) holds.push_back(each->what());
    const std::vector<bool> held = stores.locks->which_are_held(on, holds);
    for (std::size_t at = 0; at < grants.size(); ++at) {
        if (held[at]) continue;
        forget(*grants[at]);
        if (grants[at]->lose(loss_reason::taken_over)) {
            const hold& what = grants[at]->what();
            inner().tell({event_kind::lost, what.key.name(), what.token.number, "taken_over"});
        }
    }
}

void session::implementation::settle_doubts() {
    std::vector<doubt> doubts;
    {
        const std::lock_guard guard{mutex_};
        std::erase_if(doubts_, [](const doubt& each) { return local_clock::now() > each.until; });
        doubts = doubts_;
    }
    try {
        for (const doubt& each : doubts) {
            connection& on = own_connection(settings_.heartbeat_every / 2);
            inner().store_for(on).locks->release_owner(on, each.name, each.owner);
        }
    } catch (const error&) {
        own_connection_.reset();  // tried again after the next heartbeat
    }
}

void session::implementation::clean_up_after_the_dead() {
    if (settings_.reap_every == milliseconds{0} || local_clock::now() < next_reap_) return;
    next_reap_ = local_clock::now() + jittered(settings_.reap_every * 2);
    try {
        reap_settings limits;
        limits.time_max = settings_.heartbeat_every / 2;
        connection& on = own_connection(limits.time_max);
        reap_on(on, *inner().store_for(on).upkeep, limits);
    } catch (const error& failure) {
        own_connection_.reset();
        inner().tell({event_kind::warning, "", 0, std::string("clean-up failed: ") + failure.what()});
    }
}

// --------------------------------------------------------------------------------------- ending

void session::implementation::end_in_database(bool remove) noexcept {
    try {
        inner().use_unchecked([&](connection& on, store& stores) {
            stores.sessions->end(on, id_, remove);
        });
    } catch (const std::exception& failure) {
        inner().tell({event_kind::release_failed, "", 0, failure.what()});
    }
}

void session::implementation::release_everything() noexcept {
    for (const auto& each : watched()) {
        if (each->term_end()) continue;  // a fixed term outlives its session
        try {
            inner().use_unchecked([&](connection& on, store& stores) {
                stores.locks->release_owner(on, each->what().key, each->what().owner);
            });
        } catch (const std::exception& failure) {
            inner().tell({event_kind::release_failed, each->what().key.name(), 0, failure.what()});
        }
    }
}

void session::implementation::end() noexcept {
    bool was_live = false;
    bool may_remove = false;
    {
        const std::lock_guard guard{mutex_};
        if (std::exchange(has_ended_, true)) return;
        was_live = machine_->is_live();
        may_remove = was_live && !was_ever_in_doubt_;
        machine_->end();
    }
    heartbeat_thread_.request_stop();
    watch_thread_.request_stop();
    if (heartbeat_thread_.joinable()) heartbeat_thread_.join();
    if (watch_thread_.joinable()) watch_thread_.join();
    own_connection_.reset();
    if (was_live) release_everything();
    end_in_database(may_remove);
    tell_losses();
}

// ----------------------------------------------------------------------------------- the handle

session::session(leasehold::database db, session_settings settings)
    : inner_(std::make_shared<implementation>(std::move(db), std::move(settings))) {}
session::session(session&&) noexcept = default;
session& session::operator=(session&& other) noexcept {
    if (this != &other) {
        if (inner_) inner_->end();
        inner_ = std::move(other.inner_);
    }
    return *this;
}
session::~session() {
    if (inner_) inner_->end();
}
void session::end() noexcept { inner_->end(); }
const session_id& session::id() const noexcept { return inner_->id(); }
bool session::is_live() const noexcept { return inner_->is_live(); }
std::stop_token session::lost() const noexcept { return inner_->lost(); }
loss_reason session::why_lost() const noexcept { return inner_->reason(); }
local_clock::time_point session::deadline() const noexcept { return inner_->deadline(); }
const session_settings& session::settings() const noexcept { return inner_->settings(); }
const database& session::database() const noexcept { return inner_->database(); }

}  // namespace leasehold
