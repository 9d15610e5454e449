// Passes a session whole to another process: its text, and its leases made anew there.
// src/session/detached.cpp moves its row from one to the other.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/handle_maker.hpp"
#include "core/number_in.hpp"
#include "leasehold/detach.hpp"
#include "locks/acquire.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

// "leasehold-session1 ID BYTES NAME HOLDS", then of each hold "TOKEN OWNER KIND MODE PERMITS TERM
// BYTES KEY", with one blank behind everything; the name and the keys may have blanks of their own,
// and have their length before them. TERM is `-` if there is none.
constexpr std::string_view session_word = "leasehold-session1";
constexpr std::string_view no_term = "-";

[[noreturn]] void refuse_session_text() {
    throw error(
        errc::invalid_argument, "this is not the text of a detached session; see detach.hpp"
    );
}

class reading {
public:
    explicit reading(std::string_view text LEASEHOLD_LIFETIMEBOUND) : rest_(text) {}

    bool is_at_end() const noexcept { return rest_.empty(); }
    std::string_view word() { return take(rest_.find(' ')); }
    std::int64_t number(std::int64_t least, std::int64_t most) {
        return checked(word(), least, most);
    }
    std::string_view counted() {
        constexpr std::int64_t max_bytes = 255;
        return take(static_cast<std::size_t>(number(1, max_bytes)));
    }
    std::optional<std::chrono::microseconds> term() {
        const std::string_view text = word();
        if (text == no_term) return std::nullopt;
        constexpr std::int64_t longest = 366LL * 24 * 3600 * 1'000'000;
        return std::chrono::microseconds{checked(text, 0, longest)};
    }

private:
    std::string_view take(std::size_t size) {
        if (size >= rest_.size() || rest_[size] != ' ') refuse_session_text();
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size + 1);
        return taken;
    }
    static std::int64_t checked(std::string_view text, std::int64_t least, std::int64_t most) {
        const auto number = number_in<std::int64_t>(text);
        if (!number || *number < least || *number > most) refuse_session_text();
        return *number;
    }

    std::string_view rest_;
};

lock_kind kind_in(reading& text) {
    const auto kind = static_cast<lock_kind>(text.number(1, 1'000));
    const bool may_move =
        kind == lock_kind::mutex || kind == lock_kind::shared_mutex || kind == lock_kind::semaphore;
    if (!may_move) refuse_session_text();
    return kind;
}

hold_mode mode_in(reading& text) {
    const auto mode = static_cast<hold_mode>(text.number(1, 1'000));
    const bool is_one =
        mode == hold_mode::shared || mode == hold_mode::exclusive || mode == hold_mode::upgradeable;
    if (!is_one) refuse_session_text();
    return mode;
}

void add_counted(std::string& text, const std::string& bytes) {
    text += std::to_string(bytes.size()) + ' ' + bytes + ' ';
}

}  // namespace

std::string detached_session::text() const {
    std::string text = std::string(session_word) + ' ' + session.text() + ' ';
    add_counted(text, name);
    text += std::to_string(holds.size()) + ' ';
    for (const hold& each : holds) {
        text += std::to_string(each.what.token.number) + ' ' + each.what.owner.text() + ' ' +
                std::to_string(static_cast<int>(each.kind)) + ' ' +
                std::to_string(static_cast<int>(each.mode)) + ' ' + std::to_string(each.permits) +
                ' ';
        text += each.term_left ? std::to_string(each.term_left->count()) : std::string(no_term);
        text += ' ';
        add_counted(text, each.what.key.name());
    }
    return text;
}

detached_session detached_session::from_text(std::string_view text) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    reading from{text};
    if (from.word() != session_word) refuse_session_text();
    detached_session read;
    read.session = session_id::from_text(from.word());
    read.name = from.counted();
    for (std::int64_t left = from.number(0, most); left > 0; --left) {
        const fencing_token token{from.number(1, most)};
        const auto owner = owner_id::from_text(from.word());
        const lock_kind kind = kind_in(from);
        const hold_mode mode = mode_in(from);
        const std::int64_t permits = from.number(1, most);
        const auto term_left = from.term();
        const leasehold::key key{from.counted()};
        read.holds.push_back({{key, owner, token, read.session}, kind, mode, permits, term_left});
    }
    if (!from.is_at_end()) refuse_session_text();
    return read;
}

detached_session detach(session&& whole) {
    // A callback may destroy it. NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const auto inner = whole.inner();
    auto [name, grants] = inner->detach();
    detached_session parcel{inner->id(), std::move(name), {}};
    for (const auto& each : grants) {
        const leasehold::hold& what = each->what();
        std::optional<std::chrono::microseconds> term_left;
        if (const auto limit = each->limited()) {
            const auto left = std::max(limit->over - local_clock::now(), local_clock::duration{0});
            term_left = std::chrono::duration_cast<std::chrono::microseconds>(left);
        }
        parcel.holds.push_back(
            {{what.key, what.owner, what.token, inner->id()},
             what.kind,
             each->mode(),
             each->permits(),
             term_left}
        );
    }
    return parcel;
}

void session_adoption::refuse() const {
    throw error(
        errc::session_lost,
        "the detached session was not adopted: it has ended, or somebody else adopted it before"
    );
}

session_adoption adopt(database db, const detached_session& what, session_settings settings) {
    const auto began = local_clock::now();
    auto inner = session::implementation::taken_over(
        std::move(db), std::move(settings), what.session, what.name
    );
    if (!inner) return std::nullopt;
    adopted_session made{handle_maker::made<session>(inner), {}};
    for (const detached_session::hold& each : what.holds) {
        auto granted = std::make_shared<grant>(
            leasehold::hold{each.what.key, each.what.owner, each.what.token, each.kind},
            std::nullopt
        );
        {
            // An inner release may have lost its answer there: the last one frees the row whatever
            // its count.
            const thread_guard guard{granted->depth().mutex};
            granted->depth().is_uncertain = true;
        }
        granted->mode() = each.mode;
        granted->permits() = each.permits;
        if (each.term_left) {
            granted->set_limit(limit_from(*inner, local_clock::now(), *each.term_left));
        }
        // Makes a heartbeat look for notices at once.
        constexpr std::int64_t not_known = -1;
        inner->watch(granted, not_known);
        tell_granted(*inner, *granted, {event_reason::adopted, began});
        made.leases.push_back(handle_maker::share<lease>(inner, granted));
    }
    return session_adoption{std::move(made)};
}

}  // namespace leasehold
