#pragma once
// What any database must be able to do about a hold while it is held: its holder's words for
// everybody to read, requests to let go, and moving it to another session. The words and the
// general MUSTs: lock_store.hpp.
//
// A grant starts without words and without requests: whoever grants a key clears both.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "store/lock_store.hpp"

namespace leasehold {

// A live hold, and what its holder says.
struct custody {
    lock_info hold;
    std::optional<std::string> words;
};

struct adoption {
    leasehold::hold hold;
    // The session it must live with until now; nothing: it must be held for a fixed term.
    std::optional<session_id> from;
    session_id to;  // must be live
    std::string node_info;
};

enum class adopt_status { adopted = 1, gone = 2, session_ended = 3 };

class custody_store {
public:
    virtual ~custody_store() = default;

    // Replaces the words of exactly this hold, at most 4,000 bytes of UTF-8; nothing: none. False
    // where the row has passed on; nothing is written then. Waits for proofs.
    virtual bool set_words(
        connection& on, const hold& held, const std::optional<std::string>& words
    ) = 0;

    // A plain read, of one snapshot. Nothing where there is no live hold.
    virtual std::optional<custody> look(connection& on, const key& name) = 0;

    // Counts a request to let go on a live hold and adds one to the notices of its session's row,
    // so that its next heartbeat finds out by lock_store::standings. Frees nothing. Waits for
    // proofs. Answers with the hold; nothing where there is none: then nothing is written.
    virtual std::optional<lock_info> request_revoke(connection& on, const key& name) = 0;

    // A live hold that lives with its session lives for a fixed term from here on, counted by the
    // database's clock from the moment of the change. False where it is not held, or not live.
    // Keeps owner, fence and level. Commits durably. Waits for proofs.
    virtual bool give_term(
        connection& on, const hold& held, std::chrono::microseconds hold_at_most
    ) = 0;

    // Moves a live hold, under its owner and fence, to another session. MUST compare the session it
    // comes from in the statement that changes it, so that of two adopters one is refused; MUST
    // answer `adopted` again where it lives with `to` already, since an answer may be lost. Commits
    // durably. Waits for proofs.
    virtual adopt_status adopt(connection& on, const adoption& wanted) = 0;
};

}  // namespace leasehold
