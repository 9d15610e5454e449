#include "locks/sql_waiter_store.hpp"

#include <algorithm>
#include <utility>

#include "sql/row_columns.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

// A term that somebody has written by hand counts as the statements count it, and so runs over the
// end of no clock.
std::optional<std::chrono::microseconds> term_in(const row& from, std::size_t column) {
    if (from.is_null(column)) return std::nullopt;
    constexpr std::chrono::microseconds none{0}, longest = std::chrono::hours{24 * 366};
    return std::clamp(std::chrono::microseconds{from.integer(column)}, none, longest);
}

// Columns: number, whether it holds the key, token, the rest of a fixed term, whether it waits,
// whether the key could be taken.
look_result look_in(const row& seen) {
    look_result answer;
    if (!seen.is_null(1) && seen.integer(1) != 0) {
        answer.status = look_status::granted;
        answer.token = {seen.integer(2)};
        answer.term_left = term_in(seen, 3);
    } else if (seen.integer(4) != 0) {
        answer.status = look_status::waiting;
        answer.looks_takeable = seen.integer(5) != 0;
    }
    return answer;
}

// Ticket, owner, session, node_info, and microseconds for which it waits.
queued_waiter queued_in(const row& from, std::string name) {
    const std::chrono::microseconds waited{std::max(std::int64_t{0}, from.integer(4))};
    return {
        from.integer(0),
        {identity_of<owner_id>(from, 1),
         identity_of<session_id>(from, 2),
         from.bytes(3),
         waited,
         std::move(name)}};
}

}  // namespace

// Columns: the ticket or null, whether the session is live, the kind of the row or null where there
// is none, whether the key could be taken.
enqueue_result sql_waiter_store::enqueue(connection& on, const acquire_request& wanted) {
    const row found = write(on, "enqueue", values_of_waiter(wanted)).rows.at(0);
    enqueue_result answer;
    if (!found.is_null(2)) answer.kind = static_cast<lock_kind>(found.integer(2));
    if (!found.is_null(0)) {
        answer.status = enqueue_status::waiting;
        answer.ticket = found.integer(0);
        answer.looks_takeable = found.integer(3) != 0;
    } else if (found.integer(1) == 0) {
        answer.status = enqueue_status::session_ended;
    } else if (found.is_null(2)) {
        answer.status = enqueue_status::unknown_key;
    } else if (answer.kind != lock_kind::mutex) {
        answer.status = enqueue_status::wrong_kind;
    } else {
        answer.is_being_taken = !found.is_null(3) && found.integer(3) != 0;
    }
    return answer;
}

hand_over_result sql_waiter_store::hand_over(connection& on, const hold& held) {
    const auto found = write(on, "pass_on", values_of(held));
    if (!found.rows.empty()) {
        const row& next = found.rows[0];
        return handed_over(held.key, next, 1, {next.integer(0)});
    }
    return serve_next(on, "hand_over", values_of(held), held.key);
}

hand_over_result sql_waiter_store::serve(connection& on, const key& name) {
    return serve_next(on, "serve", {value_of(name)}, name);
}

parameters sql_waiter_store::values_of_waiter(const acquire_request& wanted) {
    parameters values = values_of(wanted);
    values.push_back(text_or_null(wanted.wakeup_address));
    return values;
}

bool sql_waiter_store::leave(
    connection& on, const key& name, const owner_id& owner, std::optional<std::int64_t> ticket
) {
    if (ticket) {
        return write(on, "leave", {value_of(name), *ticket, value_of(owner)}).affected_rows > 0;
    }
    const parameters which{value_of(name), value_of(owner)};
    const statement* const find = texts_.find("find_waiter");
    const statement* const at_once = find ? nullptr : texts_.find("leave_by_owner");
    if (at_once) return how_->write(on, *at_once, which).affected_rows > 0;
    bool is_gone = false;
    for (const row& each : how_->read(on, *find, which).rows) {
        is_gone = leave(on, name, owner, each.integer(0));
    }
    return is_gone;
}

std::vector<look_result> sql_waiter_store::look(connection& on, const std::vector<waiter_id>& who) {
    std::vector<look_result> answers(who.size());
    const auto values_of_one = [&](std::size_t at) {
        return parameters{value_of(who[at].key), value_of(who[at].owner), who[at].ticket};
    };
    ask(on, "look", who.size(), values_of_one, [&](std::size_t at, const row& seen) {
        answers.at(at) = look_in(seen);
    });
    return answers;
}

// Ticket, owner, session, node_info, microseconds since it queued.
std::vector<queued_waiter> sql_waiter_store::list(
    connection& on, const key& name, std::int64_t after, int limit
) {
    std::vector<queued_waiter> queue;
    for (const row& each : read(on, "list", {value_of(name), after, limit}).rows) {
        queue.push_back(queued_in(each, name.name()));
    }
    return queue;
}

std::vector<queued_waiter> sql_waiter_store::list_all(
    connection& on,
    std::string_view prefix,
    std::string_view after,
    std::int64_t after_ticket,
    int limit
) {
    constexpr std::size_t key_column = 5;
    const bool is_first = after.empty();
    const parameters range{
        blob{std::string{is_first ? prefix : after}},
        is_first ? 0 : after_ticket,
        blob{end_of_prefix(prefix)},
        std::max(limit, 0)};
    std::vector<queued_waiter> found;
    for (const row& each : read(on, "list_all", range).rows) {
        found.push_back(queued_in(each, each.bytes(key_column)));
    }
    return found;
}

bool sql_waiter_store::closes_a_circle(
    connection& on, const waiter_id& who, const session_id& own
) {
    return !read(on, "circle", {value_of(who.key), value_of(own), who.ticket}).rows.empty();
}

void sql_waiter_store::notify(connection& on, const owner_id& whom) {
    if (const statement* notify = texts_.find("notify")) {
        how_->write(on, *notify, {channel_, whom.text()});
    }
}

// Columns: whether the row was locked, the token or null where nothing changed, and the successor.
hand_over_result sql_waiter_store::serve_next(
    connection& on, std::string_view statement, const parameters& values, const key& name
) {
    // Where nothing changed somebody has queued or left meanwhile, and the loop looks again: on
    // MySQL and MariaDB the packet has let go of the lock row, and there is one waiter less.
    while (true) {
        const row found = write(on, statement, values).rows.at(0);
        if (found.integer(0) == 0) return {};
        if (found.is_null(1)) continue;
        if (found.is_null(2)) return {hand_over_status::freed, std::nullopt};
        return handed_over(name, found, 2, {found.integer(1)});
    }
}

hand_over_result sql_waiter_store::handed_over(
    const key& name, const row& from, std::size_t first, fencing_token token
) {
    successor next{
        name,
        identity::from_bytes(from.bytes(first)),
        identity::from_bytes(from.bytes(first + 1)),
        token,
        std::nullopt,
        {}};
    next.fixed_term = term_in(from, first + 2);
    if (!from.is_null(first + 3)) next.wakeup_address = from.bytes(first + 3);
    return {hand_over_status::handed_over, std::move(next)};
}

}  // namespace leasehold
