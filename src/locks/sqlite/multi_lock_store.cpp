// SQLite: several keys at once. One write transaction for all of them: multi_lock.sql.
#include "locks/multi_lock_store.hpp"

#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/sql_text.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_multi_lock_store final : public multi_lock_store, private sql_store {
public:
    explicit sqlite_multi_lock_store(shared_dialect how)
        : sql_store(how, locks_sql, "multi_lock"), sqlite_(std::move(how)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        writing write{*sqlite_, texts_, on};
        const parameters values{
            value_of(wanted.owner),
            value_of(wanted.session),
            wanted.node_info,
            value_of(wanted.fixed_term)};
        if (auto refused = refusal(write, wanted.keys, values)) return *refused;
        write.begin();
        if (auto refused = refusal(write, wanted.keys, values)) return *refused;
        acquire_all_result granted;
        for (const key& each : wanted.keys) {
            const parameters row = joined(values, {value_of(each)});
            auto changed = write("take", row);
            if (changed.rows.empty()) changed = write("make", row);
            if (changed.rows.empty()) return {};  // all of it is rolled back
            granted.tokens.push_back({only_integer(changed)});
        }
        write.commit();
        granted.status = acquire_all_status::granted;
        return granted;
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        parameters values{value_of(held.front().owner)};
        std::string list;
        for (const hold& each : held) {
            values.push_back(value_of(each.key));
            list += (list.empty() ? "($" : ", ($") + std::to_string(values.size());
            values.emplace_back(each.token.number);
            list += ", $" + std::to_string(values.size()) + ")";
        }
        const statement ask{replaced(texts_.source("prove_all"), "{keys}", list), engine::sqlite};
        return only_integer(how_->inside(inside, ask, values)) ==
               static_cast<std::int64_t>(held.size());
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        release_all_result done;
        for (const hold& each : held) {
            if (write("release", values_of(each)).affected_rows == 1) {
                done.released.push_back(each);
            } else if (prove_all(on, {each})) {
                done.awaited.push_back(each);
            }
        }
        if (!done.released.empty()) write.commit();
        return done;
    }

private:
    // Why the request must be refused at present; nullopt if it may be granted.
    static std::optional<acquire_all_result> refusal(
        const writing& ask, const std::vector<key>& keys, const parameters& values
    ) {
        using column = columns::multi_lock::look_on_sqlite;
        acquire_all_result answer;
        if (ask("session_is_live", values).rows.empty()) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        bool is_busy = false;
        for (const key& each : keys) {
            const auto found = ask("look", {value_of(each)});
            if (found.rows.empty()) continue;
            const row& seen = found.rows[0];
            if (seen.integer(column::kind) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(seen.integer(column::kind));
                answer.misused.emplace(each);
                return answer;
            }
            if (seen.integer(column::is_closed) == 0) continue;
            is_busy = true;
            lock_info holder = hold_in(seen, column::hold);
            if (holder.is_held && !answer.holder) answer.holder = std::move(holder);
        }
        if (is_busy) return answer;
        return std::nullopt;
    }

    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(shared_dialect how) {
    return std::make_unique<sqlite_multi_lock_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
