#include "bench/texts.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace leasehold::bench {
namespace {

struct sql_file {
    std::string_view name;
    std::string_view text;
};
constexpr sql_file files[] = {
#include "statements_bench.inc"
};

using blocks = std::map<std::string, std::string, std::less<>>;

blocks blocks_in(std::string_view text) {
    constexpr std::string_view name_line = "-- name: ";
    blocks found;
    std::string ignored;
    std::string* into = &ignored;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.starts_with(name_line)) {
            into = &found[std::string{line.substr(name_line.size())}];
        } else if (line.starts_with("--")) {
            into = &ignored;
        } else {
            into->append(line).append("\n");
        }
    }
    for (auto& [name, block] : found) block.erase(block.find_last_not_of("; \n") + 1);
    return found;
}

const blocks& blocks_of(engine which) {
    static const std::map<std::string, blocks, std::less<>> all = [] {
        std::map<std::string, blocks, std::less<>> made;
        for (const sql_file& each : files) made.emplace(each.name, blocks_in(each.text));
        return made;
    }();
    if (which == engine::postgres) return all.at("postgres");
    if (which == engine::sqlite) return all.at("sqlite");
    return all.at("mysql");
}

void replace_all(std::string& in, std::string_view word, const std::string& by) {
    for (auto at = in.find(word); at != std::string::npos; at = in.find(word, at + by.size())) {
        in.replace(at, word.size(), by);
    }
}

}  // namespace

bool has_text(engine which, std::string_view name) {
    return blocks_of(which).contains(name);
}

std::string text_of(
    engine which,
    std::string_view name,
    const table_names& names,
    std::string_view table,
    std::size_t ids
) {
    const auto& known = blocks_of(which);
    const auto found = known.find(name);
    if (found == known.end()) throw std::logic_error("no statement " + std::string{name});
    std::string text = found->second;
    const std::string schema = names.schema.empty() ? "" : '"' + names.schema + "\".";
    replace_all(text, "{prefix}", schema + names.prefix);
    replace_all(text, "{table}", std::string{table});
    std::string places;
    for (std::size_t each = 0; each < ids; ++each) places.append(each == 0 ? "?" : ",?");
    replace_all(text, "{ids}", places);
    std::string rows;
    for (std::size_t each = 0; each < ids; ++each) rows.append(each == 0 ? "(?,?)" : ",(?,?)");
    replace_all(text, "{rows}", rows);
    return text;
}

}  // namespace leasehold::bench
