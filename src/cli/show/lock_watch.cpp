#include "cli/show/lock_watch.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/run/complaints.hpp"
#include "cli/run/events.hpp"
#include "cli/show/described.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "leasehold/inspect.hpp"

namespace leasehold::cli {
namespace {

// Identifies one grant: the holders that pass a barrier together have one token.
using grant_id = std::tuple<std::string, std::int64_t, std::optional<owner_id>>;
using grants = std::map<grant_id, const lock_info*>;

grants held_in(const std::vector<lock_info>& locks) {
    grants held;
    for (const lock_info& each : locks) {
        if (each.is_held) held.emplace(grant_id{each.key, each.token.number, each.owner}, &each);
    }
    return held;
}

// The time at which a change is seen, not when it happened: only the database could tell that.
std::string now_shown() {
    using namespace std::chrono;
    return shown(time_point_cast<microseconds>(system_clock::now()));
}

const char* name_of(lock_change::kind what) {
    constexpr std::array names{"held", "granted", "ended", "waiting"};
    return names.at(static_cast<std::size_t>(what));
}

std::string shown_change(const lock_change& change) {
    const lock_info& lock = change.lock;
    const std::string whose = printable(lock.node_info) + " (token " +
                              std::to_string(lock.token.number) + ")" + printable(shown_note(lock));
    const std::string name = "'" + printable(lock.key) + "'";
    switch (change.what) {
        case lock_change::kind::held:
            return name + " is held by " + whose + ", for " + shown(lock.held_for);
        case lock_change::kind::granted:
            return name + " was granted to " + whose;
        case lock_change::kind::ended:
            return name + " is no longer held by " + whose + ", after " + shown(lock.held_for);
        case lock_change::kind::waiting:
            break;
    }
    return name + " is waited for by " + std::to_string(lock.waiters);
}

void print_change(const lock_change& change, bool is_json) {
    if (!is_json) {
        print_line(now_shown() + " " + shown_change(change));
        return;
    }
    nlohmann::json object = json_of(change.lock);
    object["change"] = name_of(change.what);
    object["seen_at"] = now_shown();
    print_json(object);
}

// The number of a terminal's lines for a table.
std::size_t terminal_lines() {
    winsize size{};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    return is_known ? size.ws_row : 24U;
}

// A table that each look writes anew from its upper left corner. The wrapping of lines is off,
// since a wrapped line would push the first lines out of the screen.
class table_in_place {
public:
    table_in_place() { std::cout << "\033[?7l\033[2J" << std::flush; }
    ~table_in_place() { std::cout << "\033[?7h" << std::flush; }
    table_in_place(const table_in_place&) = delete;
    table_in_place& operator=(const table_in_place&) = delete;

    void show(const std::vector<lock_info>& locks) {
        table shown_locks{lock_heading()};
        for (const lock_info& each : locks) shown_locks.add(row_of(each));
        lines_ = shown_locks.take_lines();
        draw("leasehold locks, " + now_shown() + "; ends with Ctrl-C");
    }
    void show(const std::string& problem) { draw(problem); }

private:
    void draw(const std::string& first) {
        const std::size_t room = terminal_lines() - 1;
        // Behind a line that fills the screen's width, \033[K would delete its last character.
        std::string all = "\033[H\033[K" + printable(first);
        std::size_t used = 1;
        for (std::size_t at = 0; at < lines_.size(); ++at) {
            const std::size_t left = lines_.size() - at;
            if (used + 1 >= room && left > 1) {
                all += "\n\033[K... and " + std::to_string(left) + " more";
                break;
            }
            all += "\n\033[K" + lines_[at];
            ++used;
        }
        std::cout << all << "\n\033[J" << std::flush;
    }

    std::vector<std::string> lines_;
};

class lock_watch {
public:
    lock_watch(const database& db, const std::string& prefix LEASEHOLD_LIFETIMEBOUND, bool is_json)
        : database_(db), prefix_(prefix), is_json_(is_json) {
        // The end of a pipe that nobody reads ends this as it ends any other program.
        std::signal(SIGPIPE, SIG_DFL);
        if (!is_json && isatty(STDOUT_FILENO) == 1) screen_.emplace();
    }

    int run(std::chrono::milliseconds every) {
        while (true) {
            const auto began = local_clock::now();
            if (const auto status = look()) return *status;
            require_written();
            const auto until = began + every;
            while (local_clock::now() < until) {
                wait_for({signals_.source()}, until - local_clock::now());
                if (const auto status = end_asked_for()) return *status;
            }
        }
    }

private:
    // The status to end with, if a signal asked for the end.
    std::optional<int> end_asked_for() {
        while (const auto next = signals_.take()) {
            if (*next == SIGINT || *next == SIGTERM) return exit_status::done;
            if (*next == SIGHUP || *next == SIGQUIT) return exit_status::by_signal + *next;
        }
        return std::nullopt;
    }

    std::optional<int> look() {
        using list = std::vector<lock_info>;
        background<list> looking{
            [&](const std::stop_token&) { return list_locks(database_, prefix_); }};
        while (!looking.has_ended()) {
            wait_for({looking.source(), signals_.source()}, std::chrono::hours{1});
            const auto status = end_asked_for();
            if (!status) continue;
            // The tool does not wait for the answer of a database that is away.
            screen_.reset();
            std::cout.flush();
            _exit(*status);
        }
        try {
            show(looking.take());
        } catch (const error& failed) {
            if (!before_ || exit_status_of(failed.code()) != exit_status::unreachable) throw;
            complain(failed);
        }
        return std::nullopt;
    }

    void show(std::vector<lock_info> now) {
        if (is_away_) {
            is_away_ = false;
            said_.clear();
            if (!screen_) report(is_json_, "database_back", "the database answers again");
        }
        if (screen_) {
            screen_->show(now);
        } else if (before_) {
            for (const lock_change& each : changes_between(*before_, now)) {
                print_change(each, is_json_);
            }
        } else {
            for (const lock_info& each : now) {
                if (each.is_held) print_change({lock_change::kind::held, each}, is_json_);
            }
        }
        before_ = std::move(now);
    }

    void complain(const error& failed) {
        is_away_ = true;
        const failure meant = failure_of(failed);
        const std::string message = std::string(meant.what()) + "; looking again";
        if (screen_) {
            screen_->show(message);
        } else if (said_.is_due(failed, local_clock::now())) {
            report(is_json_, meant.name(), message);
        }
    }

    const database& database_;
    const std::string& prefix_;
    const bool is_json_;
    signal_inbox signals_;
    std::optional<table_in_place> screen_;
    std::optional<std::vector<lock_info>> before_;
    bool is_away_ = false;
    complaints said_;
};

}  // namespace

std::vector<lock_change> changes_between(
    const std::vector<lock_info>& before, const std::vector<lock_info>& after
) {
    const grants then = held_in(before);
    const grants now = held_in(after);
    std::vector<lock_change> changes;
    auto was = then.begin();
    auto is = now.begin();
    // The tokens of a key grow, so an ended grant comes before the grants after it.
    while (was != then.end() || is != now.end()) {
        if (is == now.end() || (was != then.end() && was->first < is->first)) {
            changes.push_back({lock_change::kind::ended, *was++->second});
        } else if (was == then.end() || is->first < was->first) {
            changes.push_back({lock_change::kind::granted, *is++->second});
        } else {
            const bool is_told = !changes.empty() && changes.back().lock.key == is->second->key;
            if (was->second->waiters != is->second->waiters && !is_told) {
                changes.push_back({lock_change::kind::waiting, *is->second});
            }
            ++was;
            ++is;
        }
    }
    return changes;
}

int watch_locks(
    const database& db, const std::string& prefix, std::chrono::milliseconds every, bool is_json
) {
    return lock_watch{db, prefix, is_json}.run(every);
}

}  // namespace leasehold::cli
