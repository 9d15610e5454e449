#include "dialect/custody_store.hpp"

#include "dialect/hold_rows.hpp"

namespace leasehold {

bool sql_custody_store::set_words(
    connection& on, const hold& held, const std::optional<std::string>& words
) {
    const parameters values = joined(values_of(held), {words ? value{*words} : value{}});
    return !write(on, "set_words", values).rows.empty();
}

std::optional<custody> sql_custody_store::look(connection& on, const key& name) {
    const result found = read(on, "look", {value_of(name)});
    if (found.rows.empty()) return std::nullopt;
    constexpr std::size_t words = 9;
    custody seen{hold_in(found.rows[0], 0), std::nullopt};
    if (!found.rows[0].is_null(words)) seen.words = found.rows[0].bytes(words);
    return seen;
}

std::optional<lock_info> sql_custody_store::request_revoke(connection& on, const key& name) {
    if (looks_first_ && !look(on, name)) return std::nullopt;
    const result asked = write(on, "request_revoke", {value_of(name)});
    if (asked.rows.empty()) return std::nullopt;
    return hold_in(asked.rows[0], 0);
}

bool sql_custody_store::give_term(
    connection& on, const hold& held, std::chrono::microseconds hold_at_most
) {
    const parameters values = joined(values_of(held), {value_of(hold_at_most)});
    return !write(on, "give_term", values).rows.empty();
}

adopt_status sql_custody_store::adopt(connection& on, const adoption& wanted) {
    const row answer = write(on, "adopt", values_of_adoption(wanted)).rows.at(0);
    if (answer.integer(1) == 0) return adopt_status::session_ended;
    return answer.integer(0) == 1 ? adopt_status::adopted : adopt_status::gone;
}

parameters sql_custody_store::values_of_adoption(const adoption& wanted) {
    const value from = wanted.from ? value_of(*wanted.from) : value{};
    return joined(values_of(wanted.hold), {from, value_of(wanted.to), wanted.node_info});
}

}  // namespace leasehold
