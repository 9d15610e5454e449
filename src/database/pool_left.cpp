// The work that given-up connections have left at the server, and their places in the pool.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/jitter.hpp"
#include "database/pool.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

constexpr auto no_limit = local_clock::time_point::max();

std::unique_ptr<left_work> left_by(const connection* given_up) {
    const auto* const leaves = dynamic_cast<const leaves_work*>(given_up);
    return leaves == nullptr ? nullptr : leaves->left();
}

}  // namespace

void pool::retire(std::unique_ptr<connection> apart) noexcept {
    if (!apart || !home_.is_here()) return static_cast<void>(apart.release());
    auto left = left_by(apart.get());
    const bool is_lost = apart->state() == connection_state::lost;
    const thread_guard guard{mutex_};
    has_lost_one_ = has_lost_one_ || is_lost;
    if (!left) return;
    ++lent_;
    left_.push_back(std::move(left));
}

// True if its place stays taken.
bool pool::keep_place_of(const connection* lent) {
    if (lent == nullptr) return false;
    auto left = left_by(lent);
    if (!left) return false;
    const thread_guard guard{mutex_};
    left_.push_back(std::move(left));
    return true;
}

std::string pool::words_of_left() const {
    const thread_guard guard{mutex_};
    if (left_.empty()) return {};
    return ": " + std::to_string(left_.size()) +
           " of them were given up without an answer, and the server may be at work for them; see "
           "what it waits for";
}

bool pool::is_place_free() {
    const auto now = local_clock::now();
    lent_ -= static_cast<int>(std::erase_if(left_, [now](const auto& each) {
        return each->limit() <= now;
    }));
    return lent_ < settings_.max_connections;
}

// A caller that waits for a place asks the server about given-up work, unless another caller does
// so, or did a moment ago.
bool pool::may_settle() const {
    if (is_settling_ || local_clock::now() < next_settlement_) return false;
    return std::ranges::any_of(left_, [](const auto& each) { return each->limit() == no_limit; });
}

local_clock::time_point pool::next_look() const {
    auto next = no_limit;
    for (const auto& each : left_) {
        const bool is_asked_for = each->limit() == no_limit && !is_settling_;
        next = std::min(next, is_asked_for ? next_settlement_ : each->limit());
    }
    return next;
}

// Removes the work that has ended.
void pool::end_left(connection& by, std::vector<std::unique_ptr<left_work>>& all) {
    try {
        std::erase_if(all, [&by](const auto& each) { return each->has_ended(by); });
    } catch (const error&) {  // NOLINT(bugprone-empty-catch)
        // The connection is broken, or lacks the right to ask: the next settlement asks for the
        // remaining work.
    }
}

// Settles over a connection beyond the bound, which is kept for that until there is room for it.
void pool::settle(const bounds& of_call, local_clock::time_point deadline) {
    std::unique_ptr<connection> by;
    std::vector<std::unique_ptr<left_work>> all;
    {
        const thread_guard guard{mutex_};
        by = std::move(settler_);
        all.swap(left_);
    }
    const auto end = [&](int ended) {
        {
            const thread_guard guard{mutex_};
            lent_ -= ended;
            settlements_in_vain_ = ended > 0 ? 0 : settlements_in_vain_ + 1;
            next_settlement_ =
                local_clock::now() +
                backed_off(settlements_in_vain_ + 1, milliseconds{50}, milliseconds{2000});
            const bool is_well = by && by->state() == connection_state::idle;
            if (is_well && all.empty() && lent_ < settings_.max_connections) {
                idle_.push_back({std::move(by), local_clock::now()});
            } else if (is_well && !all.empty()) {
                settler_ = std::move(by);
            }
            std::move(all.begin(), all.end(), std::back_inserter(left_));
            is_settling_ = false;
        }
        given_back_.notify_all();
    };
    try {
        if (!by || by->state() != connection_state::idle) by = connect_within(of_call, deadline);
        const auto before = all.size();
        end_left(*by, all);
        end(static_cast<int>(before - all.size()));
    } catch (...) {
        end(0);
        throw;
    }
}

}  // namespace leasehold
