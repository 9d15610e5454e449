// The queue of a key on the model: one request is one instant, so that a hand-over is a few lines.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "locks/waiter_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;
using ticket_key = std::pair<std::string, std::int64_t>;

// The first live waiter becomes the owner; the dead before it go. Where there is none the row is
// free.
hand_over_result pass_on(memory_tables& tables, const key& name, lock_row& row) {
    make_free(tables, row);
    auto next = tables.waiters.lower_bound(ticket_key{name.name(), 0});
    const auto is_ours = [&] {
        return next != tables.waiters.end() && next->first.first == name.name();
    };
    while (is_ours() && !is_live_session(tables, next->second.session))
        next = tables.waiters.erase(next);
    if (!is_ours()) {
        row.last_ticket = 0;
        return {hand_over_status::freed, std::nullopt};
    }
    const waiter_row granted = next->second;
    next = tables.waiters.erase(next);
    if (!is_ours()) row.last_ticket = 0;
    give(tables, row, granted);
    return {
        hand_over_status::handed_over,
        successor{
            name,
            granted.owner,
            granted.session,
            {row.fence},
            granted.fixed_term,
            granted.wakeup_address}};
}

queued_waiter queued(
    const memory_tables& tables, const ticket_key& place, const waiter_row& waiting
) {
    return {
        place.second,
        {waiting.owner,
         waiting.session,
         waiting.node_info,
         tables.now - waiting.queued_at,
         place.first}};
}

class memory_waiter_store final : public waiter_store {
public:
    explicit memory_waiter_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    enqueue_result enqueue(connection& on, const acquire_request& wanted) override {
        const auto attempt = [wanted](memory_tables& tables, const connection& from) {
            enqueue_result answer;
            lock_row* const row = find_row(tables, wanted.key);
            if (!is_live_session(tables, wanted.session)) {
                answer.status = enqueue_status::session_ended;
            } else if (!row) {
                answer.status = enqueue_status::unknown_key;
            } else if (row->kind != static_cast<int>(lock_kind::mutex)) {
                answer.status = enqueue_status::wrong_kind;
                answer.kind = static_cast<lock_kind>(row->kind);
            } else if (!is_proved_by_another(*row, from)) {
                answer.status = enqueue_status::waiting;
                answer.ticket = std::max(row->last_ticket + 1, tables.now.count());
                answer.looks_takeable = is_takeable(tables, *row);
                row->last_ticket = answer.ticket;
                tables.waiters[{wanted.key.name(), answer.ticket}] = {
                    wanted.owner,
                    wanted.session,
                    wanted.node_info,
                    wanted.fixed_term,
                    wanted.lock_delay,
                    wanted.metadata,
                    wanted.wakeup_address,
                    tables.now};
                ++tables.writes;
            }
            return std::optional{answer};
        };
        return server_->ask<enqueue_result>(on, "enqueue", attempt);
    }

    hand_over_result hand_over(connection& on, const hold& held) override {
        using answer = std::optional<hand_over_result>;
        const auto attempt = [held](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_row(tables, held.key);
            if (!row || row->owner != held.owner || row->fence != held.token.number) {
                return hand_over_result{};
            }
            if (is_proved_by_another(*row, from)) return std::nullopt;
            return pass_on(tables, held.key, *row);
        };
        return server_->ask<hand_over_result>(on, "hand_over", attempt);
    }

    hand_over_result serve(connection& on, const key& name) override {
        using answer = std::optional<hand_over_result>;
        const auto attempt = [name](memory_tables& tables, const connection& from) -> answer {
            lock_row* const row = find_row(tables, name);
            if (!row || !is_takeable(tables, *row) || is_proved_by_another(*row, from)) {
                return hand_over_result{};
            }
            if (row->kind != static_cast<int>(lock_kind::mutex)) return hand_over_result{};
            return pass_on(tables, name, *row);
        };
        return server_->ask<hand_over_result>(on, "serve", attempt);
    }

    bool leave(
        connection& on, const key& name, const owner_id& owner, std::optional<std::int64_t> ticket
    ) override {
        const auto attempt = [name, owner, ticket](memory_tables& tables, const connection&) {
            const auto gone = std::erase_if(tables.waiters, [&](const auto& each) {
                const auto& [queue, number] = each.first;
                return queue == name.name() && each.second.owner == owner &&
                       number == ticket.value_or(number);
            });
            if (gone > 0) ++tables.writes;
            return std::optional{gone > 0};
        };
        return server_->ask<bool>(on, ticket ? "leave" : "leave_by_owner", attempt);
    }

    std::vector<look_result> look(connection& on, const std::vector<waiter_id>& who) override {
        const auto attempt = [who](memory_tables& tables, const connection&) {
            std::vector<look_result> answers;
            for (const waiter_id& each : who) {
                look_result found;
                const lock_row* const row = find_row(tables, each.key);
                const auto queued = tables.waiters.find({each.key.name(), each.ticket});
                if (row && row->owner == each.owner) {
                    found.status = look_status::granted;
                    found.token = {row->fence};
                    if (row->expires_at) {
                        found.term_left =
                            std::max(std::chrono::microseconds{0}, *row->expires_at - tables.now);
                    }
                } else if (queued != tables.waiters.end() && queued->second.owner == each.owner) {
                    found.status = look_status::waiting;
                    found.looks_takeable = row && is_takeable(tables, *row);
                }
                answers.push_back(found);
            }
            return std::optional{answers};
        };
        return server_->ask<std::vector<look_result>>(on, "look", attempt);
    }

    std::vector<queued_waiter> list(connection& on, const key& name, std::int64_t after, int limit)
        override {
        const auto attempt = [name, after, limit](memory_tables& tables, const connection&) {
            std::vector<queued_waiter> queue;
            auto next = tables.waiters.upper_bound(ticket_key{name.name(), after});
            for (; next != tables.waiters.end() && next->first.first == name.name(); ++next) {
                if (static_cast<int>(queue.size()) == limit) break;
                const waiter_row& each = next->second;
                if (!is_live_session(tables, each.session)) continue;
                queue.push_back(queued(tables, next->first, each));
            }
            return std::optional{queue};
        };
        return server_->ask<std::vector<queued_waiter>>(on, "list_waiters", attempt);
    }

    std::vector<queued_waiter> list_all(
        connection& on,
        std::string_view prefix,
        std::string_view after,
        std::int64_t after_ticket,
        int limit
    ) override {
        const auto attempt = [prefix = std::string(prefix),
                              behind = ticket_key{after, after_ticket},
                              limit](memory_tables& tables, const connection&) {
            std::vector<queued_waiter> found;
            for (const auto& [place, each] : tables.waiters) {
                if (static_cast<int>(found.size()) == limit) break;
                const bool is_wanted = place > behind && place.first.starts_with(prefix);
                if (!is_wanted || !is_live_session(tables, each.session)) continue;
                found.push_back(queued(tables, place, each));
            }
            return std::optional{found};
        };
        return server_->ask<std::vector<queued_waiter>>(on, "list_all_waiters", attempt);
    }

    bool closes_a_circle(connection& on, const waiter_id& who, const session_id& own) override {
        const auto attempt = [who, own](memory_tables& tables, const connection&) {
            std::set<session_id> blocked;
            std::vector<std::string> keys;
            if (tables.waiters.contains({who.key.name(), who.ticket})) {
                keys.push_back(who.key.name());
            }
            while (!keys.empty()) {
                const lock_row& row = tables.locks[keys.back()];
                keys.pop_back();
                const bool is_new = row.owner && row.session &&
                                    is_live_session(tables, *row.session) &&
                                    blocked.insert(*row.session).second;
                if (!is_new) continue;
                for (const auto& [place, waiter] : tables.waiters) {
                    if (waiter.session == *row.session) keys.push_back(place.first);
                }
            }
            return std::optional{blocked.contains(own)};
        };
        return server_->ask<bool>(on, "closes_a_circle", attempt);
    }

    void notify(connection&, const owner_id&) override {}
    std::string channel() const override { return ""; }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<waiter_store> make_memory_waiter_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_waiter_store>(std::move(of));
}

}  // namespace leasehold::testing
