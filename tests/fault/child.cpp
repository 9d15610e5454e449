#include "fault/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "support/eventually.hpp"

namespace leasehold::testing {

child::child(const std::vector<std::string>& command) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe for a child process");
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    const int failed =
        ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (failed != 0) throw std::runtime_error("cannot run " + command[0]);
}

child::~child() {
    kill();
    ::close(to_);
    ::close(from_);
}

std::optional<std::string> child::line(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        if (const auto end = heard_.find('\n'); end != std::string::npos) {
            std::string found = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            return found;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now()
        );
        pollfd watched{from_, POLLIN, 0};
        const auto left_ms = static_cast<int>(left.count());
        if (left_ms <= 0 || ::poll(&watched, 1, left_ms) <= 0) return {};
        std::array<char, 4096> bytes{};
        const auto count = ::read(from_, bytes.data(), bytes.size());
        if (count <= 0) return {};
        heard_.append(bytes.data(), static_cast<std::size_t>(count));
    }
}

void child::say(const std::string& line) const {
    const std::string bytes = line + '\n';
    if (::write(to_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
        throw std::runtime_error("a child process does not listen");
    }
}

void child::stop() {
    ::kill(process_, SIGSTOP);
    ::waitpid(process_, nullptr, WUNTRACED);
}
void child::go_on() const {
    ::kill(process_, SIGCONT);
}
void child::kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
}

int child::ended(std::chrono::milliseconds timeout) {
    int status = -1;
    const auto is_over = [&] { return ::waitpid(process_, &status, WNOHANG) == process_; };
    if (!eventually(is_over, timeout)) return -1;
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string beside_this_program(const std::string& name) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace leasehold::testing
