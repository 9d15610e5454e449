#pragma once
// What the table stores of all dialects say alike: a statement that grows together with its values,
// and the parts that are the same words everywhere.
//
// The user's table is always called t, so that names of columns cannot be taken for anything else.
#include <string>
#include <string_view>
#include <vector>

#include "store/table_store.hpp"

namespace leasehold {

// The words of an engine.
struct claim_words {
    char quote;                   // around names
    bool has_numbered_places;     // $1 rather than ?
    std::string_view set_prefix;  // before a column that is assigned
    // The present, as a column of this kind holds it; read anew by each use.
    std::string (*now)(time_kind times);
    // When the statement began, which is never later: unlike the present it does not change while
    // the statement runs, so that it can bound a range of an index. Null where `now` can.
    std::string (*began)(time_kind times);
    // The same, so many microseconds later as the place says.
    std::string (*later)(time_kind times, const std::string& place);
    // That a column of text is what stands at the place, letter by letter, whatever its collation.
    std::string (*is_exactly)(const std::string& column, const std::string& place);
    bool forces_indexes;
    // CREATE INDEX names the schema with the index, and the table without it.
    bool has_schema_before_index;
    std::string_view bytes_begin, bytes_end;  // around hexadecimal digits
    std::string_view integer_type, number_type, text_type, bytes_type, instant_type, utc_type;
};

class claim_statement {
public:
    explicit claim_statement(const claim_words& words, std::string_view begin = "")
        : words_(words), text_(begin) {}

    claim_statement& sql(std::string_view text) {
        text_ += text;
        return *this;
    }
    claim_statement& name(const std::string& identifier, std::string_view prefix = "t.");
    claim_statement& table(const qualified_name& named);
    claim_statement& put(const value& each);

    // FROM … AS t, with the index where the engine is to be told.
    claim_statement& from(const qualified_name& named, const std::string& index = {});
    // t.a = $1 AND t.b = $2
    claim_statement& key_is(const std::vector<std::string>& key, const parameters& values);
    // t.a AS k0, t.b AS k1
    claim_statement& key_as(const std::vector<std::string>& key);
    // t.a = mine.k0 AND t.b = mine.k1
    claim_statement& key_is_mine(const std::vector<std::string>& key);
    // … AND …, or a condition that always holds.
    claim_statement& all_of(const std::vector<condition>& conditions, time_kind times);
    // ORDER BY …, or nothing.
    claim_statement& ordered(const std::vector<order_by>& by);

    claim_statement& available(const versioned_mapping& mapping);
    // Available without, and because of, a term that has passed.
    claim_statement& fresh(const versioned_mapping& mapping);
    claim_statement& late(const versioned_mapping& mapping);
    // Key, version and, of a claimed row, who claimed it and its term.
    claim_statement& still_is(const versioned_mapping& mapping, const versioned_row& at);

    // That the time in a column has passed.
    claim_statement& is_past(const std::string& column, time_kind times);

    // The lists behind SET.
    claim_statement& set_claimed(const versioned_mapping& mapping, const versioned_row& as_read);
    claim_statement& set_changed(
        const versioned_mapping& mapping,
        const versioned_row& at,
        claim_change what,
        const assignments& to
    );

    result run(connection& on) const { return on.execute(text_, values_); }
    const std::string& text() const noexcept { return text_; }

private:
    claim_statement& set(const std::string& column);
    std::string place();

    const claim_words& words_;
    std::string text_;
    parameters values_;
};

// The operations that are one plain SELECT everywhere.
class plain_table_store : public table_store {
public:
    bool is_same_column(const std::string& left, const std::string& right) const override;
    value as_sent(const column_shape&, const value& given) const override { return given; }
    bool lacks_index(const error&) const override { return false; }
    // Of what is there, nothing.
    std::string change_column_text(const qualified_name& table, const column_change& wanted)
        const override;
    std::string add_index_text(
        const qualified_name& table, const std::vector<order_by>& columns, std::string_view suffix
    ) const override;
    std::optional<found_row> read(
        connection& inside, const versioned_mapping& mapping, const parameters& key
    ) const override;
    std::vector<versioned_row> candidates(connection& inside, const candidate_request& wanted)
        const override;
    std::vector<parameters> look(connection& inside, const row_request& wanted) const override;
    std::vector<claimed_row> lock(connection& inside, const row_request& wanted) const override {
        return lock_rows(inside, wanted);
    }
    claimed_rows lock_by_key(connection& inside, const row_request& wanted) const override;
    bool looks_unchanged(connection&, const versioned_mapping&, const versioned_row&)
        const override {
        return true;
    }

protected:
    explicit plain_table_store(const claim_words& words) : words_(words) {}
    claim_statement begin(std::string_view text) const { return claim_statement{words_, text}; }

    // What nobody else has locked, in one statement where that can be.
    virtual std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const = 0;

    // SELECT key, columns FROM … WHERE … [ORDER BY …] LIMIT n, without the locking clause.
    claim_statement rows_text(const row_request& wanted) const;
    static std::vector<claimed_row> rows_of(const result& found, const row_mapping& mapping);
    // Whether a statement about one row changed it. More than one is an error: its key named more.
    static bool is_one(std::int64_t affected_rows, const versioned_mapping& mapping);
    std::string_view type_of(column_kind kind) const;

private:
    const claim_words& words_;
};

}  // namespace leasehold
