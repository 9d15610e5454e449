#include "locks/quorum.hpp"

#include <algorithm>
#include <utility>

#include "database/database.hpp"
#include "database/read.hpp"
#include "leasehold/error.hpp"
#include "locks/keep_asking.hpp"
#include "session/lease_machine.hpp"

namespace leasehold {
namespace {

// The most that two clocks may run apart during one ttl, by Redlock's rule: a hundredth of it, and
// 2 ms for what clocks cannot tell apart (Antirez, "Distributed locks with Redis": drift = ttl *
// 0.01 + 2 ms in redlock-rb, its reference).
std::chrono::milliseconds drift_of(std::chrono::milliseconds ttl) {
    constexpr std::chrono::milliseconds granularity{2};
    return ttl / 100 + granularity;
}

quorum_settings checked(quorum_settings settings) {
    settings.session = completed(std::move(settings.session));
    settings.session.begins_with_grant = false;  // by their rows two names of one server are seen
    settings.session.margin = std::max(*settings.session.margin, drift_of(settings.session.ttl));
    settings.session = completed(std::move(settings.session));
    checked_polls(settings.min_poll, settings.max_poll);
    constexpr std::chrono::milliseconds least{10};
    if (settings.server_timeout >= least && settings.server_timeout <= settings.session.ttl / 3) {
        return settings;
    }
    throw error(errc::invalid_argument, "server_timeout must be 10 ms to a third of the ttl");
}

}  // namespace

// ---------------------------------------------------------------------------------- one server

quorum_member::quorum_member(leasehold::database at, session_settings timing)
    : database_(std::move(at)),
      timing_(std::move(timing)),
      worker_([this](std::stop_token stop) { work(stop); }) {}

void quorum_member::stop() {
    worker_.request_stop();
}

void quorum_member::join() {
    worker_.join();
}

void quorum_member::post(task what) {
    {
        const thread_guard guard{mutex_};
        tasks_.push_back(std::move(what));
    }
    changed_.notify_all();
}

bool quorum_member::post_if_prompt(task what) {
    {
        const thread_guard guard{mutex_};
        if (is_overdue_) return false;
        tasks_.push_back(std::move(what));
    }
    changed_.notify_all();
    return true;
}

void quorum_member::give_up_on() {
    const thread_guard guard{mutex_};
    is_overdue_ = is_working_ || !tasks_.empty();
}

std::optional<session_id> quorum_member::last_session() const {
    const thread_guard guard{mutex_};
    return last_session_;
}

session& quorum_member::open_session() {
    if (session_ && session_->is_live()) return *session_;
    session_.reset();
    session_.emplace(database_, timing_);
    const thread_guard guard{mutex_};
    last_session_ = session_->id();
    return *session_;
}

void quorum_member::work(const std::stop_token& stop) {
    while (true) {
        task next;
        {
            thread_guard guard{mutex_};
            is_working_ = false;
            if (tasks_.empty()) is_overdue_ = false;
            changed_.wait(guard, stop, [&]() LEASEHOLD_REQUIRES(mutex_) {
                return !tasks_.empty();
            });
            if (stop.stop_requested()) break;
            next = std::move(tasks_.front());
            tasks_.pop_front();
            is_working_ = true;
        }
        try {
            next(*this);
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
            // The task gives no answer: its caller counts that as a failure of this server.
        }
    }
    // Ends the session, which releases the grants on this server at once: the remaining tasks have
    // nothing to release.
    session_.reset();
    std::deque<task> given_up;
    const thread_guard guard{mutex_};
    given_up.swap(tasks_);
}

// ---------------------------------------------------------------------------------- all of them

quorum::implementation::implementation(quorum_settings settings)
    : settings_(checked(std::move(settings))) {}

// Delegates, so that the destructor stops the workers also if this throws.
quorum::implementation::implementation(std::vector<database> servers, quorum_settings settings)
    : implementation(std::move(settings)) {
    if (servers.empty()) throw error(errc::invalid_argument, "a quorum needs at least one server");
    if (servers.size() % 2 == 0 && !settings_.needs_all) {
        servers.front().inner()->tell(
            {event_kind::warning,
             "",
             static_cast<std::int64_t>(servers.size()),
             "an even number of quorum servers survives no more failures than one server less"}
        );
    }
    for (database& each : servers) {
        members_.push_back(std::make_unique<quorum_member>(std::move(each), settings_.session));
    }
    open_all();
    require_different();
}

// Stops all workers before the first member is destroyed: each of them looks at all members.
quorum::implementation::~implementation() {
    for (const auto& each : members_) each->stop();
    for (const auto& each : members_) each->join();
}

void quorum::implementation::open_all() {
    const auto round = std::make_shared<quorum_round<bool>>(size());
    std::vector<std::size_t> asked;
    for (std::size_t at = 0; at < size(); ++at) {
        asked.push_back(at);
        members_[at]->post([this, at, round](quorum_member&) {
            bool is_open = true;
            try {
                session_at(at);
            } catch (const std::exception&) {
                is_open = false;  // tried again when it is needed, and reported then
            }
            round->answer(at, is_open);
        });
    }
    wait_for(*round, asked);
}

// A database knows the sessions of all that use it: if one of the other servers' is among them, it
// is the same. Each looks after it has published its own, so that the last one to look finds both.
session& quorum::implementation::session_at(std::size_t at) {
    quorum_member& own = *members_[at];
    session& opened = own.open_session();
    if (own.compared() == opened.id()) return opened;
    const auto present = read(own.database(), [](connection& on, store_set& stores) {
        return stores.get<session_store>().list(on);
    });
    for (std::size_t other = 0; other < size(); ++other) {
        const auto theirs = members_[other]->last_session();
        if (other == at || !theirs) continue;
        const bool is_here =
            std::ranges::any_of(present, [&](const auto& each) { return each.id == *theirs; });
        if (!is_here) continue;
        const thread_guard guard{mutex_};
        duplicate_ = "quorum servers " + std::to_string(std::min(at, other) + 1) + " and " +
                     std::to_string(std::max(at, other) + 1) +
                     " are the same database: name each once";
    }
    own.compared() = opened.id();
    return opened;
}

void quorum::implementation::require_different() const {
    if (!is_at_home()) {
        throw error(
            errc::session_lost,
            "this process is a fork of the one that made the quorum, whose sessions stay there: "
            "make another one here"
        );
    }
    const thread_guard guard{mutex_};
    if (!duplicate_.empty()) throw error(errc::invalid_argument, duplicate_);
}

quorum::quorum(std::vector<database> servers, quorum_settings settings)
    : inner_(make_at_home<implementation>(std::move(servers), std::move(settings))) {}
quorum::quorum(quorum&&) noexcept = default;
quorum& quorum::operator=(quorum&&) noexcept = default;
quorum::~quorum() = default;

std::size_t quorum::size() const {
    return inner_->size();
}
std::size_t quorum::needed() const {
    return inner_->needed();
}

}  // namespace leasehold
