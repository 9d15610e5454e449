// The model's holds of mutexes.
#include <algorithm>
#include <utility>

#include "locks/hold_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

bool has_live_holders(const memory_tables& tables, const std::string& name) {
    return std::any_of(tables.holders.begin(), tables.holders.end(), [&](const auto& each) {
        const auto& [place, row] = each;
        return place.first == name && row.fence > 0 && !is_dead_session(tables, row.session);
    });
}

instant free_since(const memory_tables& tables, const lock_row& row) {
    if (row.expires_at) return *row.expires_at;
    if (!row.session) return row.changed_at;
    const auto session = tables.sessions.find(*row.session);
    return session == tables.sessions.end() ? row.changed_at : session->second.expires_at;
}

class memory_hold_store final : public hold_store {
public:
    explicit memory_hold_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        using answer = std::optional<acquire_result>;
        const auto attempt = [wanted](memory_tables& tables, const connection& from) -> answer {
            if (!is_live_session(tables, wanted.session)) {
                return acquire_result{acquire_status::session_ended, {}, std::nullopt};
            }
            lock_row* row = find_row(tables, wanted.key);
            constexpr int kind = static_cast<int>(lock_kind::mutex);
            if (row && row->kind != kind) {
                const auto found = static_cast<lock_kind>(row->kind);
                return acquire_result{acquire_status::wrong_kind, {}, std::nullopt, found};
            }
            if (row && !is_takeable(tables, *row)) {
                if (!is_live_hold(tables, *row)) return acquire_result{};
                auto holder = info_of(tables, wanted.key.name(), *row);
                holder.waiters = 0;  // nobody counts them for a refused try
                return acquire_result{acquire_status::busy, {}, holder};
            }
            if (row && is_proved_by_another(*row, from)) return std::nullopt;
            if (!row) {
                row = &tables.locks[wanted.key.name()];
                row->fence = tables.fence_mark;
            }
            make_held(tables, *row, wanted);
            return acquire_result{acquire_status::granted, {row->fence}, std::nullopt};
        };
        return server_->ask<acquire_result>(on, "try_acquire", attempt);
    }

    std::vector<std::optional<fencing_token>> try_acquire_several(
        connection& on, const std::vector<const acquire_request*>& wanted
    ) override {
        using tokens = std::vector<std::optional<fencing_token>>;
        const auto attempt = [wanted](memory_tables& tables, const connection&) {
            tokens granted(wanted.size());
            for (std::size_t at = 0; at < wanted.size(); ++at) {
                const acquire_request& each = *wanted[at];
                lock_row* const row = find_row(tables, each.key);
                const bool is_free =
                    row && row->kind == static_cast<int>(lock_kind::mutex) && !row->owner;
                if (!is_free || !is_live_session(tables, each.session)) continue;
                make_held(tables, *row, each);
                granted[at] = fencing_token{row->fence};
            }
            return std::optional{granted};
        };
        return server_->ask<tokens>(on, "try_acquire_several", attempt);
    }

    std::vector<bool> release_several(connection& on, const std::vector<const hold*>& held)
        override {
        const auto attempt = [held](memory_tables& tables, const connection& from) {
            std::vector<bool> are_free;
            for (const hold* const each : held) {
                lock_row* const row = find_hold(tables, *each);
                are_free.push_back(
                    row && row->last_ticket == 0 && row->reentrant_count == 1 &&
                    !is_proved_by_another(*row, from)
                );
                if (are_free.back()) make_free(tables, *row);
            }
            return std::optional{are_free};
        };
        return server_->ask<std::vector<bool>>(on, "release_several", attempt);
    }

    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        using found = std::optional<std::vector<fencing_token>>;
        const auto attempt = [keys, owner](memory_tables& tables, const connection&) {
            std::vector<fencing_token> tokens;
            for (const key& each : keys) {
                const lock_row* const row = find_row(tables, each);
                if (!row || row->owner != owner) return std::optional{found{}};
                tokens.push_back({row->fence});
            }
            return std::optional{found{tokens}};
        };
        return server_->ask<found>(on, "find_grants", attempt);
    }

    std::optional<std::int64_t> reenter(connection& on, const hold& held) override {
        using count = std::optional<std::int64_t>;
        using answer = std::optional<count>;
        const auto attempt = [held](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_hold(tables, held);
            if (!row || !is_live_hold(tables, *row)) return count{};
            if (is_proved_by_another(*row, from)) return std::nullopt;
            ++tables.writes;
            return count{++row->reentrant_count};
        };
        return server_->ask<count>(on, "reenter", attempt);
    }

    release_outcome release(connection& on, const hold& held) override {
        using answer = std::optional<release_outcome>;
        const auto attempt = [held](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_hold(tables, held);
            if (!row) return release_outcome::not_held;
            // Somebody waits: hand_over() knows what to do.
            if (row->last_ticket != 0 && row->reentrant_count == 1) {
                return release_outcome::not_held;
            }
            if (is_proved_by_another(*row, from)) return std::nullopt;
            if (row->reentrant_count > 1) {
                --row->reentrant_count;
                ++tables.writes;
                return release_outcome::still_held;
            }
            make_free(tables, *row);
            return release_outcome::released;
        };
        return server_->ask<release_outcome>(on, "release", attempt);
    }

    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        using answer = std::optional<release_outcome>;
        const auto attempt = [name,
                              owner](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_row(tables, name);
            if (!row || row->owner != owner) return release_outcome::not_held;
            if (is_proved_by_another(*row, from)) return std::nullopt;
            make_free(tables, *row);
            return release_outcome::released;
        };
        return server_->ask<release_outcome>(on, "release_owner", attempt);
    }

    bool prove(connection& inside, const hold& held) override {
        const bool holds_it = inside.state() == connection_state::in_transaction;
        const auto attempt = [held, holds_it](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (row && holds_it) row->provers.insert(&from);
            return std::optional{row != nullptr};
        };
        return server_->ask<bool>(inside, "prove", attempt);
    }

    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override {
        const auto attempt = [held](memory_tables& tables, const connection&) {
            std::vector<standing> answers;
            for (const hold& each : held) {
                const lock_row* const row = find_hold(tables, each);
                const bool is_live = row && is_live_hold(tables, *row);
                answers.push_back(
                    !is_live               ? standing::gone
                    : row->revocations > 0 ? standing::asked
                                           : standing::held
                );
            }
            return std::optional{answers};
        };
        return server_->ask<std::vector<standing>>(on, "standings", attempt);
    }

    std::optional<described_hold> describe(connection& on, const key& name, bool counts_waiters)
        override {
        using found = std::optional<described_hold>;
        const auto attempt = [name, counts_waiters](memory_tables& tables, const connection&) {
            const lock_row* const row = find_row(tables, name);
            if (!row) return std::optional{found{}};
            described_hold seen{info_of(tables, name.name(), *row), std::nullopt};
            if (!counts_waiters) seen.info.waiters = 0;
            if (seen.info.is_held) seen.metadata = row->metadata;
            return std::optional{found{seen}};
        };
        return server_->ask<found>(on, "describe", attempt);
    }

    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        return page(
            on,
            "list",
            prefix,
            after,
            limit,
            [](auto& tables, const auto& name, auto& row) {
                using found = std::optional<lock_info>;
                return is_live_hold(tables, row) ? found{info_of(tables, name, row)} : found{};
            }
        );
    }

    std::vector<lock_info> list_free(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        const auto info = [](auto& tables, const auto& name, auto& row) {
            std::optional<lock_info> found;
            if (is_live_hold(tables, row) || row.arrived > 0) return found;
            if (has_live_holders(tables, name)) return found;
            found = info_of(tables, name, row);
            found->kind = static_cast<lock_kind>(row.kind);
            found->free_for = tables.now - free_since(tables, row);
            return found;
        };
        return page(on, "list_free", prefix, after, limit, info);
    }

    // Connections have no numbers here: the first is one like any other.
    std::optional<row_lock_info> find_row_lock(connection& on, const key& name) override {
        using found = std::optional<row_lock_info>;
        const auto attempt = [name](memory_tables& tables, const connection& from) {
            std::set<const connection*> provers;
            if (const lock_row* const row = find_row(tables, name)) provers = row->provers;
            for (const auto& [place, row] : tables.holders) {
                if (place.first == name.name()) {
                    provers.insert(row.provers.begin(), row.provers.end());
                }
            }
            provers.erase(&from);
            if (provers.empty()) return std::optional{found{}};
            row_lock_info seen;
            seen.key = name.name();
            seen.connection = 1;
            seen.may_be_others = provers.size() > 1;
            return std::optional{found{seen}};
        };
        return server_->ask<found>(on, "find_row_lock", attempt);
    }

    std::vector<std::string> list_passed(connection& on, std::string_view prefix, int limit)
        override {
        const auto attempt = [prefix = std::string(prefix),
                              limit](memory_tables& tables, const connection&) {
            std::vector<std::string> found;
            for (const auto& [name, row] : tables.locks) {
                if (static_cast<int>(found.size()) == limit) break;
                const bool is_over = row.owner && !is_live_hold(tables, row);
                if (is_over && name.starts_with(prefix)) found.push_back(name);
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<std::string>>(on, "list_passed", attempt);
    }

    std::optional<lock_info> force_release(
        connection& on, const key& name, std::optional<fencing_token> only
    ) override {
        using victim = std::optional<lock_info>;
        using answer = std::optional<victim>;
        const auto attempt = [name, only](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_row(tables, name);
            if (!row || is_takeable(tables, *row)) return victim{};
            if (only && row->fence != only->number) return victim{};
            if (is_proved_by_another(*row, from)) return std::nullopt;
            victim freed = info_of(tables, name.name(), *row);
            if (row->session) {
                const auto session = tables.sessions.find(*row->session);
                if (session != tables.sessions.end()) ++session->second.notices;
            }
            ++row->fence;
            make_free(tables, *row);
            return freed;
        };
        return server_->ask<victim>(on, "force_release", attempt);
    }

    bool change_kind(connection& on, const key& name, lock_kind to) override {
        const auto attempt = [name, to](memory_tables& tables, const connection&) {
            lock_row* const row = find_row(tables, name);
            if (!row || row->kind == static_cast<int>(to)) return std::optional{true};
            if (row->owner || row->last_ticket != 0 || row->arrived != 0 ||
                has_holders(tables, name.name())) {
                return std::optional{false};
            }
            row->kind = static_cast<int>(to);
            ++tables.writes;
            return std::optional{true};
        };
        return server_->ask<bool>(on, "change_kind", attempt);
    }

    bool set_metadata(connection& on, const hold& held, const std::optional<std::string>& metadata)
        override {
        using answer = std::optional<bool>;
        const auto attempt = [held, metadata](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row) return answer{false};
            if (is_proved_by_another(*row, from)) return answer{};
            row->metadata = metadata;
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "set_metadata", attempt);
    }

    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        using asked = std::optional<lock_info>;
        using answer = std::optional<asked>;
        const auto attempt = [name](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_row(tables, name);
            if (!row || !is_live_hold(tables, *row)) return asked{};
            if (is_proved_by_another(*row, from)) return std::nullopt;
            ++row->revocations;
            if (row->session) {
                const auto session = tables.sessions.find(*row->session);
                if (session != tables.sessions.end()) ++session->second.notices;
            }
            ++tables.writes;
            return asked{info_of(tables, name.name(), *row)};
        };
        return server_->ask<asked>(on, "request_revoke", attempt);
    }

    bool give_term(connection& on, const hold& held, microseconds fixed_term) override {
        using answer = std::optional<bool>;
        const auto attempt = [held, fixed_term](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row || !row->session || !is_live_session(tables, *row->session)) {
                return answer{false};
            }
            if (is_proved_by_another(*row, from)) return answer{};
            row->session.reset();
            row->expires_at = tables.now + fixed_term;
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "give_term", attempt);
    }

    bool extend_term(connection& on, const hold& held, microseconds fixed_term) override {
        using answer = std::optional<bool>;
        const auto attempt = [held, fixed_term](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row || row->session || !is_live_hold(tables, *row)) return answer{false};
            if (is_proved_by_another(*row, from)) return answer{};
            row->expires_at = tables.now + fixed_term;
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "extend_term", attempt);
    }

    adopt_status adopt(connection& on, const adoption& wanted) override {
        using answer = std::optional<adopt_status>;
        const auto attempt = [wanted](memory_tables& tables, const connection& from) -> answer {
            if (!is_live_session(tables, wanted.to)) return adopt_status::session_ended;
            lock_row* const row = find_hold(tables, wanted.hold);
            if (!row) return adopt_status::gone;
            if (row->session == wanted.to) return adopt_status::adopted;
            if (row->session != wanted.from) return adopt_status::gone;
            const bool is_live = row->session ? is_live_session(tables, *row->session)
                                              : *row->expires_at > tables.now;
            if (!is_live) return adopt_status::gone;
            if (is_proved_by_another(*row, from)) return std::nullopt;
            row->session = wanted.to;
            row->expires_at.reset();
            row->node_info = wanted.node_info;
            ++tables.writes;
            return adopt_status::adopted;
        };
        return server_->ask<adopt_status>(on, "adopt", attempt);
    }

    // There are no levels of isolation: a request reads the rows that there are.
    pending_entry enter(connection&) override { return pending_entry::beside; }

    bool move(connection& inside, const hold& held, const owner_id& to) override {
        const auto attempt = [held, to](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row || is_proved_by_another(*row, from)) return std::optional{false};
            row->provers.insert(&from);
            row->moving = {&from, to};
            return std::optional{true};
        };
        return server_->ask<bool>(inside, "move", attempt);
    }

private:
    // The rows of which `info_of_row` has something to say.
    template <class Info>
    std::vector<lock_info> page(
        connection& on,
        const char* what,
        std::string_view prefix,
        std::string_view after,
        int limit,
        Info info_of_row
    ) {
        const auto attempt = [prefix = std::string(prefix),
                              after = std::string(after),
                              limit,
                              info_of_row](memory_tables& tables, const connection&) {
            std::vector<lock_info> found;
            for (const auto& [name, row] : tables.locks) {
                if (static_cast<int>(found.size()) == limit) break;
                if (name <= after || !name.starts_with(prefix)) continue;
                if (auto info = info_of_row(tables, name, row)) found.push_back(*std::move(info));
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<lock_info>>(on, what, attempt);
    }

    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<hold_store> make_memory_hold_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_hold_store>(std::move(of));
}

}  // namespace leasehold::testing
