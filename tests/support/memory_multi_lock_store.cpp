// The model's grants and releases of several keys at once.
#include <utility>

#include "locks/multi_lock_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

// The obstacle to the request; nothing: it may be granted.
std::optional<acquire_all_result> refusal(
    memory_tables& tables, const acquire_all_request& wanted
) {
    acquire_all_result answer;
    if (!is_live_session(tables, wanted.session)) {
        answer.status = acquire_all_status::session_ended;
        return answer;
    }
    bool is_busy = false;
    for (const key& each : wanted.keys) {
        const lock_row* const row = find_row(tables, each);
        if (!row) continue;
        if (row->kind != static_cast<int>(lock_kind::mutex)) {
            answer.status = acquire_all_status::wrong_kind;
            answer.kind = static_cast<lock_kind>(row->kind);
            answer.misused = each;
            return answer;
        }
        is_busy = is_busy || !is_takeable(tables, *row);
        if (is_live_hold(tables, *row) && !answer.holder) {
            answer.holder = info_of(tables, each.name(), *row);
            answer.holder->waiters = 0;  // nobody counts them for a refused try
        }
    }
    if (is_busy) return answer;
    return std::nullopt;
}

fencing_token grant_row(memory_tables& tables, const key& name, const acquire_all_request& wanted) {
    lock_row* row = find_row(tables, name);
    if (!row) {
        row = &tables.locks[name.name()];
        row->fence = tables.fence_mark;
    }
    ++row->fence;
    row->owner = wanted.owner;
    row->session.reset();
    row->expires_at.reset();
    if (wanted.fixed_term) {
        row->expires_at = tables.now + *wanted.fixed_term;
    } else {
        row->session = wanted.session;
    }
    row->node_info = wanted.node_info;
    row->reentrant_count = 1;
    row->changed_at = tables.now;
    row->lock_delay = std::chrono::microseconds{0};
    row->revocations = 0;
    row->metadata.reset();
    ++tables.writes;
    return {row->fence};
}

class memory_multi_lock_store final : public multi_lock_store {
public:
    explicit memory_multi_lock_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    acquire_all_result try_acquire_all(connection& on, const acquire_all_request& wanted) override {
        using answer = std::optional<acquire_all_result>;
        const auto attempt = [wanted](memory_tables& tables, const connection& from) -> answer {
            if (auto refused = refusal(tables, wanted)) return refused;
            for (const key& each : wanted.keys) {
                const lock_row* const row = find_row(tables, each);
                if (row && is_proved_by_another(*row, from)) return std::nullopt;
            }
            acquire_all_result granted;
            granted.status = acquire_all_status::granted;
            for (const key& each : wanted.keys) {
                granted.tokens.push_back(grant_row(tables, each, wanted));
            }
            return granted;
        };
        return server_->ask<acquire_all_result>(on, "try_acquire_all", attempt);
    }

    bool prove_all(connection& inside, const std::vector<hold>& held) override {
        const bool holds_it = inside.state() == connection_state::in_transaction;
        const auto attempt = [held, holds_it](memory_tables& tables, const connection& from) {
            bool are_all_there = true;
            for (const hold& each : held) {
                lock_row* const row = find_hold(tables, each);
                if (row && holds_it) row->provers.insert(&from);
                are_all_there = are_all_there && row;
            }
            return std::optional{are_all_there};
        };
        return server_->ask<bool>(inside, "prove_all", attempt);
    }

    release_all_result release_all(connection& on, const std::vector<hold>& held) override {
        using answer = std::optional<release_all_result>;
        const auto attempt = [held](memory_tables& tables, const connection& from) -> answer {
            for (const hold& each : held) {
                const lock_row* const row = find_hold(tables, each);
                if (row && is_proved_by_another(*row, from)) return std::nullopt;
            }
            release_all_result done;
            for (const hold& each : held) {
                lock_row* const row = find_hold(tables, each);
                if (!row) continue;
                if (row->last_ticket != 0) {
                    done.awaited.push_back(each);
                } else {
                    make_free(tables, *row);
                    done.released.push_back(each);
                }
            }
            return done;
        };
        return server_->ask<release_all_result>(on, "release_all", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<multi_lock_store> make_memory_multi_lock_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_multi_lock_store>(std::move(of));
}

}  // namespace leasehold::testing
