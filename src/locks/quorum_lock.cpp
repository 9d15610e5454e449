#include "leasehold/quorum_lock.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "core/handle_maker.hpp"
#include "core/process.hpp"
#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/acquire.hpp"
#include "locks/keep_asking.hpp"
#include "locks/lease.hpp"
#include "locks/not_granted.hpp"
#include "locks/quorum.hpp"

namespace leasehold {
namespace {

// The answer of one server to a try.
struct one_answer {
    std::shared_ptr<lease> granted;  // null: busy, or failed
    std::string problem;             // set if it failed
};

// Runs in the worker of that server, which gives up with the caller that waits for it.
std::shared_ptr<lease> try_at(quorum::implementation& servers, std::size_t at, const key& name) {
    const auto within = servers.session_at(at).inner();
    bounds of_call = within->one_request();
    of_call.deadline = deadline_in(servers.settings().server_timeout);
    auto outcome = try_once(*within, {name, std::nullopt, {}, ""}, of_call);
    if (!outcome.granted) return nullptr;
    return std::make_shared<lease>(handle_maker::share<lease>(within, std::move(outcome.granted)));
}

// Gives back on every server at once, and waits for as long as one of them may take.
std::vector<std::optional<release_outcome>> release_all(
    quorum::implementation& servers, const std::vector<std::shared_ptr<lease>>& held
) {
    const auto round = std::make_shared<quorum_round<release_outcome>>(servers.size());
    std::vector<std::size_t> asked;
    for (std::size_t at = 0; at < held.size(); ++at) {
        if (!held[at]) continue;
        asked.push_back(at);
        servers.member(at).post([at, round, ending = held[at]](quorum_member&) {
            auto outcome = release_outcome::unknown;
            try {
                outcome = ending->inner()->give_back(true);
            } catch (const std::exception&) {
                // The session settles it, in the background.
            }
            round->answer(at, outcome);
        });
    }
    return servers.wait_for(*round, asked);
}

quorum_acquisition keep_trying(
    quorum_lock& with, const quorum_settings& settings, const wait_limit& limit
) {
    const polling polls{settings.min_poll, settings.max_poll};
    quorum_acquisition nothing{{}, with.key()};
    return keep_asking(limit, polls, {}, std::move(nothing), [&] { return with.try_acquire(); });
}

}  // namespace

// ------------------------------------------------------------------------------------ the lease

class quorum_lease::implementation {
public:
    implementation(
        std::shared_ptr<quorum::implementation> servers, std::vector<std::shared_ptr<lease>> held
    )
        : servers_(std::move(servers)), held_(std::move(held)) {
        for (const auto& each : held_) {
            tokens_.push_back(each ? std::optional{each->token()} : std::nullopt);
            if (each) ++live_;
        }
        for (const auto& each : held_) {
            if (!each) continue;
            chains_.push_back(std::make_unique<chain>(each->lost(), count_loss{this, each.get()}));
        }
    }
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    ~implementation() = default;

    const std::vector<std::optional<fencing_token>>& tokens() const noexcept { return tokens_; }
    std::stop_token lost() const noexcept {
        return servers_->is_at_home() ? lost_.get_token() : stopped_token();
    }
    loss_reason reason() const noexcept {
        return servers_->is_at_home() ? reason_.load() : loss_reason::other_process;
    }

    std::size_t held_count() const noexcept {
        const auto is_held = [](auto& each) { return each && each->held_locally(); };
        if (is_released_) return 0;
        return static_cast<std::size_t>(std::ranges::count_if(held_, is_held));
    }

    bool held_locally() const noexcept {
        return !lost().stop_requested() && held_count() >= servers_->needed();
    }

    // The latest deadline that a majority reaches.
    local_clock::time_point deadline() const {
        std::vector<local_clock::time_point> all;
        for (const auto& each : held_) {
            if (each && each->why_lost() == loss_reason::none) all.push_back(each->deadline());
        }
        const std::size_t needed = servers_->needed();
        if (is_released_ || all.size() < needed) return local_clock::time_point{};
        std::ranges::sort(all, std::greater<>{});
        return all[needed - 1];
    }

    bool verify() {
        if (!servers_->is_at_home() || is_released_) return false;
        const auto round = std::make_shared<quorum_round<bool>>(held_.size());
        std::vector<std::size_t> asked;
        for (std::size_t at = 0; at < held_.size(); ++at) {
            if (!held_[at]) continue;
            const bool is_asked =
                servers_->member(at).post_if_prompt([at, round, each = held_[at]](quorum_member&) {
                    bool is_held = false;
                    try {
                        is_held = each->verify();
                    } catch (const std::exception&) {
                        // Unknown, and so counted as not held.
                    }
                    round->answer(at, is_held);
                });
            if (is_asked) asked.push_back(at);
        }
        const auto answers = servers_->wait_for(*round, asked);
        const auto yes = std::ranges::count(answers, std::optional{true});
        return static_cast<std::size_t>(yes) >= servers_->needed() && held_locally();
    }

    release_outcome release() {
        if (!servers_->is_at_home()) return release_outcome::not_held;
        if (is_released_.exchange(true)) return release_outcome::not_held;
        reason_ = loss_reason::released;
        lost_.request_stop();  // before anybody else can be granted the key
        bool is_unknown = false, was_lost = false;
        const auto answers = release_all(*servers_, held_);
        for (std::size_t at = 0; at < held_.size(); ++at) {
            if (!held_[at]) continue;
            const auto outcome = answers[at].value_or(release_outcome::unknown);
            is_unknown = is_unknown || outcome == release_outcome::unknown;
            was_lost = was_lost || outcome == release_outcome::not_held;
        }
        if (is_unknown) return release_outcome::unknown;
        return was_lost ? release_outcome::not_held : release_outcome::released;
    }

private:
    struct count_loss {
        implementation* of;
        const lease* which;
        void operator()() const {
            if (--of->live_ >= of->servers_->needed()) return;
            auto before = loss_reason::none;
            of->reason_.compare_exchange_strong(before, which->why_lost());
            std::stop_source lost = of->lost_;  // a callback may destroy the lease
            lost.request_stop();
        }
    };
    using chain = std::stop_callback<count_loss>;

    const std::shared_ptr<quorum::implementation> servers_;
    const std::vector<std::shared_ptr<lease>> held_;  // by server; null if it did not grant
    std::vector<std::optional<fencing_token>> tokens_;
    std::atomic<std::size_t> live_ = 0;
    std::atomic<bool> is_released_ = false;
    std::atomic<loss_reason> reason_ = loss_reason::none;
    std::stop_source lost_;
    std::vector<std::unique_ptr<chain>> chains_;  // last: they use the fields above
};

quorum_lease::quorum_lease(std::shared_ptr<implementation> held) noexcept
    : held_(std::move(held)) {}
quorum_lease::quorum_lease(quorum_lease&&) noexcept = default;
quorum_lease& quorum_lease::operator=(quorum_lease&& other) noexcept {
    if (this != &other) {
        if (held_) held_->release();
        held_ = std::move(other.held_);
    }
    return *this;
}
quorum_lease::~quorum_lease() {
    if (held_) held_->release();
}

const std::vector<std::optional<fencing_token>>& quorum_lease::tokens() const& {
    return held_->tokens();
}
std::size_t quorum_lease::held_count() const {
    return held_ ? held_->held_count() : 0;
}
std::stop_token quorum_lease::lost() const& {
    return held_ ? held_->lost() : stopped_token();
}
loss_reason quorum_lease::why_lost() const {
    return held_ ? held_->reason() : loss_reason::released;
}
bool quorum_lease::held_locally() const& {
    return held_ && held_->held_locally();
}
local_clock::time_point quorum_lease::deadline() const& {
    return held_ ? held_->deadline() : local_clock::time_point{};
}
// Each of these may tell of a loss, and a callback may destroy the lease.
bool quorum_lease::verify() & {
    const auto alive = held_;
    return alive && alive->verify();
}
release_outcome quorum_lease::release() {
    const auto alive = held_;
    return alive ? alive->release() : release_outcome::not_held;
}

// ------------------------------------------------------------------------------------- the lock

void quorum_acquisition::refuse() const {
    throw_not_granted(
        wanted_.name(),
        std::to_string(answers_.granted) + " servers granted it, " + std::to_string(answers_.busy) +
            " were busy, " + std::to_string(answers_.failed) + " failed"
    );
}

quorum_lock::quorum_lock(quorum& of, leasehold::key name)
    : servers_(of.inner()), name_(std::move(name)) {}

quorum_acquisition quorum_lock::try_acquire() {
    servers_->require_different();
    const auto round = std::make_shared<quorum_round<one_answer>>(servers_->size());
    std::vector<std::size_t> asked;
    for (std::size_t at = 0; at < servers_->size(); ++at) {
        const auto ask = [at, round, name = name_, servers = &*servers_](quorum_member&) {
            one_answer given;
            if (round->is_over()) return;
            try {
                given.granted = try_at(*servers, at, name);
            } catch (const std::exception& failure) {
                given.problem = failure.what();
            }
            // Too late: the answer goes out of scope here, which releases the grant.
            round->answer(at, given);
        };
        if (servers_->member(at).post_if_prompt(ask)) asked.push_back(at);
    }
    auto answers = servers_->wait_for(*round, asked);
    servers_->require_different();
    std::vector<std::shared_ptr<lease>> held(servers_->size());
    quorum_acquisition::answers count;
    for (std::size_t at = 0; at < answers.size(); ++at) {
        const auto fail = [&](const std::string& why) {
            ++count.failed;
            count.problems.push_back("server " + std::to_string(at + 1) + ": " + why);
        };
        if (!answers[at]) {
            fail("no answer in time");
        } else if (!answers[at]->problem.empty()) {
            fail(answers[at]->problem);
        } else if (answers[at]->granted) {
            ++count.granted;
            held[at] = std::move(answers[at]->granted);
        } else {
            ++count.busy;
        }
    }
    if (count.granted >= servers_->needed()) {
        auto granted = handle_maker::share<quorum_lease>(servers_, held);
        if (granted.held_locally()) return {std::move(granted), std::move(count), name_};
        // Its validity is over already: the return releases it.
        return {std::move(count), name_};
    }
    release_all(*servers_, held);
    return {std::move(count), name_};
}

quorum_acquisition quorum_lock::acquire(std::stop_token cancel) {
    return keep_trying(*this, servers_->settings(), {std::move(cancel)});
}

quorum_acquisition quorum_lock::acquire_for(wait_time timeout, std::stop_token cancel) {
    return keep_trying(*this, servers_->settings(), {timeout, std::move(cancel)});
}
quorum_acquisition quorum_lock::acquire_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return keep_trying(*this, servers_->settings(), {by, cancel});
    });
}

}  // namespace leasehold
