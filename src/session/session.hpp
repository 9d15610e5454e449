#pragma once
// The implementation of a leasehold::session: how it begins, which threads work for it, how it is
// passed on, and how it ends.
//
// The heartbeat thread talks to the database over a connection of its own; the watch thread talks
// to nobody and only compares the clock with deadlines, so that no hanging call can keep a holder
// from being told in time. A grant that is lost runs its callbacks on whichever thread noticed.
//
// Threads: safe.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/process.hpp"
#include "leasehold/session.hpp"
#include "session/heartbeat.hpp"
#include "session/session_state.hpp"
#include "session/session_store.hpp"

namespace leasehold {

class session::implementation : public std::enable_shared_from_this<session::implementation> {
public:
    // `taken`: the id of an existing row that this object will take over.
    implementation(
        leasehold::database within,
        session_settings settings,
        std::optional<session_id> taken = std::nullopt
    );
    // A session that another process has given up by detach(); null if it has ended, or somebody
    // else has taken it.
    static std::shared_ptr<implementation> taken_over(
        leasehold::database within,
        session_settings settings,
        const session_id& id,
        const std::string& detached_as
    );
    // Starts the threads. Called once, when a shared_ptr holds the session and it has begun.
    void launch();
    ~implementation();
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    void end() noexcept;
    // Called after end(): waits until the calls without a thread have left their queues, so that
    // none of them outlives the program.
    void see_off_calls() noexcept;
    // The counterpart of taken_over(): all that lives with the session stays as it is in the
    // database, and is lost in this process. If the session cannot be passed on whole, throws, and
    // the session goes on; see leasehold/detach.hpp.
    struct detached {
        std::string as;
        std::vector<std::shared_ptr<grant>> grants;
    };
    detached detach();

    const session_id& id() const noexcept { return state_.id; }
    const std::string& node_info() const noexcept { return node_info_; }
    const session_settings& settings() const noexcept { return state_.settings; }
    const leasehold::database& handle() const noexcept { return state_.handle; }
    leasehold::database::implementation& database() const { return state_.database(); }

    // False in a forked child: there the session is lost.
    bool is_at_home() const noexcept { return home_.is_here(); }
    bool is_live() const;
    loss_reason reason() const;
    local_clock::time_point deadline() const;
    local_clock::duration longest_gap() const { return state_.lease().longest_gap(); }
    std::stop_token lost() const noexcept {
        return is_at_home() ? state_.lost.get_token() : stopped_token();
    }
    // Fires with lost(), but runs no callback of a user, which may block: a waiter asks again, and
    // is told.
    std::stop_token over() const noexcept {
        return is_at_home() ? state_.over.get_token() : stopped_token();
    }
    // Throws session_lost in a forked child. Each call asks this before it locks anything.
    void require_at_home() const {
        if (!is_at_home()) refuse_lost(loss_reason::other_process);
    }
    // Throws session_lost if it is not live; begins it if it has not begun, within the bounds of
    // the call, or of one request.
    void require_live(const bounds& of_call);
    void require_live();

    // For a call before it waits. If something keeps the session from beginning, throws as the
    // constructor would, so that the call does not wait in vain. Does nothing if the call was
    // stopped before, or meanwhile.
    void begin_to_wait(const bounds& of_call);

    // With settings().begins_with_grant there is no row before the first of these. Answers with the
    // grant's token; nullopt, and changes nothing, if the session has begun, or the key is not
    // free. A request that fails in doubt leaves a session that has begun, and the grant to be
    // asked for. Other callers that would begin it at the same time wait until this one is done,
    // within their own bounds.
    bool has_begun() const noexcept { return has_begun_; }
    std::optional<fencing_token> begin_with(const bounds& of_call, const acquire_request& wanted);
    // Called after a hold was given up because the session was not live.
    [[noreturn]] void refuse_lost() const;
    // The database has answered that the session has ended: it is lost from here on, and everybody
    // told, whenever the next heartbeat may be. Throws session_lost. It runs callbacks: the caller
    // must not hold a connection that a callback might need.
    [[noreturn]] void found_ended();

    // Bounds for a call of this session with a deadline of its own: a second at least, in which a
    // server that is well can be connected to.
    bounds call_until(local_clock::time_point deadline, const std::stop_token& cancel = {}) const;
    // Bounds for a call that asks once.
    bounds one_request() const;
    // Bounds for the end of the session, which must not take long: one statement time-out in all.
    // If the last statement got no answer, there is only a moment to connect, and if no connection
    // opens, nothing is sent.
    bounds parting() const;
    bool may_part() const noexcept;
    // For use after a failed attempt: true if that failed soon, such as on a connection that was
    // closed.
    bool may_part_again(const bounds& of_call) const noexcept;

    // The count of news that is known when an acquire is about to be sent; give it to watch().
    std::int64_t notices() const;
    // From here on the grant is told when it is lost. If the session is lost, it loses the grant at
    // once.
    void watch(const std::shared_ptr<grant>& what, std::int64_t notices_when_sent);
    // As watch(), but false if another grant of the same hold is watched, or is still to be
    // released: that would end this one.
    bool watch_alone(const std::shared_ptr<grant>& what, std::int64_t notices_when_sent);
    void forget(const grant& what);
    // For a grant with a fixed term, or with a limit. False if it is not watched any more.
    bool change_term(grant& what, local_clock::time_point end);
    bool change_limit(grant& what, const grant::limit& to);

    // While one of these lives, a request sent for this session may change its holds, or has left a
    // row that is no grant; an end() meanwhile leaves the session's row, expired, for the request
    // to find.
    class under_way {
    public:
        explicit under_way(implementation& of) : of_(of) { of_.count_under_way(1); }
        ~under_way() { of_.count_under_way(-1); }
        under_way(const under_way&) = delete;
        under_way& operator=(const under_way&) = delete;

    private:
        implementation& of_;
    };

    // An acquire or release under this owner id was sent and its answer lost. It may still be
    // waiting in the server and be granted later, so it is released again and again until it
    // cannot. After end() there is nobody to do so: holds that live with the session are free then,
    // and a fixed term runs out.
    void settle_later(const key& name, const owner_id& owner, lock_kind kind = lock_kind::mutex);

    // For a hold of which no late request can arrive any more: one release settles it.
    void give_back_later(const key& name, const owner_id& owner, lock_kind kind);

    // One of two owner ids has the key, or had it: `granted` until a transaction, which may still
    // be open, commits, and `moved` from then on. Both are released, `granted` first: that release
    // waits for the transaction, so one release of each is enough.
    void settle_pending(const key& name, const owner_id& granted, const owner_id& moved);

    // The database has said that this owner no longer has the key, nor the queue place of `ticket`,
    // if any. A crash after a commit that was not flushed, or a fail-over, may undo that. Then the
    // row is back, lives for as long as this session, and nobody knows of it. So the session looks
    // for it, and gives it up again.
    void gave_up(
        const key& name,
        const owner_id& owner,
        lock_kind kind = lock_kind::mutex,
        std::int64_t ticket = 0
    ) {
        state_.gave_up(name, owner, kind, ticket);
    }

    // True if `last` is all that the session has, or ever had: then nothing begins in it any more,
    // and the release may remove its row, too, before end().
    bool is_ending_with(const grant& last);
    // Called after that release: ends the session. If the release has left the grant in the
    // database, or may have, the session's row is not removed before the grant.
    void end_with(bool is_released) noexcept;
    bool takes_row_along() const noexcept { return state_.takes_row_along; }
    void note_row_gone() noexcept { is_row_gone_ = true; }

    // One worker of jobs at a time works under a session: a job that runs under the session and
    // that this worker does not know is from a claim whose answer was lost. True if the caller may
    // work.
    bool begin_work() noexcept { return !has_worker_.exchange(true); }
    void end_work() noexcept { has_worker_ = false; }

    // A hold that this process no longer knows lives with this session: end() leaves the session's
    // row, expired, because a missing row would count as alive.
    void keep_row();

private:
    using lost_grant = grant_list::lost_grant;

    [[noreturn]] static void refuse_lost(loss_reason why);
    std::optional<local_clock::time_point> take_row(
        const bounds& of_call, const std::string& from, const std::string& to
    );
    void require_quiet() const LEASEHOLD_REQUIRES(state_.mutex);

    class turn;
    bool insert_row(
        const bounds& of_call,
        local_clock::time_point& sent,
        std::optional<local_clock::time_point>& in_doubt_since
    );
    void start(const bounds& of_call);
    void start_late(const bounds& of_call, std::optional<local_clock::time_point> in_doubt_since);
    void begin_in_doubt(const bounds& of_call, local_clock::time_point since);
    bool may_begin(const bounds& of_call);
    void begin(const bounds& of_call);
    void note_begun(local_clock::time_point since, bool is_row_live = true);
    bool end_before_begin() noexcept;
    // Runs a thread. Nullopt ends it.
    void take_steps(
        const std::stop_token& stop, const std::function<std::optional<session_state::nap>()>& step
    );
    void note_in_doubt(in_doubt_request what);
    // True when the database has ended it.
    bool end_in_database(const std::optional<std::vector<waiter_id>>& remove_unless) noexcept;
    bool may_say_goodbye(bool has_failed, local_clock::time_point until) const noexcept;
    bool release_all(const std::vector<lost_grant>& held, local_clock::time_point until) noexcept;
    void release_in_doubt_apart(bool has_failed, local_clock::time_point until) noexcept;
    bool stop_heartbeat(local_clock::time_point deadline) noexcept;
    void count_under_way(int change);

    const home_process home_;
    session_state state_;
    heartbeat heartbeat_{state_, [this] { end_in_database(std::nullopt); }};
    const std::string node_info_;
    // The node_info of its row; and the name it may have, if a renaming got no answer.
    std::string row_name_;
    std::string row_name_in_doubt_;

    std::atomic<bool> has_begun_ = false;  // from then on its threads exist, or never will
    std::atomic<bool> is_row_gone_ = false;
    std::atomic<bool> has_worker_ = false;
    bool is_beginning_ LEASEHOLD_GUARDED_BY(state_.mutex) = false;  // a thread sends what begins it

    std::jthread heartbeat_thread_;
    std::jthread watch_thread_;
};

}  // namespace leasehold
