#include "leasehold/latch.hpp"

#include <utility>

#include "core/wait_by.hpp"
#include "leasehold/error.hpp"
#include "locks/counted.hpp"
#include "locks/holder_store.hpp"
#include "locks/lease.hpp"

namespace leasehold {

class latch::implementation {
public:
    implementation(
        session& within, leasehold::key name, std::int64_t count, latch_settings settings
    )
        : session_(within.inner()),
          wish_{std::move(name), lock_kind::latch},
          polls_(checked_polls(settings.min_poll, settings.max_poll)) {
        wish_.capacity = count;
        if (count >= 1 && count <= max_count) return;
        throw error(
            errc::invalid_argument,
            "the latch '" + wish_.name.name() + "' cannot wait for " + std::to_string(count) +
                " arrivals: give it 1 to " + std::to_string(max_count)
        );
    }

    const leasehold::key& key() const noexcept { return wish_.name; }
    std::int64_t count() const noexcept { return wish_.capacity; }

    acquisition try_join() { return seeker{session_, wish_}.try_once(); }

    // Sent only once: if the answer is lost and the first try was carried out, a second try would
    // find the place gone, and could not tell that from a place that was lost.
    void arrive(lease&& place) {
        const auto& inner = place.inner();
        require_ours(place, *session_, key(), lock_kind::latch);
        if (inner->reason() != loss_reason::none) refuse_lost();
        const session::implementation::under_way sending{*session_};
        const bounds of_call = session_->one_request();
        const auto arrived =
            session_->database().ask(of_call, &holder_store::arrive, inner->what());
        if (!arrived) {
            static_cast<void>(place.verify());  // tells the listeners that it is lost
            refuse_lost();
        }
        inner->supersede();
        session_->gave_up(key(), inner->what().owner, lock_kind::latch);
    }

    // The session need not be live.
    latch_tally tally(const bounds& of_call = {}) {
        const auto found = session_->database().ask(of_call, &holder_store::tally, key());
        if (!found || (found->arrived == 0 && found->present == 0)) return {};
        holder_result other;
        other.kind = found->kind;
        other.capacity = found->capacity;
        if (found->kind != lock_kind::latch) {
            other.status = holder_status::other_kind;
            refuse_other_use(wish_, other);
        }
        if (found->capacity != count()) {
            other.status = holder_status::other_capacity;
            refuse_other_use(wish_, other);
        }
        return {found->arrived, found->present, found->arrived >= count()};
    }

    latch_tally wait(const wait_limit& limit) {
        bounds of_call = session_->call_until(limit.deadline, limit.cancel);
        of_call.over = {};
        return keep_asking(
                   limit, polls_, {}, glance{}, [&] { return glance{tally(of_call)}; }
        ).seen;
    }

private:
    struct glance {
        latch_tally seen;
        explicit operator bool() const noexcept { return seen.is_open; }
    };

    [[noreturn]] void refuse_lost() const {
        throw error(
            errc::lease_lost,
            "the place at the latch '" + key().name() + "' is not ours any more; join again"
        );
    }

    const std::shared_ptr<session::implementation> session_;
    hold_wish wish_;
    const polling polls_;
};

latch::latch(session& within, leasehold::key name, whole_count count, latch_settings settings)
    : inner_(std::make_shared<implementation>(within, std::move(name), count, settings)) {}
latch::latch(latch&&) noexcept = default;
latch& latch::operator=(latch&&) noexcept = default;
latch::~latch() = default;

acquisition latch::try_join() {
    return inner_->try_join();
}
void latch::arrive(lease&& place) {
    inner_->arrive(std::move(place));
}
latch_tally latch::tally() {
    return inner_->tally();
}
latch_tally latch::wait_for(wait_time timeout, std::stop_token cancel) {
    return inner_->wait({timeout, std::move(cancel)});
}
latch_tally latch::wait_until(wait_deadline deadline, std::stop_token cancel) {
    latch_tally seen;
    wait_by(deadline, cancel, [&](local_clock::time_point by) {
        seen = inner_->wait({by, cancel});
        return seen.is_open;
    });
    return seen;
}
latch_tally latch::wait(std::stop_token cancel) {
    return inner_->wait({std::move(cancel)});
}
std::int64_t latch::count() const {
    return inner_->count();
}
const key& latch::key() const& {
    return inner_->key();
}

}  // namespace leasehold
