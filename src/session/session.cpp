#include "session/session.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/jitter.hpp"
#include "core/program_name.hpp"
#include "leasehold/error.hpp"
#include "leasehold/stop.hpp"
#include "session/release.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// A callback may end its session: a thread cannot wait for itself.
void stop_and_join(std::jthread& thread) {
    thread.request_stop();
    if (thread.joinable() && thread.get_id() != std::this_thread::get_id()) thread.join();
}

}  // namespace

session::implementation::implementation(
    leasehold::database within, session_settings settings, std::optional<session_id> taken
)
    : state_(std::move(within), std::move(settings), taken ? *taken : session_id::random()),
      node_info_(node_info_of_this_process(
          state_.settings.name.empty() ? program_name() : state_.settings.name
      )),
      row_name_(node_info_) {
    const bounds of_call{local_clock::now() + database().settings().pool_timeout, {}, {}};
    if (state_.settings.begins_with_grant || taken) {
        database().use(of_call, [](connection&, store_set&) {});  // throws now if it cannot be used
    } else {
        start(of_call);
        has_begun_ = true;
    }
}

void session::implementation::launch() {
    heartbeat_thread_ = std::jthread{[this](const std::stop_token& stop) {
        take_steps(stop, [this] { return heartbeat_.step(); });
    }};
    watch_thread_ = std::jthread{[this](const std::stop_token& stop) {
        take_steps(stop, [this] { return state_.watch_step(); });
    }};
}

session::implementation::~implementation() {
    end();
    stop_and_join(heartbeat_thread_);
    stop_and_join(watch_thread_);
    // One of the threads may have given up the last reference itself; then it uses no member any
    // more.
    for (std::jthread* each : {&heartbeat_thread_, &watch_thread_}) {
        if (each->joinable()) each->detach();
    }
    for (const in_doubt_request& each : state_.in_doubt.all()) {
        each.tell_settled(database(), event_reason::given_up);
    }
}

// Each step holds a reference to the session: if a callback gives up the last other one, the
// session is destroyed only when the step is done.
void session::implementation::take_steps(
    const std::stop_token& stop, const std::function<std::optional<session_state::nap>()>& step
) {
    while (!stop.stop_requested()) {
        std::optional<session_state::nap> next;
        {
            const auto alive = weak_from_this().lock();
            if (alive) next = step();
            if (!next) return;
        }
        if (!stop.stop_requested()) state_.sleep(*next, stop);
    }
}

bool session::implementation::is_live() const {
    if (!is_at_home()) return false;
    const thread_guard guard{state_.mutex};
    return state_.grants.is_live(local_clock::now());
}

loss_reason session::implementation::reason() const {
    if (!is_at_home()) return loss_reason::other_process;
    return state_.lease().reason();
}

local_clock::time_point session::implementation::deadline() const {
    if (!is_at_home()) return local_clock::time_point::min();
    return state_.lease().deadline();
}

void session::implementation::require_live(const bounds& of_call) {
    require_at_home();
    if (!has_begun_) begin(of_call);
    if (!is_live()) refuse_lost();
}

void session::implementation::require_live() {
    require_live(one_request());
}

void session::implementation::refuse_lost() const {
    // After a pause the deadline may have passed before the thread that watches it has looked.
    refuse_lost(reason() == loss_reason::none ? loss_reason::expired : reason());
}

void session::implementation::refuse_lost(loss_reason why) {
    const char* const remedy = why == loss_reason::other_process
                                   ? "this process is a fork of the one that opened it: open the "
                                     "database again here, and a new session"
                                   : "open a new one";
    throw error(
        errc::session_lost, std::string("the session has ended (") + name_of(why) + "); " + remedy
    );
}

void session::implementation::found_ended() {
    {
        const thread_guard guard{state_.mutex};
        state_.grants.lease().ended_by_server(local_clock::now());
    }
    // Before others are woken: all are told when the call that found it returns.
    state_.tell_losses();
    state_.wake_all();
    refuse_lost();
}

bounds session::implementation::call_until(
    local_clock::time_point deadline, const std::stop_token& cancel
) const {
    require_at_home();
    constexpr std::chrono::seconds least{1};
    const auto now = local_clock::now();
    return {std::max(deadline, now + least), cancel, over(), false, now};
}

bounds session::implementation::one_request() const {
    require_at_home();
    const auto now = local_clock::now();
    return {now + database().settings().pool_timeout, {}, over(), false, now};
}

bounds session::implementation::parting() const {
    const milliseconds whole = database().settings().statement_timeout;
    const bool is_well = database().connections().last_word() == server_word::answer;
    return {
        local_clock::now() + (is_well ? whole : std::min(whole, moment_to_connect)), {}, {}, true};
}

bool session::implementation::may_part() const noexcept {
    const server_word last = database().connections().last_word();
    return last == server_word::answer || last == server_word::silence;
}

bool session::implementation::may_part_again(const bounds& of_call) const noexcept {
    const auto half = database().settings().statement_timeout / 2;
    return may_part() && local_clock::now() < of_call.deadline - half;
}

std::int64_t session::implementation::notices() const {
    const thread_guard guard{state_.mutex};
    return state_.times_news;
}

void session::implementation::watch(
    const std::shared_ptr<grant>& what, std::int64_t notices_when_sent
) {
    // The threads wake up at the session's own deadlines in any case, so one more hold that lives
    // with the session changes nothing for them.
    bool is_sooner = what->own_end().has_value();
    {
        const thread_guard guard{state_.mutex};
        state_.grants.add(what);
        if (state_.times_news != notices_when_sent) {
            state_.must_ask = true;
            state_.grants.lease().hurry(local_clock::now());
            is_sooner = true;
        }
    }
    if (is_sooner) state_.wake_all();
    state_.tell_losses();
    // Another thread may have taken it out to tell of its loss, and not have told it yet.
    const auto why = what->loss_at(local_clock::now(), reason());
    if (why != loss_reason::none) state_.tell({{what, why}}, false, why);
}

bool session::implementation::watch_alone(
    const std::shared_ptr<grant>& what, std::int64_t notices_when_sent
) {
    {
        const thread_guard guard{state_.mutex};
        const owner_id& owner = what->what().owner;
        if (state_.grants.has(owner) || state_.in_doubt.will_release(owner)) return false;
        state_.grants.add(what);  // before another thread looks; watch() finds it there
    }
    watch(what, notices_when_sent);
    return true;
}

void session::implementation::forget(const grant& what) {
    const thread_guard guard{state_.mutex};
    state_.grants.remove(what);
}

bool session::implementation::change_term(grant& what, local_clock::time_point end) {
    bool is_watched = false;
    {
        const thread_guard guard{state_.mutex};
        is_watched = state_.grants.change_term(what, end);
    }
    if (is_watched) state_.wake_all();
    return is_watched;
}

bool session::implementation::change_limit(grant& what, const grant::limit& to) {
    bool is_watched = false;
    {
        const thread_guard guard{state_.mutex};
        is_watched = state_.grants.change_limit(what, to);
    }
    if (is_watched) state_.wake_all();
    return is_watched;
}

bool session::implementation::is_ending_with(const grant& last) {
    const thread_guard guard{state_.mutex};
    state_.grants.lease().tick(local_clock::now());
    const bool is_all = state_.grants.is_only(last) && state_.given_up.all().empty();
    const bool is_quiet =
        !state_.may_need_row() && !state_.grants.is_telling() && !state_.has_ended;
    // A recursive hold, which another thread may enter once more meanwhile, is released by itself.
    const bool is_simple =
        last.what().kind == lock_kind::mutex && !last.term_end() && !last.is_recursive();
    if (!is_all || !is_quiet || !is_simple || !state_.grants.lease().is_live()) return false;
    // As in end(): from here on nothing is sent for this session, and nobody is told of a loss.
    state_.grants.lease().end();
    state_.grants.remove(last);
    state_.takes_row_along = true;
    ++state_.under_way;  // an end() by another thread meanwhile leaves the row
    return true;
}

void session::implementation::end_with(bool is_released) noexcept {
    if (!is_released) keep_row();
    count_under_way(-1);
    end();
}

void session::implementation::keep_row() {
    const thread_guard guard{state_.mutex};
    state_.keeps_row = true;
}

void session::implementation::count_under_way(int change) {
    if (!is_at_home()) return;
    const thread_guard guard{state_.mutex};
    state_.under_way += change;
}

// --------------------------------------------------------------------------------------- ending

bool session::implementation::end_in_database(
    const std::optional<std::vector<waiter_id>>& remove_unless
) noexcept {
    try {
        database().use_unchecked(parting(), [&](connection& on, store_set& stores) {
            stores.get<session_store>().end(on, state_.id, remove_unless);
        });
        return true;
    } catch (const std::exception& failure) {
        database().tell({event_kind::release_failed, "", 0, failure.what()});
        return false;
    }
}

// A server that refuses does so at once, and may have come back since: one more request is sent,
// but only one. Requests that succeed may take their time.
bool session::implementation::may_say_goodbye(bool has_failed, local_clock::time_point until)
    const noexcept {
    if (has_failed && local_clock::now() >= until) return false;
    const bool refuses = database().connections().last_word() == server_word::refusal;
    return may_part() || (refuses && !has_failed);
}

// True when all of them are known to be free. Stops if the server does not answer.
bool session::implementation::release_all(
    const std::vector<lost_grant>& held, local_clock::time_point until
) noexcept {
    bool all_free = true;
    for (const lost_grant& each : held) {
        const hold& what = each.first->what();
        if (!may_say_goodbye(!all_free, until)) return false;
        if (database().open_transactions().has({what.owner, false})) {
            // The key is free when that transaction has ended and the row of this session has
            // expired: at once, or with its ttl if the transaction locks that row as well.
            all_free = false;
            continue;
        }
        try {
            database().use_unchecked(parting(), [&](connection& on, store_set& stores) {
                release_owner(database(), on, stores, what.key, what.owner, what.kind);
            });
            gave_up(what.key, what.owner, what.kind);
        } catch (const std::exception& failure) {
            all_free = false;
            database().tell({event_kind::release_failed, what.key.name(), 0, failure.what()});
        }
    }
    return all_free;
}

// The heartbeat thread may be in a call that hangs for as long as the client library lets it. It
// holds all that it uses: a thread that does not come back in time is left to itself, and ends when
// its call does. False if it is left while it waits for an overdue answer.
bool session::implementation::stop_heartbeat(local_clock::time_point deadline) noexcept {
    state_.ending.request_stop();
    heartbeat_thread_.request_stop();
    if (!heartbeat_thread_.joinable() || heartbeat_thread_.get_id() == std::this_thread::get_id()) {
        return true;
    }
    const auto found = heartbeat_.await_step(deadline);
    if (found != heartbeat::step_state::none) {
        return found == heartbeat::step_state::has_its_answers;
    }
    heartbeat_thread_.join();
    heartbeat_.close();
    return true;
}

// In an outage all of end() takes one statement time-out, or, if somebody has waited for that
// already, a moment to connect: after one question without an answer no further one is sent.
void session::implementation::end() noexcept {
    if (!is_at_home()) return;
    if (end_before_begin()) {
        state_.lost.request_stop();
        return;
    }
    grant_watch::ending ending;
    bool may_remove = false;
    bool is_over = false;
    {
        const thread_guard guard{state_.mutex};
        if (std::exchange(state_.has_ended, true)) return;
        // The grants are taken out here, so that no other thread is still telling their holders
        // when they are released. A grant that is being released is left to that call, which counts
        // as under way.
        ending = state_.grants.end(local_clock::now());
        may_remove = !ending.was_lost && !state_.may_need_row();
        is_over = state_.has_nothing_left();
    }
    const bool was_live = !ending.was_lost;
    // This tells the holders first: the heartbeat, for which end() waits below, may hang until long
    // after the deadline.
    state_.tell(ending.held, ending.was_lost, ending.why);
    state_.over.request_stop();
    state_.lost.request_stop();
    const auto began = local_clock::now();
    const auto until = parting().deadline;
    const bool has_answered = stop_heartbeat(until);
    const bool has_waited =
        local_clock::now() - began >= database().settings().statement_timeout / 2;
    const bool is_silent = database().connections().last_word() == server_word::silence;
    if (!has_answered || (has_waited && is_silent)) database().connections().note_ignored(began);
    // A missing row would count as alive for holds that could not be released.
    const bool all_free = was_live && release_all(ending.held, until);
    bool has_failed = was_live && !all_free;
    // If releases failed only because somebody's transaction keeps keys locked, this frees them at
    // once.
    const bool answers = database().connections().last_word() == server_word::answer;
    if (ending.may_expire && !is_row_gone_ && (answers || may_say_goodbye(has_failed, until))) {
        has_failed = !end_in_database(may_remove && all_free ? state_.last_had() : std::nullopt) ||
                     has_failed;
    }
    release_in_doubt_apart(has_failed, until);
    if (was_live && (has_failed || !may_part())) {
        database().tell(
            {event_kind::release_failed,
             "",
             0,
             "the session could not be ended in time: what it still holds ends with its ttl"}
        );
    }
    if (is_over) stop_and_join(watch_thread_);
}

// In an outage this does not wait for long either; calls that remain go on without their session.
void session::implementation::see_off_calls() noexcept {
    if (!is_at_home()) return;
    database().unattended().await_none(this, parting().deadline);
}

// ----------------------------------------------------------------------------------- the handle

session::session(leasehold::database db, session_settings settings)
    : inner_(make_at_home<implementation>(std::move(db), std::move(settings))) {
    if (inner_->has_begun()) inner_->launch();
}
session::session(std::shared_ptr<implementation> adopted) noexcept : inner_(std::move(adopted)) {}
session::session(session&&) noexcept = default;
session& session::operator=(session&& other) noexcept {
    if (this != &other) {
        end();
        inner_ = std::move(other.inner_);
    }
    return *this;
}
session::~session() {
    end();
}
void session::end() noexcept {
    const auto alive = inner_;  // a callback may destroy the session
    if (!alive) return;
    alive->end();
    alive->see_off_calls();
}
session_id session::id() const {
    return inner_->id();
}
bool session::is_live() const {
    return inner_->is_live();
}
std::stop_token session::lost() const {
    return inner_->lost();
}
loss_reason session::why_lost() const {
    return inner_->reason();
}
local_clock::time_point session::deadline() const {
    return inner_->deadline();
}
std::chrono::milliseconds session::longest_gap() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(inner_->longest_gap());
}
const session_settings& session::settings() const& {
    return inner_->settings();
}
const database& session::database() const {
    return inner_->handle();
}

void run_in_session(
    const database& db,
    const session_settings& settings,
    const callable<void(session&)>& body,
    const std::stop_token& stop
) {
    for (int failures = 1; !stop.stop_requested(); ++failures) {
        std::optional<session> mine;
        const auto is_lost = [&] {
            return !mine->is_live() && mine->why_lost() != loss_reason::session_ended;
        };
        try {
            mine.emplace(db, settings);
            failures = 1;
            body(*mine);
            if (!is_lost()) return;
        } catch (const error& failure) {
            if (mine ? !is_lost() : !failure.is_transient()) throw;
        }
        mine.reset();
        const auto pause = backed_off(failures, milliseconds{50}, std::chrono::seconds{2});
        wait_until_requested(stop, local_clock::now() + pause);
    }
}

}  // namespace leasehold
