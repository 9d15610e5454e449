// MySQL and MariaDB: the stores put together, and how their statements are sent.
#include "sql/mysql/dialect.hpp"

#include <algorithm>

#include "sql/dialects.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace mysql_dialect {
namespace {

// If the statements after the change wait for the cluster, that wait fails with the error of a lock
// wait, or because the node has been cut off: the change may have been committed.
bool may_fail_after_change(const error& failure, written_nodes written) {
    constexpr int lock_wait = 1205, not_ready = 1047;
    const int code = failure.native_code();
    return written == written_nodes::several && (code == lock_wait || code == not_ready);
}

// Answers as execute_script() does, with statements that are sent one by one. Places are ?.
result send_each(connection& on, std::string_view packet, const parameters& values) {
    result all;
    std::size_t used = 0;
    for (bool is_first = true; !packet.empty(); is_first = false) {
        constexpr std::string_view white = " \n";
        const auto end = std::min(packet.find(';'), packet.size());
        std::string_view text = packet.substr(0, end);
        packet.remove_prefix(std::min(end + 1, packet.size()));
        text.remove_prefix(std::min(text.find_first_not_of(white), text.size()));
        if (text.empty()) continue;
        const auto places = static_cast<std::size_t>(std::ranges::count(text, '?'));
        const auto from = values.begin() + static_cast<std::ptrdiff_t>(used);
        used += places;
        result one = on.execute(text, parameters(from, from + static_cast<std::ptrdiff_t>(places)));
        const bool reads = text.starts_with("SELECT") || text.starts_with("WITH");
        const bool is_kept = text.find("INTO @") != std::string_view::npos;
        if (is_first) all.affected_rows = one.affected_rows;
        if (reads && !is_kept) all.rows = std::move(one.rows);
    }
    return all;
}

// Sends parts of a transaction. If another node's commit takes its rows Galera rolls it back, and
// does not say so within a packet of several statements: the statements that follow are carried out
// by themselves, and succeed. A statement that is alone in its packet gets an error.
result send_parts(
    connection& on, std::string_view packet, const parameters& values, written_nodes written
) {
    const bool is_galera =
        written == written_nodes::several && on.server().engine == engine::mariadb;
    return is_galera ? send_each(on, packet, values) : on.execute_script(packet, values);
}

class dialect final : public sql_dialect {
public:
    dialect(const table_names& names, engine which, written_nodes written)
        : sql_dialect(which, names, written) {}

    // Some reads lock their rows.
    result read(connection& on, const statement& what, const parameters& values) const override {
        return write(on, what, values);
    }
    result write(connection& on, const statement& what, const parameters& values) const override {
        return despite_deadlocks([&] { return send(on, what, values); });
    }
    result inside(connection& on, const statement& what, const parameters& values) const override {
        const parameters placed = as_bytes(what.placed(values));
        const bool is_single = what.what() == statement::form::single;
        return is_single ? on.execute(what.text(), placed)
                         : send_parts(on, what.text(), placed, what.written());
    }
};

result send_packet(
    connection& on, std::string_view packet, const parameters& values, written_nodes written
) {
    try {
        const bool is_transaction = packet.find("START TRANSACTION") != std::string_view::npos;
        return is_transaction ? send_parts(on, packet, values, written)
                              : on.execute_script(packet, values);
    } catch (const error& failure) {
        const bool may_have_changed = failure.code() == errc::timed_out ||
                                      failure.code() == errc::database_error ||
                                      may_fail_after_change(failure, written);
        if (failure.outcome_is_unknown() || !may_have_changed) throw;
        throw error(
            failure.code(),
            failure.what(),
            {.sqlstate = failure.sqlstate(),
             .native_code = failure.native_code(),
             .server_message = failure.server_message(),
             .outcome_unknown = true}
        );
    }
}

}  // namespace

parameters as_bytes(parameters values) {
    for (value& each : values) {
        if (const auto* text = std::get_if<std::string>(&each.held())) each = blob{*text};
    }
    return values;
}

result send_transaction(
    connection& on, std::string_view packet, const parameters& values, written_nodes written
) {
    try {
        return send_packet(on, packet, values, written);
    } catch (...) {
        on.rollback();
        throw;
    }
}

result send(connection& on, const statement& what, const parameters& values) {
    const parameters placed = as_bytes(what.placed(values));
    switch (what.what()) {
        case statement::form::single:
            break;
        case statement::form::script:
            return on.execute_script(what.text(), placed);
        case statement::form::packet:
            return send_packet(on, what.text(), placed, what.written());
        case statement::form::transaction:
            return send_transaction(on, what.text(), placed, what.written());
    }
    return on.execute(what.text(), placed);
}

packet& packet::add(std::string_view statements) {
    text_.append(statements).append(";");
    return *this;
}

packet& packet::add(std::string_view statements, const parameters& values) {
    values_ = joined(std::move(values_), as_bytes(values));
    return add(statements);
}

packet& packet::add(const statement& what, const parameters& values) {
    values_ = joined(std::move(values_), as_bytes(what.placed(values)));
    if (what.written() == written_nodes::several) written_ = written_nodes::several;
    return add(what.text());
}

result packet::send(connection& on) const {
    return send_transaction(on, text_, values_, written_);
}

result send_in_transaction(connection& on, const statement& what, const parameters& values) {
    if (on.state() == connection_state::in_transaction) {
        return send_parts(on, what.text(), as_bytes(what.placed(values)), what.written());
    }
    return despite_deadlocks([&] { return packet{}.add(what, values).add("COMMIT").send(on); });
}

// MariaDB's variable changed its name with 11.1.
std::string session_isolation(connection& inside) {
    const server_info& server = inside.server();
    const bool has_old_name = server.engine == engine::mariadb && server.version < 110101;
    const char* const question =
        has_old_name ? "SELECT @@tx_isolation" : "SELECT @@transaction_isolation";
    return only_text(inside.execute(question));
}

std::string numbered_places(std::size_t count, std::size_t first) {
    std::string all;
    for (std::size_t at = 0; at < count; ++at) {
        all += (at == 0 ? "$" : ", $") + std::to_string(first + at);
    }
    return all;
}

std::string for_keys(std::string_view text, std::size_t count, std::size_t first) {
    const std::string keys = numbered_places(count, first);
    return replaced(replaced(text, "{keys}", keys), "{size}", std::to_string(count));
}

}  // namespace mysql_dialect

std::shared_ptr<const sql_dialect> make_mysql_dialect(
    const table_names& names, engine which, written_nodes written
) {
    using namespace mysql_dialect;
    require_valid(names);
    if (!names.schema.empty()) {
        throw error(
            errc::invalid_argument,
            "MySQL and MariaDB have no schema beside the database: leave `schema` empty and name "
            "the database in the URL"
        );
    }
    return std::make_shared<const dialect>(names, which, written);
}

}  // namespace leasehold
