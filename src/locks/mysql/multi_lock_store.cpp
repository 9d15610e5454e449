// Several keys at once on MySQL and MariaDB. The statements, and the reasons for their form:
// multi_lock.sql.
#include "locks/multi_lock_store.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "locks/sql_hold_rows.hpp"
#include "locks/sql_stores.hpp"
#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_multi_lock_store final : public multi_lock_store, private sql_store {
public:
    explicit mysql_multi_lock_store(shared_dialect how)
        : sql_store(std::move(how), locks_sql, "multi_lock") {}

    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        // Takeable when looked at and yet not granted: another session was faster.
        constexpr int max_looks = 3;
        for (int look = 1; look <= max_looks; ++look) {
            std::vector<key> unknown;
            if (auto refused = refusal(on, wanted, unknown)) return *refused;
            for (const key& each : unknown) add_key(on, each);
            auto tokens = despite_deadlocks([&] { return take(on, wanted); });
            if (tokens.size() == wanted.keys.size()) {
                acquire_all_result granted;
                granted.status = acquire_all_status::granted;
                granted.tokens = std::move(tokens);
                return granted;
            }
        }
        return {};
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        using column = columns::multi_lock::prove_all;
        std::set<std::pair<std::string, std::int64_t>> missing;
        for (const hold& each : held) missing.emplace(each.key.name(), each.token.number);
        const result found =
            how_->inside(inside, about("prove_all", held.size(), 2), values_of(held));
        if (found.affected_rows == static_cast<std::int64_t>(held.size())) return true;
        for (const row& each : found.rows) {
            missing.erase({each.bytes(column::key), each.integer(column::token)});
        }
        return missing.empty();
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        using column = columns::multi_lock::release_all_on_mysql;
        const result reply = how_->write(on, about("release_all", held.size(), 2), values_of(held));
        // The statement frees nothing if one of them has gone.
        const bool has_freed = reply.rows.at(0).integer(column::released) > 0;
        release_all_result done;
        for (const hold& each : held) {
            const bool is_there = std::ranges::any_of(reply.rows, [&](const row& one) {
                return !one.is_null(column::key) && one.bytes(column::key) == each.key.name();
            });
            if (is_there) done.awaited.push_back(each);
            if (!is_there && has_freed) done.released.push_back(each);
        }
        return done;
    }

private:
    statement about(std::string_view name, std::size_t keys, std::size_t first) const {
        return {for_keys(texts_.source(name), keys, first), how_->which()};
    }

    static parameters values_of(const std::vector<hold>& held) {
        parameters values{value_of(held.front().owner)};
        for (const hold& each : held) values.push_back(value_of(each.key));
        return values;
    }
    // owner, session, node_info, term or null, and the keys
    static parameters values_of(const acquire_all_request& wanted) {
        parameters values{
            value_of(wanted.owner),
            value_of(wanted.session),
            wanted.node_info,
            value_of(wanted.fixed_term)};
        for (const key& each : wanted.keys) values.push_back(value_of(each));
        return values;
    }

    // Why the request must be refused at present, or the keys that have no row yet.
    std::optional<acquire_all_result> refusal(
        connection& on, const acquire_all_request& wanted, std::vector<key>& unknown
    ) const {
        using column = columns::multi_lock::look_on_mysql;
        const result seen = how_->read(on, about("look", wanted.keys.size(), 5), values_of(wanted));
        acquire_all_result answer;
        if (seen.rows.at(0).integer(column::is_live) == 0) {
            answer.status = acquire_all_status::session_ended;
            return answer;
        }
        std::set<std::string> known;
        bool is_busy = false;
        for (const row& each : seen.rows) {
            if (each.is_null(column::hold)) continue;
            known.insert(each.bytes(column::hold));
            if (each.integer(column::kind) != 1) {
                answer.status = acquire_all_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(each.integer(column::kind));
                answer.misused.emplace(each.bytes(column::hold));
                return answer;
            }
            is_busy = is_busy || each.integer(column::is_closed) != 0;
            lock_info found = hold_in(each, column::hold);
            if (found.is_held && !answer.holder) answer.holder = std::move(found);
        }
        if (is_busy) return answer;
        for (const key& each : wanted.keys) {
            if (!known.contains(each.name())) unknown.push_back(each);
        }
        return std::nullopt;
    }

    void add_key(connection& on, const key& name) const {
        try {
            write(on, "insert", {value_of(name)});
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
        }
    }

    // The tokens of all keys; if they are fewer, nothing was changed.
    std::vector<fencing_token> take(connection& on, const acquire_all_request& wanted) const {
        packet all;
        for (const key& each : wanted.keys) all.add(texts_["lock_row"], {value_of(each)});
        all.add(about("take", wanted.keys.size(), 5), values_of(wanted)).add("COMMIT");
        return only_integers<fencing_token>(all.send(on));
    }
};

}  // namespace

std::unique_ptr<multi_lock_store> make_multi_lock_store(shared_dialect how) {
    return std::make_unique<mysql_multi_lock_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
