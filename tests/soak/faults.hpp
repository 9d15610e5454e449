#pragma once
// Faults for the processes of a run: workers are killed and replaced, paused and resumed,
// often just when they hold a key; the server is killed and started again, paused and resumed.
//
// Threads: one.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "soak/history.hpp"
#include "soak/signals.hpp"

namespace leasehold::soak {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A program started without waiting for it. Killed where it still runs when this goes.
class process {
public:
    explicit process(const std::vector<std::string>& command);
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();

    pid_t pid() const noexcept { return pid_; }
    // Its exit status once it has ended, 128 and the signal's number where one ended it.
    std::optional<int> status();
    void send(int signal) const;
    // SIGSTOP, returning when it has stopped or ended.
    void pause() const;

private:
    pid_t pid_ = 0;
    std::optional<int> status_;
};

struct fault_counts {
    int killed = 0;
    int killed_while_holding = 0;
    int killed_while_doing_jobs = 0;
    int paused = 0;
    int paused_while_working = 0;  // between reading and writing
    int paused_in_transaction = 0;
    int paused_while_doing_jobs = 0;
    int server_killed = 0;
    int server_paused = 0;
    int server_held_back = 0;
};

class crew {
public:
    struct settings {
        std::string program;
        std::string folder;
        std::string prefix;
        std::vector<std::string> urls;  // the workers take turns at them
        std::uint64_t seed = 0;
        int size = 0;
        milliseconds ttl{0};
    };

    crew(settings given, signal_page& page, history_writer& history);

    void start_all();
    // Resumes whose time has come. Throws where a worker ended that nobody had killed.
    void look_after();
    void kill_one(std::mt19937_64& random, fault_counts& counts);
    void pause_one(std::mt19937_64& random, fault_counts& counts);
    bool has_paused() const;
    // The workers have been told that it is over. Throws where one has not ended in time.
    void wait_for_all(milliseconds timeout);

private:
    struct member {
        int number = 0;  // of its process in the history
        std::optional<process> running;
        std::optional<clock::time_point> resume_at;
        std::int64_t fault_id = 0;
    };

    void start(int worker);
    void resume(member& whom);
    // A running worker that is there just now; any where none is found there in time.
    int find(std::mt19937_64& random, place wanted);
    std::int64_t record_fault(int number, const std::string& what);

    const settings given_;
    signal_page& page_;
    history_writer& history_;
    std::vector<member> members_;
    int last_number_ = 0;
};

// The server, by a control program that knows kill, start, pause and resume; of several, which are
// a cluster, one at a time by its number, and such a program knows hold and let-go as well.
class server_faults {
public:
    server_faults(
        std::string control, std::size_t nodes, std::uint64_t seed, history_writer& history
    );
    ~server_faults();
    server_faults(const server_faults&) = delete;
    server_faults& operator=(const server_faults&) = delete;

    bool is_up() const noexcept { return state_ == state::up; }
    void kill(milliseconds away_for) { begin("kill", "start", away_for); }
    void pause(milliseconds away_for) { begin("pause", "resume", away_for); }
    void hold_back(milliseconds away_for) { begin("hold", "let-go", away_for); }
    // Goes on with what was begun. Throws where the control program failed.
    void go_on();
    void bring_back();

private:
    enum class state { up, going, away, returning };

    void begin(const char* go, const char* come_back, milliseconds away_for);
    bool command_has_ended();
    std::vector<std::string> command(const std::string& verb) const;

    const std::string control_;
    const std::size_t nodes_;
    std::mt19937_64 random_;
    std::size_t node_ = 0;
    history_writer& history_;
    state state_ = state::up;
    std::optional<process> command_;
    std::string come_back_;
    milliseconds away_for_{0};
    clock::time_point return_at_;
    std::int64_t fault_id_ = 0;
};

void nap(milliseconds length);

}  // namespace leasehold::soak
