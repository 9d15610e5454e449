#include "locks/sql_holder_store.hpp"

#include <algorithm>

#include "locks/sql_hold_rows.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {

std::optional<fencing_token> sql_holder_store::find_grant(
    connection& on, const key& name, const owner_id& owner
) {
    const result found = read(on, "find_grant", {value_of(name), value_of(owner)});
    return only_integer_if_any<fencing_token>(found);
}

release_outcome sql_holder_store::release(connection& on, const hold& held) {
    const result gone = write(on, "release", values_of(held));
    return gone.affected_rows > 0 ? release_outcome::released : release_outcome::not_held;
}

release_outcome sql_holder_store::release_owner(
    connection& on, const key& name, const owner_id& owner
) {
    const result gone = write(on, "release_owner", {value_of(name), value_of(owner)});
    return gone.affected_rows > 0 ? release_outcome::released : release_outcome::not_held;
}

bool sql_holder_store::prove(connection& in, const hold& held) {
    return has_found(inside(in, "prove", values_of(held)));
}

std::vector<bool> sql_holder_store::which_are_held(connection& on, const std::vector<hold>& held) {
    std::vector<bool> answers(held.size());
    const auto values_of_one = [&](std::size_t at) { return values_of(held[at]); };
    ask(on, "are_held", held.size(), values_of_one, [&](std::size_t at, const row&) {
        answers.at(at) = true;
    });
    return answers;
}

void sql_holder_store::announce(connection& on, const holder_request& wanted) {
    write(
        on,
        "announce",
        {value_of(wanted.key), value_of(wanted.owner), value_of(wanted.session), wanted.node_info}
    );
}

void sql_holder_store::withdraw(connection& on, const key& name, const owner_id& owner) {
    write(on, "withdraw", {value_of(name), value_of(owner)});
}

bool sql_holder_store::reduce(
    connection& on, const hold& held, hold_mode mode, std::int64_t permits
) {
    const parameters values = joined(values_of(held), {static_cast<int>(mode), permits});
    return !write(on, "reduce", values).rows.empty();
}

bool sql_holder_store::resize(
    connection& on, const key& name, lock_kind kind, std::int64_t capacity
) {
    const parameters values{value_of(name), static_cast<int>(kind), capacity};
    return write(on, "resize", values).affected_rows > 0;
}

std::optional<std::int64_t> sql_holder_store::arrive(connection& on, const hold& held) {
    return only_integer_if_any(write(on, "arrive", values_of(held)));
}

std::optional<holder_tally> sql_holder_store::tally(connection& on, const key& name) {
    using column = columns::holder::tally;
    const result found = read(on, "tally", {value_of(name)});
    if (found.rows.empty()) return std::nullopt;
    const row& its = found.rows[0];
    return holder_tally{
        static_cast<lock_kind>(its.integer(column::kind)),
        its.integer(column::capacity),
        its.integer(column::arrived),
        its.integer(column::holders)};
}

bool sql_holder_store::pass(connection& on, const key& name) {
    return !write(on, "pass", {value_of(name)}).rows.empty();
}

std::vector<std::optional<holder_state>> sql_holder_store::look(
    connection& on, const std::vector<holder_id>& whose
) {
    using column = columns::holder::look;
    std::vector<std::optional<holder_state>> answers(whose.size());
    const auto values_of_one = [&](std::size_t at) {
        return values_of(hold{whose[at].key, whose[at].owner, {}});
    };
    ask(on, "look", whose.size(), values_of_one, [&](std::size_t at, const row& seen) {
        const auto mode = static_cast<int>(seen.integer(column::mode));
        answers.at(at) = {mode, {seen.integer(column::token)}};
    });
    return answers;
}

std::vector<lock_info> sql_holder_store::holders_of(connection& on, const key& name) {
    return holders_in(read(on, "holders", {value_of(name)}));
}

std::vector<lock_info> sql_holder_store::list(
    connection& on,
    std::string_view prefix,
    std::string_view after,
    const std::optional<owner_id>& after_owner,
    int limit
) {
    const bool is_in_range = after >= prefix;
    return holders_in(read(
        on,
        "list",
        {blob{std::string{is_in_range ? after : prefix}},
         blob{is_in_range && after_owner ? after_owner->bytes() : std::string{}},
         blob{end_of_prefix(prefix)},
         std::max(limit, 0)}
    ));
}

std::optional<header_info> sql_holder_store::header(connection& on, const key& name) {
    auto found = headers_in(on, {blob{name.name()}, blob{name.name() + '\0'}, 1});
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<header_info> sql_holder_store::headers(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    return headers_in(on, values_of_page(prefix, after, limit));
}

std::vector<header_info> sql_holder_store::headers_in(connection& on, const parameters& range)
    const {
    using column = columns::holder::headers;
    std::vector<header_info> found;
    for (const row& each : read(on, "headers", range).rows) {
        found.push_back(
            {.key = each.bytes(column::key),
             .token = {each.integer(column::token)},
             .node_info = each.bytes(column::node_info),
             .kind = static_cast<lock_kind>(each.integer(column::kind)),
             .capacity = each.integer(column::capacity),
             .arrived = each.integer(column::arrived),
             .waiting = each.integer(column::waiting)}
        );
    }
    return found;
}

lock_counts sql_holder_store::count(connection& on, std::string_view prefix) {
    using column = columns::holder::count;
    const parameters range{blob{first_of_page(prefix, {})}, blob{end_of_prefix(prefix)}};
    const row counted = read(on, "count", range).rows.at(0);
    return {
        counted.integer(column::holds) + counted.integer(column::shared_keys),
        counted.integer(column::holds) + counted.integer(column::shared_holds),
        counted.integer(column::waiters) + counted.integer(column::shared_waiters)};
}

std::vector<lock_info> sql_holder_store::force_release(connection& on, const key& name) {
    return holders_in(write(on, "force_release", {value_of(name)}));
}

parameters sql_holder_store::values_of_request(const holder_request& wanted) {
    return {
        value_of(wanted.key),
        value_of(wanted.owner),
        value_of(wanted.session),
        wanted.node_info,
        static_cast<int>(wanted.kind),
        static_cast<int>(wanted.mode),
        wanted.permits,
        wanted.capacity,
        wanted.gives_way_to | (wanted.keeps_capacity ? holder_bits::keeps_capacity : 0),
        wanted.instead_of ? value{wanted.instead_of->number} : value{}};
}

holder_result sql_holder_store::verdict_in(const row& from, std::size_t first) {
    using column = columns::holder::verdict;
    holder_result answer;
    answer.status = static_cast<holder_status>(from.integer(first + column::status));
    if (!from.is_null(first + column::kind)) {
        answer.kind = static_cast<lock_kind>(from.integer(first + column::kind));
        answer.capacity = from.integer(first + column::capacity);
    }
    return answer;
}

}  // namespace leasehold
