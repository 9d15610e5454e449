#pragma once
// What both kinds of claim know of the table they are about: the engine it is on, and that the
// mapping was held against its catalogue before anything else was sent.
//
// Threads: safe.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "claim/mapping_check.hpp"
#include "leasehold/database.hpp"
#include "store/store.hpp"

namespace leasehold {

// A table that was looked at.
struct known_table {
    leasehold::engine engine{};
    std::shared_ptr<const claim_store> dialect;
    std::vector<column_shape> columns;
    std::string index;
    std::vector<std::string> warnings;
};

class claim_table {
public:
    // `need_on`: what the mapping needs on an engine; throws where it can never work there.
    explicit claim_table(std::function<table_need(engine)> need_on)
        : need_on_(std::move(need_on)) {}

    // Looks, and throws where the mapping does not fit; answers with warnings.
    std::vector<std::string> check(connection& inside);
    void check(const database& db);

    // For every operation: a transaction that can be taken part in, and the table, looked at if it
    // was not before. Throws wrong_transaction and what check() throws.
    std::shared_ptr<const known_table> enter(connection& inside, std::string_view what);

private:
    std::shared_ptr<const known_table> look(connection& inside) const;

    const std::function<table_need(engine)> need_on_;
    std::mutex mutex_;
    std::shared_ptr<const known_table> known_;
};

// Throws invalid_argument where a value cannot be one of that column, or the column is not there.
void require_values(const known_table& table, const std::vector<condition>& conditions);
void require_values(const known_table& table, const assignments& to);
void require_key(
    const known_table& table, const std::vector<std::string>& key, const parameters& values
);

}  // namespace leasehold
