// The part of sessions that is SQLite's own. The statements: session.sql.
#include "session/sql_session_store.hpp"

#include <algorithm>

#include "locks/sql_stores.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_session_store final : public sql_session_store {
public:
    explicit sqlite_session_store(shared_dialect how)
        : sql_session_store(how), sqlite_(std::move(how)), holds_(sqlite_->of(locks_sql, "hold")) {}

    server_environment environment(connection&) override { return {}; }

    bool start(connection& on, const session_start& session) override {
        return enter_with(on, "start", values_of_start(session));
    }

    bool take_over(connection& on, const session_start& to, const std::string& expected) override {
        return enter_with(on, "take_over", values_of_taking(to, expected));
    }

    // Reads first, without the write lock, as a try does.
    std::optional<fencing_token> start_with_grant(
        connection& on, const session_start& session, const acquire_request& wanted
    ) override {
        const parameters values = values_of(wanted);
        if (read(on, "is_takeable", values).rows.empty()) return std::nullopt;
        write_transaction writing{on};
        sqlite_->boot().enter_inside(on);
        const auto run = [&](const statements& of, const char* name, const parameters& with) {
            return sqlite_->run(on, of[name], with, writing.now());
        };
        result granted = run(holds_, "take", values);
        if (granted.rows.empty()) granted = run(holds_, "make", values);
        if (granted.rows.empty()) return std::nullopt;
        run(texts_, "start_anew", values_of_start(session));
        writing.commit();
        sqlite_->boot().note_entered();
        return fencing_token{only_integer(granted)};
    }

    bool end_with_release(connection& on, const session_id& id, const hold& last) override {
        write_transaction writing{on};
        const auto now = writing.now();
        const result left = sqlite_->run(on, holds_["release"], values_of(last), now);
        if (left.rows.empty() || only_integer(left) > 0) return false;
        sqlite_->run(on, texts_["remove"], {value_of(id)}, now);
        writing.commit();
        return true;
    }

private:
    // This may be the first write of this boot.
    bool enter_with(connection& on, const char* name, const parameters& values) {
        write_transaction writing{on};
        sqlite_->boot().enter_inside(on);
        const auto done = sqlite_->run(on, texts_[name], values, writing.now());
        writing.commit();
        sqlite_->boot().note_entered();
        return done.affected_rows > 0;
    }

    void remove(connection& on, const session_id& id, const std::vector<waiter_id>& unless)
        override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const bool is_kept = std::ranges::any_of(unless, [&](const waiter_id& each) {
            const parameters values{
                value_of(id), value_of(each.key), value_of(each.owner), each.ticket};
            return !write("refers", values).rows.empty();
        });
        write(is_kept ? "end" : "remove", {value_of(id)});
        write.commit();
    }

    const shared_dialect sqlite_;
    const statements& holds_;
};

}  // namespace

std::unique_ptr<session_store> make_session_store(shared_dialect how) {
    return std::make_unique<sqlite_session_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
