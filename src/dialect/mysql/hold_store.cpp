// How MySQL and MariaDB grant a key, and whether they can in a transaction of the caller's. The
// statements, and why they are as they are: hold.sql.
#include "dialect/hold_store.hpp"

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_hold_store final : public sql_hold_store {
public:
    explicit mysql_hold_store(shared_dialect how) : sql_hold_store(std::move(how)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values = values_of(wanted);
        if (auto answer = try_small(on, wanted, values)) return *std::move(answer);
        return despite_deadlocks([&] {
            attempt made = ask(on, "try_acquire", values);
            const bool is_new = !made.key_is_known;
            if (is_new && made.answer.status == acquire_status::busy) {
                made = add_key_and_ask(on, values);
                made.key_is_known = false;
            }
            note(wanted.key, made);
            return made.answer;
        });
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        parameters values{value_of(owner)};
        for (const key& each : keys) values.push_back(value_of(each));
        const statement ask{for_keys(texts_.source("find_grants"), keys.size(), 2), how_->which()};
        return tokens_of(how_->read(on, ask, values), keys.size());
    }

    // What asks would lock a row that nobody holds.
    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        const auto seen = describe(on, name, false);
        if (!seen || !seen->info.is_held) return std::nullopt;
        return sql_hold_store::request_revoke(on, name);
    }

    pending_entry enter(connection& inside) override {
        const std::string level = session_isolation(inside);
        if (level == "READ-COMMITTED") return pending_entry::beside;
        throw error(
            errc::wrong_transaction,
            "an acquire needs READ COMMITTED and the session is at " + level +
                ", where it may go on reading what was there before the key's last holder wrote: "
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED before the transaction"
        );
    }

private:
    attempt ask(connection& on, std::string_view name, const parameters& values) const {
        return attempt_in(send(on, texts_[name], values).rows.at(0));
    }

    attempt add_key_and_ask(connection& on, const parameters& values) const {
        try {
            return ask(on, "insert_and_acquire", values);
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
        }
        return ask(on, "try_acquire", values);
    }
};

}  // namespace

std::unique_ptr<hold_store> make_hold_store(shared_dialect how) {
    return std::make_unique<mysql_hold_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
