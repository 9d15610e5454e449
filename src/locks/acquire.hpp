#pragma once
// One try for one key, with every way it can go wrong settled or said.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "leasehold/observer.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

struct wait_limit;

// The wish of a caller, without the caller.
struct wish {
    leasehold::key key;
    std::optional<std::chrono::microseconds> fixed_term;
    std::chrono::microseconds lock_delay{0};
    std::string metadata;
};

acquire_request request_for(const session::implementation& within, const wish& what);

// The way of a call to its grant, and the time since when it asked: the observer is told both.
struct way_to_grant {
    event_reason how = event_reason::tried;
    local_clock::time_point asked;
};

void tell_granted(session::implementation& within, const grant& what, const way_to_grant& way);
// Tells that a call has waited in vain: its time ended, or it was cancelled.
void tell_in_vain(session::implementation& within, const key& what, const wait_limit& limit);

// Makes a grant of the database one that the session watches. `term_end`: the time until which a
// fixed term cannot have ended.
std::shared_ptr<grant> accept(
    session::implementation& within,
    const acquire_request& request,
    fencing_token token,
    std::optional<local_clock::time_point> term_end,
    std::int64_t notices_when_sent,
    const way_to_grant& way
);

struct try_outcome {
    std::shared_ptr<grant> granted;   // null if busy
    std::optional<lock_info> holder;  // set if busy and there still was a holder
};

// Throws invalid_argument unless the term is 1 ms to 366 days; `what` names it.
void require_valid_term(std::chrono::microseconds term, const char* what);

// The time before the end of a fixed term in which this process already counts the term as over.
std::chrono::microseconds margin_of(
    const session::implementation& within, std::chrono::microseconds term
);

// The limit of a hold that this process ends `term` after `since`.
grant::limit limit_from(
    const session::implementation& within,
    local_clock::time_point since,
    std::chrono::microseconds term
);

// Asks on this connection. If nobody uses a row of another kind, it becomes a mutex's row, and the
// answer is wrong_kind; throws invalid_argument if the row is used.
acquire_result ask_for(connection& on, store_set& stores, const acquire_request& request);

// Sends a request on a connection of its choice, with ask_for(); the default: one of the pool.
using sender = std::function<acquire_result(const acquire_request&)>;

// One attempt; see attempt.hpp.
try_outcome try_once(
    session::implementation& within,
    const wish& what,
    const bounds& of_call,
    const sender& send = nullptr
);

// Makes a row of another kind a mutex's if nobody uses it, and throws otherwise.
void become_mutex(connection& on, store_set& stores, const key& name, lock_kind found);

}  // namespace leasehold
