#include "soak/faults.hpp"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace leasehold::soak {
namespace {

int between(std::mt19937_64& random, int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
}

}  // namespace

void nap(milliseconds length) {
    std::mutex mutex;
    std::condition_variable nothing;
    std::unique_lock guard{mutex};
    nothing.wait_for(guard, length);
}

// --------------------------------------------------------------------------------- one process

process::process(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    const int failed =
        posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (failed) throw std::system_error(failed, std::generic_category(), command.at(0));
}

process::process(process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), status_(other.status_) {}

process& process::operator=(process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(status_, other.status_);
    return *this;
}

process::~process() {
    if (!pid_ || status_) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

std::optional<int> process::status() {
    int raw = 0;
    if (!status_ && waitpid(pid_, &raw, WNOHANG) == pid_) {
        status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
    }
    return status_;
}

void process::send(int signal) const {
    if (!status_) ::kill(pid_, signal);
}

void process::pause() const {
    send(SIGSTOP);
    siginfo_t what{};
    waitid(P_PID, static_cast<id_t>(pid_), &what, WSTOPPED | WEXITED | WNOWAIT);
}

// ----------------------------------------------------------------------------------- the crew

crew::crew(settings given, signal_page& page, history_writer& history)
    : given_(std::move(given)),
      page_(page),
      history_(history),
      members_(static_cast<std::size_t>(given_.size)) {}

void crew::start_all() {
    for (int worker = 0; worker < given_.size; ++worker) start(worker);
}

void crew::start(int worker) {
    member& whom = members_.at(static_cast<std::size_t>(worker));
    whom = {};
    whom.number = ++last_number_;
    const auto node = static_cast<std::size_t>(worker) % given_.urls.size();
    setenv("LEASEHOLD_SOAK_URL", given_.urls.at(node).c_str(), 1);
    page_.place_of(worker) = place::elsewhere;
    page_.jobs_of(worker) = 0;
    const auto seed = given_.seed * 1'000'003 + static_cast<std::uint64_t>(whom.number);
    whom.running.emplace(std::vector<std::string>{
        given_.program,
        std::to_string(worker),
        std::to_string(whom.number),
        std::to_string(seed),
        given_.folder,
        given_.prefix});
}

void crew::look_after() {
    for (member& each : members_) {
        if (each.resume_at && clock::now() >= *each.resume_at) resume(each);
        if (const auto status = each.running->status()) {
            throw std::runtime_error(
                "worker process " + std::to_string(each.number) + " ended by itself, status " +
                std::to_string(*status)
            );
        }
    }
}

void crew::resume(member& whom) {
    record what;
    what.id = whom.fault_id;
    what.what = operation::fault;
    what.when = phase::ok;
    history_.write(what);
    whom.resume_at.reset();
    whom.running->send(SIGCONT);
}

bool crew::has_paused() const {
    return std::any_of(members_.begin(), members_.end(), [](const member& each) {
        return each.resume_at.has_value();
    });
}

int crew::find(std::mt19937_64& random, place wanted) {
    std::vector<int> order(members_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::erase_if(order, [&](int each) {
        return members_.at(static_cast<std::size_t>(each)).resume_at.has_value();
    });
    if (order.empty()) return -1;
    const auto deadline = clock::now() + milliseconds{300};
    while (wanted != place::elsewhere && clock::now() < deadline) {
        for (const int each : order) {
            if (page_.is_at(each, wanted)) return each;
        }
        nap(milliseconds{1});
    }
    return order.front();
}

std::int64_t crew::record_fault(int number, const std::string& what) {
    record made;
    made.id = history_.next_id();
    made.what = operation::fault;
    made.when = phase::invoke;
    made.number = number;
    made.detail = what;
    history_.write(made);
    return made.id;
}

void crew::kill_one(std::mt19937_64& random, fault_counts& counts) {
    constexpr place aims[] = {
        place::working, place::in_transaction, place::holding, place::doing_jobs, place::elsewhere};
    const int worker = find(random, aims[between(random, 0, std::ssize(aims) - 1)]);
    if (worker < 0) return;
    member& whom = members_.at(static_cast<std::size_t>(worker));
    whom.running->send(SIGKILL);
    while (!whom.running->status()) nap(milliseconds{1});
    ++counts.killed;
    counts.killed_while_holding += page_.place_of(worker) != place::elsewhere;
    counts.killed_while_doing_jobs += page_.is_at(worker, place::doing_jobs);
    record_fault(whom.number, "kill");
    start(worker);
}

void crew::pause_one(std::mt19937_64& random, fault_counts& counts) {
    const auto paused = std::count_if(members_.begin(), members_.end(), [](const member& each) {
        return each.resume_at.has_value();
    });
    // Enough must be left to take over, and over again.
    if (static_cast<std::size_t>(paused) >= members_.size() / 2) return;
    // The first ones surely hit a holder between reading and writing, and for so long that somebody
    // else has written before it does: see check C4.
    constexpr int sure_hits = 3;
    const bool is_sure = counts.paused_while_working < sure_hits;
    const int dice = is_sure ? 1 : between(random, 1, 13);
    const place aim = dice <= 4    ? place::working
                      : dice <= 7  ? place::holding
                      : dice <= 10 ? place::doing_jobs
                      : dice <= 12 ? place::elsewhere
                                   : place::in_transaction;
    const int ttl = static_cast<int>(given_.ttl.count());
    const milliseconds length{is_sure ? ttl * 3 : between(random, ttl * 3 / 2, ttl * 3)};
    const int worker = find(random, aim);
    member& whom = members_.at(static_cast<std::size_t>(worker));
    whom.running->pause();
    const place where = page_.place_of(worker);
    ++counts.paused;
    counts.paused_while_working += where == place::working;
    counts.paused_in_transaction += where == place::in_transaction;
    counts.paused_while_doing_jobs += page_.is_at(worker, place::doing_jobs);
    whom.fault_id =
        record_fault(whom.number, "pause for " + std::to_string(length.count()) + " ms");
    whom.resume_at = clock::now() + length;
}

void crew::wait_for_all(milliseconds timeout) {
    const auto deadline = clock::now() + timeout;
    for (member& each : members_) {
        while (!each.running->status() && clock::now() < deadline) nap(milliseconds{2});
        const auto status = each.running->status();
        if (status && *status == 0) continue;
        throw std::runtime_error(
            "worker process " + std::to_string(each.number) +
            (status ? " ended with status " + std::to_string(*status)
                    : " has not ended " + std::to_string(timeout.count()) +
                          " ms after it was told to: it hangs")
        );
    }
}

// --------------------------------------------------------------------------------- the server

server_faults::server_faults(
    std::string control, std::size_t nodes, std::uint64_t seed, history_writer& history
)
    : control_(std::move(control)), nodes_(nodes), random_(seed), history_(history) {}

std::vector<std::string> server_faults::command(const std::string& verb) const {
    if (nodes_ == 1) return {control_, verb};
    return {control_, std::to_string(node_ + 1), verb};
}

// The next run finds the server running, whatever ended this one.
server_faults::~server_faults() {
    try {
        bring_back();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
    }
}

void server_faults::begin(const char* go, const char* come_back, milliseconds away_for) {
    node_ = static_cast<std::size_t>(between(random_, 0, static_cast<int>(nodes_) - 1));
    record made;
    fault_id_ = made.id = history_.next_id();
    made.what = operation::fault;
    made.when = phase::invoke;
    made.detail = std::string("server ") + go;
    history_.write(made);
    command_.emplace(command(go));
    come_back_ = come_back;
    away_for_ = away_for;
    state_ = state::going;
}

bool server_faults::command_has_ended() {
    const auto status = command_->status();
    if (!status) return false;
    if (*status == 0) return true;
    const bool was_going = state_ == state::going;
    state_ = state::up;  // nothing more can be done here
    constexpr int in_vain = 75;
    if (*status == in_vain && was_going) return false;
    throw std::runtime_error(
        control_ + " failed with status " + std::to_string(*status) + "; see what it said above"
    );
}

void server_faults::go_on() {
    if (state_ == state::going && command_has_ended()) {
        return_at_ = clock::now() + away_for_;
        state_ = state::away;
    }
    if (state_ == state::away && clock::now() >= return_at_) {
        command_.emplace(command(come_back_));
        state_ = state::returning;
    }
    if (state_ == state::returning && command_has_ended()) {
        record made;
        made.id = fault_id_;
        made.what = operation::fault;
        made.when = phase::ok;
        history_.write(made);
        state_ = state::up;
    }
}

void server_faults::bring_back() {
    while (!is_up()) {
        go_on();
        nap(milliseconds{5});
    }
}

}  // namespace leasehold::soak
