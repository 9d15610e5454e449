// Grants one of several holds on SQLite. The statements: holder.sql.
#include "locks/sql_holder_store.hpp"

#include "locks/sql_hold_rows.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

class sqlite_holder_store final : public sql_holder_store {
public:
    explicit sqlite_holder_store(shared_dialect how)
        : sql_holder_store(how), sqlite_(std::move(how)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    holder_result try_acquire(connection& on, const holder_request& wanted) override {
        writing write{*sqlite_, texts_, on};
        parameters values = values_of_request(wanted);
        holder_result answer = verdict(write, values, wanted.owner);
        if (answer.status != holder_status::granted) return answer;
        write.begin();
        answer = verdict(write, values, wanted.owner);  // somebody may have been faster
        if (answer.status != holder_status::granted) return answer;
        write("bury", values);
        auto counted = write("take", values);
        if (counted.rows.empty()) counted = write("make", values);
        answer.token = {only_integer(counted)};
        values.emplace_back(answer.token.number);
        write("grant", values);
        write.commit();
        return answer;
    }

    bool pass(connection& on, const key& name) override {
        writing write{*sqlite_, texts_, on};
        parameters values{value_of(name)};
        if (write("looks_complete", values).rows.empty()) return false;
        write.begin();
        const auto next = write("next_phase", values);
        if (next.rows.empty()) return false;
        values.emplace_back(only_integer(next));
        write("pass", values);
        write.commit();
        return true;
    }

    std::vector<lock_info> force_release(connection& on, const key& name) override {
        writing write{*sqlite_, texts_, on};
        const parameters which{value_of(name)};
        if (write("is_used", which).rows.empty()) return {};
        write.begin();
        if (write("is_used", which).rows.empty()) return {};
        auto victims = holders_in(write("holders", which));
        write("force_header", which);
        write("notify_sessions", which);
        write("remove_all", which);
        write.commit();
        return victims;
    }

private:
    static holder_result verdict(
        const writing& ask, const parameters& wanted, const owner_id& owner
    ) {
        constexpr std::size_t first = columns::holder::verdict::status;
        holder_result answer = verdict_in(ask("verdict", wanted).rows.at(0), first);
        if (answer.status != holder_status::busy) return answer;
        for (lock_info& each : holders_in(ask("holders", wanted))) {
            if (each.owner != owner && !answer.holder) answer.holder = std::move(each);
        }
        return answer;
    }

    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<holder_store> make_holder_store(shared_dialect how) {
    return std::make_unique<sqlite_holder_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
