#pragma once
// The text that the table stores of all dialects share: a statement that grows together with its
// values, and the parts whose text is the same everywhere.
//
// The user's table is always called t, so that names of columns cannot be taken for anything else.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "claims/table_store.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// The parts of SQL that differ by engine.
struct claim_words {
    char quote;                   // around names
    bool has_numbered_places;     // $1 rather than ?
    std::string_view set_prefix;  // before a column that is assigned
    // The present, as a column of this kind holds it; read anew by each use.
    std::string (*now)(time_kind times);
    // The time at which the statement began. Unlike the present it does not change while the
    // statement runs, so that it can bound a range of an index. Null if `now` can do so.
    std::string (*began)(time_kind times);
    // The present, later by as many microseconds as the place says.
    std::string (*later)(time_kind times, const std::string& place);
    // Compares a column of text with the value at the place by each letter, whatever its collation.
    std::string (*is_exactly)(const std::string& column, const std::string& place);
    bool forces_indexes;
    // CREATE INDEX names the schema with the index, and the table without it.
    bool has_schema_before_index;
    std::string_view bytes_begin, bytes_end;  // around hexadecimal digits
    std::string_view integer_type, number_type, text_type, bytes_type, instant_type, utc_type;
};

// The places of a row's values in a statement.
struct row_places {
    std::vector<std::string> key;
    std::string version;
    std::string claimed_as;
};

class claim_statement {
public:
    explicit claim_statement(
        const claim_words& words LEASEHOLD_LIFETIMEBOUND, std::string_view begin = ""
    )
        : words_(words), text_(begin) {}

    claim_statement& sql(std::string_view text) {
        text_ += text;
        return *this;
    }
    claim_statement& name(const std::string& identifier, std::string_view prefix = "t.");
    claim_statement& table(const qualified_name& named);
    claim_statement& put(const value& each);
    // Answers with the place of a value that is written later. If places have no numbers the text
    // must come to this place before any other value is added.
    std::string add(value each);

    // FROM … AS t, with the index where the engine needs its name.
    claim_statement& from(const qualified_name& named, const std::string& index = {});
    // UPDATE … AS t, likewise.
    claim_statement& update(const qualified_name& named, const std::string& index = {});
    // t.a = $1 AND t.b = $2
    claim_statement& key_is(const std::vector<std::string>& key, const parameters& values);
    // t.a AS k0, t.b AS k1
    claim_statement& key_as(const std::vector<std::string>& key);
    // t.a = mine.k0 AND t.b = mine.k1
    claim_statement& key_is_mine(const std::vector<std::string>& key);
    // … AND …, or a condition that always holds.
    claim_statement& all_of(const std::vector<condition>& conditions, time_kind times);
    // ORDER BY …, or an empty text.
    claim_statement& ordered(const std::vector<order_by>& by);

    claim_statement& available(const versioned_mapping& mapping);
    // As available(), but without the mapping's further conditions.
    claim_statement& open(const versioned_mapping& mapping);
    // Available without, and because of, a term that has passed.
    claim_statement& fresh(const versioned_mapping& mapping);
    claim_statement& late(const versioned_mapping& mapping);
    // Compares key, version and, for a claimed row, its claimant and its term.
    claim_statement& still_is(const versioned_mapping& mapping, const versioned_row& at);
    // The parts of that comparison. An empty place for the claimant: not compared.
    claim_statement& is_row(const versioned_mapping& mapping, const row_places& at);
    claim_statement& is_claimed_as(const versioned_mapping& mapping, const std::string& place);
    claim_statement& within_term(const versioned_mapping& mapping, bool is_claimed);
    // t.a IN ($1, $2), or (t.a = $1 AND t.b = $2 OR …): an index can find these.
    claim_statement& key_is_any(
        const std::vector<std::string>& key, std::span<const versioned_row> rows
    );
    // Tells whether a row is one of these: by key, version and claimant.
    claim_statement& is_any_of(
        const versioned_mapping& mapping, std::span<const versioned_row> rows
    );

    // Tells whether the time in a column has passed.
    claim_statement& is_past(const std::string& column, time_kind times);

    // The lists behind SET.
    claim_statement& set_claimed(const versioned_mapping& mapping, const std::string& claimed_as);
    claim_statement& set_changed(const change_request& wanted, bool is_claimed);

    result run(connection& on) const { return on.execute(text_, values_); }
    const std::string& text() const noexcept { return text_; }

private:
    claim_statement& as_t(const qualified_name& named, const std::string& index);
    claim_statement& set(const std::string& column);
    std::string place() const;

    const claim_words& words_;
    std::string text_;
    parameters values_;
};

}  // namespace leasehold
