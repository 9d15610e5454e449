#include "locks/mutex_wait.hpp"

#include <algorithm>
#include <utility>

#include "core/jitter.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// For a call that could not queue: others are queueing or handing over at this moment, or a proof
// is open.
constexpr polling after_refusals{milliseconds{2}, milliseconds{100}};

}  // namespace

mutex_wait::mutex_wait(mutex::implementation& of, wait_limit limit, std::function<void()> on_news)
    : of_(of),
      limit_(std::move(limit)),
      on_news_(std::move(on_news)),
      of_call_(of.session().call_until(limit_.deadline, limit_.cancel)),
      answer_(std::nullopt, of.key()) {}

std::optional<acquisition> mutex_wait::go_on() {
    auto next = verdict::goes_on;
    if (stage_ == stage::beginning) next = begin();
    while (next == verdict::goes_on) {
        try {
            next = step();
        } catch (const error& failure) {
            queued_.reset();
            if (!limit_.survives(failure)) throw;
            next = rest_a_while();
        }
    }
    if (next == verdict::waits) return std::nullopt;
    if (!answer_) tell_in_vain(session(), of_.key(), limit_);
    return std::move(answer_);
}

// The first try of a call that waits. Throws when something keeps the session from beginning.
mutex_wait::verdict mutex_wait::begin() {
    if (!session().has_begun() && !limit_.cancel.stop_requested()) {
        try {
            answer_ = of_.try_within(of_call_);
        } catch (const error& failure) {
            const bool may_go_on = session().has_begun() || limit_.cancel.stop_requested();
            if (!may_go_on || !limit_.survives(failure)) throw;
        }
        if (answer_ || limit_.is_over()) return verdict::is_over;
        session().begin_to_wait(of_call_);
    }
    // For a key that others wait for the call queues at once: a caller that finds the key free in
    // the queue is served. A call of a recursive mutex tries first, since that may enter the key
    // again.
    is_contended_ =
        !of_.settings().recursive && session().database().waits().contended().has(of_.key());
    stage_ = stage::asking;
    return verdict::goes_on;
}

mutex_wait::verdict mutex_wait::step() {
    switch (stage_) {
        case stage::beginning:
        case stage::asking:
            return ask();
        case stage::queued:
            if (auto outcome = queued_->go_on()) return heed(*std::move(outcome));
            return verdict::waits;
        case stage::resting:
            break;
    }
    if (!is_rested()) return verdict::waits;
    stage_ = stage::asking;
    return verdict::goes_on;
}

mutex_wait::verdict mutex_wait::ask() {
    if (limit_.cancel.stop_requested()) return verdict::is_over;
    has_tried_ = false;
    if (!is_contended_ || limit_.is_over()) return try_it();
    answer_ = acquisition{std::nullopt, of_.key()};
    return queue_up();
}

mutex_wait::verdict mutex_wait::try_it() {
    answer_ = of_.try_within(of_call_);
    if (answer_ || limit_.is_over()) return verdict::is_over;
    has_tried_ = was_refused_ = true;
    return queue_up();
}

mutex_wait::verdict mutex_wait::queue_up() {
    waiting_plan how{
        limit_,
        {of_.settings().min_poll, of_.settings().max_poll},
        of_.settings().detects_deadlock,
        nullptr,
        on_news_};
    // Another thread of this object may have got the key meanwhile: then this one can enter.
    if (of_.settings().recursive) how.look_up = [this] { return of_.is_entered(); };
    queued_ = std::make_unique<queued_call>(session(), of_.wanted(), std::move(how));
    stage_ = stage::queued;
    if (auto outcome = queued_->queue()) return heed(*std::move(outcome));
    return verdict::waits;
}

mutex_wait::verdict mutex_wait::heed(queue_outcome outcome) {
    queued_.reset();
    is_contended_ = !of_.settings().recursive && outcome.end == queue_end::queue_again;
    if (outcome.end == queue_end::granted) {
        answer_ = of_.keep(std::move(outcome.granted));
        return verdict::is_over;
    }
    if (limit_.is_over()) {
        if (outcome.end == queue_end::left_queue || !answer_.holder()) {
            answer_ = of_.busy_now(answer_.holder());
        }
        return verdict::is_over;
    }
    return has_tried_ || is_contended_ ? rest_a_while() : try_it();
}

mutex_wait::verdict mutex_wait::rest_a_while() {
    const auto pause = backed_off(++refusals_, after_refusals.least, after_refusals.most);
    rested_ = std::min(limit_.deadline, local_clock::now() + pause);
    stage_ = stage::resting;
    return verdict::waits;
}

bool mutex_wait::is_rested() const {
    return limit_.cancel.stop_requested() || session().over().stop_requested() ||
           local_clock::now() >= rested_;
}

local_clock::time_point mutex_wait::wake() const {
    return queued_ ? queued_->wake() : rested_;
}

void mutex_wait::wait() {
    if (queued_) return queued_->wait();
    rest(rested_, limit_.cancel, session().over());
}

// A server that is well answers the last question of a call in that time, as call_until() has it.
local_clock::time_point mutex_wait::give_up_at() const noexcept {
    const auto now = local_clock::now();
    if (queued_) return now + session().database().settings().statement_timeout;
    if (limit_.cancel.stop_requested() || session().over().stop_requested()) return now;
    constexpr std::chrono::seconds least{1};
    return std::max<local_clock::time_point>(of_call_.deadline, now + least);
}

acquisition mutex_wait::give_up() {
    acquisition got = given_up();
    if (!got) tell_in_vain(session(), of_.key(), limit_);
    return got;
}

acquisition mutex_wait::given_up() {
    if (queued_) {
        const std::unique_ptr<queued_call> left = std::move(queued_);
        // The grant of a recursive mutex waits for its tries, which may wait for the database.
        return of_.keep(left->give_up(!of_.settings().recursive).granted);
    }
    if (limit_.cancel.stop_requested()) return std::move(answer_);
    if (!session().is_live()) session().refuse_lost();
    if (was_refused_) return std::move(answer_);
    throw error(
        errc::timed_out,
        "'" + of_.key().name() +
            "' was not asked for in time: all threads for calls that nobody waits in were waiting "
            "for the database"
    );
}

}  // namespace leasehold
