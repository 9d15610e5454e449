#pragma once
// The common part of the lease of one key and that of several: whether it still counts as held, and
// the rules by which its holds are given back.
//
// | a release …                       | says                                                    |
// |-----------------------------------|---------------------------------------------------------|
// | is answered                       | what the database said                                  |
// | fails with what may pass          | nothing: it is sent again, which is harmless, as it     |
// |                                   | names owner and token                                   |
// | says not_held after one in doubt  | released, where the fence is still ours: it was that one |
// | fails for good                    | unknown, or throws; the session goes on with it         |
// | would wait for a transaction of   | unknown, at once: it is sent when that has ended        |
// | our own, open in this process     |                                                         |
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/process.hpp"
#include "database/open_transactions.hpp"
#include "leasehold/lease.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

class holding {
public:
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;

    std::stop_token lost() const noexcept {
        return session_->is_at_home() ? given_back_.get_token() : stopped_token();
    }
    loss_reason reason() const noexcept {
        if (!session_->is_at_home()) return loss_reason::other_process;
        return is_released_ ? loss_reason::released : loss();
    }
    virtual local_clock::time_point deadline() const noexcept;
    bool held_locally() const noexcept;
    bool has_term() const noexcept { return first_->term_end().has_value(); }

    // In a forked child this answers not_held and sends nothing.
    release_outcome release() {
        return session_->is_at_home() ? give_back(false) : release_outcome::not_held;
    }
    // Parting takes one statement time-out in all, and no time if the server seems to be out.
    virtual release_outcome give_back(bool is_parting) = 0;
    void release_quietly() noexcept;

protected:
    using releaser = std::function<release_outcome()>;

    // A callback may destroy the lease.
    struct forward_stop {
        std::stop_source* to;
        void operator()() const {
            std::stop_source source = *to;
            source.request_stop();
        }
    };

    holding(std::shared_ptr<session::implementation> within, std::shared_ptr<grant> first)
        : session_(std::move(within)), first_(std::move(first)) {}
    virtual ~holding() = default;

    virtual loss_reason loss() const noexcept = 0;
    void lose(grant& which, loss_reason why);

    void tell_end(const hold& what, release_outcome outcome) const;
    // A proof or a release came after the hold had gone.
    void tell_stale(const hold& what, loss_reason why, std::string detail = {}) const;

    // Begins the fixed term of one of the holds anew. False: it is lost.
    bool extend_term(grant& which, std::chrono::microseconds term);

    // Requires an open connection of our engine. Throws lease_lost in a forked child.
    void require_part(connection& inside) const;
    // Throws lease_lost. `label` names the lease.
    [[noreturn]] void refuse(const std::string& label, loss_reason why) const;
    // For calls that act: a spent lease has nothing to act on.
    void require_unspent(const std::string& label) const {
        if (is_released_) refuse(label, loss_reason::released);
    }

    // Comes after a proof in the transaction that is open there.
    void note_proof(connection& inside);
    // A destructor does not wait for a server that is out.
    bool may_ask(bool is_parting) const { return !is_parting || session_->may_part(); }
    // A release would wait for a transaction of this process.
    bool is_behind_open_transaction(bool is_parting) const;
    // True if releasing `all` would wait for a transaction of this process: then the end of the
    // transaction releases them, and the observer is told.
    bool leave_to_open_transaction(std::span<const hold> all, bool is_parting);
    bounds bounds_of_release(bool is_parting) const;
    // Releases the last level of all of them. `freed`: those that `send` has freed, whatever it
    // says of the others.
    release_outcome release_all(
        const bounds& of_call,
        std::span<const hold> all,
        const releaser& send,
        const std::vector<hold>& freed = {}
    );

    open_transactions::obstacle own_transaction(bool is_parting) const;

    const std::shared_ptr<session::implementation> session_;
    const std::shared_ptr<grant> first_;
    std::atomic<bool> is_released_ = false;
    // Fires when it is released, and when it is lost.
    std::stop_source given_back_;
};

}  // namespace leasehold
