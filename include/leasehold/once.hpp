#pragma once
// A task that many hosts call and one of them runs: once per fire time of its schedule.
//
//   const auto when = leasehold::schedule::cron("30 2 * * *", "Europe/Berlin");
//   leasehold::once nightly{session, "reports/nightly", when};
//   const auto ended = nightly.run([](leasehold::task_run& run) {
//       make_report(run.lease().token());
//   });
//   if (!ended) return;  // somebody else has run it, or is running it
//
// A program that decides by itself when the run is finished writes:
//
//   if (auto run = nightly.start()) {
//       make_report(run->lease().token());
//       if (run->finish() != leasehold::finish_outcome::recorded) warn();
//   }
//
// Each call asks for the *tick* that is current: the latest fire time by the database's clock.
//
// | the record of the task says …                  | start()                                   |
// |------------------------------------------------|-------------------------------------------|
// | nothing, or an older tick                      | runs                                      |
// | this tick or a later one, finished             | already_run, whatever the result was      |
// | this tick, and its holder is at work           | running                                   |
// | this tick, unfinished, and its holder is gone  | runs; already_run without repeat_abandoned |
// | a start less than hold_at_least ago            | closed                                    |
//
// If the key itself is held, by a run of another tick or by a mutex of this name, the answer is
// `running`. While a task runs its name is locked as a mutex is: list_locks() shows it, force can
// free it, and it has a token that grows with each run. When its process dies the key is free
// within the session's ttl (with fixed_term: when that has passed), and the tick can run again.
//
// A run that took longer than fixed_term has failed its tick: destroying it unfinished after that
// records it as failed, with a text that says so, and the tick does not run again. That needs a
// process that lives, a database that answers, and a tick that nobody has started again: heed
// lost().
//
// Promises: no tick that was finished runs again, however late or often it is called, also when
// clocks are set back; hosts' clocks decide nothing. If several call at once, one of them runs. A
// refused start writes nothing to the database. A run that was taken over cannot finish() in its
// successor's name.
// Does not promise: exactly one execution. A run that dies before finish() is repeated (at least
// once), or is not (at most once, with repeat_abandoned off). For effects in the same database
// there is finish_in(tx): they and the record are committed together, or neither is. Of ticks for
// which no host called in time, only the latest runs later.
//
// The record of a task is one row, kept until forget_run(): its name should not be a new one each
// time.
//
// Cost: refused, 1 statement; started, 3 (look, lock, record); finished, 2, with the
// session's end in the second by finish_and_end().
// Threads: distinct objects, safe; one once object, safe; one run, one thread at a time.
// Errors: invalid_argument for a bad key or setting; otherwise the database's errors.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "leasehold/export.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/lease.hpp"
#include "leasehold/run_info.hpp"
#include "leasehold/schedule.hpp"
#include "leasehold/session.hpp"

namespace leasehold {

// A task may start again, and is held, for the times that these settings say.
struct once_settings {
    // No other run starts within this time after one has started, whatever became of it. For tasks
    // that are shorter than the difference between the clocks of hosts, where ticks alone would not
    // do; 0 to 366 days.
    std::chrono::microseconds hold_at_least{0};
    // A fixed term instead of a life with the session, as in mutex_settings: the run is lost when
    // it has passed, and only then, also if its process has died. A limit, too: see above.
    std::optional<std::chrono::microseconds> fixed_term{};
    // A tick whose run never finished may be run again: at least once. Off: at most once.
    bool repeat_abandoned = true;
    // A call that comes at most this long before a fire time means that one, because the host's
    // clock may be ahead: start() waits for it. At most 1 h, and never more than half the time
    // between two ticks. A host whose clock is ahead by more asks for the tick before, which has
    // run.
    std::chrono::milliseconds max_early{60'000};
    // For people and programs that ask who holds the key while it runs, as in mutex_settings.
    std::string metadata{};
};

// A try to start a task is refused for one of these reasons.
enum class start_refusal {
    none = 0,         // nothing is in the way
    already_run = 1,  // the tick, or a later one, was started before
    running = 2,      // the key is held
    closed = 3,       // hold_at_least has not passed since the last start
};

// "none", "already_run", "running", "closed".
LEASEHOLD_EXPORT const char* name_of(start_refusal why) noexcept;

// The state of the task when it was looked at.
struct run_outlook {
    start_refusal refusal = start_refusal::none;
    schedule::instant tick{};              // the current one
    std::chrono::microseconds next_in{0};  // until the next one
    std::optional<run_info> last{};        // nullopt if the task was never run
    std::optional<lock_info> holder{};     // where refused when the key was asked for
};

// One run of a task. If it is destroyed without finish() it is abandoned; if it took longer than
// fixed_term it has failed.
class [[nodiscard]] LEASEHOLD_EXPORT task_run {
public:
    task_run(task_run&&) noexcept;
    task_run& operator=(task_run&&) noexcept;
    // Releases the lease; never throws. One statement more if a limit has to be recorded.
    ~task_run();

    // The fire time that the run is for.
    schedule::instant tick() const;
    // As those of the lease: heed lost(), and prove writes with verify_in(tx).
    std::stop_token lost() const&;
    std::stop_token lost() const&& = delete;
    bool held_locally() const&;
    bool held_locally() const&& = delete;
    local_clock::time_point deadline() const&;
    local_clock::time_point deadline() const&& = delete;
    void verify_in(transaction_ref tx) &;
    // The lease of the run, for all else.
    leasehold::lease& lease() &;

    // Records the result and gives the key back. Throws the database's error if it could not be
    // asked; the run then counts as unfinished, and this may be called again. A run that was
    // finished, or whose lease was given away, is spent (lease.hpp): not_held, nothing is recorded.
    finish_outcome finish(const run_result& result = {});
    // Finishes, and ends the session: with the release in one commit, as by end_with(), if that
    // can be. If it throws the session is as it was.
    finish_outcome finish_and_end(session& within, const run_result& result = {});
    // Takes part in the caller's transaction: proves the lease and records the result in it, or
    // throws lease_lost, and the caller rolls back. Commit before this run is destroyed.
    void finish_in(transaction_ref tx, const run_result& result = {});

    class implementation;  // private: src/runs/once.cpp
    // As finish(), and with the exception that is being handled: of a run that is not finished yet.
    finish_outcome finish_rest();
    void finish_failed() noexcept;

private:
    friend struct handle_maker;
    explicit task_run(std::unique_ptr<implementation> started) noexcept;

    handle<std::unique_ptr<implementation>, "task_run", refuse_spent> inner_;
};

// The outcome of a try to start: a run, or the reason why not.
class [[nodiscard]] LEASEHOLD_EXPORT run_start : public try_result<run_start, task_run> {
public:
    explicit run_start(task_run started) : try_result(std::move(started)) {}
    run_start(run_outlook refused, const key& wanted);

    // The reason, if refused.
    const run_outlook& outlook() const& noexcept;
    const run_outlook& outlook() const&& = delete;

    [[noreturn]] void refuse() const;

private:
    struct refusal;
    std::shared_ptr<const refusal> why_{};  // where refused
};

class LEASEHOLD_EXPORT once {
public:
    once(session& within, key name, schedule when, once_settings settings = {});
    once(once&&) noexcept;
    once& operator=(once&&) noexcept;
    ~once();

    // Starts the current tick, and does not wait.
    run_start try_start();
    // Waits first if the next tick is less than max_early away, holding no connection meanwhile.
    // A request to stop ends the wait, and the start is refused as things then stand. A request
    // made before the call does so at once, with an empty outlook, and nothing is asked.
    run_start start(std::stop_token cancel = {});
    // Starts as start() does, calls body(run), and finishes the run: as succeeded when `body` has
    // returned. If `body` throws, the run has failed with that text, and the exception comes out.
    // A body that returns later than fixed_term has succeeded, too, unless another run has started.
    // A run that the body has finished by itself stays as it was recorded. If the body returns
    // before the transaction of its finish_in() is committed, the run has failed; run() throws
    // wrong_transaction then. Empty: the start was refused; the function outlook() says why.
    // The body returns nothing, since nobody would look at its result.
    template <class Body>
    requires std::is_void_v<std::invoke_result_t<Body, task_run&>>
    [[nodiscard]] std::optional<finish_outcome> run(Body&& body, std::stop_token cancel = {}) {
        run_start started = start(std::move(cancel));
        if (!started) return std::nullopt;
        try {
            std::forward<Body>(body)(*started);
        } catch (...) {
            started->finish_failed();
            throw;
        }
        return started->finish_rest();
    }

    class implementation;  // private: src/runs/once.cpp

private:
    handle<std::shared_ptr<implementation>, "once"> inner_;
};

// Says whether start() would be refused, without a session: one read. `none` if it would wait.
LEASEHOLD_EXPORT run_outlook outlook(
    const database& db, const key& name, const schedule& when, const once_settings& settings = {}
);

// The last run under each name that begins with `prefix` (empty: all), in byte order of names.
LEASEHOLD_EXPORT std::vector<run_info> list_runs(const database& db, std::string_view prefix = {});

// Removes the record of a task, so that its current tick can be run again. False: there was none.
LEASEHOLD_EXPORT bool forget_run(const database& db, const key& name);

}  // namespace leasehold
