// Grants one of several holds on MySQL and MariaDB, and takes it away by force. The statements, and
// the reasons for their form: holder.sql.
#include "locks/sql_holder_store.hpp"

#include <algorithm>

#include "locks/sql_hold_rows.hpp"
#include "sql/mysql/batch.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_holder_store final : public sql_holder_store {
public:
    explicit mysql_holder_store(shared_dialect how) : sql_holder_store(std::move(how)) {}

    holder_result try_acquire(connection& on, const holder_request& wanted) override;
    std::vector<lock_info> force_release(connection& on, const key& name) override;

private:
    struct attempt {
        holder_result answer;
        bool key_is_known = false;
        bool is_open = false;   // the pre-check did not refuse, but the header did
        bool has_dead = false;  // the pre-check did not count holders that look dead
    };

    attempt ask(connection& on, std::string_view name, const parameters& values) const;
    bool bury_the_dead(connection& on, const holder_request& wanted) const;
    std::vector<lock_info> force(connection& on, const value& name) const;
};

mysql_holder_store::attempt mysql_holder_store::ask(
    connection& on, std::string_view name, const parameters& values
) const {
    const result reply = send(on, texts_[name], values);
    const row& report = reply.rows.at(0);
    using column = columns::holder::try_acquire_on_mysql;
    constexpr std::size_t kind = column::verdict + columns::holder::verdict::kind;
    constexpr std::size_t remaining =
        column::holder + columns::holder::holder::hold + columns::sql::hold::remaining;
    attempt made;
    made.key_is_known = !report.is_null(kind);
    made.answer = verdict_in(report, column::verdict);
    if (report.integer(column::token) > 0) {
        made.answer.token = {report.integer(column::token)};
        return made;
    }
    made.is_open = made.answer.status == holder_status::granted;
    made.has_dead = report.integer(column::dead) > 0;
    if (made.answer.status == holder_status::busy && !report.is_null(column::holder)) {
        // The first of the holders that were alive; a holder that died since is no obstacle.
        if (report.integer(remaining) >= 0) made.answer.holder = holder_in(report, column::holder);
    }
    return made;
}

holder_result mysql_holder_store::try_acquire(connection& on, const holder_request& wanted) {
    const parameters request = values_of_request(wanted);
    const auto values = [&](bool has_buried) { return joined(request, {has_buried ? 1 : 0}); };
    return despite_deadlocks([&] {
        attempt made = ask(on, "try_acquire", values(false));
        // The pre-check did not refuse, and yet it was not granted: there was no header, or there
        // are dead holders, or another caller was faster. In each of the first two cases somebody
        // has made progress. If the row of a dead holder is locked, a proof or another caller has
        // it.
        constexpr int max_looks = 8;
        bool has_buried = false;
        for (int look = 1; made.is_open && look < max_looks; ++look) {
            if (made.has_dead) {
                const bool has_got_on = bury_the_dead(on, wanted);
                if (has_buried && !has_got_on) break;
                has_buried = true;
            }
            const auto try_it = [&] { return ask(on, "try_acquire", values(has_buried)); };
            const auto add_header = [&] {
                return ask(on, "insert_and_acquire", values(has_buried));
            };
            made = made.key_is_known ? try_it() : insert_or(add_header, try_it);
        }
        if (made.is_open) made.answer.status = holder_status::busy;
        return made.answer;
    });
}

// Removes all dead holders that it can without waiting; answers whether there were any.
bool mysql_holder_store::bury_the_dead(connection& on, const holder_request& wanted) const {
    const value name = value_of(wanted.key);
    const result found = read(on, "looks_dead", {name, value_of(wanted.owner)});
    using column = columns::holder::looks_dead;
    constexpr std::size_t max_per_packet = 100;
    std::int64_t count = 0;
    for (std::size_t from = 0; from < found.rows.size(); from += max_per_packet) {
        const std::size_t end = std::min(from + max_per_packet, found.rows.size());
        batch next;
        for (std::size_t at = from; at < end; ++at) {
            const row& each = found.rows[at];
            const blob owner{each.bytes(column::owner)}, session{each.bytes(column::session)};
            next.add(texts_["bury"], {name, owner, session});
        }
        count += next.send(on);
    }
    return count > 0;
}

std::vector<lock_info> mysql_holder_store::force_release(connection& on, const key& name) {
    // A look first, so that a key nobody uses costs no lock and no wait.
    if (read(on, "is_used", {value_of(name)}).rows.empty()) return {};
    return despite_deadlocks([&] { return force(on, value_of(name)); });
}

std::vector<lock_info> mysql_holder_store::force(connection& on, const value& name) const {
    using column = columns::holder::whose;
    const result whose = on.execute(texts_["whose"].text(), {name});
    packet all;
    parameters owners{name}, sessions;
    std::string places;
    for (const row& each : whose.rows) {
        owners.emplace_back(blob{each.bytes(column::owner)});
        places += ", $" + std::to_string(owners.size());
        all.add(texts_["lock_one"], {name, owners.back()});
        const value session = blob{each.bytes(column::session)};
        const bool is_known = std::ranges::find(sessions, session) != sessions.end();
        if (!is_known) sessions.push_back(session);
    }
    const std::string forcing = replaced(texts_.source("force_header"), "{owners}", places);
    all.add(statement{forcing, how_->which()}, owners);
    for (std::size_t at = 1; at < owners.size(); ++at)
        all.add(texts_["force_one"], {name, owners[at]});
    for (const value& each : sessions) all.add(texts_["add_notice"], {name, value{}, each});
    return holders_in(all.add("COMMIT").send(on));
}

}  // namespace

std::unique_ptr<holder_store> make_holder_store(shared_dialect how) {
    return std::make_unique<mysql_holder_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
