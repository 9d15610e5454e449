#include "bench/table/tool_side.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace leasehold::bench {
namespace {

class run_worker final : public worker {
public:
    run_worker(std::vector<std::string> arguments, std::vector<std::string> settings)
        : arguments_(std::move(arguments)), settings_(std::move(settings)) {}

    sample operate(const std::stop_token&) override {
        auto arguments = pointers_to(arguments_);
        auto settings = pointers_to(settings_);
        pid_t process = 0;
        const int failed = posix_spawnp(
            &process, arguments[0], nullptr, nullptr, arguments.data(), settings.data()
        );
        int status = 1;
        if (failed == 0) waitpid(process, &status, 0);
        if (status != 0) throw std::runtime_error(arguments_[0] + " failed");
        return {};
    }

private:
    static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
        std::vector<char*> made;
        for (std::string& each : texts) made.push_back(each.data());
        made.push_back(nullptr);
        return made;
    }

    std::vector<std::string> arguments_;
    std::vector<std::string> settings_;
};

class runs final : public side {
public:
    runs(std::vector<std::string> arguments, std::vector<std::string> settings)
        : arguments_(std::move(arguments)), settings_(std::move(settings)) {
        for (char** each = environ; *each; ++each) settings_.emplace_back(*each);
    }
    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<run_worker>(arguments_, settings_);
    }

private:
    const std::vector<std::string> arguments_;
    std::vector<std::string> settings_;
};

}  // namespace

std::unique_ptr<side> make_tool_side(const place& where) {
    return std::make_unique<runs>(
        std::vector<std::string>{LEASEHOLD_BENCH_TOOL, "lock", "tool", "--", "true"},
        std::vector<std::string>{
            "LEASEHOLD_URL=" + where.url, "LEASEHOLD_TABLE_PREFIX=" + where.names.prefix}
    );
}

std::unique_ptr<side> make_flock_side(const std::string& file) {
    return std::make_unique<runs>(
        std::vector<std::string>{"flock", file, "true"}, std::vector<std::string>{}
    );
}

}  // namespace leasehold::bench
