#include "leasehold/barrier.hpp"

#include <algorithm>
#include <utility>

#include "core/handle_maker.hpp"
#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/counted.hpp"
#include "locks/holder_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {
namespace {

// One participant of one phase, from arrival until it has passed or left. Its row lives with the
// session, and is all that others see of it.
class visit {
public:
    visit(
        session::implementation& within,
        const hold_wish& wished LEASEHOLD_LIFETIMEBOUND,
        bounds of_call,
        bool stays
    )
        : session_(within),
          there_(within),
          wish_(wished),
          of_call_(std::move(of_call)),
          stays_(stays) {}
    // The session settles everything that was left behind when something failed.
    ~visit() {
        if (may_be_there_) session_.settle_later(wish_.name, owner_, wish_.kind);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    // nullopt: the limit was reached before the phase was complete.
    std::optional<fencing_token> wait(const wait_limit& limit, const polling& polls) {
        const std::optional<fencing_token> nothing;
        session_.begin_to_wait(of_call_);
        const auto phase =
            keep_asking(limit, polls, session_.over(), nothing, [&] { return proceed(); });
        return phase ? phase : leave();
    }

    // The hold of a participant that has passed, and stays.
    hold place(fencing_token phase) const { return {wish_.name, owner_, phase, wish_.kind}; }
    // The place is gone, or another object owns it from here on.
    void is_given_up() {
        may_be_there_ = false;
        session_.gave_up(wish_.name, owner_, wish_.kind);
    }

private:
    // Arrives if it has not, and looks whether the phase is complete.
    std::optional<fencing_token> proceed() {
        session_.require_live(of_call_);
        const auto phase =
            session_.database().use(of_call_, [&](connection& on, store_set& stores) {
                return proceed_on(on, stores.get<holder_store>());
            });
        if (is_session_over_) session_.found_ended();
        return phase;
    }

    // Leaves, unless the phase was completed first: the database decides which.
    std::optional<fencing_token> leave() {
        if (!may_be_there_) return std::nullopt;
        if (!session_.may_part()) {
            throw error(
                errc::timed_out,
                "waiting at the barrier '" + wish_.name.name() +
                    "' is over, and the database does not answer: the session gives the place up",
                {.outcome_unknown = true}
            );
        }
        return session_.database().use(session_.parting(), [&](connection& on, store_set& stores) {
            return leave_on(on, stores.get<holder_store>());
        });
    }

    std::optional<fencing_token> proceed_on(connection& on, holder_store& holders) {
        if (!token_ && !arrive_on(on, holders)) {
            // Passes for the participants: the last one of the phase may have failed to.
            if (!is_session_over_) holders.pass(on, wish_.name);
            return std::nullopt;
        }
        holders.pass(on, wish_.name);
        const auto state = holders.look(on, {{wish_.name, owner_}}).at(0);
        if (!state) refuse_lost();
        if ((state->bits & holder_bits::passed) == 0) return std::nullopt;
        return finish(on, holders, state->token);
    }

    bool arrive_on(connection& on, holder_store& holders) {
        if (std::exchange(may_be_there_, true)) {
            // The answer to an earlier try was lost.
            if (const auto found = holders.find_grant(on, wish_.name, owner_)) {
                token_ = *found;
                return true;
            }
        }
        const holder_result answer = holders.try_acquire(on, request_for(session_, wish_, owner_));
        if (answer.status == holder_status::granted) {
            token_ = answer.token;
            return true;
        }
        may_be_there_ = false;
        is_session_over_ = answer.status == holder_status::session_ended;
        if (is_session_over_ || answer.status == holder_status::busy) return false;
        refuse_other_use(wish_, answer);
    }

    std::optional<fencing_token> leave_on(connection& on, holder_store& holders) {
        // Passing gives the row another token, so this removes only one that has not passed.
        if (!token_) token_ = holders.find_grant(on, wish_.name, owner_);
        if (!token_) return std::nullopt;
        if (holders.release(on, place(*token_)) == release_outcome::released) {
            is_given_up();
            return std::nullopt;
        }
        const auto state = holders.look(on, {{wish_.name, owner_}}).at(0);
        if (!state || (state->bits & holder_bits::passed) == 0) {
            may_be_there_ = false;  // its session died, or somebody freed it by force
            return std::nullopt;
        }
        return finish(on, holders, state->token);
    }

    fencing_token finish(connection& on, holder_store& holders, fencing_token phase) {
        if (stays_) return phase;
        const auto deadline = local_clock::now() + std::chrono::seconds{1};
        const auto may_go_on = [&](const error& failure) {
            return !failure.connection_is_lost() && local_clock::now() < deadline;
        };
        try {
            repeat([&](int) { holders.release_owner(on, wish_.name, owner_); }, may_go_on);
            is_given_up();
        } catch (const error&) {
            // The participant has passed, whatever becomes of its row: the row is not counted any
            // more, and the session settles it.
        }
        return phase;
    }

    [[noreturn]] void refuse_lost() {
        may_be_there_ = false;
        if (!session_.is_live()) session_.refuse_lost();  // an end() of our own took the place
        throw error(
            errc::lease_lost,
            "the place at the barrier '" + wish_.name.name() +
                "' was freed by force, or its session has died; arrive again for the next phase"
        );
    }

    session::implementation& session_;
    const session::implementation::under_way there_;  // the place is no grant that an end() sees
    const hold_wish& wish_;
    const bounds of_call_;
    const bool stays_;
    const owner_id owner_ = owner_id::random();
    std::optional<fencing_token> token_;
    bool may_be_there_ = false;
    bool is_session_over_ = false;  // the database says so
};

}  // namespace

class barrier::implementation {
public:
    implementation(
        session& within, leasehold::key name, std::int64_t participants, barrier_settings settings
    )
        : session_(within.inner()),
          wish_{std::move(name), lock_kind::barrier},
          polls_(checked_polls(settings.min_poll, settings.max_poll)) {
        wish_.capacity = participants;
        if (participants >= 1 && participants <= max_participants) return;
        throw error(
            errc::invalid_argument,
            "the barrier '" + wish_.name.name() + "' cannot have " + std::to_string(participants) +
                " participants: give it 1 to " + std::to_string(max_participants)
        );
    }

    const leasehold::key& key() const noexcept { return wish_.name; }
    std::int64_t participants() const noexcept { return wish_.capacity; }

    std::optional<fencing_token> wait(const wait_limit& limit) {
        const bounds of_call = session_->call_until(limit.deadline, limit.cancel);
        return visit{*session_, wish_, of_call, false}.wait(limit, polls_);
    }

    acquisition enter(const wait_limit& limit) {
        const auto notices = session_->notices();
        visit there{*session_, wish_, session_->call_until(limit.deadline, limit.cancel), true};
        const auto phase = there.wait(limit, polls_);
        if (!phase) return acquisition{std::nullopt, key()};
        auto granted = std::make_shared<grant>(there.place(*phase), std::nullopt);
        session_->watch(granted, notices);
        lease inside = handle_maker::share<lease>(session_, std::move(granted));
        there.is_given_up();
        return acquisition{std::move(inside)};
    }

    // A lease that is not ours is left to its owner.
    bool leave(lease&& given, const wait_limit& limit) {
        require_ours(given, *session_, key(), lock_kind::barrier);
        lease inside = std::move(given);
        const bool was_released = inside.why_lost() == loss_reason::released;
        const bool is_lost = inside.release() == release_outcome::not_held && !was_released;
        const bounds of_call = session_->call_until(limit.deadline, limit.cancel);
        if (is_lost) {
            session_->require_live(of_call);
            throw error(
                errc::lease_lost,
                "the lease on the barrier '" + key().name() +
                    "' was lost before leave(): the others may have gone on without it"
            );
        }
        return keep_asking(limit, polls_, session_->over(), false, [&] {
            session_->require_live(of_call);
            const auto present =
                session_->database().ask(of_call, &holder_store::holders_of, key());
            return std::ranges::none_of(present, [&](const lock_info& each) {
                return each.token == inside.token();
            });
        });
    }

private:
    const std::shared_ptr<session::implementation> session_;
    hold_wish wish_;
    const polling polls_;
};

barrier::barrier(
    session& within, leasehold::key name, whole_count participants, barrier_settings settings
)
    : inner_(std::make_shared<implementation>(within, std::move(name), participants, settings)) {}
barrier::barrier(barrier&&) noexcept = default;
barrier& barrier::operator=(barrier&&) noexcept = default;
barrier::~barrier() = default;

std::optional<fencing_token> barrier::arrive_and_wait(std::stop_token cancel) {
    return inner_->wait({std::move(cancel)});
}
std::optional<fencing_token> barrier::arrive_and_wait_for(
    wait_time timeout, std::stop_token cancel
) {
    return inner_->wait({timeout, std::move(cancel)});
}
std::optional<fencing_token> barrier::arrive_and_wait_until(
    wait_deadline deadline, std::stop_token cancel
) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->wait({by, cancel});
    });
}
acquisition barrier::enter(std::stop_token cancel) {
    return inner_->enter({std::move(cancel)});
}
acquisition barrier::enter_for(wait_time timeout, std::stop_token cancel) {
    return inner_->enter({timeout, std::move(cancel)});
}
acquisition barrier::enter_until(wait_deadline deadline, std::stop_token cancel) {
    return wait_by(deadline, cancel, [&](local_clock::time_point by) {
        return inner_->enter({by, cancel});
    });
}
bool barrier::leave(lease&& inside, std::stop_token cancel) {
    return inner_->leave(std::move(inside), {std::move(cancel)});
}
bool barrier::leave_for(lease&& inside, wait_time timeout, std::stop_token cancel) {
    return inner_->leave(std::move(inside), {timeout, std::move(cancel)});
}
bool barrier::leave_until(lease&& inside, wait_deadline deadline, std::stop_token cancel) {
    return leave_for(std::move(inside), deadline.left(), std::move(cancel));
}
std::int64_t barrier::participants() const {
    return inner_->participants();
}
const key& barrier::key() const& {
    return inner_->key();
}

}  // namespace leasehold
