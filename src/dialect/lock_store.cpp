#include "dialect/lock_store.hpp"

#include <algorithm>

#include "dialect/hold_rows.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold {

std::optional<fencing_token> sql_lock_store::find_grant(
    connection& on, const key& name, const owner_id& owner
) {
    const result found = read(on, "find_grant", {value_of(name), value_of(owner)});
    if (found.rows.empty()) return std::nullopt;
    return fencing_token{found.rows[0].integer(0)};
}

std::optional<std::int64_t> sql_lock_store::reenter(connection& on, const hold& held) {
    const result counted = write(on, "reenter", values_of(held));
    if (counted.rows.empty()) return std::nullopt;
    return counted.rows[0].integer(0);
}

release_outcome sql_lock_store::release(connection& on, const hold& held) {
    const result left = write(on, "release", values_of(held));
    if (left.rows.empty()) return release_outcome::not_held;
    return left.rows[0].integer(0) > 0 ? release_outcome::still_held : release_outcome::released;
}

release_outcome sql_lock_store::release_owner(
    connection& on, const key& name, const owner_id& owner
) {
    const result freed = write(on, "release_owner", {value_of(name), value_of(owner)});
    return freed.affected_rows > 0 ? release_outcome::released : release_outcome::not_held;
}

bool sql_lock_store::prove(connection& in, const hold& held) {
    return !inside(in, "prove", values_of(held)).rows.empty();
}

std::vector<standing> sql_lock_store::standings(connection& on, const std::vector<hold>& held) {
    std::vector<standing> answers(held.size(), standing::gone);
    ask(
        on,
        "standings",
        held.size(),
        [&](std::size_t at) { return values_of(held[at]); },
        [&](std::size_t at, const row& seen) {
            answers.at(at) = seen.integer(1) != 0 ? standing::asked : standing::held;
        }
    );
    return answers;
}

std::optional<lock_info> sql_lock_store::describe(connection& on, const key& name) {
    const result found = read(on, "describe", {value_of(name)});
    if (found.rows.empty()) return std::nullopt;
    return described_in(found.rows[0]);
}

std::vector<lock_info> sql_lock_store::list(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    const parameters range{
        blob{first_of_page(prefix, after)}, blob{end_of_prefix(prefix)}, std::max(limit, 0)};
    std::vector<lock_info> held;
    for (const row& each : read(on, "list", range).rows) held.push_back(described_in(each));
    return held;
}

std::optional<lock_info> sql_lock_store::force_release(connection& on, const key& name) {
    const parameters which{value_of(name)};
    const statement* const look = texts_.find("is_closed");
    if (look && how_->read(on, *look, which).rows.empty()) return std::nullopt;
    const result freed = write(on, "force_release", which);
    if (freed.rows.empty()) return std::nullopt;
    return described_in(freed.rows[0]);
}

bool sql_lock_store::change_kind(connection& on, const key& name, lock_kind to) {
    const parameters change{value_of(name), static_cast<int>(to)};
    // Idle and yet not changed: somebody else was there since our snapshot.
    constexpr int looks_max = 4;
    for (int look = 1;; ++look) {
        const result found = write(on, "change_kind", change);
        if (found.rows.empty()) return true;
        const row& seen = found.rows[0];
        if (seen.integer(0) == static_cast<int>(to) || seen.integer(2) != 0) return true;
        if (seen.integer(1) == 0 || look == looks_max) return false;
    }
}

sql_lock_store::attempt sql_lock_store::attempt_in(const row& from) {
    constexpr std::size_t kind = 2, hold = 3, owner = hold + 3;
    attempt made;
    made.key_is_known = !from.is_null(hold);
    if (!from.is_null(0)) {
        made.answer.status = acquire_status::granted;
        made.answer.token = {from.integer(0)};
    } else if (from.integer(1) == 0) {
        made.answer.status = acquire_status::session_ended;
    } else if (made.key_is_known) {
        made.answer.kind = static_cast<lock_kind>(from.integer(kind));
        if (made.answer.kind != lock_kind::mutex) {
            made.answer.status = acquire_status::wrong_kind;
            return made;
        }
        made.is_free = from.is_null(owner);
        lock_info holder = hold_in(from, hold);
        if (holder.is_held) made.answer.holder = std::move(holder);
    }
    return made;
}

}  // namespace leasehold
