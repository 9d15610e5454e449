#pragma once
// Asks the database a question that may be asked again whatever became of it.
#include <stop_token>
#include <utility>

#include "database/database.hpp"
#include "locks/keep_asking.hpp"

namespace leasehold {

// All attempts together take no longer than a connection may be waited for.
inline bounds bounds_of(const database& db, std::stop_token cancel = {}) {
    return {local_clock::now() + db.settings().pool_timeout, std::move(cancel), {}};
}

template <class Use>
auto repeatedly(const database& db, const bounds& of_call, Use&& with) {
    return repeat(
        [&](int) { return db.inner()->use(of_call, with); },
        [&](const error&) { return !of_call.have_passed() && !of_call.are_stopped(); }
    );
}

template <class Use>
auto repeatedly(const database& db, Use&& with) {
    return repeatedly(db, bounds_of(db), with);
}

// As above, for a question that only reads: a server that takes no writes will do.
template <class Use>
auto read_repeatedly(const database& db, Use&& with) {
    const bounds of_call = bounds_of(db);
    return repeat(
        [&](int) { return db.inner()->use_to_read(of_call, with); },
        [&](const error&) { return !of_call.have_passed() && !of_call.are_stopped(); }
    );
}

}  // namespace leasehold
