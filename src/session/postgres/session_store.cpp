// The part of sessions that is PostgreSQL's own. The statements: session.sql.
#include "session/sql_session_store.hpp"

#include "sql/postgres/array_text.hpp"
#include "sql/postgres/dialect.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_session_store final : public sql_session_store {
public:
    explicit postgres_session_store(shared_dialect how) : sql_session_store(std::move(how)) {}

    server_environment environment(connection& on) override {
        const row found = read(on, "environment").rows.at(0);
        std::string reason = why_unsuitable(on.server(), found);
        if (!reason.empty()) return {.unsuitable = std::move(reason)};
        return {.durability = weak_durability(found)};
    }

    replication look_at_replication(connection& on) override {
        if (auto found =
                where_allowed([&] { return read(on, "replication", {timeline_row(on)}); })) {
            using column = columns::session::replication;
            const row& seen = found->rows.at(0);
            return {
                unwaited_standbys(seen.integer(column::has_unwaited) != 0),
                seen.integer(column::timeline),
                seen.text(column::incarnation),
                waits(seen, column::waits)};
        }
        using column = columns::session::standbys;
        const row seen = read(on, "standbys").rows.at(0);
        const bool has_unwaited = seen.integer(column::has_unwaited) != 0;
        return {unwaited_standbys(has_unwaited), {}, {}, waits(seen, column::waits)};
    }
    bool begin_branch(connection& on, std::int64_t proposed) override {
        const parameters values{timeline_row(on), proposed};
        return where_allowed([&] { return write(on, "begin_branch", values); }).has_value();
    }

private:
    // No key has a NUL, so that this name is no program's resource.
    static value timeline_row(connection& on) {
        return blob{std::string{"\0timeline/", 10} + on.server().place};
    }

    static std::string why_unsuitable(const server_info& server, const row& found) {
        using column = columns::session::environment;
        constexpr int version_min = 130000;
        if (server.version != 0 && server.version < version_min) {
            return "PostgreSQL " + server.version_text + " is too old: use 13 or newer";
        }
        if (found.integer(column::is_standby) != 0) {
            return "this PostgreSQL server is a read-only replica: connect to the primary "
                   "(target_session_attrs=read-write finds it)";
        }
        if (found.text(column::read_only) != "off") {
            return "transactions are read-only here: set default_transaction_read_only = off for "
                   "this user or database";
        }
        if (found.text(column::isolation) != "read committed") {
            return "statements run at " + found.text(column::isolation) +
                   " here, and locks need read committed: set default_transaction_isolation in "
                   "the connections that are handed to leasehold";
        }
        return "";
    }

    static std::string weak_durability(const row& found) {
        std::string problems;
        const auto add = [&](const std::string& problem) {
            problems += (problems.empty() ? "" : "; ") + problem;
        };
        using column = columns::session::environment;
        for (const auto& [place, setting] :
             {std::pair{column::fsync, "fsync"}, {column::full_page_writes, "full_page_writes"}}) {
            if (found.text(place) == "on") continue;
            add(std::string{"PostgreSQL runs with "} + setting +
                " = off: after a crash, grants may be forgotten and tokens given twice; turn it "
                "on");
        }
        return problems;
    }

    static std::optional<bool> waits(const row& seen, std::size_t column) {
        if (seen.is_null(column)) return std::nullopt;
        return seen.integer(column) != 0;
    }

    static std::string unwaited_standbys(bool are_there) {
        if (!are_there) return "";
        return "PostgreSQL has standbys and waits for none of them: where one is promoted, grants "
               "may be forgotten and tokens given twice; name them in synchronous_standby_names";
    }

    void remove(connection& on, const session_id& id, const std::vector<waiter_id>& unless)
        override {
        array_texts lists(3);
        for (const waiter_id& each : unless) {
            lists.add({value_of(each.key), value_of(each.owner), each.ticket});
        }
        write(on, "remove", joined({value_of(id)}, lists.values()));
    }
};

}  // namespace

std::unique_ptr<session_store> make_session_store(shared_dialect how) {
    return std::make_unique<postgres_session_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
