#include "locks/sql_hold_store.hpp"

#include <algorithm>

#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {

std::optional<std::int64_t> sql_hold_store::reenter(connection& on, const hold& held) {
    return only_integer_if_any(write(on, "reenter", values_of(held)));
}

release_outcome sql_hold_store::release(connection& on, const hold& held) {
    const result left = write(on, "release", values_of(held));
    if (left.rows.empty()) return release_outcome::not_held;
    return only_integer(left) > 0 ? release_outcome::still_held : release_outcome::released;
}

release_outcome sql_hold_store::release_owner(
    connection& on, const key& name, const owner_id& owner
) {
    const result freed = write(on, "release_owner", {value_of(name), value_of(owner)});
    return freed.affected_rows > 0 ? release_outcome::released : release_outcome::not_held;
}

bool sql_hold_store::prove(connection& in, const hold& held) {
    return has_found(inside(in, "prove", values_of(held)));
}

std::vector<standing> sql_hold_store::standings(connection& on, const std::vector<hold>& held) {
    std::vector<standing> answers(held.size(), standing::gone);
    ask(
        on,
        "standings",
        held.size(),
        [&](std::size_t at) { return values_of(held[at]); },
        [&](std::size_t at, const row& seen) {
            const bool is_asked = seen.integer(columns::hold::standings::is_asked) != 0;
            answers.at(at) = is_asked ? standing::asked : standing::held;
        }
    );
    return answers;
}

std::optional<described_hold> sql_hold_store::describe(
    connection& on, const key& name, bool counts_waiters
) {
    const result found = read(on, "describe", {value_of(name), counts_waiters ? 1 : 0});
    if (found.rows.empty()) return std::nullopt;
    constexpr std::size_t metadata = columns::hold::describe::hold + columns::sql::hold::metadata;
    described_hold seen{described_in(found.rows[0]), std::nullopt};
    const bool has_some = seen.info.is_held && !found.rows[0].is_null(metadata);
    if (has_some) seen.metadata = found.rows[0].bytes(metadata);
    return seen;
}

std::vector<lock_info> sql_hold_store::list(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    std::vector<lock_info> held;
    const result found = read(on, "list", values_of_page(prefix, after, limit));
    for (const row& each : found.rows) held.push_back(described_in(each));
    return held;
}

std::vector<lock_info> sql_hold_store::list_free(
    connection& on, std::string_view prefix, std::string_view after, int limit
) {
    std::vector<lock_info> all;
    const result found = how_->read(
        on, how_->of(locks_sql, "free_keys")["list"], values_of_page(prefix, after, limit)
    );
    for (const row& each : found.rows) all.push_back(free_in(each));
    return all;
}

std::vector<std::string> sql_hold_store::list_passed(
    connection& on, std::string_view prefix, int limit
) {
    const parameters range{blob{first_of_page(prefix, {})}, blob{end_of_prefix(prefix)}, limit};
    return only_texts(how_->read(on, how_->of(locks_sql, "row_lock")["list_passed"], range));
}

std::optional<lock_info> sql_hold_store::force_release(
    connection& on, const key& name, std::optional<fencing_token> only
) {
    const parameters which{value_of(name), only ? value{only->number} : value{}};
    const statement* const look = texts_.find("is_closed");
    if (look && how_->read(on, *look, which).rows.empty()) return std::nullopt;
    const result freed = write(on, "force_release", which);
    if (freed.rows.empty()) return std::nullopt;
    return described_in(freed.rows[0]);
}

bool sql_hold_store::change_kind(connection& on, const key& name, lock_kind to) {
    using column = columns::hold::change_kind;
    const parameters change{value_of(name), static_cast<int>(to)};
    // The row was idle and did not change: another session had changed it after our snapshot.
    constexpr int max_looks = 4;
    for (int look = 1;; ++look) {
        const result found = write(on, "change_kind", change);
        if (found.rows.empty()) return true;
        const row& seen = found.rows[0];
        if (seen.integer(column::kind) == static_cast<int>(to)) return true;
        if (seen.integer(column::is_changed) != 0) return true;
        if (seen.integer(column::is_idle) == 0 || look == max_looks) return false;
    }
}

bool sql_hold_store::set_metadata(
    connection& on, const hold& held, const std::optional<std::string>& metadata
) {
    const parameters values = joined(values_of(held), {metadata ? value{*metadata} : value{}});
    return !write(on, "set_metadata", values).rows.empty();
}

std::optional<lock_info> sql_hold_store::request_revoke(connection& on, const key& name) {
    const result asked = write(on, "request_revoke", {value_of(name)});
    if (asked.rows.empty()) return std::nullopt;
    return hold_in(asked.rows[0], columns::hold::request_revoke::hold);
}

bool sql_hold_store::give_term(
    connection& on, const hold& held, std::chrono::microseconds fixed_term
) {
    const parameters values = joined(values_of(held), {value_of(fixed_term)});
    return !write(on, "give_term", values).rows.empty();
}

bool sql_hold_store::extend_term(
    connection& on, const hold& held, std::chrono::microseconds fixed_term
) {
    const parameters values = joined(values_of(held), {value_of(fixed_term)});
    return !write(on, "extend_term", values).rows.empty();
}

adopt_status sql_hold_store::adopt(connection& on, const adoption& wanted) {
    using column = columns::hold::adopt;
    const row answer = write(on, "adopt", values_of_adoption(wanted)).rows.at(0);
    if (answer.integer(column::is_live) == 0) return adopt_status::session_ended;
    return answer.integer(column::is_adopted) == 1 ? adopt_status::adopted : adopt_status::gone;
}

// The owner always changes, so the count is the same with and without CLIENT_FOUND_ROWS.
bool sql_hold_store::move(connection& in, const hold& held, const owner_id& to) {
    const parameters values = joined(values_of(held), {value_of(to)});
    return inside(in, "move", values).affected_rows >= 1;
}

std::optional<std::vector<fencing_token>> sql_hold_store::tokens_of(
    const result& found, std::size_t wanted
) {
    if (found.rows.size() != wanted) return std::nullopt;
    return only_integers<fencing_token>(found);
}

parameters sql_hold_store::values_of_adoption(const adoption& wanted) {
    const value from = wanted.from ? value_of(*wanted.from) : value{};
    return joined(values_of(wanted.hold), {from, value_of(wanted.to), wanted.node_info});
}

std::optional<acquire_result> sql_hold_store::try_small(
    connection& on, const acquire_request& wanted, const parameters& values
) {
    const statement* const look = texts_.find("holder_of");
    const statement* const take = texts_.find("take_free");
    const auto choice = first_.of(wanted.key);
    if (!look || !take || choice == first_statement::choice::whole) return std::nullopt;
    acquire_result answer;
    if (choice == first_statement::choice::look) {
        const parameters whose{value_of(wanted.key), value_of(wanted.session)};
        const result held = how_->read(on, *look, whose);
        if (!held.rows.empty()) {
            answer.holder = hold_in(held.rows[0], columns::hold::holder_of::hold);
            return answer;
        }
    }
    const result taken = how_->write(on, *take, values);
    if (taken.rows.empty()) return std::nullopt;
    note_granted(wanted.key);
    answer.status = acquire_status::granted;
    answer.token = {only_integer(taken)};
    return answer;
}

void sql_hold_store::note(const key& name, const attempt& made) noexcept {
    if (made.answer.status == acquire_status::granted) {
        first_.note_granted(name);
        made.key_is_known ? first_.note_taken() : first_.note_missed();
    } else if (made.answer.holder) {
        first_.note_refused(name);
    }
}

sql_hold_store::attempt sql_hold_store::attempt_in(const row& from) {
    using column = columns::hold::try_acquire;
    constexpr std::size_t owner = column::hold + columns::sql::hold::owner;
    attempt made;
    made.key_is_known = !from.is_null(column::hold);
    if (!from.is_null(column::token)) {
        made.answer.status = acquire_status::granted;
        made.answer.token = {from.integer(column::token)};
    } else if (from.integer(column::is_live) == 0) {
        made.answer.status = acquire_status::session_ended;
    } else if (made.key_is_known) {
        made.answer.kind = static_cast<lock_kind>(from.integer(column::kind));
        if (made.answer.kind != lock_kind::mutex) {
            made.answer.status = acquire_status::wrong_kind;
            return made;
        }
        made.is_free = from.is_null(owner);
        lock_info holder = hold_in(from, column::hold);
        if (holder.is_held) made.answer.holder = std::move(holder);
    }
    return made;
}

}  // namespace leasehold
