#pragma once
// Compares the lengths of the lists `-- gives:` of all statements of an engine with the number of
// columns that the engine itself says they have. A statement without a list has one column at most.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admin/sql_stores.hpp"
#include "database/sql_stores.hpp"
#include "jobs/sql_stores.hpp"
#include "locks/sql_stores.hpp"
#include "runs/sql_stores.hpp"
#include "session/sql_stores.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::testing {

struct declared_columns {
    engine which;
    std::string_view file, block;
    std::size_t count;
};

inline constexpr declared_columns all_declared_columns[] = {
#include "columns_admin.inc"
#include "columns_database.inc"
#include "columns_jobs.inc"
#include "columns_locks.inc"
#include "columns_runs.inc"
#include "columns_session.inc"
#include "columns_sql.inc"
};

// The names of a statement's columns; nullopt, and the reason, if the engine refuses its text.
using columns_of =
    std::function<std::optional<std::vector<std::string>>(const std::string&, std::string&)>;

// The columns of the one statement of a text that has any.
inline std::optional<std::vector<std::string>> columns_of_parts(
    const std::string& text, engine which, const columns_of& ask, std::string& why
) {
    std::vector<std::string> found;
    for (const std::string& part : split_statements(text + ";")) {
        const bool is_about_itself = part.starts_with("START") || part.starts_with("COMMIT");
        if (is_about_itself) continue;  // MySQL prepares neither
        const auto names = ask(statement{part, which}.text(), why);
        if (!names) return std::nullopt;
        if (!names->empty()) found = *names;
    }
    return found;
}

// The sender of a statement fills in what is left in braces: one of these fits.
inline std::optional<std::vector<std::string>> columns_of_filled(
    const std::string& text, engine which, const columns_of& ask, std::string& why
) {
    std::string placeholder;
    for (auto at = text.find('{'); at != std::string::npos && placeholder.empty();
         at = text.find('{', at + 1)) {
        placeholder = text.substr(at, text.find('}', at) + 1 - at);
        if (std::set<std::string>{"{now}", "{wall}", "{boot}"}.contains(placeholder))
            placeholder = "";
    }
    if (placeholder.empty()) return columns_of_parts(text, which, ask, why);
    for (const char* by :
         {"1",
          "'a'",
          "(1)",
          "(1, 'a')",
          "('a', 1)",
          "(1, 'a'::bytea)",
          "('a'::bytea, 1)",
          "VALUES (0, 'a', 'a', 1)",
          "VALUES (0, 'a'::bytea, 'a'::bytea, 1)",
          "SELECT 0 AS number, 'a' AS lock_key, 'a' AS owner, 1 AS amount",
          "SELECT 1 AS id, 1 AS ordering_key",
          "holder",
          "owner",
          ""}) {
        const auto names = columns_of_filled(replaced(text, placeholder, by), which, ask, why);
        if (names) return names;
    }
    return std::nullopt;
}

inline void expect_declared_columns(
    engine which,
    const table_names& names,
    const columns_of& ask,
    const std::set<std::string>& of_other_servers = {}
) {
    const bool is_mysql = which == engine::mysql || which == engine::mariadb;
    std::map<std::string, std::size_t> declared;
    for (const declared_columns& each : all_declared_columns) {
        const bool is_ours = each.which == (is_mysql ? engine::mysql : which);
        if (is_ours)
            declared.emplace(std::string{each.file} + '.' + std::string{each.block}, each.count);
    }
    for (const sql_source* room :
         {&shared_sql, &database_sql, &session_sql, &locks_sql, &runs_sql, &jobs_sql, &admin_sql}) {
        const auto& blocks = is_mysql                  ? room->mysql
                             : which == engine::sqlite ? room->sqlite
                                                       : room->postgres;
        std::set<std::string> files;
        for (const sql_block& each : blocks) {
            if (each.kind == block_kind::name) files.emplace(each.file);
        }
        for (const std::string& file : files) {
            const statements texts{which, *room, file, names};
            for (const std::string& name : texts.names()) {
                const std::string full = file + '.' + name;
                std::string why;
                const auto found = columns_of_filled(texts.source(name), which, ask, why);
                const auto list = declared.find(full);
                if (!found) {
                    EXPECT_TRUE(list == declared.end() || of_other_servers.contains(full))
                        << full << " is refused: " << why;
                    continue;
                }
                std::string said;
                for (const auto& each : *found) said += each + ' ';
                if (texts.source(name).starts_with("SHOW")) continue;  // read by its own names
                // The setting of a statement for its own commit comes last, and nobody reads it.
                const bool sets =
                    !found->empty() && (found->back() == "set_config" || found->back() == "case");
                const std::size_t count = list == declared.end() ? 1 : list->second;
                const bool has_as_many =
                    found->size() == count || (sets && found->size() == count + 1) ||
                    (found->empty() && (list == declared.end() || of_other_servers.contains(full)));
                EXPECT_TRUE(has_as_many)
                    << full << " is declared to give " << count << " columns, and gives " << said;
            }
        }
    }
}

}  // namespace leasehold::testing
