#include "jobs/mysql/job_inserts.hpp"

#include <algorithm>

#include "jobs/job_store.hpp"
#include "jobs/sql_stores.hpp"
#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {
namespace {

// False if the drawn id exists already: another try would get no further.
bool is_of_unique_key(const error& failure) {
    return failure.native_code() == duplicate_key_code &&
           !failure.server_message().ends_with("PRIMARY'");
}

// The due time that a job asks for, as it is stored: microseconds since 1970.
std::int64_t run_at_of(const schedule::instant& when) {
    return std::max(std::int64_t{0}, std::int64_t{when.time_since_epoch().count()});
}

}  // namespace

bool reads_newest(connection& on) {
    if (on.state() != connection_state::in_transaction || on.is_untouched()) return true;
    return session_isolation(on) == "READ-COMMITTED";
}

// An insert that is refused keeps a lock on the row that has the key, and on the gap before it,
// until the transaction ends: until then the worker that runs that job could not end it. So in a
// transaction a plain read looks for the keys first.
std::vector<std::optional<job_id>> job_inserts::insert(
    connection& on, const std::string& queue, std::span<const new_job> what
) {
    const bool is_inside = on.state() == connection_state::in_transaction;
    const bool is_read_newest = !is_inside || on.is_untouched();
    const std::vector<bool> blocked = are_blocked(on, queue, what);
    const std::set<std::string> taken =
        is_inside ? taken_of(on, queue, what) : std::set<std::string>{};
    // If the plain read may see an old snapshot, only the inserts themselves tell.
    const bool is_trusted = taken.empty() || is_read_newest || reads_newest(on);
    places wanted;
    bool has_keys = false;
    for (std::size_t at = 0; at < what.size(); ++at) {
        if (is_trusted && taken.contains(what[at].unique_key)) continue;
        has_keys = has_keys || !what[at].unique_key.empty();
        wanted.push_back(at);
    }
    std::vector<std::optional<job_id>> ids(what.size());
    if (wanted.empty()) return ids;
    if (!has_keys || (is_trusted && wanted.size() > 1)) {
        try {
            const auto made = insert_all(on, queue, what, blocked, wanted);
            for (std::size_t each = 0; each < wanted.size(); ++each) ids[wanted[each]] = made[each];
            return ids;
        } catch (const error& failure) {
            if (!has_keys || !is_of_unique_key(failure)) throw;
        }
    }
    // One of the keys is taken. Inserts the jobs one by one, in their order.
    for (const std::size_t at : wanted) {
        try {
            ids[at] = insert_all(on, queue, what, blocked, {at}).front();
        } catch (const error& failure) {
            if (!is_of_unique_key(failure)) throw;
        }
    }
    return ids;
}

std::set<std::string> job_inserts::taken_of(
    connection& on, const std::string& queue, std::span<const new_job> what
) const {
    parameters values{queue};
    for (const new_job& each : what) {
        if (!each.unique_key.empty()) values.emplace_back(each.unique_key);
    }
    if (values.size() == 1) return {};
    const statement ask{
        for_keys(texts_.source("taken"), values.size() - 1, 2), how_.which(), how_.written()};
    const auto taken = only_texts(how_.inside(on, ask, values));
    return {taken.begin(), taken.end()};
}

std::vector<bool> job_inserts::are_blocked(
    connection& on, const std::string& queue, std::span<const new_job> what
) {
    std::vector<bool> blocked(what.size(), false);
    std::set<std::string> keys;
    for (const new_job& each : what) {
        if (!each.ordering_key.empty()) keys.insert(each.ordering_key);
    }
    if (keys.empty()) return blocked;
    auto [before, now] = ahead_of(on, queue, {keys.begin(), keys.end()});
    const std::int64_t per_key = queues_.of(queue).max_running_per_key;
    for (std::size_t at = 0; at < what.size(); ++at) {
        const new_job& each = what[at];
        if (each.ordering_key.empty()) continue;
        std::int64_t& of_key = before[each.ordering_key];
        blocked[at] = of_key >= per_key;
        // A job that is not due holds no other back. A job with a unique key may be refused, and
        // then nobody would free the jobs behind it; a claim blocks a job that is available too
        // early.
        const bool is_early =
            each.delay.count() > 0 || (each.run_at && run_at_of(*each.run_at) > now);
        if (!is_early && each.unique_key.empty()) ++of_key;
    }
    return blocked;
}

job_inserts::ahead job_inserts::ahead_of(
    connection& on, const std::string& queue, const std::vector<std::string>& keys
) {
    using column = columns::job::ahead;
    constexpr std::size_t keys_per_statement = 64;
    ahead found_ahead;
    const statement& part = texts_["ahead"];
    auto seen = queues_.of(queue);
    for (std::size_t first = 0; first < keys.size();) {
        const std::size_t end = std::min(keys.size(), first + keys_per_statement);
        std::string text;
        parameters values;
        for (std::size_t at = first; at < end; ++at) {
            text += (at == first ? "" : " UNION ALL ") + part.text();
            values = joined(
                std::move(values), part.placed({queue, keys[at], at, seen.max_running_per_key})
            );
        }
        const result found = on.execute(text, as_bytes(values));
        const std::int64_t is = found.rows.at(0).integer(column::per_key);
        if (is != seen.max_running_per_key) {
            // The statement counted up to the limit that this process knew, which the queue's row
            // no longer has: count again up to the present limit.
            seen.max_running_per_key = is;
            queues_.note(queue, seen);
            first = 0;
            continue;
        }
        for (const row& each : found.rows) {
            const auto key = static_cast<std::size_t>(each.integer(column::number));
            found_ahead.of_keys[keys.at(key)] = each.integer(column::before);
        }
        found_ahead.now = found.rows.at(0).integer(column::now);
        first = end;
    }
    return found_ahead;
}

void job_inserts::add_row(
    const std::string& queue,
    const new_job& what,
    bool is_blocked,
    std::string& text,
    parameters& values
) const {
    using std::chrono::microseconds;
    constexpr int available = 2, blocked = 5;
    parameters own = joined(
        joined(
            {queue, what.kind, is_blocked ? blocked : available, what.priority},
            values_unless_usual(what)
        ),
        {text_or_null(what.unique_key),
         text_or_null(what.ordering_key),
         text_or_null(what.traceparent),
         what.payload}
    );
    std::string_view name = "row";
    if (what.run_at) {
        name = "row_at";
        own.emplace_back(run_at_of(*what.run_at));
    } else if (what.delay.count() > 0) {
        name = "row_in";
        own.emplace_back(value_of(microseconds{what.delay}));
    }
    text += texts_[name].text();
    for (value& each : texts_[name].placed(own)) values.push_back(std::move(each));
}

std::vector<job_id> job_inserts::insert_all(
    connection& on,
    const std::string& queue,
    std::span<const new_job> what,
    const std::vector<bool>& are_blocked,
    const places& which
) const {
    std::string text = texts_["insert"].text() + "\n";
    parameters values;
    for (const std::size_t at : which) {
        if (at != which.front()) text += ",\n";
        add_row(queue, what[at], are_blocked[at], text, values);
    }
    text += "\n" + texts_["ids"].text();
    const bool is_inside = on.state() == connection_state::in_transaction;
    const result found = is_inside ? on.execute_script(text, as_bytes(values))
                                   : packet{}.add(text, values).add("COMMIT").send(on);
    if (how_.which() == engine::mariadb) return only_integers(found);
    using column = columns::job::ids;
    const job_id first = found.rows.at(0).integer(column::first);
    const std::int64_t step = found.rows.at(0).integer(column::step);
    std::vector<job_id> ids;
    for (std::size_t at = 0; at < which.size(); ++at) {
        ids.push_back(first + static_cast<job_id>(at) * step);
    }
    return ids;
}

}  // namespace leasehold::mysql_dialect
