#pragma once
// The base of the stores of all dialects: their statements, and the engine's way to carry them out.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/thread_mutex.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"
#include "locks/hold_store.hpp"
#include "sql/row_columns.hpp"
#include "sql/statements.hpp"

namespace leasehold {

// Threads: safe.
class sql_dialect {
public:
    sql_dialect(engine which, const table_names& names, written_nodes written = written_nodes::one);
    sql_dialect(const sql_dialect&) = delete;
    sql_dialect& operator=(const sql_dialect&) = delete;
    virtual ~sql_dialect() = default;

    engine which() const noexcept { return which_; }
    const table_names& names() const noexcept { return names_; }
    written_nodes written() const noexcept { return written_; }
    // The statements of <file>.sql of a room.
    const statements& of(const sql_source& room, std::string_view file) const;

    // Carries out a statement that changes nothing.
    virtual result read(connection& on, const statement& what, const parameters& values) const = 0;
    // Carries out a statement that is to commit by itself; on SQLite it commits only if one
    // statement has changed something or returned a row.
    virtual result write(connection& on, const statement& what, const parameters& values) const = 0;
    // Carries out a statement that is part of the caller's transaction.
    virtual result inside(connection& on, const statement& what, const parameters& values)
        const = 0;
    // Carries out a text that is made for one call.
    virtual result carry_out(connection& on, std::string_view sql, const parameters& values) const {
        return on.execute(sql, values);
    }
    // Called before a read that does not test the boot: on SQLite this frees rows of another boot.
    virtual void enter(connection&) const {}

private:
    const engine which_;
    const table_names names_;
    const written_nodes written_;
    mutable thread_mutex mutex_;
    mutable std::map<std::pair<const sql_source*, std::string>, statements> files_
        LEASEHOLD_GUARDED_BY(mutex_);
};

class sql_store {
protected:
    sql_store(std::shared_ptr<const sql_dialect> how, const sql_source& room, std::string_view file)
        : how_(std::move(how)), texts_(how_->of(room, file)) {}

    result read(connection& on, std::string_view name, const parameters& values = {}) const {
        return how_->read(on, texts_[name], values);
    }
    result write(connection& on, std::string_view name, const parameters& values = {}) const {
        return how_->write(on, texts_[name], values);
    }
    result inside(connection& on, std::string_view name, const parameters& values = {}) const {
        return how_->inside(on, texts_[name], values);
    }
    // Tells that a statement has found the row it looks for, by an answer or a change.
    static bool has_found(const result& answer) {
        return !answer.rows.empty() || answer.affected_rows > 0;
    }
    template <class Values, class Use>
    void ask(
        connection& on, std::string_view name, std::size_t count, Values&& values_of, Use&& use
    ) const {
        const auto send = [&](const statement& what, const parameters& values) {
            return how_->read(on, what, values);
        };
        texts_.list(name).ask(count, values_of, send, use);
    }

    const std::shared_ptr<const sql_dialect> how_;
    const statements& texts_;
};

// Carries out `ask`. Nullopt if this user lacks the right, or its transactions or this server take
// no changes: `refusal`, unless it is null, has that error then.
template <class Ask>
std::optional<result> where_allowed(Ask&& ask, std::optional<error>* refusal = nullptr) {
    try {
        return ask();
    } catch (const error& refused) {
        const bool may_not =
            refused.code() == errc::permission_denied || refused.code() == errc::read_only;
        if (!may_not) throw;
        if (refusal) *refusal = refused;
        return std::nullopt;
    }
}

// Values as statements take them.
inline value value_of(const key& name) {
    return blob{name.name()};
}
template <class Kind>
value value_of(const identity_of_kind<Kind>& id) {
    return blob{id.bytes()};
}
// Durations travel as whole microseconds. Centuries are cut, because the sum with a clock would
// leave the range of a time and fail.
value value_of(std::chrono::microseconds duration);
value value_of(const std::optional<std::chrono::microseconds>& duration);
value text_or_null(const std::string& text);

// key, owner, token
parameters values_of(const hold& held);
// key, owner, session, node_info, term or null, delay, metadata or null
parameters values_of(const acquire_request& wanted);
// the bounds of the keys that begin with `prefix`, greater than `after`; at most how many
parameters values_of_page(std::string_view prefix, std::string_view after, int limit);
parameters joined(parameters first, const parameters& more);

}  // namespace leasehold
