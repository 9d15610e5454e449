// Grants, takes away and moves keys on SQLite. In a transaction of the caller's it grants inside,
// since a second connection could write nothing meanwhile. The statements: hold.sql.
#include "locks/sql_hold_store.hpp"

#include "leasehold/error.hpp"
#include "locks/sql_hold_rows.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_hold_store final : public sql_hold_store {
public:
    explicit sqlite_hold_store(shared_dialect how) : sql_hold_store(how), sqlite_(std::move(how)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        writing write{*sqlite_, texts_, on};
        const parameters values = values_of(wanted);
        if (auto refused = refusal(write, values)) return *refused;
        write.begin();
        if (auto refused = refusal(write, values)) return *refused;  // somebody was faster
        auto granted = write("take", values);
        if (granted.rows.empty()) granted = write("make", values);
        if (granted.rows.empty()) return {};
        write.commit();
        return {acquire_status::granted, {only_integer(granted)}, std::nullopt};
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        std::vector<fencing_token> tokens;
        for (const key& each : keys) {
            const auto found = read(on, "find_grant", {value_of(each), value_of(owner)});
            if (found.rows.empty()) return std::nullopt;
            tokens.push_back({only_integer(found)});
        }
        return tokens;
    }

    std::optional<lock_info> force_release(
        connection& on, const key& name, std::optional<fencing_token> only
    ) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const parameters which{value_of(name)};
        const auto found = write("describe", {value_of(name), 1});
        if (found.rows.empty() || !is_closed(found.rows[0])) return std::nullopt;
        lock_info victim = described_in(found.rows[0]);
        if (only && victim.token != *only) return std::nullopt;
        write("force", which);
        if (victim.session) write("notify_session", {value_of(*victim.session)});
        write.commit();
        return victim;
    }

    bool change_kind(connection& on, const key& name, lock_kind to) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const parameters change{value_of(name), static_cast<int>(to)};
        const auto found = write("kind", change);
        if (found.rows.empty() || only_integer(found) == static_cast<int>(to)) return true;
        if (write("change_kind", change).affected_rows == 0) return false;
        write.commit();
        return true;
    }

    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        const auto held = [&] {
            auto seen = describe(on, name, false);
            return seen && seen->info.is_held ? std::optional{std::move(seen->info)} : std::nullopt;
        };
        if (!held()) return std::nullopt;
        writing write{*sqlite_, texts_, on};
        write.begin();
        auto asked = held();
        if (!asked) return std::nullopt;
        write("ask", {value_of(name)});
        if (asked->session) write("notify_session", {value_of(*asked->session)});
        write.commit();
        return asked;
    }

    adopt_status adopt(connection& on, const adoption& wanted) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const parameters values = values_of_adoption(wanted);
        if (write("heir_is_live", values).rows.empty()) return adopt_status::session_ended;
        if (write("adopt", values).affected_rows == 0) return adopt_status::gone;
        write.commit();
        return adopt_status::adopted;
    }

    std::optional<row_lock_info> find_row_lock(connection& on, const key& name) override {
        return find_file_lock(*how_, on, name);
    }

    pending_entry enter(connection& inside) override {
        constexpr int busy = 5;
        constexpr int busy_snapshot = 517;
        try {
            sql_store::inside(inside, "enter");
            return pending_entry::inside;
        } catch (const error& failure) {
            if (failure.native_code() == busy_snapshot) {
                throw error(
                    errc::wrong_transaction,
                    "this transaction read before somebody else wrote, so that it can write "
                    "nothing any more: roll it back, and begin it with BEGIN IMMEDIATE"
                );
            }
            if ((failure.native_code() & 0xff) != busy) throw;
            return pending_entry::busy;
        }
    }

private:
    using column = columns::hold::describe_on_sqlite;

    static bool is_closed(const row& seen) { return seen.integer(column::is_closed) != 0; }

    // Why the request must be refused at present; nullopt if it may be granted.
    static std::optional<acquire_result> refusal(const writing& ask, const parameters& wanted) {
        if (ask("session_is_live", wanted).rows.empty()) {
            return acquire_result{acquire_status::session_ended, {}, std::nullopt};
        }
        const auto found = ask("describe", {wanted.at(0), 1});
        if (found.rows.empty()) return std::nullopt;
        const row& as_it_is = found.rows[0];
        const auto kind = static_cast<lock_kind>(as_it_is.integer(column::kind));
        if (kind != lock_kind::mutex) {
            return acquire_result{acquire_status::wrong_kind, {}, std::nullopt, kind};
        }
        if (!is_closed(as_it_is)) return std::nullopt;
        std::optional<lock_info> holder = described_in(as_it_is);
        if (!holder->is_held) holder.reset();  // dead, within its lock_delay
        return acquire_result{acquire_status::busy, {}, std::move(holder)};
    }

    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<hold_store> make_hold_store(shared_dialect how) {
    return std::make_unique<sqlite_hold_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
