#include "sql/statements.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <stdexcept>

#include "leasehold/lock_kind.hpp"
#include "locks/holder_store.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {

#include "statements_sql.inc"

#ifdef LEASEHOLD_SQL_MUTANTS
// tests/mutation/mutant.cpp: the text of a block, or what a test puts in its place.
std::string_view mutant_of(std::string_view text);
#else
constexpr std::string_view mutant_of(std::string_view text) {
    return text;
}
#endif

namespace {

// Says whether a block that names a place counts here, in place of the block that names none.
bool is_for(std::string_view place, engine which, written_nodes written) {
    if (place == "cluster") return written == written_nodes::several;
    if (place == "standby") return written == written_nodes::one_with_standby;
    return place == (which == engine::mariadb ? "mariadb" : "mysql");
}

// Null if there is none. A block for a cluster or a standby goes before a block for an engine.
const sql_block* find_block(
    std::span<const sql_block> in,
    block_kind kind,
    std::string_view name,
    engine which,
    written_nodes written
) {
    const sql_block* found = nullptr;
    for (const sql_block& each : in) {
        if (each.name != name || each.kind != kind) continue;
        if (each.place.empty()) {
            if (!found) found = &each;
        } else if (is_for(each.place, which, written)) {
            const bool is_of_engine = each.place == "mariadb" || each.place == "mysql";
            if (!found || found->place.empty() || !is_of_engine) found = &each;
        }
    }
    return found;
}

std::optional<std::string> number_named(std::string_view fragment) {
    if (fragment == "waiting") return std::to_string(holder_bits::waiting);
    if (fragment == "passed") return std::to_string(holder_bits::passed);
    if (fragment == "keeps_capacity") return std::to_string(holder_bits::keeps_capacity);
    if (fragment == "longest") {
        constexpr std::chrono::microseconds longest = std::chrono::hours{24 * 366};
        return std::to_string(longest.count());
    }
    if (fragment == "barrier") return std::to_string(static_cast<int>(lock_kind::barrier));
    return std::nullopt;
}

// A fragment may stand for text that has fragments in it, and may have text of its own behind it,
// which its text calls {it}. `text_of` answers with a fragment's text, or nullopt.
template <class TextOf>
std::string with_fragments(std::string text, TextOf&& text_of) {
    for (auto at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
        const auto end = text.find('}', at);
        if (end == std::string::npos) break;
        const auto inside = std::string_view{text}.substr(at + 1, end - at - 1);
        const auto space = inside.find(' ');
        if (auto by = text_of(inside.substr(0, space))) {
            const auto it = space == std::string_view::npos ? "" : inside.substr(space + 1);
            text.replace(at, end + 1 - at, replaced(*by, "{it}", it));
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
    for (const auto& [placeholder, which] :
         {std::pair{std::string_view{"{now}"}, statement::now},
          {"{wall}", statement::wall},
          {"{boot}", statement::boot}}) {
        if (text.substr(at).starts_with(placeholder)) return {which, placeholder.size()};
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

const sql_source shared_sql{postgres_sql, mysql_sql, sqlite_sql};

std::span<const sql_block> sql_source::blocks_in(engine which, std::string_view file) const {
    std::span<const sql_block> all = postgres;
    if (which == engine::mysql || which == engine::mariadb) all = mysql;
    if (which == engine::sqlite) all = sqlite;
    const auto is_of_file = [&](const sql_block& each) { return each.file == file; };
    const auto first = std::ranges::find_if(all, is_of_file);
    return {first, std::find_if_not(first, all.end(), is_of_file)};
}

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
            const auto found = std::ranges::lower_bound(places_, place.which);
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
    engine which,
    const sql_source& in,
    std::string_view file,
    const table_names& names,
    written_nodes written
)
    : which_(which),
      table_names_(names),
      written_(written),
      room_(in),
      blocks_(in.blocks_in(which, file)),
      entries_(std::make_unique<entry[]>(blocks_.size())) {
    if (blocks_.empty()) throw std::logic_error("no statements in " + std::string{file} + ".sql");
    require_valid(names);
}

const statements::made* statements::find_made(std::string_view name) const {
    const sql_block* const block = find_block(blocks_, block_kind::name, name, which_, written_);
    if (!block) return nullptr;
    entry& kept = entries_[static_cast<std::size_t>(block - blocks_.data())];
    std::call_once(kept.is_made, [&] { kept.made = make(*block); });
    return kept.made.get();
}

std::unique_ptr<const statements::made> statements::make(const sql_block& block) const {
    constexpr std::string_view fragments = "fragments";
    const sql_source& also = room_.fragments_of ? *room_.fragments_of : shared_sql;
    const auto text_of = [&](std::string_view fragment) -> std::optional<std::string> {
        for (const auto& [in, kind] :
             {std::pair{blocks_, block_kind::fragment},
              {blocks_, block_kind::name},
              {room_.blocks_in(which_, fragments), block_kind::fragment},
              {also.blocks_in(which_, fragments), block_kind::fragment},
              {shared_sql.blocks_in(which_, fragments), block_kind::fragment}}) {
            const sql_block* const found = find_block(in, kind, fragment, which_, written_);
            if (found) return std::string{mutant_of(found->text)};
        }
        return number_named(fragment);
    };
    auto all = std::make_unique<made>();
    const std::string_view text = mutant_of(block.text);
    all->source = fill_in(with_fragments(std::string{text}, text_of), table_names_);
    if (all->source.find("{asked}") != std::string::npos) {
        all->list.emplace(all->source, which_);
    } else {
        all->single = statement{all->source, which_, written_};
    }
    return all;
}

const statement* statements::find(std::string_view name) const {
    const made* const found = find_made(name);
    return found && !found->list ? &found->single : nullptr;
}

const statement& statements::operator[](std::string_view name) const {
    if (const statement* found = find(name)) return *found;
    throw std::logic_error("no statement is named " + std::string{name});
}

const list_statement& statements::list(std::string_view name) const {
    const made* const found = find_made(name);
    if (found && found->list) return *found->list;
    throw std::logic_error("no statement about a list is named " + std::string{name});
}

const std::string& statements::source(std::string_view name) const {
    if (const made* const found = find_made(name)) return found->source;
    throw std::logic_error("no statement is named " + std::string{name});
}

std::vector<std::string> statements::names() const {
    std::set<std::string> all;
    for (const sql_block& each : blocks_) {
        const bool is_here = each.kind == block_kind::name &&
                             (each.place.empty() || is_for(each.place, which_, written_));
        if (is_here) all.emplace(each.name);
    }
    return {all.begin(), all.end()};
}

}  // namespace leasehold
