#pragma once
// The heartbeat of a session, step by step. Each step renews the session's row over a connection of
// its own, and acts on the answer. lease_machine.hpp says when the next renewal is due. Parts of it
// stand in in_doubt.cpp and returned_holds.cpp.
//
// | the answer is …    | what follows in the same step                                            |
// |--------------------|--------------------------------------------------------------------------|
// | renewed            | looks for holds whose release the database forgot, if that is due        |
// | noticed            | asks which grants are still held, renews, and tells the holders of those |
// |                    | that are gone                                                            |
// | noticed once more  | tells holders again; the next heartbeat is due at once                   |
// | ended              | the session is lost: tells all holders but those of fixed terms          |
// | lost, or an error  | drops the connection; the next heartbeat is due sooner, on another one,  |
// |                    | and asks which grants are still held                                     |
//
// After each answer the step settles requests in doubt, and cleans up after the dead, unless the
// session has been ended meanwhile.
// A step of a lost session says goodbye, once its holders have been told, and settles what is in
// doubt from then on.
//
// Threads: one thread takes the steps, and is joined before close(); the others may await a step.
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "session/session_state.hpp"
#include "session/session_store.hpp"

namespace leasehold {

class heartbeat {
public:
    using nap = session_state::nap;

    // `say_goodbye` ends the session's row.
    heartbeat(session_state& of, std::function<void()> say_goodbye);

    // Does what is due. Nullopt, and does nothing, if the session's owner has ended it.
    std::optional<nap> step();

    enum class step_state {
        none,
        awaits_answers,
        // The server owes it nothing: it runs a callback, or cleans up after the dead, which may
        // take long.
        has_its_answers,
    };
    // Waits until no step is under way, or until the deadline.
    step_state await_step(local_clock::time_point deadline);
    void close() noexcept { connection_.reset(); }

private:
    struct news {
        std::vector<grant_list::lost_grant> gone;
        std::vector<std::shared_ptr<grant>> asked;  // to let go
    };

    // The longest time between two releases of a hold in doubt.
    static constexpr std::chrono::seconds settle_interval{1};

    leasehold::database::implementation& database() const { return state_.database(); }
    nap take_step();
    void note_step(step_state now);
    bool beat();  // true if it was renewed
    bool has_ended() const;
    session_news news_answered() const;
    void note_news(const session_news& answered);
    void note_answer(heartbeat_status status, local_clock::time_point sent);
    void note_failure(const std::exception& what);
    news what_is_new(store_set& stores, connection& on);
    void tell_late(event_reason why, std::string_view detail, local_clock::time_point sent)
        LEASEHOLD_EXCLUDES(state_.mutex);
    void tell_gap(local_clock::duration gap) LEASEHOLD_EXCLUDES(state_.mutex);
    void tell_news(const news& told) LEASEHOLD_EXCLUDES(state_.mutex);
    void settle_in_doubt();
    void look_for_cluster();
    void clean_up_after_the_dead();
    void look_for_what_came_back();
    // The holds that exist; nullopt if `until` has passed and some were not asked about.
    std::optional<std::vector<ended_hold>> those_that_came_back(
        connection& on, const std::vector<ended_hold>& what, local_clock::time_point until
    );
    void give_up_again(const std::vector<ended_hold>& back);
    connection& own_connection(std::chrono::milliseconds timeout);

    session_state& state_;
    const session_settings& settings_;
    const std::function<void()> say_goodbye_;
    step_state step_ LEASEHOLD_GUARDED_BY(state_.mutex) = step_state::none;

    // Only the thread that takes the steps uses these.
    session_news known_;                    // the news that was looked into
    local_clock::time_point renewed_at_{};  // the last renewing heartbeat was sent then
    std::unique_ptr<connection> connection_;
    bool has_had_one_ = false;           // it has had a connection before the present one
    bool must_look_from_start_ = false;  // the database may have forgotten something
    bool is_looking_ = false;
    local_clock::time_point next_look_{};
    local_clock::time_point next_reap_{};
    bool must_look_for_cluster_ = false;  // it may be another server
    bool is_in_cluster_ = false;          // this connection knows that several nodes are written to
    bool has_said_goodbye_ = false;
    local_clock::time_point next_settlement_{};  // once it is lost
};

}  // namespace leasehold
