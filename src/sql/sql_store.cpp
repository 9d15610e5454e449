#include "sql/sql_store.hpp"

#include <algorithm>

#include "sql/sql_text.hpp"

namespace leasehold {

sql_dialect::sql_dialect(engine which, const table_names& names, written_nodes written)
    : which_(which), names_(names), written_(written) {
    require_valid(names);
}

const statements& sql_dialect::of(const sql_source& room, std::string_view file) const {
    const thread_guard guard{mutex_};
    const auto made = files_.try_emplace(
        std::pair{&room, std::string{file}}, which_, room, file, names_, written_
    );
    return made.first->second;
}

value value_of(std::chrono::microseconds duration) {
    constexpr std::chrono::microseconds longest = std::chrono::hours{24L * 365 * 1000};
    return std::int64_t{std::clamp(duration, std::chrono::microseconds{0}, longest).count()};
}

value value_of(const std::optional<std::chrono::microseconds>& duration) {
    return duration ? value_of(*duration) : value{};
}

value text_or_null(const std::string& text) {
    return text.empty() ? value{} : value{text};
}

parameters values_of(const hold& held) {
    return {value_of(held.key), value_of(held.owner), held.token.number};
}

parameters values_of(const acquire_request& wanted) {
    return {
        value_of(wanted.key),
        value_of(wanted.owner),
        value_of(wanted.session),
        wanted.node_info,
        value_of(wanted.fixed_term),
        value_of(wanted.lock_delay),
        text_or_null(wanted.metadata)};
}

parameters values_of_page(std::string_view prefix, std::string_view after, int limit) {
    return {blob{first_of_page(prefix, after)}, blob{end_of_prefix(prefix)}, std::max(limit, 0)};
}

parameters joined(parameters first, const parameters& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

}  // namespace leasehold
