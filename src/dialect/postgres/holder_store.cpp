// The statements, and why they are as they are: holder_texts.hpp.
#include <optional>
#include <utility>

#include "dialect/postgres/holder_texts.hpp"
#include "dialect/postgres/list_statement.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/holder_store.hpp"

namespace leasehold::postgres_dialect {
namespace {

using namespace holder_texts;

std::chrono::microseconds not_negative(const row& from, std::size_t column) {
    const std::int64_t found = from.is_null(column) ? 0 : from.integer(column);
    return std::chrono::microseconds{std::max(std::int64_t{0}, found)};
}

lock_info lock_info_of(const row& from) {
    lock_info info;
    info.key = from.bytes(0);
    info.token.number = from.integer(1);
    info.is_held = true;
    info.owner = identity::from_bytes(from.bytes(2));
    info.session = identity::from_bytes(from.bytes(3));
    info.node_info = from.text(4);
    info.mode = hold_mode_of(from.integer(5));
    info.permits = from.integer(6);
    info.held_for = not_negative(from, 7);
    info.remaining = not_negative(from, 8);
    info.kind = static_cast<lock_kind>(from.integer(9));
    info.holders = 1;
    return info;
}

std::vector<lock_info> lock_infos_of(const result& found) {
    std::vector<lock_info> all;
    all.reserve(found.rows.size());
    for (const row& each : found.rows) all.push_back(lock_info_of(each));
    return all;
}

// Of the columns that follow the verdict in try_acquire_sql.
std::optional<lock_info> holder_in_the_way(const row& from, const holder_request& wanted) {
    constexpr std::size_t first = 4;
    if (from.is_null(first)) return std::nullopt;
    lock_info info;
    info.key = wanted.key.name();
    info.token.number = from.integer(first);
    info.is_held = true;
    info.owner = identity::from_bytes(from.bytes(first + 1));
    info.session = identity::from_bytes(from.bytes(first + 2));
    info.node_info = from.text(first + 3);
    info.kind = wanted.kind;
    info.mode = hold_mode_of(from.integer(first + 4));
    info.permits = from.integer(first + 5);
    info.held_for = not_negative(from, first + 6);
    info.remaining = not_negative(from, first + 7);
    info.holders = 1;
    return info;
}

// What a grant counts on. Each grant to somebody else, and each arrival, changes it.
struct gate_state {
    std::optional<std::int64_t> fence;  // nothing where there is no gate yet
    std::int64_t kind = 0, capacity = 0, arrived = 0;
    bool operator==(const gate_state&) const = default;
};

gate_state gate_in(const row& from) {
    constexpr std::size_t kind = 2, capacity = 3, fence = 12, arrived = 13;
    if (from.is_null(fence)) return {};
    return {from.integer(fence), from.integer(kind), from.integer(capacity), from.integer(arrived)};
}

class postgres_holder_store final : public holder_store {
public:
    explicit postgres_holder_store(const table_names& names)
        : try_acquire_(fill_in(try_acquire_sql, names)),
          look_(look_head_sql, look_tail_sql, names),
          release_(fill_in(release_sql, names)),
          release_owner_(fill_in(release_owner_sql, names)),
          prove_(fill_in(prove_sql, names)),
          are_held_(are_held_head_sql, are_held_tail_sql, names),
          announce_(fill_in(announce_sql, names)),
          withdraw_(fill_in(withdraw_sql, names)),
          reduce_(fill_in(reduce_sql, names)),
          arrive_(fill_in(arrive_sql, names)),
          tally_(fill_in(tally_sql, names)),
          pass_(fill_in(pass_sql, names)),
          holders_(fill_in(holders_sql, names)),
          list_(fill_in(list_sql, names)),
          force_release_(fill_in(force_release_sql, names)) {}

    holder_result try_acquire(connection& on, const holder_request& wanted) override {
        const parameters values{
            bytes_of(wanted.key.name()),
            bytes_of(wanted.owner),
            bytes_of(wanted.session),
            wanted.node_info,
            static_cast<int>(wanted.kind),
            static_cast<int>(wanted.mode),
            wanted.permits,
            wanted.capacity,
            wanted.gives_way_to,
            wanted.instead_of ? value{wanted.instead_of->number} : value{}};
        // Nothing speaks against it, and yet it is not granted: somebody else was, which the next
        // look finds in the gate, and has got on; or somebody has the row of a dead holder locked,
        // by a proof or to remove it, which may last.
        constexpr int looks_max = 32;
        holder_result answer;
        std::optional<gate_state> seen;
        for (int look = 1; look <= looks_max; ++look) {
            const row found = on.execute(try_acquire_, values).rows.at(0);
            answer.status = static_cast<holder_status>(found.integer(1));
            if (!found.is_null(0)) {
                answer.token.number = found.integer(0);
                return answer;
            }
            if (answer.status == holder_status::granted) {
                const auto before = std::exchange(seen, gate_in(found));
                if (before == seen) break;
                continue;
            }
            if (!found.is_null(2)) {
                answer.kind = static_cast<lock_kind>(found.integer(2));
                answer.capacity = found.integer(3);
            }
            if (answer.status == holder_status::busy) {
                answer.holder = holder_in_the_way(found, wanted);
            }
            return answer;
        }
        answer.status = holder_status::busy;
        return answer;
    }

    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override {
        const auto state = look(on, {{name, owner}}).at(0);
        if (!state || state->token.number == 0) return std::nullopt;
        return state->token;
    }

    release_outcome release(connection& on, const hold& held) override {
        const result gone = on.execute(release_, values_of(held));
        return gone.rows.empty() ? release_outcome::not_held : release_outcome::released;
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        const result gone = on.execute(release_owner_, {bytes_of(name.name()), bytes_of(owner)});
        return gone.affected_rows == 0 ? release_outcome::not_held : release_outcome::released;
    }

    bool prove(connection& inside, const hold& held) override {
        return !inside.execute(prove_, values_of(held)).rows.empty();
    }

    std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) override {
        std::vector<bool> answers(held.size());
        const auto values_of_one = [&](std::size_t at) { return values_of(held[at]); };
        are_held_.ask(on, held.size(), values_of_one, [&](std::size_t at, const row&) {
            answers[at] = true;
        });
        return answers;
    }

    void announce(connection& on, const holder_request& wanted) override {
        on.execute(
            announce_,
            {bytes_of(wanted.key.name()),
             bytes_of(wanted.owner),
             bytes_of(wanted.session),
             wanted.node_info}
        );
    }

    void withdraw(connection& on, const key& name, const owner_id& owner) override {
        on.execute(withdraw_, {bytes_of(name.name()), bytes_of(owner)});
    }

    bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) override {
        parameters values = values_of(held);
        values.emplace_back(static_cast<int>(mode));
        values.emplace_back(permits);
        return !on.execute(reduce_, values).rows.empty();
    }

    std::optional<std::int64_t> arrive(connection& on, const hold& held) override {
        const result counted = on.execute(arrive_, values_of(held));
        if (counted.rows.empty()) return std::nullopt;
        return counted.rows[0].integer(0);
    }

    std::optional<holder_tally> tally(connection& on, const key& name) override {
        const result found = on.execute(tally_, {bytes_of(name.name())});
        if (found.rows.empty()) return std::nullopt;
        const row& gate = found.rows[0];
        return holder_tally{
            static_cast<lock_kind>(gate.integer(0)),
            gate.integer(1),
            gate.integer(2),
            gate.integer(3)};
    }

    bool pass(connection& on, const key& name) override {
        return !on.execute(pass_, {bytes_of(name.name())}).rows.empty();
    }

    std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_place>& whose
    ) override {
        std::vector<std::optional<holder_state>> answers(whose.size());
        const auto values_of_one = [&](std::size_t at) {
            return values_of({whose[at].key, whose[at].owner, {}});
        };
        look_.ask(on, whose.size(), values_of_one, [&](std::size_t at, const row& seen) {
            answers[at] = {static_cast<int>(seen.integer(1)), {seen.integer(2)}};
        });
        return answers;
    }

    std::vector<lock_info> holders_of(connection& on, const key& name) override {
        return lock_infos_of(on.execute(holders_, {bytes_of(name.name())}));
    }

    std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) override {
        const std::string begin{prefix};
        return lock_infos_of(on.execute(
            list_,
            {bytes_of(begin),
             bytes_of(end_of_prefix(begin)),
             bytes_of(std::string{after}),
             bytes_of(after_owner ? after_owner->bytes() : std::string{}),
             value{std::max(limit, 0)}}
        ));
    }

    std::vector<lock_info> force_release(connection& on, const key& name) override {
        return lock_infos_of(on.execute(force_release_, {bytes_of(name.name())}));
    }

private:
    static parameters values_of(const hold& held) {
        return {bytes_of(held.key.name()), bytes_of(held.owner), value{held.token.number}};
    }

    const std::string try_acquire_;
    const list_statement look_;
    const std::string release_;
    const std::string release_owner_;
    const std::string prove_;
    const list_statement are_held_;
    const std::string announce_;
    const std::string withdraw_;
    const std::string reduce_;
    const std::string arrive_;
    const std::string tally_;
    const std::string pass_;
    const std::string holders_;
    const std::string list_;
    const std::string force_release_;
};

}  // namespace

std::unique_ptr<holder_store> make_holder_store(const table_names& names) {
    return std::make_unique<postgres_holder_store>(names);
}

}  // namespace leasehold::postgres_dialect
