// Several keys at once on PostgreSQL. The statements, and the reasons for their form:
// multi_lock.sql.
#include "locks/multi_lock_store.hpp"

#include <algorithm>
#include <utility>

#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/postgres/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// "$5::bytea, $6::bytea"
std::string placeholders(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "$" : ", $") + std::to_string(first + number) + "::bytea";
    }
    return list;
}

// "($2::bytea, $3::bigint), ($4::bytea, $5::bigint)"
std::string keys_with_tokens(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "($" : ", ($") + std::to_string(first + 2 * number) + "::bytea, $" +
                std::to_string(first + 2 * number + 1) + "::bigint)";
    }
    return list;
}

class postgres_multi_lock_store final : public multi_lock_store, private sql_store {
public:
    explicit postgres_multi_lock_store(shared_dialect how)
        : sql_store(std::move(how), locks_sql, "multi_lock") {}

    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        const std::size_t size = wanted.keys.size();
        parameters values{
            value_of(wanted.owner),
            value_of(wanted.session),
            wanted.node_info,
            value_of(wanted.fixed_term)};
        for (const key& each : wanted.keys) values.push_back(value_of(each));
        std::string ask =
            replaced(texts_.source("try_acquire_all"), "{keys}", numbered_keys(size, 5));
        ask = replaced(ask, "{list}", placeholders(size, 5));
        ask = replaced(ask, "{size}", std::to_string(size));
        // Takeable in our snapshot and yet not granted: another session was faster, and has made
        // progress, so look again.
        constexpr int max_looks = 3;
        for (int look = 1; look <= max_looks; ++look) {
            const std::vector<row> rows = how_->carry_out(on, ask, values).rows;
            if (auto answer = verdict(rows, wanted)) return *answer;
            const bool is_one_unknown = std::ranges::any_of(rows, [](const row& each) {
                return each.is_null(columns::multi_lock::try_acquire_all::hold);
            });
            if (is_one_unknown) add_keys(on, wanted.keys);
        }
        return {};
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        const std::string ask =
            replaced(texts_.source("prove_all"), "{keys}", keys_with_tokens(held.size(), 2));
        return inside.execute(ask, values_of(held)).rows.size() == held.size();
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        const std::string ask =
            replaced(texts_.source("release_all"), "{keys}", keys_with_tokens(held.size(), 2));
        using column = columns::multi_lock::release_all_on_postgres;
        release_all_result done;
        for (const row& each : on.execute(ask, values_of(held)).rows) {
            const bool is_freed = each.integer(column::is_freed) != 0;
            const fencing_token token{each.integer(column::token)};
            (is_freed ? done.released : done.awaited)
                .push_back({key{each.bytes(column::key)}, held.front().owner, token});
        }
        return done;
    }

private:
    // Answers nullopt if another look may help.
    static std::optional<acquire_all_result> verdict(
        const std::vector<row>& rows, const acquire_all_request& wanted
    ) {
        using column = columns::multi_lock::try_acquire_all;
        constexpr std::size_t owner = column::hold + columns::sql::hold::owner;
        acquire_all_result answer;
        if (rows.at(0).integer(column::is_live) == 0) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        for (const row& each : rows) {
            if (each.is_null(column::token)) continue;
            answer.tokens.push_back({each.integer(column::token)});
        }
        if (answer.tokens.size() == wanted.keys.size()) {
            answer.status = acquire_all_status::granted;
            return answer;
        }
        const row* in_the_way = nullptr;
        bool is_one_unknown = false;
        for (const row& each : rows) {
            if (each.is_null(column::hold)) {
                is_one_unknown = true;
                continue;
            }
            if (each.integer(column::kind) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(each.integer(column::kind));
                answer.misused.emplace(each.bytes(column::hold));
                return answer;
            }
            const bool is_free = each.is_null(owner);
            const bool looks_dead = each.integer(column::looks_dead) != 0;
            // Dead holders are in the way only if their death could not be proved just now.
            if (is_free || (looks_dead && in_the_way)) continue;
            if (!in_the_way || in_the_way->integer(column::looks_dead) != 0) in_the_way = &each;
        }
        const bool is_dead_at_most = !in_the_way || in_the_way->integer(column::looks_dead) != 0;
        if (!in_the_way || (is_one_unknown && is_dead_at_most)) return std::nullopt;
        lock_info holder = hold_in(*in_the_way, column::hold);
        if (holder.is_held) answer.holder = std::move(holder);
        return answer;
    }

    void add_keys(connection& on, const std::vector<key>& keys) const {
        parameters values;
        for (const key& each : keys) values.push_back(value_of(each));
        on.execute(
            replaced(texts_.source("add_keys"), "{keys}", numbered_keys(keys.size(), 1)), values
        );
    }

    static parameters values_of(const std::vector<hold>& held) {
        parameters values{value_of(held.front().owner)};
        for (const hold& each : held) {
            values.push_back(value_of(each.key));
            values.emplace_back(each.token.number);
        }
        return values;
    }
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(shared_dialect how) {
    return std::make_unique<postgres_multi_lock_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
