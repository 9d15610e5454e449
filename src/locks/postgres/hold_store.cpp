// Grants keys on PostgreSQL, and tells whether a grant can be part of the caller's transaction.
// The statements, and the reasons for their form: hold.sql.
#include "locks/sql_hold_store.hpp"

#include "leasehold/error.hpp"
#include "sql/postgres/array_text.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_hold_store final : public sql_hold_store {
public:
    explicit postgres_hold_store(shared_dialect how) : sql_hold_store(std::move(how)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values = values_of(wanted);
        if (auto answer = try_small(on, wanted, values)) return *std::move(answer);
        const attempt made = try_whole(on, values);
        note(wanted.key, made);
        return made.answer;
    }

    std::vector<std::optional<fencing_token>> try_acquire_several(
        connection& on, const std::vector<const acquire_request*>& wanted
    ) override {
        std::vector<std::optional<fencing_token>> tokens(wanted.size());
        array_texts lists(7);
        for (const acquire_request* const each : wanted) {
            if (is_worth_taking(each->key)) lists.add(without_nulls(*each));
        }
        if (lists.is_empty()) return tokens;
        using column = columns::hold::take_free_of;
        for (const row& each : write(on, "take_free_of", lists.values()).rows) {
            const std::string& owner = each.bytes(column::owner);
            for (std::size_t at = 0; at < wanted.size(); ++at) {
                if (wanted[at]->owner.bytes() != owner) continue;
                tokens[at] = fencing_token{each.integer(column::token)};
                note_granted(wanted[at]->key);
            }
        }
        return tokens;
    }

    std::vector<bool> release_several(connection& on, const std::vector<const hold*>& held)
        override {
        std::vector<bool> are_free(held.size());
        array_texts lists(3);
        for (const hold* const each : held) lists.add(values_of(*each));
        for (const std::string& owner : only_texts(write(on, "release_of", lists.values()))) {
            for (std::size_t at = 0; at < held.size(); ++at) {
                if (held[at]->owner.bytes() == owner) are_free[at] = true;
            }
        }
        return are_free;
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        parameters values{value_of(owner)};
        for (const key& each : keys) values.push_back(value_of(each));
        const std::string ask =
            replaced(texts_.source("find_grants"), "{keys}", numbered_keys(keys.size(), 2));
        return tokens_of(how_->carry_out(on, ask, values), keys.size());
    }

    std::optional<row_lock_info> find_row_lock(connection& on, const key& name) override {
        return postgres_dialect::find_row_lock(*how_, on, name);
    }

    pending_entry enter(connection& inside) override {
        using column = columns::hold::enter;
        const std::string table = fill_in("{prefix}lock", how_->names());
        const row found = sql_store::inside(inside, "enter", {how_->names().schema}).rows.at(0);
        if (found.text(column::isolation) != "read committed") {
            throw error(
                errc::wrong_transaction,
                "an acquire needs READ COMMITTED and this transaction is at " +
                    found.text(column::isolation) +
                    ", where it may go on reading what was there before the key's last holder "
                    "wrote: begin it with BEGIN ISOLATION LEVEL READ COMMITTED"
            );
        }
        if (found.text(column::read_only) != "off") {
            throw error(
                errc::read_only,
                "an acquire needs a transaction that may write: begin it with BEGIN READ WRITE, on "
                "a server that is no standby"
            );
        }
        if (found.integer(column::has_table) == 0) {
            throw error(
                errc::schema_missing,
                "the caller's connection finds no table " + table +
                    ": it is in another database, or its search_path does not name the schema"
            );
        }
        if (found.integer(column::has_rights) == 0) {
            throw error(
                errc::permission_denied,
                "the user of the caller's connection may not read and update " + table +
                    ": grant SELECT and UPDATE, and USAGE of its schema"
            );
        }
        return pending_entry::beside;
    }

private:
    // The parameters of `take_free_of`.
    static parameters without_nulls(const acquire_request& wanted) {
        parameters values = values_of(wanted);
        constexpr std::size_t term = 4, metadata = 6;
        if (values[term].is_null()) values[term] = -1;
        if (values[metadata].is_null()) values[metadata] = "";
        return values;
    }

    attempt try_whole(connection& on, const parameters& values) {
        // If the key was free or absent in our snapshot and yet was not granted, another session or
        // the reaper came first. Somebody has made progress, so this looks again. A dead holder is
        // not reported if its lock_delay has not passed, or another session is proving its death.
        constexpr int max_looks = 4;
        attempt made;
        for (int look = 1; look <= max_looks; ++look) {
            made = attempt_in(write(on, "try_acquire", values).rows.at(0));
            if (made.answer.status != acquire_status::busy) break;
            if (made.key_is_known && !made.is_free) break;
        }
        return made;
    }
};

}  // namespace

std::unique_ptr<hold_store> make_hold_store(shared_dialect how) {
    return std::make_unique<postgres_hold_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
