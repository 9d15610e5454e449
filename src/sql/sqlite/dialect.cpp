// SQLite: the stores put together, and the first write after a reboot: boot.sql.
#include "sql/sqlite/dialect.hpp"
#include "sql/dialects.hpp"

namespace leasehold {
namespace sqlite_dialect {
namespace {

std::int64_t wall_clock_microseconds() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace

boot_check::boot_check(const table_names& names)
    : texts_(engine::sqlite, shared_sql, "boot", names), boot_id_(boot_clock::boot_id()) {}

bool boot_check::is_ours(connection& on) {
    return only_text(on.execute(texts_["read"].text())) == boot_id_;
}

void boot_check::enter(connection& on) {
    if (has_entered_) return;
    if (!is_ours(on)) {
        write_transaction writing{on};
        enter_inside(on);
        writing.commit();
    }
    note_entered();
}

void boot_check::enter_inside(connection& transaction) {
    if (is_ours(transaction)) return;  // or somebody was faster
    for (const std::string_view each :
         {"leave",
          "free_locks",
          "end_queues",
          "remove_holders",
          "end_sessions",
          "begin_upkeep",
          "enter"}) {
        const statement& what = texts_[each];
        const auto outside = [&](int which) {
            return which == statement::boot ? value{boot_id_}
                                            : value{boot_clock::now_microseconds()};
        };
        transaction.execute(what.text(), what.placed({}, outside));
    }
}

result dialect::run(
    connection& on, const statement& what, const parameters& values, std::int64_t now
) const {
    std::optional<std::int64_t> wall;  // one reading for all of a statement
    const auto outside = [&](int which) -> value {
        if (which == statement::boot) return boot_->boot_id();
        if (which != statement::wall) return now;
        if (!wall) wall = wall_clock_microseconds();
        return *wall;
    };
    if (what.what() != statement::form::single) {
        return on.execute_script(what.text(), what.placed(values, outside));
    }
    if (what.takes_as_given(values.size())) return on.execute(what.text(), values);
    return on.execute(what.text(), what.placed(values, outside));
}

result dialect::read(connection& on, const statement& what, const parameters& values) const {
    return run(on, what, values, boot_clock::now_microseconds());
}

// Rolls the transaction back if nothing has changed: a commit makes other processes look.
result dialect::write(connection& on, const statement& what, const parameters& values) const {
    boot_->enter(on);
    write_transaction writing{on};
    result done = run(on, what, values, writing.now());
    const bool is_one = what.what() == statement::form::single;
    if (!is_one || done.affected_rows > 0 || !done.rows.empty()) writing.commit();
    return done;
}

}  // namespace sqlite_dialect

std::shared_ptr<const sql_dialect> make_sqlite_dialect(const table_names& names) {
    using namespace sqlite_dialect;
    return std::make_shared<const dialect>(names);
}

}  // namespace leasehold
