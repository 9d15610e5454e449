#pragma once
// The implementation of a leasehold::quorum: one worker per server, which owns the session there
// and carries out its tasks in turn, so that a server that hangs holds up nobody else.
//
// Threads: safe.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/process.hpp"
#include "core/thread_mutex.hpp"
#include "core/timed_wait.hpp"
#include "leasehold/quorum_lock.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {

class quorum_member {
public:
    using task = std::function<void(quorum_member&)>;

    // When it is destroyed it stops and is joined.
    quorum_member(leasehold::database at, session_settings timing);
    quorum_member(const quorum_member&) = delete;
    quorum_member& operator=(const quorum_member&) = delete;

    // Tells the worker to end its session after the task under way, and with it all grants there;
    // tasks that have not begun are given up. Does not wait.
    void stop();
    // Waits for the worker to end.
    void join();

    // Runs the task in the worker, after those that were posted before.
    void post(task what);
    // As post(), but returns false, without posting, if the worker still hangs in a task that was
    // given up.
    bool post_if_prompt(task what);
    // The caller that waited for the worker's answer waits no more.
    void give_up_on();

    const leasehold::database& database() const noexcept { return database_; }
    // Only for the worker: a live session, opened if need be.
    session& open_session();
    // The id of the newest session; nullopt if there was none yet.
    std::optional<session_id> last_session() const;
    // Only for the worker: the session with which it has looked for the other servers' sessions.
    std::optional<session_id>& compared() noexcept { return compared_; }

private:
    void work(const std::stop_token& stop);

    const leasehold::database database_;
    const session_settings timing_;
    std::optional<session> session_;  // of the worker alone, and the next
    std::optional<session_id> compared_;

    mutable thread_mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<task> tasks_ LEASEHOLD_GUARDED_BY(mutex_);
    bool is_working_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    // True until it has nothing more to do.
    bool is_overdue_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    std::optional<session_id> last_session_ LEASEHOLD_GUARDED_BY(mutex_);
    std::jthread worker_;  // last: it uses the fields above
};

// Asks servers in parallel and waits for their answers for a limited time. A later answer is
// refused, for the worker to give back.
template <class Answer>
class quorum_round {
public:
    explicit quorum_round(std::size_t size) : answers_(size) {}

    // True when nobody waits any more.
    bool is_over() {
        const thread_guard guard{mutex_};
        return is_over_;
    }

    // False: it is over, and `given` is left as it was.
    bool answer(std::size_t at, Answer& given) {
        const thread_guard guard{mutex_};
        if (is_over_) return false;
        answers_[at].emplace(std::move(given));
        changed_.notify_all();
        return true;
    }

    // The answers of those `asked` that came before the deadline.
    std::vector<std::optional<Answer>> wait(
        const std::vector<std::size_t>& asked, local_clock::time_point deadline
    ) {
        thread_guard guard{mutex_};
        const auto have_all_answered = [&]() LEASEHOLD_REQUIRES(mutex_) {
            for (const std::size_t at : asked) {
                if (!answers_[at]) return false;
            }
            return true;
        };
        wait_until(guard, changed_, {}, deadline, have_all_answered);
        is_over_ = true;
        return std::move(answers_);
    }

private:
    thread_mutex mutex_;
    std::condition_variable_any changed_;
    bool is_over_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    std::vector<std::optional<Answer>> answers_ LEASEHOLD_GUARDED_BY(mutex_);
};

class quorum::implementation {
public:
    implementation(std::vector<database> servers, quorum_settings settings);
    ~implementation();
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    std::size_t size() const noexcept { return members_.size(); }
    bool is_at_home() const noexcept { return home_.is_here(); }
    std::size_t needed() const noexcept { return settings_.needs_all ? size() : size() / 2 + 1; }
    const quorum_settings& settings() const noexcept { return settings_; }
    quorum_member& member(std::size_t at) const noexcept { return *members_[at]; }

    // A live session of this server. Throws invalid_argument if another server turns out to be the
    // same database. Only for the member's worker.
    session& session_at(std::size_t at);
    void require_different() const;

    // The answers that the servers gave in time. A server that gave none gets only releases until
    // its worker has come back from this round.
    template <class Answer>
    std::vector<std::optional<Answer>> wait_for(
        quorum_round<Answer>& round, const std::vector<std::size_t>& asked
    ) {
        auto answers = round.wait(asked, deadline_in(settings_.server_timeout));
        for (const std::size_t at : asked) {
            if (!answers[at]) members_[at]->give_up_on();
        }
        return answers;
    }

private:
    explicit implementation(quorum_settings settings);
    void open_all();

    const home_process home_;
    const quorum_settings settings_;
    mutable thread_mutex mutex_;
    std::string duplicate_ LEASEHOLD_GUARDED_BY(mutex_);  // empty, or the two that are the same
    std::vector<std::unique_ptr<quorum_member>>
        members_;  // last: their workers use the fields above
};

}  // namespace leasehold
