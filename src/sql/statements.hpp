#pragma once
// The statements of a dialect, as they stand in src/<room>/<engine>/<store>.sql.
//
// A file is made of blocks, each behind a line that names it and ended by the next comment that
// begins a line:
//
//     -- name: release      a statement, or several that are sent together, with $1, $2 … for the
//     DELETE …;             parameters, the same on every engine
//     -- fragment: live     the text for {live} in other blocks of the file, or of every file of
//     s.expires_at > {now}  the room where it stands in its fragments.sql, or of all rooms where it
//                           stands in src/sql. `-- fragment: x on mariadb`: for that alone
//
// Below the name `-- gives: id kind @hold` names the columns of the answer. A statement with one
// column needs no such list, nor does a fragment …_columns that has nothing but names of columns.
// @hold stands for all columns of the block hold, of the same file or a fragments.sql; those behind
// a comma are of this engine alone. src/cmake/embed_columns.cmake makes the places for the readers
// of these lists, columns::<file>::<block>::<name> or <block>_on_<engine>, in columns_<room>.hpp,
// and refuses engines that disagree. A driver's test counts the columns of each answer.
//
// `{since l.changed_at}` is a fragment with text behind it, for which the fragment's own text has
// {it}. The text behind it has no braces.
// `-- name: x on cluster`, or a fragment: in place of x where several nodes are written to
//
// {prefix}  → the tables' names begin with it: {prefix}lock; see sql_text.hpp
// {waiting}, {passed}, {barrier}: the numbers of holder_bits and lock_kind
// {longest}: the longest term or delay, in microseconds
// {asked}   → the rows of a list that the statement is about: number, and three values of each
// The sender of the statement fills in other braces; each file says so.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "sql/sql_block.hpp"
#include "sql/written_nodes.hpp"

namespace leasehold {

// The form in which the engine's driver takes it: with places, and the parameter of each.
class statement {
public:
    enum class form {
        single = 1,
        script = 2,
        packet = 3,       // its last statement reports what the others did
        transaction = 4,  // with a START TRANSACTION and a COMMIT of its own
    };
    // Servers know these, and SQLite gets each as a parameter: {now}, {wall}, {boot}.
    static constexpr int now = -1, wall = -2, boot = -3;

    statement() = default;
    statement(std::string_view source, engine which, written_nodes written = written_nodes::one);

    const std::string& text() const noexcept { return text_; }
    form what() const noexcept { return form_; }
    written_nodes written() const noexcept { return written_; }

    // The values in the order of the places. `outside(which)` has the three above.
    template <class Outside>
    parameters placed(const parameters& values, Outside&& outside) const {
        parameters all;
        all.reserve(places_.size());
        for (const int each : places_) {
            if (each >= 0) {
                all.push_back(values.at(static_cast<std::size_t>(each)));
            } else {
                all.push_back(outside(each));
            }
        }
        return all;
    }
    parameters placed(const parameters& values) const {
        return placed(values, [](int) { return value{}; });
    }
    // True when placed(values) is `values` itself, for so many values.
    bool takes_as_given(std::size_t values) const noexcept {
        return is_in_order_ && places_.size() == values;
    }

private:
    std::string text_;
    std::vector<int> places_;
    form form_ = form::single;
    written_nodes written_ = written_nodes::one;
    bool is_in_order_ = true;
};

// A plain read about a list of any length: each row of the answer begins with the number of the one
// it is about.
//
// Threads: asking is safe on distinct connections.
class list_statement {
public:
    list_statement(std::string source, engine which);

    // `values_of(at)`: the three parameters of one of `count`; `send(statement, values)`;
    // `use(at, row)` takes an answer.
    template <class Values, class Send, class Use>
    void ask(std::size_t count, Values&& values_of, Send&& send, Use&& use) const {
        for (std::size_t first = 0; first < count;) {
            std::size_t at = 0;
            while (at + 1 < sizes.size() && sizes[at] < count - first) ++at;
            const std::size_t asked = std::min(count - first, sizes[at]);
            const std::size_t size = is_any_size_ ? asked : sizes[at];
            parameters values;
            values.reserve(size * columns);
            for (std::size_t number = 0; number < size; ++number) {
                // The last entry, repeated, fills up the text.
                parameters one = values_of(first + std::min(number, asked - 1));
                for (value& each : one) values.push_back(std::move(each));
            }
            const result found =
                is_any_size_ ? send(of_size(size), values) : send(of_kept_size(at), values);
            for (const row& each : found.rows) {
                const auto number = static_cast<std::size_t>(each.integer(number_column));
                use(first + std::min(number, asked - 1), each);
            }
            first += asked;
        }
    }

private:
    static constexpr std::size_t columns = 3;
    static constexpr std::size_t number_column = 0;
    // Few different texts, because each is prepared once per connection. MySQL and MariaDB prepare
    // none.
    static constexpr std::array<std::size_t, 5> sizes{1, 4, 16, 64, 256};

    statement of_size(std::size_t size) const;
    // The text of sizes[at], made at its first use: a long text takes a millisecond, which a short
    // program should not spend.
    const statement& of_kept_size(std::size_t at) const;

    std::string source_;
    engine which_;
    bool is_any_size_;
    mutable std::array<std::once_flag, sizes.size()> is_written_;
    mutable std::array<statement, sizes.size()> texts_;
};

// The files of a room, in the form that src/cmake/embed_sql.cmake gives them.
struct sql_source {
    std::span<const sql_block> postgres, mysql, sqlite;
    const sql_source* fragments_of = nullptr;  // a room whose fragments count here, too

    // The blocks of one file, which stand one after another; empty if the engine has no such file.
    std::span<const sql_block> blocks_in(engine which, std::string_view file) const;
};

// The fragments of all files, and what SQLite does after a reboot.
extern const sql_source shared_sql;

// The statements of one file. Each is made, with its fragments and the tables' names filled in,
// when it is first asked for.
//
// Threads: safe.
class statements {
public:
    // Throws std::logic_error if the engine has no such file.
    statements(
        engine which,
        const sql_source& in LEASEHOLD_LIFETIMEBOUND,
        std::string_view file,
        const table_names& names,
        written_nodes written = written_nodes::one
    );

    // Throws std::logic_error if no statement has that name.
    const statement& operator[](std::string_view name) const;
    const list_statement& list(std::string_view name) const;
    // Null if this engine needs no such statement.
    const statement* find(std::string_view name) const;
    // The text with its parameters as the file has them.
    const std::string& source(std::string_view name) const;
    std::vector<std::string> names() const;

private:
    struct made {
        std::string source;
        statement single;
        std::optional<list_statement> list;  // instead of `single`
    };
    struct entry {
        std::once_flag is_made;
        std::unique_ptr<const statements::made> made;
    };

    // Null if there is none.
    const made* find_made(std::string_view name) const;
    std::unique_ptr<const made> make(const sql_block& block) const;

    engine which_;
    table_names table_names_;
    written_nodes written_;
    const sql_source& room_;
    std::span<const sql_block> blocks_;
    std::unique_ptr<entry[]> entries_;  // one for each block
};

}  // namespace leasehold
