#include "leasehold/leader_election.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/handle_maker.hpp"
#include "core/process.hpp"
#include "core/utf8.hpp"
#include "core/wait_by.hpp"
#include "leasehold/detach.hpp"
#include "leasehold/error.hpp"
#include "leasehold/mutex.hpp"
#include "locks/hold_store.hpp"
#include "locks/keep_asking.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

constexpr std::size_t max_metadata_bytes = 4000;

void require_valid_metadata(std::string_view metadata) {
    const bool has_nul = metadata.find('\0') != std::string_view::npos;
    if (metadata.size() <= max_metadata_bytes && !has_nul && is_utf8(metadata)) return;
    throw error(
        errc::invalid_argument, "what is proclaimed must be UTF-8 without NUL, at most 4,000 bytes"
    );
}

std::optional<leader_info> look(
    database::implementation& at, const key& name, const bounds& of_call = {}
) {
    const auto seen = at.ask(of_call, &hold_store::describe, name, false);
    if (!seen || !seen->info.is_held) return std::nullopt;
    return leader_info{
        .token = seen->info.token,
        .owner = *seen->info.owner,
        .node_info = seen->info.node_info,
        .metadata = seen->metadata,
        .leading_for = seen->info.held_for,
        .remaining = seen->info.remaining,
    };
}

bool is_same(const std::optional<leader_info>& left, const std::optional<leader_info>& right) {
    if (!left || !right) return left.has_value() == right.has_value();
    return left->token == right->token && left->owner == right->owner &&
           left->metadata == right->metadata;
}

// ------------------------------------------------------------------------------- the leadership

// Tells once that a term has ended. The lease keeps it, since somebody may move the lease out of
// the leadership. Its destructor waits for a call that is under way, unless that destroys the
// lease itself, and makes the call if nobody has.
class end_of_term {
public:
    end_of_term(
        const std::stop_token& lost,
        callable<void(fencing_token, loss_reason)> on_lost,
        std::shared_ptr<const grant> ended,
        std::shared_ptr<database::implementation> told
    )
        : on_lost_(std::move(on_lost)), ended_(std::move(ended)), told_(std::move(told)) {
        noticing_.emplace(lost, [this] { tell(); });
    }
    ~end_of_term() {
        noticing_.reset();
        tell();
    }
    end_of_term(const end_of_term&) = delete;
    end_of_term& operator=(const end_of_term&) = delete;

private:
    // on_lost may destroy this.
    void tell() {
        if (!home_.is_here() || is_told_.exchange(true)) return;
        const auto on_lost = on_lost_;
        const auto ended = ended_;
        const auto told = told_;
        const hold& what = ended->what();
        const loss_reason why = ended->reason();
        try {
            on_lost(what.token, why == loss_reason::none ? loss_reason::released : why);
        } catch (...) {
            const std::string said = "on_lost has thrown: " + words_of_thrown();
            told->tell({event_kind::warning, what.key.name(), what.token.number, said});
        }
    }

    const callable<void(fencing_token, loss_reason)> on_lost_;
    const std::shared_ptr<const grant> ended_;
    const std::shared_ptr<database::implementation> told_;
    const home_process home_;
    std::atomic<bool> is_told_ = false;
    std::optional<std::stop_callback<std::function<void()>>> noticing_;  // last: it calls tell()
};

}  // namespace

class leadership::implementation {
public:
    implementation(std::shared_ptr<session::implementation> within, leasehold::lease granted)
        : session_(std::move(within)), lease_(std::move(granted)) {}

    // The end of the term is told after its beginning, also if the end came before the beginning
    // was told, or if telling that threw.
    void begin(const election_settings& settings) {
        try {
            if (settings.on_elected) settings.on_elected(lease_.token());
        } catch (...) {
            tell_of_the_end(settings);
            throw;
        }
        tell_of_the_end(settings);
    }

    leasehold::lease& held() noexcept { return lease_; }

    // Saying the same twice is harmless, so a lost answer is simply asked again.
    void proclaim(std::string_view metadata) {
        require_valid_metadata(metadata);
        const std::optional<std::string> said{metadata};
        constexpr int max_attempts = 3;
        const bounds of_call = session_->one_request();
        for (int attempt = 1;; ++attempt) {
            if (lease_.why_lost() != loss_reason::none) break;
            try {
                const bool is_said = session_->database().ask(
                    of_call, &hold_store::set_metadata, lease_.inner()->what(), said
                );
                if (is_said) return;
                if (!lease_.verify()) break;
            } catch (const error& failure) {
                if (!failure.is_transient() || attempt == max_attempts) throw;
            }
        }
        throw error(
            errc::lease_lost,
            "'" + lease_.key().name() + "' is not led by this term " +
                std::to_string(lease_.token().number) + " any more (" + name_of(lease_.why_lost()) +
                "): nothing was proclaimed; campaign again"
        );
    }

private:
    // Tells it at once if the term has already ended.
    void tell_of_the_end(const election_settings& settings) {
        if (!settings.on_lost) return;
        const auto& held = lease_.inner();
        held->attach(std::make_shared<end_of_term>(
            lease_.lost(), settings.on_lost, held->granted(), session_->handle().inner()
        ));
    }

    const std::shared_ptr<session::implementation> session_;
    leasehold::lease lease_;
};

leadership::leadership(std::unique_ptr<implementation> held) noexcept : held_(std::move(held)) {}
leadership::leadership(leadership&&) noexcept = default;
leadership& leadership::operator=(leadership&&) noexcept = default;
leadership::~leadership() = default;

fencing_token leadership::token() const {
    return held_->held().token();
}
std::stop_token leadership::lost() const& {
    return held_ ? held_->held().lost() : stopped_token();
}
loss_reason leadership::why_lost() const {
    return held_ ? held_->held().why_lost() : loss_reason::released;
}
bool leadership::held_locally() const& {
    return held_ && held_->held().held_locally();
}
local_clock::time_point leadership::deadline() const& {
    return held_ ? held_->held().deadline() : local_clock::time_point{};
}
void leadership::verify_in(transaction_ref tx) & {
    held_->held().verify_in(tx);
}
void leadership::proclaim(std::string_view metadata) {
    held_->proclaim(metadata);
}
release_outcome leadership::resign() {
    return held_ ? held_->held().release() : release_outcome::not_held;
}
lease& leadership::lease() & {
    return held_->held();
}

// --------------------------------------------------------------------------------- the election

class leader_election::implementation {
public:
    implementation(session& within, leasehold::key name, election_settings settings)
        : session_(within.inner()),
          settings_(std::move(settings)),
          office_(
              within,
              std::move(name),
              {.min_poll = settings_.min_poll, .max_poll = settings_.max_poll}
          ) {}

    mutex& office() noexcept { return office_; }
    const leasehold::key& key() const noexcept { return office_.key(); }

    campaign_result refused_by(const std::optional<lock_info>& leader) const {
        return campaign_result{refused_try{leader, key().name()}};
    }
    campaign_result take(acquisition got) const {
        if (!got) return refused_by(got.holder());
        return campaign_result{begin(*std::move(got))};
    }

    campaign_result adopt(const detached_lease& what) const {
        if (what.key != key()) {
            throw error(
                errc::invalid_argument,
                "what was detached is '" + what.key.name() + "', and this is an election for '" +
                    key().name() + "'"
            );
        }
        return take(adopt_into(session_, what));
    }

private:
    leadership begin(lease held) const {
        auto elected = std::make_unique<leadership::implementation>(session_, std::move(held));
        elected->begin(settings_);
        return handle_maker::made<leadership>(std::move(elected));
    }

    const std::shared_ptr<session::implementation> session_;
    const election_settings settings_;
    mutex office_;
};

leader_election::leader_election(session& within, leasehold::key name, election_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), std::move(settings))) {}
leader_election::leader_election(leader_election&&) noexcept = default;
leader_election& leader_election::operator=(leader_election&&) noexcept = default;
leader_election::~leader_election() = default;

campaign_result leader_election::try_campaign() {
    return inner_->take(inner_->office().try_acquire());
}
campaign_result leader_election::campaign(std::stop_token cancel) {
    return inner_->take(inner_->office().acquire(std::move(cancel)));
}
campaign_result leader_election::campaign_for(wait_time timeout, std::stop_token cancel) {
    return inner_->take(inner_->office().acquire_for(timeout, std::move(cancel)));
}
campaign_result leader_election::campaign_until(wait_deadline deadline, std::stop_token cancel) {
    return inner_->take(inner_->office().acquire_until(deadline, std::move(cancel)));
}
void leader_election::campaign_async(
    async_wait how, callable<void(std::exception_ptr failure, campaign_result outcome)> done
) {
    if (!done) throw error(errc::invalid_argument, "campaign_async() got no completion to call");
    const auto elect = [election = inner_,
                        done = std::move(done)](std::exception_ptr failure, acquisition got) {
        campaign_result outcome = election->refused_by(std::nullopt);
        try {
            if (!failure) outcome = election->take(std::move(got));
        } catch (...) {
            failure = std::current_exception();
        }
        done(std::move(failure), std::move(outcome));
    };
    inner_->office().acquire_async(std::move(how), elect);
}
campaign_result leader_election::adopt(const detached_lease& what) {
    return inner_->adopt(what);
}
const key& leader_election::key() const& {
    return inner_->key();
}

// If detach() refuses, the leader stays in office.
detached_lease detach(leadership&& leading) {
    detached_lease given_up = detach(std::move(leading.lease()));
    const leadership spent = std::move(leading);
    return given_up;
}

detached_lease detach_for(leadership&& leading, std::chrono::microseconds term) {
    detached_lease given_up = detach_for(std::move(leading.lease()), term);
    const leadership spent = std::move(leading);
    return given_up;
}

// -------------------------------------------------------------------------------- the followers

std::optional<leader_info> current_leader(const database& db, const key& name) {
    return look(*db.inner(), name);
}

leader_watch::leader_watch(database db, key name, leader_watch_settings settings)
    : database_(std::move(db)), name_(std::move(name)), settings_(settings) {
    checked_polls(settings_.min_poll, settings_.max_poll);
}

bool leader_watch::wait(local_clock::time_point deadline, const std::stop_token& cancel) {
    const polling polls{settings_.min_poll, settings_.max_poll};
    constexpr std::chrono::seconds least{1};
    const bounds of_call{std::max(deadline, local_clock::now() + least), cancel, {}};
    return keep_asking({deadline, cancel}, polls, {}, false, [&] {
        auto seen = look(*database_.inner(), name_, of_call);
        if (std::exchange(has_looked_, true) && is_same(seen, leader_)) return false;
        leader_ = std::move(seen);
        return true;
    });
}

bool leader_watch::next(std::stop_token cancel) {
    return wait(local_clock::time_point::max(), cancel);
}

bool leader_watch::next_for(wait_time timeout, std::stop_token cancel) {
    return wait(deadline_in(timeout), cancel);
}

bool leader_watch::next_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) { return wait(by, cancel); });
}

}  // namespace leasehold
