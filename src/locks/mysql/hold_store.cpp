// Grants keys on MySQL and MariaDB, and tells whether a grant can be part of a transaction of the
// caller's. The statements, and the reasons for their form: hold.sql.
#include "locks/sql_hold_store.hpp"

#include <cstdint>
#include <map>

#include "sql/mysql/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_hold_store final : public sql_hold_store {
public:
    explicit mysql_hold_store(shared_dialect how) : sql_hold_store(std::move(how)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values = values_of(wanted);
        if (auto answer = try_small(on, wanted, values)) return *std::move(answer);
        return despite_deadlocks([&] {
            const auto try_it = [&] { return ask(on, "try_acquire", values); };
            attempt made = try_it();
            const bool is_new = !made.key_is_known;
            if (is_new && made.answer.status == acquire_status::busy) {
                const auto add_key = [&] { return ask(on, "insert_and_acquire", values); };
                made = insert_or(add_key, try_it);
                made.key_is_known = false;
            }
            note(wanted.key, made);
            return made.answer;
        });
    }

    std::vector<std::optional<fencing_token>> try_acquire_several(
        connection& on, const std::vector<const acquire_request*>& wanted
    ) override {
        std::vector<std::optional<fencing_token>> tokens(wanted.size());
        std::map<std::string, std::size_t> places;  // by owner id
        lists asked{{"{keys}", "{owners}", "{sessions}", "{node_infos}"}};
        for (std::size_t at = 0; at < wanted.size(); ++at) {
            const acquire_request& each = *wanted[at];
            if (!is_plain(each) || !is_worth_taking(each.key) || asked.is_full()) continue;
            places.emplace(each.owner.bytes(), at);
            asked.add(
                {value_of(each.key), value_of(each.owner), value_of(each.session), each.node_info}
            );
        }
        if (places.empty()) return tokens;
        using column = columns::hold::take_free_of;
        for (const row& each : write(on, "take_free_of", asked).rows) {
            const std::size_t at = places.at(each.bytes(column::owner));
            tokens[at] = fencing_token{each.integer(column::token)};
            note_granted(wanted[at]->key);
        }
        return tokens;
    }

    release_outcome release_last(connection& on, const hold& held) override {
        if (how_->written() == written_nodes::several) return release(on, held);
        const result freed = sql_hold_store::write(on, "release_last", values_of(held));
        return freed.affected_rows > 0 ? release_outcome::released : release_outcome::not_held;
    }

    std::vector<bool> release_several(connection& on, const std::vector<const hold*>& held)
        override {
        lists asked{{"{keys}", "{owners}", "{tokens}"}};
        for (const hold* const each : held) {
            if (!asked.is_full()) asked.add(values_of(*each));
        }
        std::uint64_t free = 0;
        for (const std::int64_t bits :
             only_integers<std::int64_t>(write(on, "release_of", asked))) {
            free |= static_cast<std::uint64_t>(bits);
        }
        std::vector<bool> are_free;
        for (std::size_t at = 0; at < held.size(); ++at) {
            are_free.push_back(((free >> at) & 1U) != 0);
        }
        return are_free;
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        parameters values{value_of(owner)};
        for (const key& each : keys) values.push_back(value_of(each));
        const statement ask{for_keys(texts_.source("find_grants"), keys.size(), 2), how_->which()};
        return tokens_of(how_->read(on, ask, values), keys.size());
    }

    // The statement would lock the row even if nobody holds it.
    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        const auto seen = describe(on, name, false);
        if (!seen || !seen->info.is_held) return std::nullopt;
        return sql_hold_store::request_revoke(on, name);
    }

    std::optional<row_lock_info> find_row_lock(connection& on, const key& name) override {
        return mysql_dialect::find_row_lock(*how_, on, name);
    }
    std::optional<error> why_row_lock_is_unknown(connection& on, const key& name) override {
        return mysql_dialect::why_row_lock_is_unknown(*how_, on, name);
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
    // Columns of a list, each of which stands somewhere in a statement as $1, $2, …
    class lists {
    public:
        explicit lists(std::vector<std::string> places)
            : places_(std::move(places)), columns_(places_.size()) {}

        void add(const parameters& row) {
            for (std::size_t at = 0; at < row.size(); ++at) columns_.at(at).push_back(row[at]);
            bytes_ += row[0].bytes().size();
        }
        // Each byte of a key takes sixteen bytes of the packet, beside 300 for the row and its
        // node_info; connections need at least this max_allowed_packet.
        bool is_full() const noexcept { return bytes_ * 16 + columns_[0].size() * 800 > 56'000; }
        std::string filled_in(std::string text) const {
            const std::size_t rows = columns_[0].size();
            for (std::size_t at = 0; at < places_.size(); ++at) {
                text = replaced(text, places_[at], numbered_places(rows, at * rows + 1));
            }
            std::string locked;
            for (std::size_t each = 0; each < rows; ++each) {
                locked += each == 0 ? "" : ", ";
                locked += "IF(@leasehold_free & (1 << " + std::to_string(each) + "), $" +
                          std::to_string(each + 1) + ", NULL)";
            }
            return replaced(text, "{locked}", locked);
        }
        parameters values() const {
            parameters all;
            for (const parameters& each : columns_) all = joined(std::move(all), each);
            return all;
        }

    private:
        std::vector<std::string> places_;
        std::vector<parameters> columns_;
        std::size_t bytes_ = 0;  // in all keys
    };

    result write(connection& on, std::string_view name, const lists& asked) const {
        const statement all{asked.filled_in(texts_.source(name)), how_->which(), how_->written()};
        return how_->write(on, all, asked.values());
    }

    static bool is_plain(const acquire_request& wanted) {
        return !wanted.fixed_term && wanted.lock_delay.count() == 0 && wanted.metadata.empty();
    }

    attempt ask(connection& on, std::string_view name, const parameters& values) const {
        return attempt_in(send(on, texts_[name], values).rows.at(0));
    }
};

}  // namespace

std::unique_ptr<hold_store> make_hold_store(shared_dialect how) {
    return std::make_unique<mysql_hold_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
