#pragma once
#include "database/database.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

// Repeats a read whose connection broke, since a read changes nothing. A server that takes no
// writes will do.
template <class Use>
auto read(const database& db, Use&& with) {
    try {
        return db.inner()->use_to_read(bounds{}, with);
    } catch (const error& failure) {
        if (failure.code() != errc::connection_lost) throw;
    }
    return db.inner()->use_to_read(bounds{}, with);
}

}  // namespace leasehold
