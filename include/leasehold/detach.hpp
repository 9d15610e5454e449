#pragma once
// Passes a hold on to another process; nobody else can be granted the key in between.
//
//   leasehold::detached_lease parcel = leasehold::detach_for(std::move(*held), 1min);
//   run_child({"LEASE=" + parcel.text()});
//   // and in the child, or after a restart:
//   auto mine = leasehold::adopt(session, leasehold::detached_lease::from_text(text));
//   if (mine) work_under(*mine);  // same owner id, same token
//
// | the hold is …                     | lives until …                 | another session's adopt() |
// |-----------------------------------|-------------------------------|---------------------------|
// | held by a lease                   | the lease is released         | –                         |
// | detached                          | its old session ends          | moves it                  |
// | detached for a term               | the term has passed           | moves it                  |
// | adopted                           | the new session, as any other | nothing, for anyone else  |
// | gone: released, expired, by force | –                             | nothing                   |
//
// Promises: nobody else is granted the key in between, and the token stays, so that everything
// written under it stays valid. One of several adopters gets it: the move names the session it
// comes from. A lease that has expired or was taken is not adopted, whatever the value says.
// Does not promise: that the old process stops. The old process itself has to stop writing under
// the lease: nothing distinguishes its writes from those of the new holder, since both have the
// same token.
//
// The value is a secret, as the owner id in it is: anybody who has it can take the hold.
//
// A session is handed over whole, with all that lives with it, however much that is:
//
//   leasehold::detached_session parcel = leasehold::detach(std::move(session));
//   auto mine = leasehold::adopt(db, leasehold::detached_session::from_text(text));
//   if (mine) work_under(mine->leases);  // same session id, owner ids, tokens, modes, permits
//
// | the session is …    | lives until …                 | adopt()                  |
// |---------------------|-------------------------------|--------------------------|
// | live in its process | it ends, as any other         | –                        |
// | detached            | its ttl has passed since then | the first one has it     |
// | adopted             | it ends in the new process    | nothing, for anyone else |
// | ended, expired      | –                             | nothing                  |
//
// Giving a session up takes one round trip, and so does taking it; each changes one row.
// `leasehold locks` goes on to show who was granted a key; `leasehold sessions` shows who has the
// session.
//
// Threads: safe. Errors: lease_lost if there is nothing to detach any more; invalid_argument for
// one level of several of a recursive hold, a bad term, a key that is no mutex, a malformed text,
// or a hold that lives with the adopting session; session_lost if that has ended. After an error
// whose outcome_is_unknown(), detach_for has given the hold up (it is released in the background);
// adopt may have moved it, and is to be called again.
// For a session: invalid_argument for one that has a place at a latch or a barrier, or one level of
// several; transient if a call of it is under way, or was in doubt a moment ago. If detach() throws
// the session goes on; if the outcome of adopt() is unknown, a session that it may have taken ends
// with its ttl.
// After etcd's ResumeElection, Session.Orphan, and Redlock's random value that travels.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/lock_kind.hpp"
#include "leasehold/session.hpp"
#include "leasehold/try_result.hpp"

namespace leasehold {

// These values name a lease whose object has let go of it, for whoever adopts it.
struct LEASEHOLD_EXPORT detached_lease {
    leasehold::key key;
    owner_id owner{};
    fencing_token token{};
    // The session with which it lives until it is adopted; nullopt: it has a term.
    std::optional<session_id> session{};

    // One line of UTF-8, for an argument or an environment variable.
    std::string text() const;
    static detached_lease from_text(std::string_view text);
    bool operator==(const detached_lease&) const = default;
};

// detach() and detach_for() spend the lease, which counts as released from then on. A call that is
// refused (invalid_argument) leaves it as it was.

// Sends nothing. The hold goes on living with the session of the lease, and ends with it; one with
// a fixed term keeps its term.
[[nodiscard]] LEASEHOLD_EXPORT detached_lease detach(lease&& held);

// From here on the hold lives for this term by the database's clock, 1 ms to 366 days, whatever
// becomes of this process. One round trip.
[[nodiscard]] LEASEHOLD_EXPORT detached_lease
detach_for(lease&& held, std::chrono::microseconds term);

// Moves the hold into this session, which must not be the one it was detached in. To take a hold
// back, open a new session and adopt it there: then the value is worthless for everybody else.
// Refused if the hold has ended, or somebody else adopted it, or a lease of this session has it
// already, or is still being released. Repeating it after an error is harmless. Two round trips.
LEASEHOLD_EXPORT acquisition adopt(session& into, const detached_lease& what);

// A session that nobody renews, and the holds that live with it.
struct LEASEHOLD_EXPORT detached_session {
    struct hold {
        detached_lease what;
        lock_kind kind = lock_kind::mutex;
        hold_mode mode = hold_mode::exclusive;
        std::int64_t permits = 1;
        // The time that was left of semaphore_settings::max_hold; nullopt: no term.
        std::optional<std::chrono::microseconds> term_left{};
        bool operator==(const hold&) const = default;
    };

    session_id session{};
    std::string name{};  // the name that the adopter knows it by
    std::vector<hold> holds{};

    // For a file, a pipe or an environment variable: some 100 bytes for each hold.
    std::string text() const;
    static detached_session from_text(std::string_view text);
    bool operator==(const detached_session&) const = default;
};

// Spends the session: its leases are lost here (session_ended), and none of them is released. A
// hold with a fixed term does not live with it, and stays: detach() that lease. One round trip.
[[nodiscard]] LEASEHOLD_EXPORT detached_session detach(session&& whole);

// adopt() gives a session with all its leases in this form.
struct adopted_session {
    leasehold::session session;
    std::vector<lease> leases;  // in the order of detached_session::holds
};

// Empty if the session has ended, or somebody else adopted it: then * and -> throw session_lost.
class [[nodiscard]] LEASEHOLD_EXPORT session_adoption
    : public try_result<session_adoption, adopted_session> {
public:
    explicit session_adoption(adopted_session adopted) : try_result(std::move(adopted)) {}
    session_adoption(std::nullopt_t) {}

    [[noreturn]] void refuse() const;
};

// Goes on with a session, under the caller's own settings. The lost() of a lease that was freed by
// force meanwhile fires with the first heartbeat, which comes at once.
LEASEHOLD_EXPORT session_adoption
adopt(database db, const detached_session& what, session_settings settings = {});

}  // namespace leasehold
