#pragma once
// Stops and starts a test server by the CONTROL program of tests/support/servers.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "leasehold/lockable.hpp"

namespace leasehold::testing {

// Starts the stopped servers again, whatever happens in between.
class server_control {
public:
    explicit server_control(const std::string& backend) {
        std::string name = "LEASEHOLD_TEST_";
        for (const char each : backend) name += static_cast<char>(each - 'a' + 'A');
        const char* const found = std::getenv((name + "_CONTROL").c_str());
        if (!found) throw std::runtime_error(name + "_CONTROL is not set: run by tests/run");
        program_ = found;
    }
    server_control(const server_control&) = delete;
    server_control& operator=(const server_control&) = delete;
    ~server_control() {
        if (is_paused_) resume();
        if (is_killed_) start();
    }

    void pause() {
        run("pause");
        is_paused_ = true;
    }
    void resume() {
        run("resume");
        is_paused_ = false;
    }
    void kill() {
        run("kill");
        is_killed_ = true;
    }
    void stop() {
        run("stop");
        is_killed_ = true;
    }
    void start() {
        run("start");
        is_killed_ = false;
    }
    // Keeps the data of a stopped server, and puts them back.
    void keep() { run("keep"); }
    void put_back() { run("put-back"); }

private:
    void run(const char* verb) const {
        std::string program = program_, argument = verb;
        char* const arguments[] = {program.data(), argument.data(), nullptr};
        pid_t process = 0;
        int status = -1;
        if (::posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environ) == 0) {
            ::waitpid(process, &status, 0);
        }
        EXPECT_EQ(status, 0) << program_ << ' ' << verb;
    }

    std::string program_;
    bool is_paused_ = false;
    bool is_killed_ = false;
};

}  // namespace leasehold::testing
