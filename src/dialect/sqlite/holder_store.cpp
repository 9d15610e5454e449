// The statements, and why they are as they are: holder_texts.hpp.
#include "store/holder_store.hpp"
#include "dialect/sqlite/holder_texts.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

using namespace holder_texts;
using std::chrono::microseconds;

lock_info lock_info_of(const row& found) {
    lock_info info;
    info.key = found.bytes(0);
    info.token = {found.integer(1)};
    info.is_held = true;
    info.owner = identity::from_bytes(found.bytes(2));
    info.session = identity::from_bytes(found.bytes(3));
    info.node_info = found.text(4);
    info.held_for = microseconds{found.integer(5)};
    info.remaining = microseconds{found.integer(6)};
    info.kind = static_cast<lock_kind>(found.integer(7));
    info.mode = hold_mode_of(found.integer(8));
    info.permits = found.integer(9);
    info.holders = 1;
    return info;
}

std::vector<lock_info> lock_infos_of(const result& found) {
    std::vector<lock_info> all;
    for (const row& each : found.rows) all.push_back(lock_info_of(each));
    return all;
}

class sqlite_holder_store final : public holder_store {
public:
    sqlite_holder_store(const table_names& names, std::shared_ptr<boot_check> boot)
        : boot_(std::move(boot)),
          verdict_(fill_in(verdict_sql, names)),
          holders_(fill_in(holders_sql, names)),
          list_(fill_in(list_sql, names)),
          bury_(fill_in(bury_sql, names)),
          take_(fill_in(take_sql, names)),
          make_(fill_in(make_sql, names)),
          grant_(fill_in(grant_sql, names)),
          look_(fill_in(look_sql, names)),
          release_(fill_in(release_sql, names)),
          release_owner_(fill_in(release_owner_sql, names)),
          prove_(fill_in(prove_sql, names)),
          is_held_(fill_in(is_held_sql, names)),
          announce_(fill_in(announce_sql, names)),
          withdraw_wish_(fill_in(withdraw_wish_sql, names)),
          withdraw_bit_(fill_in(withdraw_bit_sql, names)),
          reduce_(fill_in(reduce_sql, names)),
          arrive_(fill_in(arrive_sql, names)),
          tally_(fill_in(tally_sql, names)),
          is_complete_(fill_in(is_complete_sql, names)),
          next_phase_(fill_in(next_phase_sql, names)),
          pass_(fill_in(pass_sql, names)),
          is_used_(fill_in(is_used_sql, names)),
          force_gate_(fill_in(force_gate_sql, names)),
          notify_sessions_(fill_in(notify_sessions_sql, names)),
          remove_all_(fill_in(remove_all_sql, names)) {}

    // Reads first, without the write lock: a refused try writes nothing and waits for nobody.
    holder_result try_acquire(connection& on, const holder_request& wanted) override {
        boot_->enter(on);
        holder_result answer = verdict(on, wanted);
        if (answer.status != holder_status::granted) return answer;
        write_transaction writing{on};
        answer = verdict(on, wanted);  // somebody may have been faster
        if (answer.status != holder_status::granted) return answer;
        const value now = boot_clock::now_microseconds();
        const value name = blob{wanted.key.name()};
        on.execute(bury_, {now, name});
        const parameters gate{
            now, name, static_cast<int>(wanted.kind), wanted.capacity, wanted.node_info};
        auto counted = on.execute(take_, gate);
        if (counted.rows.empty()) counted = on.execute(make_, gate);
        answer.token = {counted.rows.at(0).integer(0)};
        on.execute(
            grant_,
            {now,
             name,
             blob{wanted.owner.bytes()},
             blob{wanted.session.bytes()},
             static_cast<int>(wanted.mode),
             wanted.permits,
             answer.token.number,
             wanted.node_info}
        );
        writing.commit();
        return answer;
    }

    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override {
        const auto state = look(on, {{name, owner}}).at(0);
        if (!state || state->token.number == 0) return std::nullopt;
        return state->token;
    }

    release_outcome release(connection& on, const hold& held) override {
        return changes(on, release_, values_of(held)) ? release_outcome::released
                                                      : release_outcome::not_held;
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        return changes(on, release_owner_, {blob{name.name()}, blob{owner.bytes()}})
                   ? release_outcome::released
                   : release_outcome::not_held;
    }

    bool prove(connection& inside, const hold& held) override {
        return !inside.execute(prove_, values_of(held)).rows.empty();
    }

    std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) override {
        boot_->enter(on);
        std::vector<bool> answers;
        answers.reserve(held.size());
        for (const hold& each : held) {
            const parameters values{
                boot_clock::now_microseconds(),
                blob{each.key.name()},
                blob{each.owner.bytes()},
                each.token.number};
            answers.push_back(!on.execute(is_held_, values).rows.empty());
        }
        return answers;
    }

    void announce(connection& on, const holder_request& wanted) override {
        boot_->enter(on);
        write_transaction writing{on};
        on.execute(
            announce_,
            {boot_clock::now_microseconds(),
             blob{wanted.key.name()},
             blob{wanted.owner.bytes()},
             blob{wanted.session.bytes()},
             wanted.node_info}
        );
        writing.commit();
    }

    void withdraw(connection& on, const key& name, const owner_id& owner) override {
        boot_->enter(on);
        write_transaction writing{on};
        const parameters which{blob{name.name()}, blob{owner.bytes()}};
        if (on.execute(withdraw_wish_, which).affected_rows == 0) on.execute(withdraw_bit_, which);
        writing.commit();
    }

    bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) override {
        parameters values = values_of(held);
        values.emplace_back(static_cast<int>(mode));
        values.emplace_back(permits);
        return changes(on, reduce_, values);
    }

    std::optional<std::int64_t> arrive(connection& on, const hold& held) override {
        boot_->enter(on);
        write_transaction writing{on};
        if (on.execute(release_, values_of(held)).affected_rows == 0) return std::nullopt;
        const auto counted =
            on.execute(arrive_, {boot_clock::now_microseconds(), blob{held.key.name()}});
        writing.commit();
        return counted.rows.at(0).integer(0);
    }

    std::optional<holder_tally> tally(connection& on, const key& name) override {
        const auto found = on.execute(
            tally_, {boot_clock::now_microseconds(), boot_->boot_id(), blob{name.name()}}
        );
        if (found.rows.empty()) return std::nullopt;
        const row& gate = found.rows[0];
        return holder_tally{
            static_cast<lock_kind>(gate.integer(0)),
            gate.integer(1),
            gate.integer(2),
            gate.integer(3)};
    }

    bool pass(connection& on, const key& name) override {
        boot_->enter(on);
        const auto now = [&] {
            return parameters{boot_clock::now_microseconds(), blob{name.name()}};
        };
        if (on.execute(is_complete_, now()).rows.empty()) return false;
        write_transaction writing{on};
        parameters values = now();
        const auto next = on.execute(next_phase_, values);
        if (next.rows.empty()) return false;
        values.push_back(next.rows[0].at(0));
        on.execute(pass_, values);
        writing.commit();
        return true;
    }

    std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_place>& whose
    ) override {
        std::vector<std::optional<holder_state>> answers(whose.size());
        for (std::size_t at = 0; at < whose.size(); ++at) {
            const holder_place& each = whose[at];
            const auto found = on.execute(look_, {blob{each.key.name()}, blob{each.owner.bytes()}});
            if (found.rows.empty()) continue;
            const row& own = found.rows[0];
            answers[at] = {static_cast<int>(own.integer(0)), {own.integer(1)}};
        }
        return answers;
    }

    std::vector<lock_info> holders_of(connection& on, const key& name) override {
        return others_of(on, name, value{});
    }

    std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) override {
        const bool is_in_range = after >= prefix;
        return lock_infos_of(on.execute(
            list_,
            {boot_clock::now_microseconds(),
             boot_->boot_id(),
             blob{std::string(is_in_range ? after : prefix)},
             blob{is_in_range && after_owner ? after_owner->bytes() : std::string{}},
             blob{end_of_prefix(prefix)},
             limit}
        ));
    }

    std::vector<lock_info> force_release(connection& on, const key& name) override {
        boot_->enter(on);
        const parameters which{blob{name.name()}};
        if (on.execute(is_used_, which).rows.empty()) return {};
        write_transaction writing{on};
        if (on.execute(is_used_, which).rows.empty()) return {};
        auto victims = holders_of(on, name);
        on.execute(force_gate_, {boot_clock::now_microseconds(), blob{name.name()}});
        on.execute(notify_sessions_, which);
        on.execute(remove_all_, which);
        writing.commit();
        return victims;
    }

private:
    static parameters values_of(const hold& held) {
        return {blob{held.key.name()}, blob{held.owner.bytes()}, held.token.number};
    }

    // In a write transaction of its own, which is given up where nothing changed.
    bool changes(connection& on, const std::string& sql, const parameters& values) {
        boot_->enter(on);
        write_transaction writing{on};
        if (on.execute(sql, values).affected_rows == 0) return false;
        writing.commit();
        return true;
    }

    std::vector<lock_info> others_of(connection& on, const key& name, const value& but) {
        return lock_infos_of(on.execute(
            holders_, {boot_clock::now_microseconds(), boot_->boot_id(), blob{name.name()}, but}
        ));
    }

    holder_result verdict(connection& on, const holder_request& wanted) {
        const row found = on.execute(
                                verdict_,
                                {boot_clock::now_microseconds(),
                                 blob{wanted.key.name()},
                                 blob{wanted.owner.bytes()},
                                 blob{wanted.session.bytes()},
                                 static_cast<int>(wanted.kind),
                                 wanted.permits,
                                 wanted.capacity,
                                 wanted.gives_way_to,
                                 wanted.instead_of ? value{wanted.instead_of->number} : value{}}
        ).rows.at(0);
        holder_result answer;
        answer.status = static_cast<holder_status>(found.integer(0));
        if (!found.is_null(1)) {
            answer.kind = static_cast<lock_kind>(found.integer(1));
            answer.capacity = found.integer(2);
        }
        if (answer.status == holder_status::busy) {
            auto others = others_of(on, wanted.key, value{blob{wanted.owner.bytes()}});
            if (!others.empty()) answer.holder = std::move(others.front());
        }
        return answer;
    }

    const std::shared_ptr<boot_check> boot_;
    const std::string verdict_;
    const std::string holders_;
    const std::string list_;
    const std::string bury_;
    const std::string take_;
    const std::string make_;
    const std::string grant_;
    const std::string look_;
    const std::string release_;
    const std::string release_owner_;
    const std::string prove_;
    const std::string is_held_;
    const std::string announce_;
    const std::string withdraw_wish_;
    const std::string withdraw_bit_;
    const std::string reduce_;
    const std::string arrive_;
    const std::string tally_;
    const std::string is_complete_;
    const std::string next_phase_;
    const std::string pass_;
    const std::string is_used_;
    const std::string force_gate_;
    const std::string notify_sessions_;
    const std::string remove_all_;
};

}  // namespace

std::unique_ptr<holder_store> make_holder_store(
    const table_names& names, std::shared_ptr<boot_check> boot
) {
    return std::make_unique<sqlite_holder_store>(names, std::move(boot));
}

}  // namespace leasehold::sqlite_dialect
