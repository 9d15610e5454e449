// Queues waiters, and hands keys over, on SQLite. The statements: waiter.sql.
#include "locks/sql_waiter_store.hpp"

#include <cstdlib>

#include "leasehold/error.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// While this object lives commits wait for no flush, unless a transaction of the caller's is open,
// which the caller commits.
class without_flush {
public:
    without_flush(const statements& texts, connection& on)
        : texts_(texts), on_(on), is_ours_(on.state() == connection_state::idle) {
        if (is_ours_) on_.execute(texts_["commit_unflushed"].text());
    }
    ~without_flush() {
        if (!is_ours_) return;
        try {
            on_.execute(texts_["commit_flushed"].text());
        } catch (const error&) {
            // Only a connection whose file is gone gets here. Any other connection would go on
            // without flushes, and might give a token twice.
            if (on_.state() != connection_state::lost) std::abort();
        }
    }
    without_flush(const without_flush&) = delete;
    without_flush& operator=(const without_flush&) = delete;

private:
    const statements& texts_;
    connection& on_;
    const bool is_ours_;
};

class sqlite_waiter_store final : public sql_waiter_store {
public:
    // The file itself notifies: each commit changes it.
    explicit sqlite_waiter_store(shared_dialect how)
        : sql_waiter_store(how, "commits"), sqlite_(std::move(how)) {}

    enqueue_result enqueue(connection& on, const acquire_request& wanted) override {
        const without_flush quickly{texts_, on};
        writing write{*sqlite_, texts_, on};
        write.begin();
        parameters values = values_of_waiter(wanted);
        enqueue_result answer;
        if (write("session_is_live", values).rows.empty()) {
            answer.status = enqueue_status::session_ended;
            return answer;
        }
        const auto found = write("find_key", values);
        if (found.rows.empty()) {
            answer.status = enqueue_status::unknown_key;
            return answer;
        }
        answer.kind = kind_of(found.rows[0]);
        if (answer.kind != lock_kind::mutex) {
            answer.status = enqueue_status::wrong_kind;
            return answer;
        }
        answer.ticket = only_integer(write("draw_ticket", values));
        values.emplace_back(answer.ticket);
        write("queue", values);
        write.commit();
        answer.status = enqueue_status::waiting;
        answer.looks_takeable = is_takeable(found.rows[0]);
        return answer;
    }

    // One way for every case, where the servers have `pass_on`: nothing is a round trip here.
    hand_over_result hand_over(connection& on, const hold& held) override {
        writing write{*sqlite_, texts_, on};
        const parameters which = values_of(held);
        // A look without the write lock: nobody else can make the hold ours.
        if (write("find_hold", which).rows.empty()) return {};
        write.begin();
        if (write("find_hold", which).rows.empty()) return {};
        return serve_next(write, held.key);
    }

    hand_over_result serve(connection& on, const key& name) override {
        writing write{*sqlite_, texts_, on};
        const auto may_be_served = [&] {
            const auto found = write("find_key", {value_of(name)});
            return !found.rows.empty() && kind_of(found.rows[0]) == lock_kind::mutex &&
                   is_takeable(found.rows[0]);
        };
        if (!may_be_served()) return {};
        write.begin();
        if (!may_be_served()) return {};
        return serve_next(write, name);
    }

private:
    static lock_kind kind_of(const row& found) {
        return static_cast<lock_kind>(found.integer(columns::waiter::find_key::kind));
    }
    static bool is_takeable(const row& found) {
        return found.integer(columns::waiter::find_key::is_takeable) != 0;
    }

    static hand_over_result serve_next(writing& write, const key& name) {
        parameters which{value_of(name)};
        const auto first = write("first_live", which);
        if (first.rows.empty()) {
            write("free_key", which);
            write("remove_all", which);
            write.commit();
            return {hand_over_status::freed, std::nullopt};
        }
        using column = columns::waiter::first_live;
        const row& next = first.rows[0];
        which.push_back(next.at(column::ticket));
        const fencing_token token{only_integer(write("grant", which))};
        write("remove_until", which);
        write.commit();
        return handed_over(name, next, column::successor, token);
    }

    const shared_dialect sqlite_;
};

}  // namespace

std::unique_ptr<waiter_store> make_waiter_store(shared_dialect how) {
    return std::make_unique<sqlite_waiter_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
