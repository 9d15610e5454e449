// Passes a session from one process to another: its row gets another name, which the taker knows,
// and all that lives with the session stays as it is.
//
// | the row's name is | who may rename it                                                        |
// |-------------------|--------------------------------------------------------------------------|
// | its process's     | that process, to a name that is drawn for this: it is detached then      |
// | the drawn one     | a taker that was told it, to one it has drawn itself: the first has it   |
// | anything else     | nobody: the answer to a try is that it is not there                      |
//
// After a lost answer, a renaming from the new name to the new name says whether the first one was
// done. Each renaming gives the session a whole ttl.
#include <utility>

#include "core/error.hpp"
#include "core/process.hpp"
#include "session/session.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

std::string drawn_word() {
    constexpr std::size_t digits = 16;
    return identity::random().text().substr(0, digits);
}

// Refuses holds that live with the session and are of no use, or not the same, in another process.
void require_movable(const grant& each) {
    const hold& what = each.what();
    if (each.term_end()) return;  // it does not live with the session
    if (what.kind == lock_kind::latch || what.kind == lock_kind::barrier) {
        throw error(
            errc::invalid_argument,
            "a place at the " + std::string(name_of(what.kind)) + " '" + what.key.name() +
                "' cannot be passed on: detach the session when it has none"
        );
    }
}

void require_one_level(grant& each) {
    const thread_guard guard{each.depth().mutex};
    if (each.depth().count == 1) return;
    throw error(
        errc::invalid_argument,
        "'" + each.what().key.name() +
            "' is held at more than one level: release the inner ones, and detach it then"
    );
}

}  // namespace

// The time when the successful renaming was sent; nullopt if the row has another name, or has
// ended.
std::optional<local_clock::time_point> session::implementation::take_row(
    const bounds& of_call, const std::string& from, const std::string& to
) {
    constexpr int max_attempts = 3;
    bool is_in_doubt = false;
    for (int attempt = 1;; ++attempt) {
        const auto sent = local_clock::now();
        const session_start row{state_.id, to, state_.settings.ttl};
        try {
            const bool is_taken = database().use(of_call, [&](connection& on, store_set& stores) {
                return stores.get<session_store>().take_over(on, row, from) ||
                       (is_in_doubt && stores.get<session_store>().take_over(on, row, to));
            });
            if (!is_taken) return std::nullopt;
            row_name_ = to;
            return sent;
        } catch (const error& failure) {
            is_in_doubt = is_in_doubt || failure.outcome_is_unknown();
            const bool may_go_on = failure.is_transient() && attempt < max_attempts;
            if (may_go_on && !of_call.have_passed()) continue;
            if (is_in_doubt) row_name_in_doubt_ = to;
            if (!is_in_doubt || failure.outcome_is_unknown()) throw;
            throw reworded(failure, failure.what(), true);
        }
    }
}

std::shared_ptr<session::implementation> session::implementation::taken_over(
    leasehold::database within,
    session_settings settings,
    const session_id& id,
    const std::string& detached_as
) {
    auto made = make_at_home<implementation>(std::move(within), std::move(settings), id);
    const std::string taken_as = made->node_info_ + " (adopted " + drawn_word() + ")";
    const auto sent = made->take_row(made->one_request(), detached_as, taken_as);
    if (!sent) return nullptr;
    // The first process may have detached single leases, or given up holds that a fail-over brings
    // back.
    made->keep_row();
    made->note_begun(*sent);
    return made;
}

// A request that is under way could arrive after the other process has taken the session.
void session::implementation::require_quiet() const {
    if (state_.under_way == 0 && !state_.grants.is_telling() && state_.in_doubt.is_empty()) return;
    throw error(
        errc::transient,
        "a call of this session is under way, or what became of one is not known yet: wait for "
        "that, and detach it then"
    );
}

session::implementation::detached session::implementation::detach() {
    require_live();
    for (const auto& each : state_.watched()) {
        require_movable(*each);
        require_one_level(*each);
    }
    {
        const thread_guard guard{state_.mutex};
        require_quiet();
    }
    detached made{node_info_ + " (detached " + drawn_word() + ")", {}};
    auto sent = take_row(one_request(), row_name_, made.as);
    // An earlier try that got no answer may have renamed the row.
    if (!sent && !row_name_in_doubt_.empty()) {
        sent = take_row(one_request(), row_name_in_doubt_, made.as);
    }
    if (!sent) found_ended();
    bool is_over = false;
    {
        const thread_guard guard{state_.mutex};
        const auto now = local_clock::now();
        state_.grants.lease().tick(now);
        if (!state_.grants.lease().is_live()) refuse_lost(state_.grants.lease().reason());
        // Another thread may have asked for something meanwhile.
        require_quiet();
        for (const auto& each : state_.grants.live()) require_movable(*each);
        state_.has_ended = true;
        // All grants are taken out before any holder is told, since a holder that is told may
        // release another grant.
        auto ending = state_.grants.end(now);
        for (auto& [each, why] : ending.held) {
            if (each->mark_lost(why)) made.grants.push_back(std::move(each));
        }
        is_over = state_.has_nothing_left();
    }
    for (const auto& each : made.grants) {
        each->tell_lost();
        database().tell(loss_of(*each, loss_reason::session_ended));
    }
    state_.over.request_stop();
    state_.lost.request_stop();
    stop_heartbeat(parting().deadline);
    if (is_over) watch_thread_.request_stop();
    return made;
}

}  // namespace leasehold
