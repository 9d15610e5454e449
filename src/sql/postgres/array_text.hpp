#pragma once
// Private to the PostgreSQL dialect: many values as one parameter, so that a statement has one text
// for any number of values.
#include <cstddef>
#include <string>
#include <vector>

#include "leasehold/value.hpp"

namespace leasehold::postgres_dialect {

// Adds one element to the text of an array, without its braces. All are of one type, none is
// null.
void add_to_array(const value& element, std::string& text);

// Lists that are the parameters of one statement, each a column of rows.
class array_texts {
public:
    explicit array_texts(std::size_t columns) : texts_(columns) {}

    void add(const parameters& row) {
        for (std::size_t at = 0; at < row.size(); ++at) add_to_array(row[at], texts_.at(at));
    }
    bool is_empty() const noexcept { return texts_.at(0).empty(); }
    parameters values() const {
        parameters all;
        for (const std::string& each : texts_) all.emplace_back("{" + each + "}");
        return all;
    }

private:
    std::vector<std::string> texts_;
};

}  // namespace leasehold::postgres_dialect
