#pragma once
// What happened, for logs and metrics: implement what you need, pass it in database_settings.
//
//   struct log_observer : leasehold::observer {
//       void on_event(const leasehold::event& what) noexcept override {
//           std::clog << name_of(what.kind) << ' ' << what.key << '\n';
//       }
//   };
//
// The dangerous events have names of their own, so that they can be counted and alarmed on.
// Errors that a destructor met end up here too: a destructor never throws.
//
// Threads: on_event is called from any thread that uses the library, several at once, and from the
// background threads of sessions; it must not block and must not call back into the library.
#include <cstdint>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

enum class event_kind {
    granted = 1,              // a lease was granted
    refused = 2,              // a try met a live holder
    released = 3,             // a lease was released, by its owner or by force (its detail says)
    lost = 4,                 // a lease or session ended without its owner's wish; see detail
    late_heartbeat = 5,       // a heartbeat failed or took long; the session still lives
    stale_token_refused = 6,  // a proof or release came after the lease had gone
    outcome_unknown = 7,      // a request was sent and its answer lost; it is being settled
    release_failed = 8,       // a destructor could not release; the lease ends with its TTL
    reconnected = 9,          // a lost connection was replaced
    reaped = 10,              // rows of the dead were cleaned; number says how many
    warning = 11,             // a setting or server that weakens a promise; see detail
    revoke_requested = 12,    // somebody asks the holder of a lease to let go
};

struct event {
    event_kind kind{};
    std::string_view key{};     // empty where no key is concerned
    std::int64_t number = 0;    // the fencing token, or a count
    std::string_view detail{};  // one line for people
};

class LEASEHOLD_EXPORT observer {
public:
    virtual ~observer() = default;
    virtual void on_event(const event& what) noexcept = 0;
};

LEASEHOLD_EXPORT const char* name_of(event_kind kind) noexcept;

}  // namespace leasehold
