#include "bench/table/process_crew.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

extern char** environ;

namespace leasehold::bench {
namespace {

using nlohmann::json;

json json_of(const std::string& by, const workload& what, const place& where, int index) {
    return {
        {"by", by},
        {"what", what.what},
        {"workers", what.workers},
        {"batch", what.batch},
        {"held", what.held},
        {"url", where.url},
        {"prefix", where.names.prefix},
        {"schema", where.names.schema},
        {"connections_max", where.max_connections},
        {"board", where.board},
        {"index", index},
    };
}

std::string line_of(const tally& done) {
    std::ostringstream line;
    line << done.operations << ' ' << done.items << ' ' << done.span.count() << ' '
         << done.client_cpu.count() << ' ' << done.bytes_written << ' ' << done.whole.packed()
         << ' ' << done.first.packed();
    return line.str();
}

tally tally_in(const std::string& text) {
    std::istringstream line{text};
    tally made;
    std::int64_t span = 0;
    std::int64_t cpu = 0;
    std::string whole;
    std::string first;
    line >> made.operations >> made.items >> span >> cpu >> made.bytes_written >> whole >> first;
    if (!line) throw std::runtime_error("a worker says: " + text);
    made.span = std::chrono::nanoseconds{span};
    made.client_cpu = std::chrono::nanoseconds{cpu};
    made.whole = histogram::unpacked(whole);
    made.first = histogram::unpacked(first);
    return made;
}

[[noreturn]] void fail(const char* what, int number) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(number));
}

}  // namespace

class process_crew::process {
public:
    explicit process(const std::string& description) {
        int to[2] = {};
        int from[2] = {};
        if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) fail("pipe2", errno);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, to[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, from[1], STDOUT_FILENO);
        std::string program = "bench";
        std::string as = "--worker";
        char* const arguments[] = {program.data(), as.data(), nullptr};
        const int status =
            posix_spawn(&pid_, "/proc/self/exe", &files, nullptr, arguments, environ);
        posix_spawn_file_actions_destroy(&files);
        close(to[0]);
        close(from[1]);
        to_ = fdopen(to[1], "w");
        from_ = fdopen(from[0], "r");
        if (status != 0) fail("posix_spawn", status);
        say(description);
    }
    // It ends when it is told nothing more.
    ~process() {
        if (to_) fclose(to_);
        if (from_) fclose(from_);
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    void say(const std::string& line) {
        std::fprintf(to_, "%s\n", line.c_str());
        std::fflush(to_);
    }
    std::string hear() {
        char* text = nullptr;
        std::size_t room = 0;
        const auto length = getline(&text, &room, from_);
        std::string line{text ? text : "", length > 0 ? static_cast<std::size_t>(length) - 1 : 0};
        std::free(text);
        if (length <= 0) throw std::runtime_error("a worker has died");
        if (line.starts_with("failed")) throw std::runtime_error("a worker " + line);
        return line;
    }

private:
    pid_t pid_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

process_crew::process_crew(
    std::unique_ptr<side> of, const std::string& by, const workload& what, const place& where
)
    : side_(std::move(of)) {
    for (int each = 0; each < what.workers; ++each) {
        processes_.push_back(std::make_unique<process>(json_of(by, what, where, each).dump()));
    }
    for (auto& each : processes_) each->hear();
}

process_crew::~process_crew() = default;

tally process_crew::run(const round_time& when, const round_marks& marks, const std::stop_token&) {
    const std::string order = std::to_string(when.start.time_since_epoch().count()) + " " +
                              std::to_string(when.length.count()) + " " +
                              std::to_string(when.lead.count());
    for (auto& each : processes_) each->say(order);
    std::this_thread::sleep_until(when.start);
    if (marks.at_start) marks.at_start();
    std::this_thread::sleep_until(when.start + when.length);
    if (marks.at_end) marks.at_end();
    tally all;
    for (auto& each : processes_) all.add(tally_in(each->hear()));
    return all;
}

int work_as_told(const side_maker& make) try {
    std::string line;
    std::getline(std::cin, line);
    const json told = json::parse(line);
    workload what{told.at("what"), told.at("workers"), true, told.at("batch"), told.at("held")};
    place where{told.at("url")};
    where.names = {told.at("prefix"), told.at("schema")};
    where.max_connections = told.at("connections_max");
    where.board = told.at("board");
    thread_crew one{make(told.at("by"), what, where), 1, told.at("index")};
    std::cout << "ready" << std::endl;
    std::int64_t start = 0;
    std::int64_t length = 0;
    std::int64_t lead = 0;
    while (std::cin >> start >> length >> lead) {
        const round_time when{
            clock::time_point{clock::duration{start}},
            std::chrono::nanoseconds{length},
            std::chrono::nanoseconds{lead},
            false};
        const tally done = one.run(when, {}, {});
        std::cout << line_of(done) << std::endl;
    }
    return 0;
} catch (const std::exception& failed) {
    std::cout << "failed: " << failed.what() << std::endl;
    return 1;
}

}  // namespace leasehold::bench
