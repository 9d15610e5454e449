#include "jobs/failed_attempts.hpp"

#include "core/utf8.hpp"

namespace leasehold {

failed_attempts::kind& failed_attempts::kind_of(std::string_view name) {
    const auto found = kinds_.find(name);
    if (found != kinds_.end()) return found->second;
    const bool has_room = kinds_.size() < max_kinds;
    return kinds_[has_room ? std::string{name} : std::string{"other"}];
}

// False if the sink took nothing of the line.
bool failed_attempts::write(const std::string& line) {
    rest_.erase(0, to_->write(rest_));
    if (!rest_.empty()) return false;
    const std::size_t taken = to_->write(line);
    if (taken > 0) rest_ = line.substr(taken);
    return taken > 0;
}

void failed_attempts::on_event(const event& what) noexcept {
    const bool is_attempt =
        what.kind == event_kind::job_ended || what.kind == event_kind::job_timed_out;
    if (!is_attempt || level_of(what) < event_level::warning) return;
    try {
        const thread_guard guard{mutex_};
        kind& one = kind_of(what.job_kind);
        const auto now = local_clock::now();
        const bool is_due = now >= one.next;
        std::string line = "leasehold: " + text_of(what);
        if (one.left_out > 0) line += " (left out before: " + std::to_string(one.left_out) + ")";
        if (is_due) one.next = now + pause;
        if (is_due && write(line + '\n')) {
            one.left_out = 0;
        } else {
            ++one.left_out;
        }
    } catch (...) {
        return;  // no memory: the job goes on without its line
    }
}

void failed_attempts::flush(bool all) noexcept {
    try {
        const thread_guard guard{mutex_};
        rest_.erase(0, to_->write(rest_));
        const auto now = local_clock::now();
        for (auto& [name, one] : kinds_) {
            if (one.left_out == 0 || (!all && now < one.next)) continue;
            one.next = now + pause;
            const bool is_written = write(
                "leasehold: lines left out for kind '" + printable_utf8(name) +
                "': " + std::to_string(one.left_out) + "\n"
            );
            if (is_written) one.left_out = 0;
        }
    } catch (...) {
        return;  // no memory: the next one says it
    }
}

}  // namespace leasehold
