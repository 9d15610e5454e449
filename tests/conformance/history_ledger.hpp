#pragma once
// The promises, checked on a history as it happens, by the answers that the participants got:
// - tokens of a key only grow;
// - those who hold a key at once fit: one owner of a mutex, permits within the capacity, one kind,
//   and nobody while a lock_delay runs;
// - the dead are neither renewed nor granted anything.
// It keeps time by the hours that were made to pass.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/history.hpp"
#include "leasehold/semaphore.hpp"

namespace leasehold::testing {

class history_ledger {
public:
    using seconds = std::chrono::seconds;

    struct entry {
        history_step by;
        std::int64_t token = 0;
        std::int64_t permits = 0;
        std::optional<seconds> term_left;
    };

    // Returns the broken promise, or an empty text if there is none.
    std::string note(const history_event& event);
    // Time went on for one session, or for the fixed term of a key.
    void age_session(int session, seconds by) { sessions_[session].left -= by; }
    void age_key(int key, seconds by);
    // Rows of dead sessions may be gone.
    void sessions_were_removed();

    bool is_live(int session) const;
    bool may_be_gone(int session) const;
    const std::map<int, entry>& holds_of(int key) { return holds_[key]; }

private:
    struct life {
        seconds left{0};
        bool may_be_gone = false;
        bool was_removed = false;  // by its end: nothing of it is under way
    };

    std::string note_grant(const history_event& event);
    bool keeps_others_out(const entry& held) const;

    std::map<int, life> sessions_;
    std::map<int, std::map<int, entry>> holds_;  // by key and owner
    std::map<int, std::int64_t> last_tokens_;
};

}  // namespace leasehold::testing
