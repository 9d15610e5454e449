#pragma once
// Random histories: the same steps carried out on an engine and on the model, answer by answer.
//
// A step names sessions, owners and keys by small numbers, so that it can be carried out anywhere,
// printed, and repeated under other names. Each side finds its own tokens and tickets. Answers are
// text in which times are whole hours: real microseconds decide nothing, because all terms are
// whole hours, and the time that passes is some hours and ten seconds.
//
// A ledger (history_ledger.hpp) is told the events, too. It knows the promises and no store: it
// finds what an engine and the model would get wrong together.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "leasehold/lock_kind.hpp"
#include "leasehold/multi_lock.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "locks/multi_lock_store.hpp"
#include "locks/waiter_store.hpp"
#include "runs/run_store.hpp"
#include "session/session_store.hpp"
#include "session/upkeep_store.hpp"
#include "sql/store_set.hpp"

namespace leasehold::testing {

// The parts of a step that the generator must choose.
enum class step_shape {
    mutex_try = 1,
    holder_try = 2,
    mutex_hold = 3,
    holder_hold = 4,
    waiter = 5,
    key_alone = 6,
    session_alone = 7,
    everything = 8,
};

struct history_step {
    std::size_t operation = 0;  // index into operations()
    int key = 0;
    int session = 0;
    int owner = 0;
    int hours = 0;                // a ttl, a lock_delay, or what passes
    int term_hours = 0;           // of a mutex; 0: it lives with its session
    std::int64_t token_skew = 0;  // added to the token the owner was given
    lock_kind kind = lock_kind::mutex;
    hold_mode mode = hold_mode::exclusive;
    std::int64_t permits = 1;
    std::int64_t capacity = 1;
    int gives_way_to = 0;
    bool is_instead = false;  // of the hold that the owner has
    bool keeps_capacity = false;
    bool removes_row = false;  // of a session that ends
};

std::string text_of(const history_step& what);

struct history_event {
    enum class kind { granted = 1, released, reduced, passed, emptied, started, renewed, ended };
    kind what = kind::granted;
    history_step by;  // of a hand-over, the step that queued
    std::int64_t token = 0;
};

// One of the two places that must agree.
struct history_place {
    std::string name;
    database db;
    std::function<void(const session_id&, std::chrono::microseconds)> age_session;
    std::function<void(const key&, std::chrono::microseconds)> age_lock;
};

// Numbers of one run of a history, the same on both sides.
struct history_names {
    unsigned long seed = 0;
    int history = 0;
    int attempt = 0;  // a run that repeats one needs rows of its own

    static constexpr int keys = 3;
    static constexpr int sessions = 4;

    std::string prefix() const;
    leasehold::key key(int number) const;
    identity session(int number) const { return id_of(1, number); }
    identity owner(int number) const { return id_of(2, number); }

private:
    identity id_of(unsigned kind, int number) const;
};

class history_side {
public:
    history_side(const history_place& at, const history_names& names) : at_(at), names_(names) {}

    // The answer in words; a thrown error is an answer, too.
    std::string carry_out(const history_step& what);
    // The events of the last step.
    const std::vector<history_event>& events() const noexcept { return events_; }

private:
    friend struct history_operations;
    using place = std::pair<int, int>;  // key, owner

    void tell(history_event::kind what, const history_step& by, std::int64_t token = 0);
    hold hold_of(const history_step& what) const;
    waiter_id waiter_of(const history_step& what) const;
    acquire_request mutex_request(const history_step& what) const;
    holder_request place_request(const history_step& what) const;
    void note_grant(const history_step& by, std::int64_t token);
    std::string text_of(const identity& who) const;
    std::string text_of(const lock_info& info) const;
    std::string text_of(const std::optional<lock_info>& info) const;
    std::string text_of(const std::vector<lock_info>& all) const;
    std::string text_of(const hand_over_result& answer, const history_step& by);

    const history_place& at_;
    const history_names names_;
    std::map<place, std::int64_t> tokens_;   // given last
    std::map<place, std::int64_t> tickets_;  // given
    std::map<place, history_step> queued_;
    std::map<int, std::int64_t> last_tickets_;  // of a key
    std::map<int, std::int64_t> notices_;       // that a session knows of
    std::map<identity, std::string> people_;
    std::map<identity, int> owners_;
    std::vector<history_event> events_;
};

struct history_operation {
    const char* name;
    step_shape shape;
    int weight;  // 0: only where every history has it
    std::function<std::string(history_side&, connection&, store_set&, const history_step&)> run;
};

const std::vector<history_operation>& operations();
std::size_t operation_named(std::string_view name);

}  // namespace leasehold::testing
