// The statements, and why they are as they are: holder_texts.hpp.
#include <algorithm>
#include <utility>

#include "dialect/mysql/batch.hpp"
#include "dialect/mysql/holder_texts.hpp"
#include "dialect/mysql/list_statement.hpp"
#include "dialect/mysql/stores.hpp"
#include "dialect/sql_text.hpp"
#include "store/holder_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

using namespace holder_texts;
using std::chrono::microseconds;

lock_info lock_info_of(const row& from, std::size_t first) {
    lock_info info;
    info.key = from.bytes(first);
    info.token = {from.integer(first + 1)};
    info.is_held = true;
    info.owner = owner_id::from_bytes(from.bytes(first + 2));
    info.session = session_id::from_bytes(from.bytes(first + 3));
    info.node_info = from.bytes(first + 4);
    info.mode = hold_mode_of(from.integer(first + 5));
    info.permits = from.integer(first + 6);
    info.held_for = microseconds{from.integer(first + 7)};
    info.remaining = microseconds{from.integer(first + 8)};
    info.kind = static_cast<lock_kind>(from.integer(first + 9));
    info.holders = 1;
    return info;
}

std::vector<lock_info> lock_infos_of(const result& found) {
    std::vector<lock_info> all;
    all.reserve(found.rows.size());
    for (const row& each : found.rows) all.push_back(lock_info_of(each, 0));
    return all;
}

class mysql_holder_store final : public holder_store {
public:
    mysql_holder_store(const table_names& names, engine which)
        : try_acquire_(statement(try_acquire_text, names, which)),
          insert_and_acquire_(statement(insert_gate_text, names, which) + try_acquire_),
          looks_dead_(statement(looks_dead_text, names, which)),
          bury_(statement(bury_text, names, which)),
          look_(look_head_text, look_tail_text, names, which),
          find_grant_(statement(find_grant_text, names, which)),
          release_(statement(release_text, names, which)),
          release_owner_(statement(release_owner_text, names, which)),
          prove_(statement(prove_text, names, which)),
          are_held_(are_held_head_text, are_held_tail_text, names, which),
          announce_(statement(announce_text, names, which)),
          withdraw_(statement(withdraw_text, names, which)),
          reduce_(statement(reduce_text, names, which)),
          arrive_(statement(arrive_text, names, which)),
          tally_(statement(tally_text, names, which)),
          pass_(statement(pass_text, names, which)),
          holders_(statement(holders_text, names, which)),
          list_(statement(list_text, names, which)),
          is_used_(statement(is_used_text, names, which)),
          whose_(statement(whose_text, names, which)),
          lock_one_(statement(lock_one_text, names, which)),
          force_gate_(statement(force_gate_text, names, which)),
          force_one_(statement(force_one_text, names, which)),
          add_notice_(statement(add_notice_text, names, which)) {}

    holder_result try_acquire(connection& on, const holder_request& wanted) override;
    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override;
    release_outcome release(connection& on, const hold& held) override;
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override;
    bool prove(connection& inside, const hold& held) override;
    std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) override;
    void announce(connection& on, const holder_request& wanted) override;
    void withdraw(connection& on, const key& name, const owner_id& owner) override;
    bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) override;
    std::optional<std::int64_t> arrive(connection& on, const hold& held) override;
    std::optional<holder_tally> tally(connection& on, const key& name) override;
    bool pass(connection& on, const key& name) override;
    std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_place>& whose
    ) override;
    std::vector<lock_info> holders_of(connection& on, const key& name) override;
    std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) override;
    std::vector<lock_info> force_release(connection& on, const key& name) override;

private:
    struct attempt {
        holder_result answer;
        bool key_is_known = false;
        bool is_open = false;   // the pre-check refused nothing, and the gate did
        bool has_dead = false;  // who looks dead was not counted by the pre-check
    };

    static attempt ask(connection& on, const std::string& packet, const parameters& values);
    attempt add_gate_and_ask(connection& on, const parameters& values, const value& name) const;
    bool bury_the_dead(connection& on, const holder_request& wanted) const;
    static parameters values_of(const holder_request& wanted, bool has_buried);
    static parameters values_of(const hold& held) {
        return {as_value(held.key), as_value(held.owner), held.token.number};
    }

    const std::string try_acquire_;
    const std::string insert_and_acquire_;
    const std::string looks_dead_;
    const std::string bury_;
    const list_statement look_;
    const std::string find_grant_;
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
    const std::string is_used_;
    const std::string whose_;
    const std::string lock_one_;
    const std::string force_gate_;
    const std::string force_one_;
    const std::string add_notice_;
};

// In the order of the statements of try_acquire_text.
parameters mysql_holder_store::values_of(const holder_request& wanted, bool has_buried) {
    const value name = as_value(wanted.key);
    const value owner = as_value(wanted.owner);
    const value own = as_value(wanted.session);
    const value kind = static_cast<int>(wanted.kind);
    const value mode = static_cast<int>(wanted.mode);
    const value permits = wanted.permits;
    const value capacity = wanted.capacity;
    const value gives_way_to = wanted.gives_way_to;
    const value info = blob{wanted.node_info};
    value token;
    if (wanted.instead_of) token = wanted.instead_of->number;
    return {// 1. the pre-check
            own,
            kind,
            kind,
            capacity,
            token,
            name,
            owner,
            token,
            permits,
            capacity,
            gives_way_to,
            has_buried ? 1 : 0,
            name,
            owner,
            kind,
            name,
            // 2. the own row
            name,
            owner,
            // 3. the grant
            name,
            name,
            owner,
            kind,
            capacity,
            info,
            name,
            own,
            permits,
            capacity,
            gives_way_to,
            kind,
            capacity,
            kind,
            token,
            owner,
            token,
            // 4. the row
            name,
            owner,
            own,
            mode,
            permits,
            info,
            mode,
            permits,
            // 5. the report
            name,
            name};
}

mysql_holder_store::attempt mysql_holder_store::ask(
    connection& on, const std::string& packet, const parameters& values
) {
    const result reply = send_transaction(on, packet, values);
    const row& report = reply.rows.at(0);
    constexpr std::size_t info_first = 5;
    attempt made;
    made.key_is_known = !report.is_null(2);
    made.answer.status = static_cast<holder_status>(report.integer(1));
    if (made.key_is_known) {
        made.answer.kind = static_cast<lock_kind>(report.integer(2));
        made.answer.capacity = report.integer(3);
    }
    if (report.integer(0) > 0) {
        made.answer.token = {report.integer(0)};
        return made;
    }
    made.is_open = made.answer.status == holder_status::granted;
    made.has_dead = report.integer(4) > 0;
    if (made.answer.status == holder_status::busy && !report.is_null(info_first)) {
        auto holder = lock_info_of(report, info_first);
        // The first of those who were alive; one that died since is in no way.
        if (holder.remaining >= std::chrono::microseconds{0}) made.answer.holder = holder;
    }
    return made;
}

holder_result mysql_holder_store::try_acquire(connection& on, const holder_request& wanted) {
    return despite_deadlocks([&] {
        attempt made = ask(on, try_acquire_, values_of(wanted, false));
        // Nothing spoke against it, and yet it was not granted: there was no gate, or there are
        // dead, or somebody was faster. Each time one of the first is the case somebody has got on.
        // A row of the dead that cannot be had now is a proof's, or another taker's.
        constexpr int looks_max = 8;
        bool has_buried = false;
        for (int look = 1; made.is_open && look < looks_max; ++look) {
            if (made.has_dead) {
                const bool has_got_on = bury_the_dead(on, wanted);
                if (has_buried && !has_got_on) break;
                has_buried = true;
            }
            const parameters values = values_of(wanted, has_buried);
            made = made.key_is_known ? ask(on, try_acquire_, values)
                                     : add_gate_and_ask(on, values, as_value(wanted.key));
        }
        if (made.is_open) made.answer.status = holder_status::busy;
        return made.answer;
    });
}

// All that it can have without waiting; whether there were any.
bool mysql_holder_store::bury_the_dead(connection& on, const holder_request& wanted) const {
    const value name = as_value(wanted.key);
    const result found = on.execute(looks_dead_, {name, as_value(wanted.owner)});
    const auto bury = [&](batch& into, const row& each) {
        const value owner = blob{each.bytes(0)};
        const value whose = blob{each.bytes(1)};
        into.add(bury_, {whose, name, owner, whose, name, owner});
    };
    return in_batches(on, found, bury) > 0;
}

mysql_holder_store::attempt mysql_holder_store::add_gate_and_ask(
    connection& on, const parameters& values, const value& name
) const {
    parameters with_key{name};
    with_key.insert(with_key.end(), values.begin(), values.end());
    try {
        return ask(on, insert_and_acquire_, with_key);
    } catch (const error& failure) {
        if (failure.native_code() != duplicate_key_code) throw;
    }
    return ask(on, try_acquire_, values);
}

std::optional<fencing_token> mysql_holder_store::find_grant(
    connection& on, const key& name, const owner_id& owner
) {
    const result found = despite_deadlocks([&] {
        return on.execute(find_grant_, {as_value(name), as_value(owner)});
    });
    if (found.rows.empty()) return std::nullopt;
    return fencing_token{found.rows[0].integer(0)};
}

release_outcome mysql_holder_store::release(connection& on, const hold& held) {
    const result gone = despite_deadlocks([&] { return on.execute(release_, values_of(held)); });
    return gone.affected_rows == 1 ? release_outcome::released : release_outcome::not_held;
}

release_outcome mysql_holder_store::release_owner(
    connection& on, const key& name, const owner_id& owner
) {
    const result gone = despite_deadlocks([&] {
        return on.execute(release_owner_, {as_value(name), as_value(owner)});
    });
    return gone.affected_rows == 1 ? release_outcome::released : release_outcome::not_held;
}

bool mysql_holder_store::prove(connection& inside, const hold& held) {
    return !inside.execute(prove_, values_of(held)).rows.empty();
}

std::vector<bool> mysql_holder_store::which_are_held(
    connection& on, const std::vector<hold>& held
) {
    std::vector<bool> answers(held.size());
    const auto values_of_one = [&](std::size_t at) { return values_of(held[at]); };
    are_held_.ask(on, held.size(), values_of_one, [&](std::size_t at, const row&) {
        answers.at(at) = true;
    });
    return answers;
}

void mysql_holder_store::announce(connection& on, const holder_request& wanted) {
    const parameters values{
        as_value(wanted.key),
        as_value(wanted.owner),
        blob{wanted.node_info},
        as_value(wanted.session)};
    despite_deadlocks([&] { return on.execute(announce_, values); });
}

void mysql_holder_store::withdraw(connection& on, const key& name, const owner_id& owner) {
    const value which = as_value(name);
    const value whose = as_value(owner);
    despite_deadlocks([&] { return on.execute_script(withdraw_, {which, whose, which, whose}); });
}

bool mysql_holder_store::reduce(
    connection& on, const hold& held, hold_mode mode, std::int64_t permits
) {
    parameters values{static_cast<int>(mode), permits};
    for (int times = 0; times < 2; ++times) {
        const parameters which = values_of(held);
        values.insert(values.end(), which.begin(), which.end());
    }
    const result reply = despite_deadlocks([&] { return send_packet(on, reduce_, values); });
    return !reply.rows.empty();
}

std::optional<std::int64_t> mysql_holder_store::arrive(connection& on, const hold& held) {
    parameters values = values_of(held);
    values.push_back(as_value(held.key));
    const result reply = despite_deadlocks([&] { return send_transaction(on, arrive_, values); });
    const std::int64_t arrived = reply.rows.at(0).integer(0);
    if (arrived == 0) return std::nullopt;
    return arrived;
}

std::optional<holder_tally> mysql_holder_store::tally(connection& on, const key& name) {
    const result found = on.execute(tally_, {as_value(name)});
    if (found.rows.empty()) return std::nullopt;
    const row& gate = found.rows[0];
    return holder_tally{
        static_cast<lock_kind>(gate.integer(0)), gate.integer(1), gate.integer(2), gate.integer(3)};
}

bool mysql_holder_store::pass(connection& on, const key& name) {
    const value which = as_value(name);
    const result reply = despite_deadlocks([&] {
        return send_transaction(on, pass_, {which, which, which, which, which, which});
    });
    return reply.rows.at(0).integer(0) > 0;
}

std::vector<std::optional<holder_state>> mysql_holder_store::look(
    connection& on, const std::vector<holder_place>& whose
) {
    std::vector<std::optional<holder_state>> answers(whose.size());
    const auto values_of_one = [&](std::size_t at) {
        return values_of({whose[at].key, whose[at].owner, {}});
    };
    look_.ask(on, whose.size(), values_of_one, [&](std::size_t at, const row& seen) {
        const int bits = static_cast<int>(seen.integer(1));
        if (bits != 0) answers.at(at) = {bits, {seen.integer(2)}};  // or emptied: its session died
    });
    return answers;
}

std::vector<lock_info> mysql_holder_store::holders_of(connection& on, const key& name) {
    return lock_infos_of(on.execute(holders_, {as_value(name)}));
}

std::vector<lock_info> mysql_holder_store::list(
    connection& on,
    std::string_view prefix,
    std::string_view after,
    const std::optional<owner_id>& after_owner,
    int limit
) {
    const value from = blob{std::string{after}};
    value from_owner = blob{};
    if (after_owner) from_owner = as_value(*after_owner);
    return lock_infos_of(on.execute(
        list_,
        {blob{std::string{prefix}}, from, blob{end_of_prefix(prefix)}, from, from_owner, limit}
    ));
}

std::vector<lock_info> mysql_holder_store::force_release(connection& on, const key& name) {
    const value which = as_value(name);
    // A look first, so that a key nobody uses costs no lock and no wait.
    if (on.execute(is_used_, {which}).rows.empty()) return {};
    return despite_deadlocks([&] {
        const result whose = on.execute(whose_, {which});
        std::string packet = "START TRANSACTION;", removal, notices;
        parameters locked, owners, sessions;
        for (const row& each : whose.rows) {
            const value owner = blob{each.bytes(0)};
            packet += lock_one_;
            removal += force_one_;
            locked.insert(locked.end(), {which, owner});
            owners.push_back(owner);
            const value session = blob{each.bytes(1)};
            if (std::find(sessions.begin(), sessions.end(), session) != sessions.end()) continue;
            notices += add_notice_;
            sessions.push_back(session);
        }
        std::string gate = force_gate_;
        constexpr std::string_view word = "{owners}";
        std::string places;
        for (std::size_t each = 0; each < owners.size(); ++each) places += ", ?";
        gate.replace(gate.find(word), word.size(), places);
        packet += gate + removal + notices + "COMMIT";
        parameters values = locked;
        values.insert(values.end(), {which, which});
        values.insert(values.end(), owners.begin(), owners.end());
        values.push_back(which);
        values.insert(values.end(), locked.begin(), locked.end());
        values.insert(values.end(), sessions.begin(), sessions.end());
        return lock_infos_of(send_transaction(on, packet, values));
    });
}

}  // namespace

std::unique_ptr<holder_store> make_holder_store(const table_names& names, engine which) {
    return std::make_unique<mysql_holder_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
