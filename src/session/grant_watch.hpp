#pragma once
// The deadlines of a session, and of the grants that it watches: which one comes next, and which
// grants are lost at a given time. Reads no clock, and tells nobody.
//
// | the session …                    | these are lost                                             |
// |----------------------------------|------------------------------------------------------------|
// | lives                            | grants whose own end has come                              |
// | is lost: see lease_machine.hpp   | grants whose own end has come, and all that live with the  |
// |                                  | session; fixed terms go on                                 |
// | is ended by its owner            | all that live with it: end() returns them                  |
//
// Each loss is handed out once, to the thread that has to tell the holder. Until that thread has
// called note_told() the holder may believe that it still has its key. Nobody may free the key
// before.
//
// Threads: not safe.
#include <chrono>
#include <optional>
#include <vector>

#include "session/grant_list.hpp"
#include "session/lease_machine.hpp"

namespace leasehold {

class grant_watch : public grant_list {
public:
    using instant = local_clock::time_point;

    // Live, without a deadline. The settings are complete, and outlive this.
    explicit grant_watch(const session_settings& settings)
        : settings_(settings), lease_(settings) {}
    // The session has a row: its request was sent, and answered, at these times.
    void begin(instant sent, instant answered) { lease_.emplace(settings_, sent, answered); }

    lease_machine& lease() noexcept { return *lease_; }
    const lease_machine& lease() const noexcept { return *lease_; }
    // False from the deadline on, also before a thread has found that it has passed.
    bool is_live(instant now) const noexcept {
        return lease_->is_live() && now < lease_->deadline();
    }

    struct losses {
        std::vector<lost_grant> grants;
        loss_reason why = loss_reason::none;  // of the session
        bool are_of_session = false;          // it is lost, and not every holder has been told
        bool are_of_limits = false;           // the session lives, and some have a limit of time
    };
    // Nullopt if there is nobody to tell; otherwise the caller then calls note_told(). `is_told`:
    // the loss of the session has been told.
    std::optional<losses> take_losses(instant now, bool is_told);
    void note_told(const losses& what) noexcept;
    bool is_telling() const noexcept { return tellers_ != 0; }

    struct ending {
        std::vector<lost_grant> held;  // what lived with the session
        loss_reason why = loss_reason::none;
        bool was_lost = false;
        // True if no holder is being told whose key the end of the row would free.
        bool may_expire = true;
    };
    // The owner ends the session, unless it is lost.
    ending end(instant now);

    // The time of the next loss, if nothing changes.
    instant next_loss() const noexcept;
    // The longest sleep of a thread of the session. If the machine is suspended meanwhile, holders
    // are told only after that sleep, so the sleep is shorter than the margin.
    local_clock::duration longest_nap() const noexcept;
    static constexpr std::chrono::seconds max_nap{1};

private:
    const session_settings& settings_;
    std::optional<lease_machine> lease_;  // always there
    int tellers_ = 0;                     // threads that are telling holders of losses just now
    // The threads among them that tell of limits, while the session lives. The session must not
    // free those keys until they are done.
    int tellers_of_limits_ = 0;
};

}  // namespace leasehold
