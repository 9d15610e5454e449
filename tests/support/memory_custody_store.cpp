// The model's words, requests to let go, and moves of a hold.
#include <utility>

#include "store/custody_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

class memory_custody_store final : public custody_store {
public:
    explicit memory_custody_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    bool set_words(connection& on, const hold& held, const std::optional<std::string>& words)
        override {
        using answer = std::optional<bool>;
        const auto attempt = [held, words](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row) return answer{false};
            if (is_proved_by_another(*row, from)) return answer{};
            row->metadata = words;
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "set_words", attempt);
    }

    std::optional<custody> look(connection& on, const key& name) override {
        using found = std::optional<custody>;
        const auto attempt = [name](memory_tables& tables, const connection&) {
            const lock_row* const row = find_row(tables, name);
            if (!row || !is_live_hold(tables, *row)) return std::optional{found{}};
            return std::optional{found{{info_of(tables, name.name(), *row), row->metadata}}};
        };
        return server_->ask<found>(on, "look", attempt);
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

    bool give_term(connection& on, const hold& held, microseconds hold_at_most) override {
        using answer = std::optional<bool>;
        const auto attempt = [held, hold_at_most](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row || !row->session || !is_live_session(tables, *row->session)) {
                return answer{false};
            }
            if (is_proved_by_another(*row, from)) return answer{};
            row->session.reset();
            row->expires_at = tables.now + hold_at_most;
            ++tables.writes;
            return answer{true};
        };
        return server_->ask<bool>(on, "give_term", attempt);
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

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<custody_store> make_memory_custody_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_custody_store>(std::move(of));
}

}  // namespace leasehold::testing
