#pragma once
#include <string_view>

#include "leasehold/engine.hpp"

namespace leasehold {

// True for a statement whose first words begin or end a transaction, on any engine: BEGIN, START
// TRANSACTION, COMMIT, END, ABORT, ROLLBACK, PREPARE TRANSACTION. False for savepoints, for
// ROLLBACK TO one, and for a statement that ends a prepared transaction.
bool is_transaction_control(std::string_view statement, engine which);

}  // namespace leasehold
