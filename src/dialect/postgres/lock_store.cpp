// How PostgreSQL grants a key. The statements, and why they are as they are: lock.sql.
#include "dialect/lock_store.hpp"

#include "dialect/postgres/stores.hpp"

namespace leasehold::postgres_dialect {
namespace {

class postgres_lock_store final : public sql_lock_store {
public:
    explicit postgres_lock_store(shared_dialect how) : sql_lock_store(std::move(how)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values = values_of(wanted);
        // Free or absent in our snapshot and yet not ours: somebody else was there first, or the
        // reaper was. Looking again finds out, and each time somebody has got on. A dead holder,
        // whose lock_delay has not passed or whose proof is another's at this moment, is not told.
        constexpr int looks_max = 4;
        attempt made;
        for (int look = 1; look <= looks_max; ++look) {
            made = attempt_in(write(on, "try_acquire", values).rows.at(0));
            if (made.answer.status != acquire_status::busy) break;
            if (made.key_is_known && !made.is_free) break;
        }
        return made.answer;
    }
};

}  // namespace

std::unique_ptr<lock_store> make_lock_store(shared_dialect how) {
    return std::make_unique<postgres_lock_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
