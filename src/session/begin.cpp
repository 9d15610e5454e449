// A session gets its row here: by itself, or with its first grant.
//
// | the first grant … | the row                       | the grant                                |
// |-------------------|-------------------------------|------------------------------------------|
// | is granted        | is there, by the same commit  | is there                                 |
// | finds no free key | is not; a try that waits, or  | is not                                   |
// |                   | is of another kind, makes it  |                                          |
// | fails             | is not                        | is not                                   |
// | fails in doubt    | is made, unless that fails,   | is asked for as ever; what comes later   |
// |                   | too: a heartbeat will say     | than the row fails by its id             |
//
// | a row by itself …             | the session                                                |
// |-------------------------------|------------------------------------------------------------|
// | is answered                   | has begun                                                  |
// | fails                         | has not: the next call tries again                         |
// | fails in doubt                | has begun when that was sent: a heartbeat will say         |
// | is there already, and expired | has begun, and is lost                                     |
// | has nobody who would renew it | has begun, and is lost, and its row ends: no thread starts |
#include <exception>

#include "core/timed_wait.hpp"
#include "leasehold/error.hpp"
#include "leasehold/stop.hpp"
#include "session/session.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

[[noreturn]] void refuse_slow_start() {
    throw error(
        errc::timed_out, "the database took longer than the session's ttl to start it; raise ttl"
    );
}

}  // namespace

// To insert the row again under the same id is harmless, so after a lost answer the request is
// repeated. False if the row of the first attempt has expired meanwhile. `in_doubt_since` is when
// the first request was sent that failed and may have been carried out all the same.
bool session::implementation::insert_row(
    const bounds& of_call,
    local_clock::time_point& sent,
    std::optional<local_clock::time_point>& in_doubt_since
) {
    constexpr int max_attempts = 3;
    for (int attempt = 1;; ++attempt) {
        sent = local_clock::now();
        try {
            const session_start row{state_.id, node_info_, state_.settings.ttl};
            return database().ask(of_call, &session_store::start, row);
        } catch (const error& failure) {
            if (failure.outcome_is_unknown() && !in_doubt_since) in_doubt_since = sent;
            if (!failure.is_transient() || attempt >= max_attempts) throw;
            if (of_call.have_passed() || of_call.are_stopped()) throw;
        }
    }
}

void session::implementation::start(const bounds& of_call) {
    local_clock::time_point sent;
    std::optional<local_clock::time_point> in_doubt_since;
    while (!insert_row(of_call, sent, in_doubt_since)) state_.id = session_id::random();
    const thread_guard guard{state_.mutex};
    state_.grants.begin(sent, local_clock::now());
    if (!state_.grants.lease().is_live()) refuse_slow_start();
}

// Makes the row without a grant. After a failure the row of this id may exist, and then an insert
// together with a grant would fail for ever.
void session::implementation::start_late(
    const bounds& of_call, std::optional<local_clock::time_point> in_doubt_since
) {
    local_clock::time_point sent;
    bool is_row_live = false;
    try {
        is_row_live = insert_row(of_call, sent, in_doubt_since);
    } catch (const error&) {
        if (in_doubt_since) {
            keep_row();
            note_begun(*in_doubt_since);
        }
        throw;
    }
    note_begun(sent, is_row_live);
    if (!is_row_live || reason() == loss_reason::expired) refuse_slow_start();
}

// One thread at a time begins the session: the next one waits until this one gives up, or is done.
class session::implementation::turn {
public:
    explicit turn(implementation& of) : of_(of) {}
    ~turn() {
        {
            const thread_guard guard{of_.state_.mutex};
            of_.is_beginning_ = false;
        }
        of_.state_.changed.notify_all();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    implementation& of_;
};

// True if the caller has to make a `turn`; false if there is nothing to begin, or no longer
// anything.
bool session::implementation::may_begin(const bounds& of_call) {
    const either_stop stop{of_call.cancel, of_call.over};
    thread_guard guard{state_.mutex};
    const auto is_free = [&]() LEASEHOLD_REQUIRES(state_.mutex) { return !is_beginning_; };
    const bool is_our_turn =
        wait_until(guard, state_.changed, stop.token(), of_call.deadline, is_free);
    if (state_.over.stop_requested() && !has_begun_) refuse_lost(loss_reason::session_ended);
    if (!is_our_turn) {
        throw error(
            errc::timed_out,
            "another call that begins the session was not waited for any longer: time was up, or "
            "the call was cancelled"
        );
    }
    if (has_begun_ || state_.has_ended || !state_.grants.lease().is_live()) return false;
    is_beginning_ = true;
    return true;
}

void session::implementation::begin(const bounds& of_call) {
    if (!may_begin(of_call)) return;
    const turn ours{*this};
    start_late(of_call, std::nullopt);
}

// The session has a row, or may have one, that lives from `since` on at least. If no thread will
// renew it, or the owner has ended the session meanwhile and did not wait for this, the row ends at
// once. A grant that came with the row then belongs to nobody, and the key is free for others.
void session::implementation::note_begun(local_clock::time_point since, bool is_row_live) {
    {
        const thread_guard guard{state_.mutex};
        if (!state_.has_ended) state_.grants.begin(since, local_clock::now());
        if (!is_row_live) state_.grants.lease().ended_by_server(local_clock::now());
    }
    std::exception_ptr failure;
    try {
        launch();
    } catch (...) {
        failure = std::current_exception();
    }
    bool must_end = false;
    {
        const thread_guard guard{state_.mutex};
        has_begun_ = true;
        if (failure) state_.grants.lease().tick(local_clock::time_point::max());
        must_end = state_.has_ended || (failure && !heartbeat_thread_.joinable());
    }
    if (failure) state_.tell_losses();
    if (must_end) end_in_database(std::nullopt);
    if (failure) std::rethrow_exception(failure);
}

std::optional<fencing_token> session::implementation::begin_with(
    const bounds& of_call, const acquire_request& wanted
) {
    if (!may_begin(of_call)) return std::nullopt;
    const turn ours{*this};
    const auto sent = local_clock::now();
    std::optional<fencing_token> token;
    try {
        const session_start row{state_.id, node_info_, state_.settings.ttl};
        token = database().ask(of_call, &session_store::start_with_grant, row, wanted);
    } catch (const error& failure) {
        if (failure.outcome_is_unknown()) begin_in_doubt(of_call, sent);
        throw;
    } catch (...) {
        // The request may have been committed before memory ran out for its answer. The caller does
        // not learn of the grant, so the session releases it.
        begin_in_doubt(of_call, sent);
        settle_later(wanted.key, wanted.owner);
        throw;
    }
    if (!token) return token;
    note_begun(sent);
    if (reason() == loss_reason::expired) refuse_slow_start();  // and the key is free with its row
    return token;
}

// While the session's row exists, a request that arrives late grants nothing, and keep_row() leaves
// the row when the session ends. If no row can be made, such a grant lives for one ttl.
void session::implementation::begin_in_doubt(const bounds& of_call, local_clock::time_point since) {
    keep_row();
    try {
        start_late(of_call, since);
    } catch (const error&) {
        // The row is in doubt as well, or lost. The error of the first request says more.
    }
}

void session::implementation::begin_to_wait(const bounds& of_call) {
    if (has_begun_ || of_call.are_stopped()) return;
    try {
        require_live(of_call);
    } catch (const error& failure) {
        if (!failure.is_transient() || !of_call.are_stopped()) throw;
    }
}

// True if the database has nothing that end() could end. It waits for a thread that is beginning
// the session, but not for one that hangs: that one ends what it has begun.
bool session::implementation::end_before_begin() noexcept {
    if (has_begun_) return false;
    state_.over.request_stop();
    const auto until = local_clock::now() + database().settings().statement_timeout;
    thread_guard guard{state_.mutex};
    const auto is_free = [&]() LEASEHOLD_REQUIRES(state_.mutex) { return !is_beginning_; };
    wait_until(guard, state_.changed, {}, until, is_free);
    if (has_begun_) return false;
    state_.has_ended = true;
    state_.grants.lease().end();
    return true;
}

}  // namespace leasehold
