#include "cli/run/metrics_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/output.hpp"
#include "leasehold/clock.hpp"

namespace leasehold::cli {
namespace {

// Adds a label to each sample.
std::string labelled(std::string_view page, const std::string& label) {
    std::string text;
    while (!page.empty()) {
        const std::string_view line = page.substr(0, page.find('\n') + 1);
        page.remove_prefix(line.size());
        const auto end_of_name = line.find_first_of("{ ");
        if (line.front() == '#') {
            text += line;
        } else if (line[end_of_name] == '{') {
            text += std::string{line.substr(0, end_of_name)} + '{' + label + ',';
            text += line.substr(end_of_name + 1);
        } else {
            text += std::string{line.substr(0, end_of_name)} + '{' + label + '}';
            text += line.substr(end_of_name);
        }
    }
    return text;
}

// worker="mail" for /a/mail.prom
std::string label_for(const std::string& path) {
    std::string name = std::filesystem::path{path}.stem().string();
    const auto is_plain = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
               (each >= '0' && each <= '9') ||
               std::string_view{"_.@-"}.find(each) != std::string::npos;
    };
    for (char& each : name) {
        if (!is_plain(each)) each = '_';
    }
    return "worker=\"" + name + '"';
}

bool write_whole(int to, std::string_view text) {
    while (!text.empty()) {
        const auto count = ::write(to, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

// Returns why the file could not be written; empty if it was.
std::string replace_file(const std::string& path, std::string_view text) {
    constexpr mode_t read_by_all = 0644;
    struct stat found {};
    if (lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return "it is no regular file";
    std::string beside = path + ".XXXXXX";
    const int to = mkostemp(beside.data(), O_CLOEXEC);
    if (to < 0) return std::generic_category().message(errno);
    int reason = 0;
    const auto note = [&](bool is_done) {
        if (!is_done && reason == 0) reason = errno;
    };
    note(write_whole(to, text) && fchmod(to, read_by_all) == 0);
    note(close(to) == 0);
    if (reason == 0) note(std::rename(beside.c_str(), path.c_str()) == 0);
    if (reason == 0) return {};
    unlink(beside.c_str());
    return std::generic_category().message(reason);
}

}  // namespace

class metrics_file::writer {
public:
    writer(std::string path, std::shared_ptr<const metrics> counts, bool is_json)
        : path_(std::move(path)),
          label_(label_for(path_)),
          counts_(std::move(counts)),
          is_json_(is_json) {}

    void run() {
        std::unique_lock guard{mutex_};
        for (bool is_last = false; !is_last;) {
            is_last = is_over_;
            guard.unlock();
            const std::string problem = write();
            guard.lock();
            // The thread keeps the mutex meanwhile, so that end() returns only when it no longer
            // writes on standard error.
            if (!problem.empty() && !is_abandoned_) complain(problem);
            if (!is_last) news_.wait_for(guard, pause, [&] { return is_over_; });
        }
        has_ended_ = true;
        news_.notify_all();
    }

    // False if the thread has not ended in time; it then says nothing any more.
    bool end() {
        std::unique_lock guard{mutex_};
        is_over_ = true;
        news_.notify_all();
        if (news_.wait_for(guard, timeout, [&] { return has_ended_; })) return true;
        is_abandoned_ = true;
        complained_at_.reset();
        complain("it takes longer than a second");
        return false;
    }

private:
    static constexpr std::chrono::seconds pause{10}, timeout{1};
    static constexpr std::chrono::minutes between_complaints{1};

    std::string write() const {
        try {
            return replace_file(path_, labelled(counts_->text(), label_));
        } catch (const std::exception& failed) {
            return failed.what();  // no memory
        }
    }
    void complain(const std::string& problem) {
        const auto now = local_clock::now();
        if (complained_at_ && now - *complained_at_ < between_complaints) return;
        complained_at_ = now;
        report(
            is_json_,
            "metrics_not_written",
            "warning: the metrics could not be written to " + path_ + ": " + problem +
                "; work goes on: put it right, or name another file with --metrics-file"
        );
    }

    const std::string path_, label_;
    const std::shared_ptr<const metrics> counts_;
    const bool is_json_;
    std::mutex mutex_;
    std::condition_variable news_;
    bool is_over_ = false, has_ended_ = false, is_abandoned_ = false;
    std::optional<local_clock::time_point> complained_at_;
};

metrics_file::metrics_file(std::string path, std::shared_ptr<const metrics> counts, bool is_json)
    : writer_(std::make_shared<writer>(std::move(path), std::move(counts), is_json)),
      thread_([writing = writer_] { writing->run(); }) {}

metrics_file::~metrics_file() {
    if (writer_->end()) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

}  // namespace leasehold::cli
