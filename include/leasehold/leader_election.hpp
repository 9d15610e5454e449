#pragma once
// Elects one leader among any number of candidates, and tells who leads.
//
//   leasehold::leader_election election{session, "billing/leader"};
//   while (auto leading = election.campaign(stop)) {      // waits until elected
//       leading->proclaim("10.0.0.7:8080");               // for all to read
//       work_until(leading->lost());
//   }                                                     // resigned
//
//   leasehold::leader_watch watch{db, "billing/leader"};  // a follower needs no session
//   while (watch.next(stop)) connect_to(watch.leader());
//
// | the candidate …   | campaign()        | proclaim()       | resign()  | followers see       |
// |-------------------|-------------------|------------------|-----------|---------------------|
// | is not elected    | elected, or waits | –                | –         | the leader, or none |
// | leads             | another candidacy | true for all     | resigned  | it, with metadata   |
// | lost (see lost()) | anew, next term   | throws lease_lost| no effect | none, then the next |
// | resigned (spent)  | anew, next term   | throws lease_lost| no effect | none, then the next |
//
// The term of a leader is the fencing token of its lease: each is greater than all before it.
//
// All candidates: current_leader(), and list_waiters() of inspect.hpp for the candidates that wait.
//
// Promises: those of leasehold::mutex, which this is built on and whose keys it uses: at most one
// leader by the database's clock; lost() and on_lost come before anyone else can be elected; a
// deposed leader cannot have committed anything under leading->lease().verify_in(tx). A
// proclamation is deleted with its term: a new leader starts without metadata.
// Does not promise: fairness; that a follower sees every term (it polls, and sees the newest); that
// a deposed leader stops by itself.
//
// Threads: leader_election is safe; a leadership and a leader_watch: one thread at a time each, but
// lost() from any. Callbacks run in the thread that noticed and must not block.
// Errors: invalid_argument for a bad key, setting, or metadata that is not UTF-8 without NUL of at
// most 4,000 bytes; lease_lost from proclaim(); otherwise the database's errors.
// After etcd's concurrency.Election (campaign, proclaim, observe, resign) and Chubby's sequencers.
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "leasehold/async.hpp"
#include "leasehold/callable.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// The leader, as the database saw it when it was asked.
struct leader_info {
    fencing_token token{};
    owner_id owner{};
    std::string node_info{};                   // name@host:pid, for people
    std::optional<std::string> metadata{};     // the proclamation
    std::chrono::microseconds leading_for{0};  // by the database's clock
    // The time until it would be deposed, if it shows no further sign of life.
    std::chrono::microseconds remaining{0};
};

// A candidate asks at these intervals, and is told of its terms by these calls.
struct election_settings {
    std::chrono::milliseconds min_poll{10};   // 1 ms to max_poll
    std::chrono::milliseconds max_poll{250};  // min_poll to 1 h
    // Called when elected, in the campaigning thread, before campaign() returns. An exception from
    // it ends the term, as resign() does, and comes out of campaign().
    callable<void(fencing_token token)> on_elected{};
    // Called once per term when it ends, before anyone else can be elected; `released` says that
    // the leader resigned. Always after on_elected has returned, also if the term is lost before
    // that: an on_elected that blocks for longer than the session's margin makes it late. The
    // observer is warned of what it throws.
    callable<void(fencing_token token, loss_reason why)> on_lost{};
};

// A term in office. One that has ended by resign() or detach(), or was moved from, is spent: its
// calls answer as lease.hpp says.
class [[nodiscard]] LEASEHOLD_EXPORT leadership {
public:
    leadership(leadership&&) noexcept;
    leadership& operator=(leadership&&) noexcept;
    // Resigns. Never throws; errors go to the observer.
    ~leadership();

    fencing_token token() const;
    // Fires when the term ends, however it does. The reason: why_lost().
    std::stop_token lost() const&;
    std::stop_token lost() const&& = delete;
    loss_reason why_lost() const;
    // As lease::held_locally(), deadline() and verify_in().
    bool held_locally() const&;
    bool held_locally() const&& = delete;
    local_clock::time_point deadline() const&;
    local_clock::time_point deadline() const&& = delete;
    void verify_in(transaction_ref tx) &;

    // Publishes `metadata` for all to read; replaces what was said before in this term. Waits for
    // transactions that hold a proof of this lease, so not from inside one.
    void proclaim(std::string_view metadata);

    // Ends the term. Repeating it is harmless.
    release_outcome resign();

    // The lease of the office, for all else.
    leasehold::lease& lease() &;

    class implementation;  // private: src/locks/leader_election.cpp

private:
    friend struct handle_maker;
    explicit leadership(std::unique_ptr<implementation> held) noexcept;

    handle<std::unique_ptr<implementation>, "leadership", refuse_spent> held_;
};

// The outcome of a campaign: an office, or who leads instead.
class [[nodiscard]] campaign_result : public try_result<campaign_result, leadership> {
public:
    explicit campaign_result(leadership elected) : try_result(std::move(elected)) {}
    explicit campaign_result(refused_try why) : refusal_(std::move(why)) {}

    // Empty if elected, or if nobody led when the database looked again. See current_leader() for
    // the proclamation.
    const std::optional<lock_info>& leader() const& noexcept { return refusal_.holder(); }
    const std::optional<lock_info>& leader() const&& = delete;

    [[noreturn]] void refuse() const { refusal_.refuse(); }

private:
    refused_try refusal_{};
};

class LEASEHOLD_EXPORT leader_election {
public:
    leader_election(session& within, key name, election_settings settings = {});
    leader_election(leader_election&&) noexcept;
    leader_election& operator=(leader_election&&) noexcept;
    ~leader_election();

    // Asks once. Refused: somebody else leads.
    campaign_result try_campaign();
    // Waits until elected; refused only when `cancel` was requested: if that was before the call,
    // at once, without a question to the database. Throws session_lost when the session is lost:
    // campaign again with a new one.
    campaign_result campaign(std::stop_token cancel = {});
    // Waits for `timeout` at most.
    campaign_result campaign_for(wait_time timeout, std::stop_token cancel = {});
    campaign_result campaign_until(wait_deadline deadline, std::stop_token cancel = {});
    // Waits without a thread, as mutex::acquire_async() does: async.hpp. on_elected is called in
    // the thread of the completion, before it.
    void campaign_async(
        async_wait how, callable<void(std::exception_ptr failure, campaign_result outcome)> done
    );

    // Goes on with a term that another process gave up by detach(): the same term, and followers
    // see no change but of node_info. on_elected is called here, too. Refused if the term has ended
    // meanwhile, or somebody else adopted it; everything else is as adopt() of detach.hpp says.
    // invalid_argument for the lease of another key.
    campaign_result adopt(const detached_lease& what);

    const leasehold::key& key() const&;
    leasehold::key key() const&& { return key(); }

    class implementation;  // private: src/locks/leader_election.cpp

private:
    handle<std::shared_ptr<implementation>, "leader_election"> inner_;
};

// Detaches the office without its leader, for adopt() of another process, with its proclamation: as
// detach() and detach_for() of detach.hpp. on_lost is called, with `released`.
[[nodiscard]] LEASEHOLD_EXPORT detached_lease detach(leadership&& leading);
[[nodiscard]] LEASEHOLD_EXPORT detached_lease
detach_for(leadership&& leading, std::chrono::microseconds term);

// Asks who leads now; nullopt if nobody does. A plain read.
LEASEHOLD_EXPORT std::optional<leader_info> current_leader(const database& db, const key& name);

// A leader_watch asks the database at these intervals.
struct leader_watch_settings {
    // The time between two questions to the database: jittered, and longer while nothing changes.
    std::chrono::milliseconds min_poll{50};    // 1 ms to max_poll
    std::chrono::milliseconds max_poll{1000};  // min_poll to 1 h
};

// Follows an election: sees each change of leader, or of its proclamation, within max_poll; if
// there are several changes in between, the last.
class LEASEHOLD_EXPORT leader_watch {
public:
    leader_watch(database db, key name, leader_watch_settings settings = {});

    // Waits until leader() differs from what it was; the first call answers at once. False when
    // cancelled, and at once if that was before the call. It waits for a database that does not
    // answer, and asks again.
    bool next(std::stop_token cancel = {});
    // Waits for `timeout` at most; false, too, when nothing changed. Throws if the last answer was
    // an error.
    bool next_for(wait_time timeout, std::stop_token cancel = {});
    bool next_until(wait_deadline deadline, std::stop_token cancel = {});

    // The leader as of the last next(). Its durations are those at the moment of the change.
    const std::optional<leader_info>& leader() const noexcept { return leader_; }

private:
    bool wait(local_clock::time_point deadline, const std::stop_token& cancel);

    database database_;
    key name_;
    leader_watch_settings settings_;
    std::optional<leader_info> leader_;
    bool has_looked_ = false;
};

}  // namespace leasehold
