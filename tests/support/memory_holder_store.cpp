// The model of keys that several can hold.
#include <algorithm>
#include <set>
#include <utility>

#include "locks/holder_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using place = std::pair<std::string, std::string>;

place place_of(const std::string& name, const owner_id& owner) {
    return {name, owner.bytes()};
}

bool is_live(const memory_tables& tables, const holder_row& row) {
    return !is_dead_session(tables, row.session);
}

lock_kind kind_of(const lock_row& header) {
    return static_cast<lock_kind>(header.kind);
}

bool is_proved_by_another(const holder_row& row, const connection& than) {
    return std::any_of(row.provers.begin(), row.provers.end(), [&](const connection* each) {
        return each != &than;
    });
}

// use(owner, row) for every holder row of the key, in the order of owners.
template <class Use>
void for_each_of(memory_tables& tables, const std::string& name, Use&& use) {
    auto at = tables.holders.lower_bound({name, ""});
    while (at != tables.holders.end() && at->first.first == name) {
        const auto next = std::next(at);  // `use` may remove it
        use(identity::from_bytes(at->first.second), at->second);
        at = next;
    }
}

holder_row* find_row(memory_tables& tables, const key& name, const owner_id& owner) {
    const auto found = tables.holders.find(place_of(name.name(), owner));
    return found == tables.holders.end() ? nullptr : &found->second;
}

holder_row* find_holder(memory_tables& tables, const hold& held) {
    holder_row* const row = find_row(tables, held.key, held.owner);
    return row && row->fence == held.token.number ? row : nullptr;
}

lock_info info_of(
    memory_tables& tables, const std::string& name, const owner_id& owner, const holder_row& row
) {
    lock_info info;
    info.key = name;
    info.token = {row.fence};
    info.is_held = true;
    info.owner = owner;
    info.session = row.session;
    info.node_info = row.node_info;
    info.held_for = tables.now - row.granted_at;
    const auto session = tables.sessions.find(row.session);
    if (session != tables.sessions.end()) {
        info.remaining = session->second.expires_at - tables.now;
    }
    const auto header = tables.locks.find(name);
    if (header != tables.locks.end()) info.kind = kind_of(header->second);
    info.mode = hold_mode_of(row.bits);
    info.permits = row.permits;
    info.holders = 1;
    return info;
}

std::vector<lock_info> live_holders(memory_tables& tables, const std::string& name) {
    std::vector<lock_info> found;
    for_each_of(tables, name, [&](const owner_id& owner, const holder_row& row) {
        if (row.fence > 0 && is_live(tables, row)) {
            found.push_back(info_of(tables, name, owner, row));
        }
    });
    std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
        return left.token < right.token;
    });
    return found;
}

// Nothing for a mutex, or when nobody uses the key.
std::optional<header_info> header_of(
    memory_tables& tables, const std::string& name, const lock_row& lock
) {
    bool is_used = lock.arrived > 0;
    std::int64_t waiting = 0;
    for_each_of(tables, name, [&](const owner_id&, const holder_row& row) {
        is_used = true;
        const bool is_waiting = (row.bits & holder_bits::waiting) != 0;
        if (is_waiting && is_live(tables, row)) ++waiting;
    });
    if (!is_used || kind_of(lock) == lock_kind::mutex) return std::nullopt;
    return header_info{
        name, {lock.fence}, lock.node_info, kind_of(lock), lock.capacity, lock.arrived, waiting};
}

// The holds of the owners other than the asking one.
struct usage {
    std::int64_t holders = 0;
    std::int64_t permits = 0;
    int bits = 0;
    std::optional<lock_info> oldest;
};

usage usage_by_others(memory_tables& tables, const holder_request& wanted) {
    usage sum;
    for_each_of(tables, wanted.key.name(), [&](const owner_id& owner, const holder_row& row) {
        if (owner == wanted.owner || !is_live(tables, row)) return;
        sum.permits += row.permits;
        sum.bits |= row.bits;
        if (row.fence == 0) return;
        ++sum.holders;
        if (sum.oldest && sum.oldest->token.number < row.fence) return;
        sum.oldest = info_of(tables, wanted.key.name(), owner, row);
    });
    return sum;
}

holder_result verdict_on(memory_tables& tables, const holder_request& wanted) {
    holder_result answer;
    const auto refuse = [&](holder_status why) {
        answer.status = why;
        return answer;
    };
    if (!is_live_session(tables, wanted.session)) return refuse(holder_status::session_ended);
    const usage others = usage_by_others(tables, wanted);
    const auto header = tables.locks.find(wanted.key.name());
    std::int64_t arrived = 0;
    if (header != tables.locks.end()) {
        const lock_row& row = header->second;
        arrived = row.arrived;
        answer.kind = kind_of(row);
        answer.capacity = row.capacity;
        const bool has_queue = kind_of(row) != wanted.kind && row.last_ticket != 0;
        const bool is_in_use = row.owner || others.holders > 0 || arrived > 0 || has_queue;
        if (is_in_use && kind_of(row) != wanted.kind) return refuse(holder_status::other_kind);
        const bool is_kept = wanted.keeps_capacity && kind_of(row) == wanted.kind;
        if ((is_in_use || is_kept) && row.capacity != wanted.capacity) {
            return refuse(holder_status::other_capacity);
        }
    }
    if (wanted.instead_of) {
        const holder_row* const own = find_row(tables, wanted.key, wanted.owner);
        if (!own || own->fence != wanted.instead_of->number) return refuse(holder_status::lost);
    }
    const bool fits = others.permits + arrived + wanted.permits <= wanted.capacity;
    if (fits && (others.bits & wanted.gives_way_to) == 0) return refuse(holder_status::granted);
    answer.holder = others.oldest;
    return refuse(holder_status::busy);
}

void remove_dead_of(memory_tables& tables, const std::string& name) {
    for_each_of(tables, name, [&](const owner_id& owner, const holder_row& row) {
        if (!is_live(tables, row)) tables.holders.erase(place_of(name, owner));
    });
}

bool has_proved_dead(memory_tables& tables, const std::string& name, const connection& than) {
    bool found = false;
    for_each_of(tables, name, [&](const owner_id&, const holder_row& row) {
        found = found || (!is_live(tables, row) && is_proved_by_another(row, than));
    });
    return found;
}

class memory_holder_store final : public holder_store {
public:
    explicit memory_holder_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    holder_result try_acquire(connection& on, const holder_request& wanted) override {
        using answer = std::optional<holder_result>;
        const auto attempt = [wanted](memory_tables& tables, const connection& from) -> answer {
            holder_result result = verdict_on(tables, wanted);
            if (result.status != holder_status::granted) return result;
            const std::string& name = wanted.key.name();
            const holder_row* const own = find_row(tables, wanted.key, wanted.owner);
            if (own && is_proved_by_another(*own, from)) return std::nullopt;
            if (has_proved_dead(tables, name, from)) return std::nullopt;
            remove_dead_of(tables, name);
            if (!tables.locks.contains(name)) tables.locks[name].fence = tables.fence_mark;
            lock_row& header = tables.locks.at(name);
            ++header.fence;
            header.kind = static_cast<int>(wanted.kind);
            header.capacity = wanted.capacity;
            header.node_info = wanted.node_info;
            header.changed_at = tables.now;
            holder_row& row = tables.holders[place_of(name, wanted.owner)];
            row.session = wanted.session;
            row.bits = static_cast<int>(wanted.mode);
            row.permits = wanted.permits;
            row.fence = header.fence;
            row.node_info = wanted.node_info;
            row.granted_at = tables.now;
            ++tables.writes;
            result.token = {header.fence};
            return result;
        };
        return server_->ask<holder_result>(on, "try_acquire_hold", attempt);
    }

    std::optional<fencing_token> find_grant(connection& on, const key& name, const owner_id& owner)
        override {
        const auto state = look(on, {{name, owner}}).at(0);
        if (!state || state->token.number == 0) return std::nullopt;
        return state->token;
    }

    release_outcome release(connection& on, const hold& held) override {
        return remove(
            on, [held](memory_tables& tables) { return find_holder(tables, held); }, held
        );
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        return remove(
            on,
            [name, owner](memory_tables& tables) { return find_row(tables, name, owner); },
            {name, owner, {}}
        );
    }

    bool prove(connection& inside, const hold& held) override {
        const bool holds_it = inside.state() == connection_state::in_transaction;
        const auto attempt = [held, holds_it](memory_tables& tables, const connection& from) {
            holder_row* const row = find_holder(tables, held);
            if (row && holds_it) row->provers.insert(&from);
            return std::optional{row != nullptr};
        };
        return server_->ask<bool>(inside, "prove_hold", attempt);
    }

    std::vector<bool> which_are_held(connection& on, const std::vector<hold>& held) override {
        const auto attempt = [held](memory_tables& tables, const connection&) {
            std::vector<bool> answers;
            for (const hold& each : held) {
                const holder_row* const row = find_holder(tables, each);
                answers.push_back(row && is_live(tables, *row));
            }
            return std::optional{answers};
        };
        return server_->ask<std::vector<bool>>(on, "which_holds_are_held", attempt);
    }

    void announce(connection& on, const holder_request& wanted) override {
        server_->ask<bool>(on, "announce", [wanted](memory_tables& tables, const connection&) {
            if (!is_live_session(tables, wanted.session)) return std::optional{false};
            holder_row* row = find_row(tables, wanted.key, wanted.owner);
            if (!row) {
                row = &tables.holders[place_of(wanted.key.name(), wanted.owner)];
                row->session = wanted.session;
                row->node_info = wanted.node_info;
                row->granted_at = tables.now;
            }
            row->bits |= holder_bits::waiting;
            ++tables.writes;
            return std::optional{true};
        });
    }

    void withdraw(connection& on, const key& name, const owner_id& owner) override {
        server_->ask<bool>(on, "withdraw", [name, owner](memory_tables& tables, const connection&) {
            holder_row* const row = find_row(tables, name, owner);
            if (!row) return std::optional{false};
            row->bits &= ~holder_bits::waiting;
            if (row->fence == 0) tables.holders.erase(place_of(name.name(), owner));
            ++tables.writes;
            return std::optional{true};
        });
    }

    bool reduce(connection& on, const hold& held, hold_mode mode, std::int64_t permits) override {
        using answer = std::optional<bool>;
        const auto attempt = [=](memory_tables& tables, const connection& from) -> answer {
            holder_row* const row = find_holder(tables, held);
            if (!row) return false;
            if (is_proved_by_another(*row, from)) return std::nullopt;
            row->bits = static_cast<int>(mode);
            row->permits = permits;
            ++tables.writes;
            return true;
        };
        return server_->ask<bool>(on, "reduce", attempt);
    }

    bool resize(connection& on, const key& name, lock_kind kind, std::int64_t capacity) override {
        const auto attempt = [=](memory_tables& tables, const connection&) {
            const auto header = tables.locks.find(name.name());
            const bool is_there = header != tables.locks.end() && kind_of(header->second) == kind;
            if (!is_there) return std::optional{false};
            header->second.capacity = capacity;
            ++header->second.fence;
            header->second.changed_at = tables.now;
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "resize", attempt);
    }

    std::optional<std::int64_t> arrive(connection& on, const hold& held) override {
        using count = std::optional<std::int64_t>;
        using answer = std::optional<count>;
        const auto attempt = [held](memory_tables& tables, const connection& from) -> answer {
            const holder_row* const row = find_holder(tables, held);
            if (!row) return count{};
            if (is_proved_by_another(*row, from)) return std::nullopt;
            tables.holders.erase(place_of(held.key.name(), held.owner));
            lock_row& header = tables.locks.at(held.key.name());
            header.changed_at = tables.now;
            ++tables.writes;
            return count{++header.arrived};
        };
        return server_->ask<count>(on, "arrive", attempt);
    }

    std::optional<holder_tally> tally(connection& on, const key& name) override {
        using found = std::optional<holder_tally>;
        return server_->ask<found>(on, "tally", [name](memory_tables& tables, const connection&) {
            const auto header = tables.locks.find(name.name());
            if (header == tables.locks.end()) return std::optional{found{}};
            const auto holders = live_holders(tables, name.name()).size();
            const std::int64_t owners = header->second.owner ? 1 : 0;
            return std::optional{found{
                {kind_of(header->second),
                 header->second.capacity,
                 header->second.arrived,
                 owners + static_cast<std::int64_t>(holders)}}};
        });
    }

    bool pass(connection& on, const key& name) override {
        return server_->ask<bool>(on, "pass", [name](memory_tables& tables, const connection&) {
            const auto header = tables.locks.find(name.name());
            if (header == tables.locks.end()) return std::optional{false};
            std::int64_t present = 0;
            for (const lock_info& each : live_holders(tables, name.name())) present += each.permits;
            if (present == 0 || present != header->second.capacity) return std::optional{false};
            header->second.changed_at = tables.now;
            const std::int64_t phase = ++header->second.fence;
            for_each_of(tables, name.name(), [&](const owner_id&, holder_row& row) {
                if (!is_live(tables, row) || row.permits == 0) return;
                row.bits = holder_bits::passed;
                row.permits = 0;
                row.fence = phase;
            });
            ++tables.writes;
            return std::optional{true};
        });
    }

    std::vector<std::optional<holder_state>> look(
        connection& on, const std::vector<holder_id>& whose
    ) override {
        using found = std::vector<std::optional<holder_state>>;
        const auto attempt = [whose](memory_tables& tables, const connection&) {
            found answers(whose.size());
            for (std::size_t at = 0; at < whose.size(); ++at) {
                const holder_row* const row = find_row(tables, whose[at].key, whose[at].owner);
                if (row) answers[at] = {row->bits, {row->fence}};
            }
            return std::optional{answers};
        };
        return server_->ask<found>(on, "look_at_holders", attempt);
    }

    std::vector<lock_info> holders_of(connection& on, const key& name) override {
        const auto attempt = [name](memory_tables& tables, const connection&) {
            return std::optional{live_holders(tables, name.name())};
        };
        return server_->ask<std::vector<lock_info>>(on, "holders_of", attempt);
    }

    std::vector<lock_info> list(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        const std::optional<owner_id>& after_owner,
        int limit
    ) override {
        const place from{after, after_owner ? after_owner->bytes() : ""};
        const auto attempt = [prefix = std::string(prefix),
                              from,
                              limit](memory_tables& tables, const connection&) {
            std::vector<lock_info> found;
            for (const auto& [at, row] : tables.holders) {
                if (static_cast<int>(found.size()) == limit) break;
                if (at <= from || !at.first.starts_with(prefix)) continue;
                if (row.fence == 0 || !is_live(tables, row)) continue;
                found.push_back(info_of(tables, at.first, identity::from_bytes(at.second), row));
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<lock_info>>(on, "list_holders", attempt);
    }

    std::optional<header_info> header(connection& on, const key& name) override {
        const auto attempt = [name](memory_tables& tables, const connection&) {
            const auto at = tables.locks.find(name.name());
            return std::optional{
                at == tables.locks.end() ? std::nullopt : header_of(tables, at->first, at->second)};
        };
        return server_->ask<std::optional<header_info>>(on, "header", attempt);
    }

    std::vector<header_info> headers(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const auto attempt = [prefix = std::string(prefix),
                              after = std::string(after),
                              limit](memory_tables& tables, const connection&) {
            std::vector<header_info> found;
            for (const auto& [name, row] : tables.locks) {
                if (static_cast<int>(found.size()) == limit) break;
                if (!name.starts_with(prefix) || (!after.empty() && name <= after)) continue;
                if (auto seen = header_of(tables, name, row)) found.push_back(*std::move(seen));
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<header_info>>(on, "headers", attempt);
    }

    lock_counts count(connection& on, std::string_view prefix) override {
        const auto attempt = [prefix = std::string(prefix)](memory_tables& all, const connection&) {
            return std::optional{count_of(all, prefix)};
        };
        return server_->ask<lock_counts>(on, "count", attempt);
    }

    std::vector<lock_info> force_release(connection& on, const key& name) override {
        using victims = std::vector<lock_info>;
        using answer = std::optional<victims>;
        const auto attempt = [name](memory_tables& tables, const connection& from) -> answer {
            bool must_wait = false;
            bool is_used = false;
            for_each_of(tables, name.name(), [&](const owner_id&, const holder_row& row) {
                must_wait = must_wait || is_proved_by_another(row, from);
                is_used = true;
            });
            if (must_wait) return std::nullopt;
            const auto header = tables.locks.find(name.name());
            if (header == tables.locks.end() || header->second.owner) return victims{};
            if (!is_used && header->second.arrived == 0) return victims{};
            victims freed = live_holders(tables, name.name());
            std::set<session_id> concerned;
            for_each_of(tables, name.name(), [&](const owner_id& owner, const holder_row& row) {
                concerned.insert(row.session);
                tables.holders.erase(place_of(name.name(), owner));
            });
            for (const session_id& each : concerned) {
                const auto session = tables.sessions.find(each);
                if (session != tables.sessions.end()) ++session->second.notices;
            }
            ++header->second.fence;
            header->second.arrived = 0;
            header->second.changed_at = tables.now;
            ++tables.writes;
            return freed;
        };
        return server_->ask<victims>(on, "force_release_holders", attempt);
    }

private:
    // A row found again after each wait.
    template <class Find>
    release_outcome remove(connection& on, Find find, const hold& held) {
        using answer = std::optional<release_outcome>;
        const auto attempt = [find, held](memory_tables& tables, const connection& from) -> answer {
            const holder_row* const row = find(tables);
            if (!row) return release_outcome::not_held;
            if (is_proved_by_another(*row, from)) return std::nullopt;
            tables.holders.erase(place_of(held.key.name(), held.owner));
            ++tables.writes;
            return release_outcome::released;
        };
        return server_->ask<release_outcome>(on, "release_hold", attempt);
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<holder_store> make_memory_holder_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_holder_store>(std::move(of));
}

}  // namespace leasehold::testing
