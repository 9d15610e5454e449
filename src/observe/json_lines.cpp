#include "leasehold/json_lines.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

#include "core/json_text.hpp"
#include "core/line_sink.hpp"
#include "core/seconds_text.hpp"
#include "core/thread_mutex.hpp"

namespace leasehold {
namespace {

// "2026-11-02T09:15:01.123456Z"
std::string stamp_of(std::chrono::system_clock::time_point when) {
    using std::chrono::duration_cast;
    const auto since = when.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    const auto rest = duration_cast<std::chrono::microseconds>(since - seconds);
    const auto whole = static_cast<std::time_t>(seconds.count());
    std::tm parts{};
    gmtime_r(&whole, &parts);
    char text[40];
    const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    const std::string fraction = std::to_string(1'000'000 + rest.count());
    return std::string{text, size} + '.' + fraction.substr(1) + 'Z';
}

}  // namespace

std::string json_of(const event& what, std::chrono::system_clock::time_point when) {
    std::string text = "{\"time\":" + json_string(stamp_of(when));
    const auto add = [&](const char* name, const std::string& value) {
        text += std::string{",\""} + name + "\":" + value;
    };
    add("level", json_string(name_of(level_of(what))));
    add("event", json_string(name_of(what.kind)));
    if (!what.key.empty()) add("key", json_string(what.key));
    if (!what.queue.empty()) add("queue", json_string(what.queue));
    if (!what.job_kind.empty()) add("kind", json_string(what.job_kind));
    if (what.attempt != 0) add("attempt", std::to_string(what.attempt));
    if (what.number != 0) add("number", std::to_string(what.number));
    if (what.reason != event_reason::none) add("reason", json_string(name_of(what.reason)));
    if (what.took) add("seconds", seconds_text(*what.took));
    if (what.waited) add("waited_seconds", seconds_text(*what.waited));
    if (!what.detail.empty()) add("detail", json_string(what.detail));
    return text + '}';
}

class json_lines::implementation {
public:
    explicit implementation(std::unique_ptr<line_sink> to) : to_(std::move(to)) {}

    void add(std::string line) {
        {
            const thread_guard guard{mutex_};
            if (held_back_.size() + under_way_ + line.size() > max_held_back) {
                ++dropped_;
            } else {
                held_back_ += line;
            }
        }
        write_all();
    }

    // A thread that finds another one writing leaves its lines to that one.
    void write_all() {
        std::string lines;
        while (take(lines)) {
            std::size_t taken = 0;
            try {
                taken = to_->write(lines);
            } catch (...) {
                taken = 0;  // the stream throws its failures
            }
            if (!put_back(lines, taken)) return;
        }
    }

    void note_dropped() noexcept { ++dropped_; }
    std::uint64_t dropped() const noexcept { return dropped_; }

private:
    bool take(std::string& lines) {
        const thread_guard guard{mutex_};
        if (is_writing_ || held_back_.empty()) return false;
        is_writing_ = true;
        lines.clear();
        lines.swap(held_back_);
        under_way_ = lines.size();
        return true;
    }

    // False if the sink takes no more at present.
    bool put_back(const std::string& lines, std::size_t taken) {
        const thread_guard guard{mutex_};
        is_writing_ = false;
        under_way_ = 0;
        if (taken == lines.size()) return true;
        if (to_->keeps()) {
            held_back_.insert(0, lines, taken);
        } else {
            const auto ends = std::count(lines.begin(), lines.end(), '\n');
            dropped_ += static_cast<std::uint64_t>(ends);
        }
        return false;
    }

    const std::unique_ptr<line_sink> to_;
    std::atomic<std::uint64_t> dropped_ = 0;
    thread_mutex mutex_;
    bool is_writing_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    std::size_t under_way_ LEASEHOLD_GUARDED_BY(mutex_) = 0;  // bytes that are being written
    std::string held_back_ LEASEHOLD_GUARDED_BY(mutex_);
};

json_lines::json_lines(std::ostream& to)
    : inner_(std::make_unique<implementation>(to_stream(to))) {}
json_lines::json_lines(int descriptor)
    : inner_(std::make_unique<implementation>(to_descriptor(descriptor))) {}
json_lines::~json_lines() {
    flush();
}

void json_lines::on_event(const event& what) noexcept {
    try {
        // The time is for people: no wait depends on it.
        inner_->add(json_of(what, std::chrono::system_clock::now()) + '\n');
    } catch (...) {
        inner_->note_dropped();
    }
}

void json_lines::flush() noexcept {
    try {
        inner_->write_all();
    } catch (...) {
        return;  // no memory: the next event tries again
    }
}

std::uint64_t json_lines::dropped() const noexcept {
    return inner_->dropped();
}

}  // namespace leasehold
