#pragma once
// A child process that is spoken to in lines. Killed when destroyed.
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::testing {

class child {
public:
    explicit child(const std::vector<std::string>& command);
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    // The next line; nothing at the end, or when it does not come in time.
    std::optional<std::string> line(std::chrono::milliseconds timeout = std::chrono::seconds{30});
    void say(const std::string& line) const;

    void stop();  // SIGSTOP; returns when it stands still
    void go_on() const;
    void kill();  // SIGKILL; returns when it is gone
    // Its exit status once it has ended; -1 where a signal ended it, or where it does not end.
    int ended(std::chrono::milliseconds timeout = std::chrono::seconds{30});

private:
    pid_t process_ = -1;
    int to_ = -1;
    int from_ = -1;
    std::string heard_;
};

// A program that was built beside this one.
std::string beside_this_program(const std::string& name);

}  // namespace leasehold::testing
