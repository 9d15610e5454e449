#include "dialect/statements.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>

#include "dialect/sql_text.hpp"
#include "leasehold/lock_kind.hpp"
#include "store/holder_store.hpp"

namespace leasehold {
namespace {

struct sql_file {
    std::string_view name;
    std::string_view text;
};

constexpr sql_file postgres_files[] = {
#include "statements_postgres.inc"
};
constexpr sql_file mysql_files[] = {
#include "statements_mysql.inc"
};
constexpr sql_file sqlite_files[] = {
#include "statements_sqlite.inc"
};

std::string_view text_of(engine which, std::string_view name) {
    std::span<const sql_file> files;
    if (which == engine::postgres) files = postgres_files;
    if (which == engine::mysql || which == engine::mariadb) files = mysql_files;
    if (which == engine::sqlite) files = sqlite_files;
    for (const sql_file& each : files) {
        if (each.name == name) return each.text;
    }
    throw std::logic_error("no statements in " + std::string{name} + ".sql");
}

using blocks = std::map<std::string, std::string, std::less<>>;

struct sql_blocks {
    blocks statements;
    blocks words;
};

// Takes off white space around it, and the semicolon at the end.
std::string trimmed(std::string text) {
    constexpr std::string_view white = " \n";
    const auto first = text.find_first_not_of(white);
    if (first == std::string::npos) return {};
    text.erase(0, first);
    text.erase(text.find_last_not_of(white) + 1);
    if (text.ends_with(';')) text.pop_back();
    return text;
}

// The two parts of "x on mariadb".
struct block_name {
    std::string_view name;
    std::string_view where;  // empty: everywhere
};

block_name name_in(std::string_view said) {
    constexpr std::string_view between = " on ";
    const auto at = said.find(between);
    if (at == std::string_view::npos) return {said, {}};
    return {said.substr(0, at), said.substr(at + between.size())};
}

sql_blocks blocks_in(std::string_view text, engine which, written_nodes written) {
    constexpr std::string_view name_line = "-- name: ", word_line = "-- word: ";
    const std::string_view here = which == engine::mariadb ? "mariadb" : "mysql";
    sql_blocks found, of_some;
    std::string ignored;
    const auto block_of = [&](std::string_view said, blocks sql_blocks::*kind) -> std::string* {
        const auto [name, where] = name_in(said);
        if (where.empty() || where == here) return &(found.*kind)[std::string{name}];
        const bool is_wanted = (where == "cluster" && written == written_nodes::several) ||
                               (where == "standby" && written == written_nodes::one_with_standby);
        return is_wanted ? &(of_some.*kind)[std::string{name}] : &ignored;
    };
    std::string* into = &ignored;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.starts_with(name_line)) {
            into = block_of(line.substr(name_line.size()), &sql_blocks::statements);
        } else if (line.starts_with(word_line)) {
            into = block_of(line.substr(word_line.size()), &sql_blocks::words);
        } else if (line.starts_with("--")) {
            into = &ignored;
        } else {
            into->append(line).append("\n");
        }
    }
    for (auto kind : {&sql_blocks::statements, &sql_blocks::words}) {
        for (auto& [name, block] : of_some.*kind) (found.*kind)[name] = std::move(block);
        for (auto& [name, block] : found.*kind) block = trimmed(std::move(block));
    }
    return found;
}

// A word may stand for text that has words in it.
std::string with_words(std::string text, const std::vector<const blocks*>& known) {
    for (auto at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
        const auto end = text.find('}', at);
        if (end == std::string::npos) break;
        const std::string_view word = std::string_view{text}.substr(at + 1, end - at - 1);
        const std::string* by = nullptr;
        for (const blocks* each : known) {
            const auto found = each->find(word);
            if (!by && found != each->end()) by = &found->second;
        }
        if (by) {
            text.replace(at, end + 1 - at, *by);
        } else {
            ++at;
        }
    }
    return text;
}

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

// The parameter of $12 or {now} at `at`, and the length of that text.
struct found_place {
    int which = 0;
    std::size_t length = 0;
};

found_place place_at(std::string_view text, std::size_t at, bool has_outside) {
    if (text[at] == '$') {
        std::size_t end = at + 1;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == at + 1) return {};
        return {std::stoi(std::string{text.substr(at + 1, end - at - 1)}) - 1, end - at};
    }
    if (!has_outside || text[at] != '{') return {};
    for (const auto& [word, which] :
         {std::pair{std::string_view{"{now}"}, statement::now},
          {"{wall}", statement::wall},
          {"{boot}", statement::boot}}) {
        if (text.substr(at).starts_with(word)) return {which, word.size()};
    }
    return {};
}

statement::form form_of(std::string_view text) {
    if (text.find("START TRANSACTION") != std::string_view::npos) {
        return statement::form::transaction;
    }
    const auto last = text.rfind(';');
    if (last == std::string_view::npos) return statement::form::single;
    const auto first = text.find_first_not_of(" \n", last + 1);
    const bool reports =
        first != std::string_view::npos && text.substr(first).starts_with("SELECT");
    return reports ? statement::form::packet : statement::form::script;
}

}  // namespace

// On PostgreSQL each parameter has a number of its own, from 1 on without a gap; elsewhere each
// place has a parameter of its own.
statement::statement(std::string_view source, engine which, written_nodes written)
    : form_(form_of(source)), written_(written) {
    const bool has_outside = which == engine::sqlite;
    const bool is_numbered = which == engine::postgres;
    constexpr std::string_view begins_place = "${";
    if (is_numbered) {
        std::set<int> used;
        for (auto at = source.find('$'); at < source.size(); at = source.find('$', at + 1)) {
            const found_place place = place_at(source, at, has_outside);
            if (place.length > 0) used.insert(place.which);
        }
        places_.assign(used.begin(), used.end());
    }
    for (std::size_t at = 0; at < source.size();) {
        const found_place place = place_at(source, at, has_outside);
        if (place.length == 0) {
            const auto next = std::min(source.find_first_of(begins_place, at + 1), source.size());
            text_ += source.substr(at, next - at);
            at = next;
            continue;
        }
        if (is_numbered) {
            const auto found = std::lower_bound(places_.begin(), places_.end(), place.which);
            text_ += '$' + std::to_string(found - places_.begin() + 1);
        } else {
            places_.push_back(place.which);
            text_ += '?';
        }
        at += place.length;
    }
    for (std::size_t at = 0; at < places_.size(); ++at) {
        is_in_order_ = is_in_order_ && places_[at] == static_cast<int>(at);
    }
}

list_statement::list_statement(std::string source, engine which)
    : source_(std::move(source)),
      which_(which),
      is_any_size_(which == engine::mysql || which == engine::mariadb) {}

const statement& list_statement::of_kept_size(std::size_t at) const {
    std::call_once(is_written_[at], [&] { texts_[at] = of_size(sizes[at]); });
    return texts_[at];
}

statement list_statement::of_size(std::size_t size) const {
    std::string asked;
    for (std::size_t number = 0; number < size; ++number) {
        const auto place = [&](std::size_t column) {
            return ", $" + std::to_string(number * columns + column);
        };
        const std::string first = std::to_string(number);
        if (is_any_size_) {
            asked += number == 0 ? "SELECT 0 AS number, $1 AS lock_key, $2 AS owner, $3 AS amount"
                                 : " UNION ALL SELECT " + first + place(1) + place(2) + place(3);
            continue;
        }
        asked += number == 0 ? "VALUES (" : ", (";
        const bool has_types = which_ == engine::postgres;
        asked += first + place(1) + (has_types ? "::bytea" : "") + place(2) +
                 (has_types ? "::bytea" : "") + place(3) + (has_types ? "::bigint)" : ")");
    }
    return {replaced(source_, "{asked}", asked), which_};
}

statements::statements(
    engine which, std::string_view file, const table_names& names, written_nodes written
) {
    const sql_blocks own = blocks_in(text_of(which, file), which, written);
    const sql_blocks shared = blocks_in(text_of(which, "words"), which, written);
    const blocks numbers{
        {"waiting", std::to_string(holder_bits::waiting)},
        {"passed", std::to_string(holder_bits::passed)},
        {"keeps_capacity", std::to_string(holder_bits::keeps_capacity)},
        {"barrier", std::to_string(static_cast<int>(lock_kind::barrier))}};
    for (const auto& [name, block] : own.statements) {
        std::string source = fill_in(
            with_words(block, {&own.words, &own.statements, &shared.words, &numbers}), names
        );
        if (source.find("{asked}") != std::string::npos) {
            lists_.try_emplace(name, source, which);
        } else {
            statements_.emplace(name, statement{source, which, written});
        }
        sources_.emplace(name, std::move(source));
    }
}

const statement* statements::find(std::string_view name) const {
    const auto found = statements_.find(name);
    return found == statements_.end() ? nullptr : &found->second;
}

const statement& statements::operator[](std::string_view name) const {
    if (const statement* found = find(name)) return *found;
    throw std::logic_error("no statement is named " + std::string{name});
}

const list_statement& statements::list(std::string_view name) const {
    const auto found = lists_.find(name);
    if (found != lists_.end()) return found->second;
    throw std::logic_error("no statement about a list is named " + std::string{name});
}

const std::string& statements::source(std::string_view name) const {
    const auto found = sources_.find(name);
    if (found != sources_.end()) return found->second;
    throw std::logic_error("no statement is named " + std::string{name});
}

std::vector<std::string> statements::names() const {
    std::vector<std::string> all;
    for (const auto& [name, source] : sources_) all.push_back(name);
    return all;
}

}  // namespace leasehold
