// How SQLite grants a key, and takes it away by force. The statements: lock.sql.
#include "dialect/lock_store.hpp"

#include "dialect/hold_rows.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_lock_store final : public sql_lock_store {
public:
    explicit sqlite_lock_store(shared_dialect how) : sql_lock_store(how), sqlite_(std::move(how)) {}

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
        return {acquire_status::granted, {granted.rows[0].integer(0)}, std::nullopt};
    }

    std::optional<lock_info> force_release(connection& on, const key& name) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const parameters which{value_of(name)};
        const auto found = write("describe", which);
        if (found.rows.empty() || !is_closed(found.rows[0])) return std::nullopt;
        lock_info victim = described_in(found.rows[0]);
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
        if (found.rows.empty() || found.rows[0].integer(0) == static_cast<int>(to)) return true;
        if (write("change_kind", change).affected_rows == 0) return false;
        write.commit();
        return true;
    }

private:
    static constexpr std::size_t kind_column = 11, closed_column = 12;

    static bool is_closed(const row& described) { return described.integer(closed_column) != 0; }

    // Why the request must be refused as things stand; nothing where it may be granted.
    static std::optional<acquire_result> refusal(const writing& ask, const parameters& wanted) {
        if (ask("session_is_live", wanted).rows.empty()) {
            return acquire_result{acquire_status::session_ended, {}, std::nullopt};
        }
        const auto found = ask("describe", wanted);
        if (found.rows.empty()) return std::nullopt;
        const row& as_it_is = found.rows[0];
        const auto kind = static_cast<lock_kind>(as_it_is.integer(kind_column));
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

std::unique_ptr<lock_store> make_lock_store(shared_dialect how) {
    return std::make_unique<sqlite_lock_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
