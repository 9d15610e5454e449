#pragma once
// A mutex that stands on the majority of several independent databases, and so outlives any
// minority of them. Engines may be mixed.
//
//   leasehold::quorum servers{{one, two, three}, {.server_timeout = 500ms}};
//   leasehold::quorum_lock leader{servers, "leader"};
//   if (auto held = leader.acquire_for(10s)) work_until(held->lost());
//
// | of N servers …                   | try_acquire()                                          |
// |----------------------------------|--------------------------------------------------------|
// | a majority grants in time        | a lease, with a token for each that did                |
// | less: busy, silent or failing    | empty, and how many of which; everything is given back |
// | one answers after server_timeout | counts as silent; what it granted is given back        |
//
// With needs_all it takes all N, and "a majority" below is all of them.
//
// | a quorum_lease is …                | lost() | becomes                                      |
// |------------------------------------|--------|----------------------------------------------|
// | held: a majority of grants is live | quiet  | lost when the last grant above a minority is |
// | lost                               | fired  | released: the rest is given back             |
// | spent: see lease.hpp               | fired  | –                                            |
//
// Promises: while a quorum lease is live no other one is granted the key, because two majorities
// share a server, and no server grants the key twice: its own clock alone decides, across restarts
// too, and each grant is durable before it is answered. lost() fires before another one can be
// granted the key. A lease counts as held for ttl - elapsed - drift, where drift is Redlock's ttl /
// 100 + 2 ms or the session's `margin`, whichever is longer: its deadline is that of the majority,
// counted from before each request was sent, and moves on with the heartbeats. A server that does
// not answer delays a try by server_timeout at most, and once more where grants of other servers
// have to be given back.
// Does not promise: a proof. verify_in on one server's lease proves that server's grant and no
// more: another majority may have formed without it. Nor a single fencing token: tokens of
// different servers do not compare. A resource can refuse late writers all the same: let it keep
// the highest token of *each* server (a fence_guard resource per server) and refuse a holder that
// shows a lower one for any. A later holder has a server in common with every earlier one, and
// there its token is greater. A server that loses committed transactions (asynchronous fail-over)
// breaks all of it.
//
// A call that was asked to stop before it began is empty at once, and asks no server; a later
// request ends the wait when the try under way has ended.
//
// Threads: quorum and quorum_lock are safe; a quorum_lease: one thread at a time, but lost() and
// held_locally() from any. One background thread per server, beside those of its session.
// Errors: invalid_argument for a bad setting, no server, and for the same database named twice,
// which is noticed as soon as both answer. An even number of servers is a warning to the observer
// of the first: it survives no more failures than one less. A server that fails does not make a
// call throw. After Antirez, "Distributed locks with Redis" (Redlock), and Kleppmann's critique of
// it.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// A quorum_lock waits for its servers, and counts their answers, by these settings.
struct quorum_settings {
    session_settings session{};  // on each server; margin is raised to the drift, see above
    // The longest that one server may take for one request, connecting included: 10 ms to a third
    // of ttl.
    std::chrono::milliseconds server_timeout{1000};
    std::chrono::milliseconds min_poll{20};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{500};  // min_poll to 1 h
    // Every server has to grant, and to hold: for servers that are guarded one by one, as shards
    // are. Such a lease survives no failure.
    bool needs_all = false;
};

// The servers, with one session on each, opened when it can be and again when it was lost.
class LEASEHOLD_EXPORT quorum {
public:
    // Waits for each server to answer, at most server_timeout; a server that does not is tried
    // again whenever it is needed. The destructor waits for requests under way, as long as the
    // time-outs of each database allow.
    explicit quorum(std::vector<database> servers, quorum_settings settings = {});
    quorum(quorum&&) noexcept;
    quorum& operator=(quorum&&) noexcept;
    ~quorum();

    std::size_t size() const;
    // The number of grants that make a lease: a majority, or all.
    std::size_t needed() const;

    class implementation;  // private: src/locks/quorum.hpp
    const std::shared_ptr<implementation>& inner() const { return inner_; }

private:
    handle<std::shared_ptr<implementation>, "quorum"> inner_;
};

class [[nodiscard]] LEASEHOLD_EXPORT quorum_lease {
public:
    quorum_lease(quorum_lease&&) noexcept;
    quorum_lease& operator=(quorum_lease&&) noexcept;
    // Releases on every server; never throws.
    ~quorum_lease();

    // The token of each server, in the order they were given; nullopt if it did not grant.
    const std::vector<std::optional<fencing_token>>& tokens() const&;
    const std::vector<std::optional<fencing_token>>& tokens() const&& = delete;
    // The number of grants that count as held now.
    std::size_t held_count() const;

    // Fires when less than a majority is left, or it was released.
    std::stop_token lost() const&;
    std::stop_token lost() const&& = delete;
    // Tells why the lease was lost that broke the majority.
    loss_reason why_lost() const;
    bool held_locally() const&;
    bool held_locally() const&& = delete;
    // The moment until which a majority counts as held if no further heartbeat succeeds.
    local_clock::time_point deadline() const&;
    local_clock::time_point deadline() const&& = delete;

    // Asks all servers; true when a majority says that it is still held.
    [[nodiscard]] bool verify() &;
    // `released`: by every server that had granted it; `unknown`: one did not answer in time, and
    // is asked again in the background; `not_held`: one had lost it before.
    release_outcome release();

    class implementation;  // private: src/locks/quorum_lock.cpp

private:
    friend struct handle_maker;
    explicit quorum_lease(std::shared_ptr<implementation> held) noexcept;

    handle<std::shared_ptr<implementation>, "quorum_lease", refuse_spent> held_;
};

// The outcome of a try: a lease, or the answers of the servers.
class [[nodiscard]] LEASEHOLD_EXPORT quorum_acquisition
    : public try_result<quorum_acquisition, quorum_lease> {
public:
    struct answers {
        std::size_t granted = 0;
        std::size_t busy = 0;
        std::size_t failed = 0;               // or silent
        std::vector<std::string> problems{};  // one line for each that failed
    };

    quorum_acquisition(quorum_lease granted, answers given, const key& wanted)
        : try_result(std::move(granted)), answers_(std::move(given)), wanted_(wanted) {}
    quorum_acquisition(answers given, const key& wanted)
        : answers_(std::move(given)), wanted_(wanted) {}

    const answers& servers() const& noexcept { return answers_; }
    const answers& servers() const&& = delete;

    [[noreturn]] void refuse() const;

private:
    answers answers_;
    key wanted_;
};

class LEASEHOLD_EXPORT quorum_lock {
public:
    quorum_lock(quorum& of, key name);

    // Asks every server once.
    quorum_acquisition try_acquire();
    // Waits, as long as it takes; empty only when `cancel` was requested.
    quorum_acquisition acquire(std::stop_token cancel = {});
    // Waits for `timeout` at most, and for a last try.
    quorum_acquisition acquire_for(wait_time timeout, std::stop_token cancel = {});
    quorum_acquisition acquire_until(wait_deadline deadline, std::stop_token cancel = {});

    const leasehold::key& key() const& noexcept { return name_; }
    leasehold::key key() const&& { return name_; }

private:
    handle<std::shared_ptr<quorum::implementation>, "quorum_lock"> servers_;
    leasehold::key name_;
};

}  // namespace leasehold
