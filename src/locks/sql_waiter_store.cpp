#include "locks/sql_waiter_store.hpp"

#include <algorithm>
#include <utility>

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

look_result look_in(const row& seen) {
    using column = columns::waiter::look;
    look_result answer;
    if (number_or(seen, column::is_holder, 0) != 0) {
        answer.status = look_status::granted;
        answer.token = {seen.integer(column::token)};
        answer.term_left = term_in(seen, column::term_left);
    } else if (seen.integer(column::is_waiting) != 0) {
        answer.status = look_status::waiting;
        answer.looks_takeable = seen.integer(column::looks_takeable) != 0;
    }
    return answer;
}

queued_waiter queued_in(const row& from, std::string name) {
    using column = columns::waiter::list;
    return {
        from.integer(column::ticket),
        {identity_of<owner_id>(from, column::owner),
         identity_of<session_id>(from, column::session),
         from.bytes(column::node_info),
         duration_of(from, column::waited),
         std::move(name)}};
}

}  // namespace

enqueue_result sql_waiter_store::enqueue(connection& on, const acquire_request& wanted) {
    using column = columns::waiter::enqueue;
    const row found = write(on, "enqueue", values_of_waiter(wanted)).rows.at(0);
    const bool has_row = !found.is_null(column::kind);
    enqueue_result answer;
    if (has_row) answer.kind = static_cast<lock_kind>(found.integer(column::kind));
    if (!found.is_null(column::ticket)) {
        answer.status = enqueue_status::waiting;
        answer.ticket = found.integer(column::ticket);
        answer.looks_takeable = found.integer(column::looks_takeable) != 0;
    } else if (found.integer(column::is_live) == 0) {
        answer.status = enqueue_status::session_ended;
    } else if (!has_row) {
        answer.status = enqueue_status::unknown_key;
    } else if (answer.kind != lock_kind::mutex) {
        answer.status = enqueue_status::wrong_kind;
    } else {
        answer.is_being_taken = number_or(found, column::looks_takeable, 0) != 0;
    }
    return answer;
}

hand_over_result sql_waiter_store::hand_over(connection& on, const hold& held) {
    using column = columns::waiter::pass_on;
    const auto found = write(on, "pass_on", values_of(held));
    if (!found.rows.empty()) {
        const row& next = found.rows[0];
        return handed_over(held.key, next, column::successor, {next.integer(column::token)});
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
    for (const std::int64_t each : only_integers(how_->read(on, *find, which))) {
        is_gone = leave(on, name, owner, each);
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
    const bool is_first = after.empty();
    const parameters range{
        blob{std::string{is_first ? prefix : after}},
        is_first ? 0 : after_ticket,
        blob{end_of_prefix(prefix)},
        std::max(limit, 0)};
    std::vector<queued_waiter> found;
    for (const row& each : read(on, "list_all", range).rows) {
        found.push_back(queued_in(each, each.bytes(columns::waiter::list_all::key)));
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

hand_over_result sql_waiter_store::serve_next(
    connection& on, std::string_view statement, const parameters& values, const key& name
) {
    using column = columns::waiter::serve;
    // Where nothing changed somebody has queued or left meanwhile, and the loop looks again: on
    // MySQL and MariaDB the packet has let go of the lock row, and there is one waiter less.
    while (true) {
        const row found = write(on, statement, values).rows.at(0);
        if (found.integer(column::is_locked) == 0) return {};
        if (found.is_null(column::token)) continue;
        if (found.is_null(column::successor)) return {hand_over_status::freed, std::nullopt};
        return handed_over(name, found, column::successor, {found.integer(column::token)});
    }
}

hand_over_result sql_waiter_store::handed_over(
    const key& name, const row& from, std::size_t first, fencing_token token
) {
    using column = columns::waiter::successor;
    successor next{
        name,
        identity::from_bytes(from.bytes(first + column::owner)),
        identity::from_bytes(from.bytes(first + column::session)),
        token,
        term_in(from, first + column::term),
        text_or_empty(from, first + column::address)};
    return {hand_over_status::handed_over, std::move(next)};
}

}  // namespace leasehold
