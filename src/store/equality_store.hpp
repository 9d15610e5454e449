#pragma once
// What a column of the user's takes for one value. Only the database can tell: by its collation, by
// what it rounds, pads or converts.
//
// Every operation MUST quote what is a name, send what is a value as a parameter, read no row, lock
// nothing, and leave the transaction it is asked in as it was. The table was looked up before, and
// the column is there; rights were checked.
//
// Threads: stateless; safe.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/claim_mapping.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/engine.hpp"

namespace leasehold {

class equality_store {
public:
    virtual ~equality_store() = default;

    // What makes two values, as sent, one to that column: what it holds of the one is equal, as it
    // compares, to the other, or to what it holds of the other. For people, to be put behind "is":
    // its type, and its collation where it has one. Nothing where it tells them apart. Throws
    // schema_mismatch where the database says that the column cannot hold one of them.
    virtual std::optional<std::string> taken_for_one(
        connection& inside,
        const qualified_name& table,
        const std::string& column,
        const value& one,
        const value& other
    ) const = 0;

    // The names of unique indexes that tell apart what one of their columns takes for one value, so
    // that a value of that column may name several rows.
    virtual std::vector<std::string> finer_indexes(connection& inside, const qualified_name& table)
        const = 0;
};

// Throws unsupported for the model database, which has no tables of users'.
std::unique_ptr<equality_store> make_equality_store(engine which);

}  // namespace leasehold
