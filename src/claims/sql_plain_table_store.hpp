#pragma once
// The operations that the table stores of all dialects share.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "claims/sql_claim_text.hpp"
#include "claims/table_store.hpp"
#include "leasehold/export.hpp"

namespace leasehold {

// The operations that are one plain SELECT everywhere.
class plain_table_store : public table_store {
public:
    bool is_same_column(const std::string& left, const std::string& right) const override;
    value as_sent(const column_shape&, const value& given) const override { return given; }
    bool lacks_index(const error&) const override { return false; }
    // This adds a column, and changes no existing one.
    std::string change_column_text(const qualified_name& table, const column_change& wanted)
        const override;
    std::string add_index_text(
        const qualified_name& table, const std::vector<order_by>& columns, std::string_view suffix
    ) const override;
    std::optional<found_row> read(
        connection& inside, const versioned_mapping& mapping, const parameters& key
    ) const override;
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
    explicit plain_table_store(const claim_words& words LEASEHOLD_LIFETIMEBOUND) : words_(words) {}
    claim_statement begin(std::string_view text) const { return claim_statement{words_, text}; }

    // Locks the rows that nobody else has locked, in one statement if possible.
    virtual std::vector<claimed_row> lock_rows(connection& inside, const row_request& wanted)
        const = 0;

    // Selects the first that look available, in the mapping's order, not locked: SELECT … LIMIT n.
    static claim_statement& ranges(
        claim_statement& asking,
        const several_request& wanted,
        const std::vector<std::string>& columns
    );
    std::vector<versioned_row> candidates(connection& inside, const several_request& wanted) const;
    // True if a row of the greatest version is among them. Never asks about a column of 64 bits,
    // which nobody counts to its end.
    bool shows_full(connection& inside, const several_request& wanted) const;
    // A claim of several in steps: `take` gets candidates, which are keys and versions, and claims
    // as many of them as it can.
    using taking = std::function<std::vector<versioned_row>(std::span<const versioned_row> chosen)>;
    several_claimed claim_in_turns(
        connection& inside, const several_request& wanted, const taking& take
    ) const;

    // SELECT key, columns FROM … WHERE … [ORDER BY …] LIMIT n, without the locking clause.
    claim_statement rows_text(const row_request& wanted, const char* before = "") const;
    static std::vector<claimed_row> rows_of(const result& found, const row_mapping& mapping);
    // True when a statement about one row changed it; throws when its key named more than one.
    static bool is_one(std::int64_t affected_rows, const versioned_mapping& mapping);
    static void require_at_most(
        std::size_t keys, std::int64_t affected_rows, const versioned_mapping& mapping
    );
    // The columns from `first` on: the key, the version, the columns.
    static versioned_row versioned_row_of(
        const row& from, std::size_t first, std::size_t keys, std::size_t columns
    );
    std::string_view type_of(column_kind kind) const;

private:
    static std::vector<std::size_t> turns(std::size_t size, std::size_t part);

    const claim_words& words_;
};

}  // namespace leasehold
