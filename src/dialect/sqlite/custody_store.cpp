// How SQLite asks a holder to let go, and moves a hold. The statements: custody.sql.
#include "dialect/custody_store.hpp"

#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_custody_store final : public sql_custody_store {
public:
    explicit sqlite_custody_store(shared_dialect how)
        : sql_custody_store(how, true), sqlite_(std::move(how)) {}

    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        if (!look(on, name)) return std::nullopt;
        writing write{*sqlite_, texts_, on};
        write.begin();
        const auto seen = look(on, name);
        if (!seen) return std::nullopt;
        write("ask", {value_of(name)});
        if (seen->hold.session) write("notify_session", {value_of(*seen->hold.session)});
        write.commit();
        return seen->hold;
    }

    adopt_status adopt(connection& on, const adoption& wanted) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        const parameters values = values_of_adoption(wanted);
        if (write("session_is_live", values).rows.empty()) return adopt_status::session_ended;
        if (write("adopt", values).affected_rows == 0) return adopt_status::gone;
        write.commit();
        return adopt_status::adopted;
    }

private:
    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<custody_store> make_custody_store(shared_dialect how) {
    return std::make_unique<sqlite_custody_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
