#pragma once
// A command that runs while a key is held: the common part of `lock` and `elect`.
//
//   candidate wanting{db, what, signals};  // candidate.hpp
//   acquired answer = wanting.wait();
//   if (answer.held->got) run_under(what, command, …);
//
// Threads: the main thread only; calls to the database run in the background, so that signals are
// heard meanwhile.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/run/events.hpp"
#include "cli/run/program.hpp"
#include "leasehold/lock_kind.hpp"
#include "leasehold/mutex.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace leasehold::cli {

struct arguments;
struct global_options;

// The tool's exit statuses where CMD has not decided them: CMD may have these numbers for something
// else.
struct own_statuses {
    int busy = exit_status::not_acquired;
    int lost = exit_status::lease_lost;
};

// The request, and how long it may take.
struct errand {
    leasehold::key name;
    std::optional<std::chrono::milliseconds> timeout;  // nullopt: for ever
    session_settings timing;
    bool is_json = false;
    std::chrono::milliseconds lock_delay{0};
    // The kind of lock that is asked for: a mutex, unless one of these says otherwise.
    std::optional<hold_mode> mode{};  // for a shared mutex
    std::int64_t permits = 0;         // for a semaphore
    std::int64_t permits_there_are = 0;
    own_statuses statuses{};
    bool waits_for_all = false;  // for the end of all that the command has started
    std::string note{};          // for people who ask who has the key
    bool is_quiet = false;       // says nothing about the holder and about waiting
    // Without a terminal the tool says nothing about waiting before this time.
    std::chrono::milliseconds silent_for{60'000};
    bool waits_at_start = false;  // for a database that has not answered yet, without an end
};

// Throws if there is no command behind `--`; `words` are those of the tool that come before it.
void require_command(const arguments& given, const std::string& words);
// The command, with what it gets of the tool's own; called before the tool opens anything.
program command_of(const arguments& given, const global_options& options);

// The options that `lock`, `elect` and `once` share.
struct errand_options {
    std::string ttl = "30s";
    own_statuses statuses{};
    std::string note;
    bool is_quiet = false;
    bool waits_for_all = false;

    void apply_to(errand& what) const;  // all but the ttl, which is to be parsed
};

// The command's environment, and which of its processes outlive the lease: for --help.
extern const char* const environment_help;
extern const char* const unstoppable_help;

void add_until_all_exit(CLI::App& parser, bool& chosen);
CLI::Option* add_note(CLI::App& parser, std::string& chosen);
// --lost-status, and where a key can be busy --busy-status.
void add_lost_status(CLI::App& parser, own_statuses& chosen);
void add_busy_status(CLI::App& parser, own_statuses& chosen);

// The meaning of an error of the library to this errand.
failure with_own_status(const errand& what, failure meant);

// The lease and its session, which comes first: it outlives the lease. `failed`: why there is
// neither a lease nor a holder. It is kept here and not thrown, so that the tool reports it before
// the session ends, which takes long if the database is away.
struct holding {
    session within;
    acquisition got;
    std::exception_ptr failed{};
};

// Warns if the system makes no process a subreaper, which some container's filter may refuse.
void warn_where_orphans_escape(bool is_json);

inline constexpr std::size_t first_source = 0;  // among the sources waited for

// Short enough that one heartbeat may get no answer.
std::chrono::milliseconds statement_timeout_for(const session_settings& timing);

[[noreturn]] void end_at_once(int signal_number);

// Runs in the background. Starts the session first and calls `on_session`: the lease lives with the
// session. Throws the database's error if there is no session.
holding acquire(
    const database& db,
    const errand& what,
    const std::function<void()>& on_session,
    const std::stop_token& cancel
);

// The failure of a lease that was lost, with its consequence.
failure lost(const errand& what, const lease& held, const std::string& consequence);

// The end of a command that ran under a lease.
struct ending {
    std::optional<int> status;  // nullopt: stopped, because the lease was lost
    int asked_by = 0;           // the last signal passed on to it that asks to end; 0: none
    bool was_revoked = false;   // somebody asked for the key, and the command was told
};

// `timing` is that of the lease's session. `more` are variables beside those of every command.
ending run_under(
    const errand& what,
    const program& command,
    const session_settings& timing,
    const lease& held,
    signal_inbox& signals,
    const std::vector<std::pair<std::string, std::string>>& more = {},
    std::vector<std::pair<int, int>> streams = {}
);

// The command has ended by itself: ends the session with its lease. Only the database can tell
// whether the command had the key to itself until then. Answers with the tool's status: `status` if
// it had.
int release(const errand& what, holding& with, int status, signal_inbox& signals);

// The time that a goodbye to the database may take when the tool is to end.
inline constexpr std::chrono::seconds max_goodbye{2};

// Waits for the end of the background call, and calls `look_up` when one of the other sources can
// be read, or after the time that its last call has named. Answers with the signal that cancelled
// it, or 0. The first signal leaves nothing behind in the database, if that takes no longer than
// `time_left` says for that signal; the second is for users who cannot wait.
template <class Result, class TimeLeft, class LookUp>
int wait_for_end(
    background<Result>& running,
    signal_inbox& signals,
    TimeLeft time_left,
    int other,
    int another,
    LookUp look_up
) {
    int cancelled_by = 0;
    auto until = local_clock::time_point::max();
    while (true) {
        std::chrono::nanoseconds pause = look_up();
        if (cancelled_by != 0)
            pause = std::min<std::chrono::nanoseconds>(pause, until - local_clock::now());
        pause = std::max(pause, std::chrono::nanoseconds{0});
        const auto ready = wait_for({running.source(), signals.source(), other, another}, pause);
        if (ready == first_source) return cancelled_by;
        while (const auto next = signals.take_wish()) {
            if (cancelled_by != 0) end_at_once(*next);
            cancelled_by = *next;
            until = local_clock::now() + time_left(*next);
            running.cancel();
        }
        if (cancelled_by != 0 && local_clock::now() >= until) end_at_once(cancelled_by);
    }
}

// The answer of `ask` about a refusal, in the background, since it takes long if the database has
// failed since. With the first signal the failure has the signal's status, and comes soon or not at
// all.
failure explain(signal_inbox& signals, const std::function<failure()>& ask);

// Runs a call to the database after the command has ended. Hears only a second signal, since the
// first may be the one that ended the command. When the time has passed `give_up` says with which
// status the tool ends at once, leaving the rest to the ttl.
template <class Work, class GiveUp>
auto finish(signal_inbox& signals, std::chrono::milliseconds timeout, Work work, GiveUp give_up) {
    const auto until = local_clock::now() + timeout;
    background<decltype(work(std::stop_token{}))> ending{std::move(work)};
    int heard = 0;
    while (true) {
        const auto left = std::max(until - local_clock::now(), local_clock::duration{0});
        if (wait_for({ending.source(), signals.source()}, left) == first_source) {
            return ending.take();
        }
        while (const auto next = signals.take_wish()) {
            if (heard++ > 0) end_at_once(*next);
        }
        if (local_clock::now() >= until) _exit(give_up());
    }
}

}  // namespace leasehold::cli
