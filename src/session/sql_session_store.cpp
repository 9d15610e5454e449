#include "session/sql_session_store.hpp"

namespace leasehold {

heartbeat_result sql_session_store::heartbeat(
    connection& on, const session_id& id, std::chrono::microseconds ttl, const session_news& known
) {
    const parameters values{value_of(id), value_of(ttl), known.notices, known.incarnation};
    if (write(on, "heartbeat", values).affected_rows > 0) return {heartbeat_status::renewed};
    auto news = news_of(on, id);
    if (!news) return {heartbeat_status::ended};
    return {heartbeat_status::noticed, std::move(*news)};
}

void sql_session_store::end(
    connection& on, const session_id& id, const std::optional<std::vector<waiter_id>>& remove_unless
) {
    if (remove_unless) return remove(on, id, *remove_unless);
    write(on, "end", {value_of(id)});
}

std::optional<fencing_token> sql_session_store::start_with_grant(
    connection& on, const session_start& session, const acquire_request& wanted
) {
    const parameters values = joined(values_of(wanted), {value_of(session.ttl)});
    const result granted = write(on, "start_with_grant", values);
    if (granted.rows.empty() || granted.rows[0].is_null(only_column)) return std::nullopt;
    return fencing_token{only_integer(granted)};
}

bool sql_session_store::end_with_release(connection& on, const session_id& id, const hold& last) {
    const parameters values = joined(values_of(last), {value_of(id)});
    return only_integer(write(on, "end_with_release", values)) != 0;
}

session_info session_in(const row& from) {
    using column = columns::session::list;
    return {
        .id = identity_of<session_id>(from, column::id),
        .node_info = from.bytes(column::node_info),
        .is_live = from.integer(column::is_live) != 0,
        .started_ago = std::chrono::microseconds{from.integer(column::started_ago)},
        .heartbeat_ago = std::chrono::microseconds{from.integer(column::heartbeat_ago)},
        .remaining = std::chrono::microseconds{from.integer(column::remaining)},
    };
}

std::vector<session_info> sql_session_store::list(connection& on) {
    const result found = read(on, "list");
    std::vector<session_info> sessions;
    sessions.reserve(found.rows.size());
    for (const row& each : found.rows) {
        sessions.push_back(session_in(each));
    }
    return sessions;
}

parameters sql_session_store::values_of_start(const session_start& session) {
    return {value_of(session.id), session.node_info, value_of(session.ttl)};
}

parameters sql_session_store::values_of_taking(
    const session_start& to, const std::string& expected
) {
    return joined(values_of_start(to), {expected});
}

std::optional<session_news> sql_session_store::news_of(connection& on, const session_id& id) const {
    using column = columns::session::news;
    const result found = read(on, "news", {value_of(id)});
    if (found.rows.empty()) return std::nullopt;
    const row& seen = found.rows[0];
    return session_news{seen.integer(column::notices), seen.bytes(column::incarnation)};
}

}  // namespace leasehold
