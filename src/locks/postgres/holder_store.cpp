// Grants one of several holds on PostgreSQL. The statements, and the reasons for their form:
// holder.sql.
#include "locks/sql_holder_store.hpp"

#include <optional>
#include <utility>

#include "locks/sql_hold_rows.hpp"
#include "sql/postgres/dialect.hpp"

namespace leasehold::postgres_dialect {
namespace {

// The state that a grant counts on. Each grant to somebody else, and each arrival, changes it.
struct header_state {
    std::optional<std::int64_t> fence;  // nullopt if there is no header yet
    std::int64_t kind = 0, capacity = 0, arrived = 0;
    bool operator==(const header_state&) const = default;
};

header_state header_in(const row& from) {
    using column = columns::holder::try_acquire_on_postgres;
    constexpr std::size_t verdict = column::verdict;
    if (from.is_null(column::fence)) return {};
    return {
        from.integer(column::fence),
        from.integer(verdict + columns::holder::verdict::kind),
        from.integer(verdict + columns::holder::verdict::capacity),
        from.integer(column::arrived)};
}

class postgres_holder_store final : public sql_holder_store {
public:
    explicit postgres_holder_store(shared_dialect how) : sql_holder_store(std::move(how)) {}

    holder_result try_acquire(connection& on, const holder_request& wanted) override {
        const parameters values = values_of_request(wanted);
        // Nothing refused the request, and yet it was not granted: either another request was
        // granted, which the next look finds in the header; or another session has locked the row
        // of a dead holder, for a proof or to remove it, which may last.
        constexpr int max_looks = 32;
        using column = columns::holder::try_acquire_on_postgres;
        std::optional<header_state> seen;
        for (int look = 1; look <= max_looks; ++look) {
            const row found = write(on, "try_acquire", values).rows.at(0);
            holder_result answer = verdict_in(found, column::verdict);
            if (!found.is_null(column::token)) {
                answer.token = {found.integer(column::token)};
                return answer;
            }
            if (answer.status == holder_status::granted) {
                const auto before = std::exchange(seen, header_in(found));
                if (before == seen) break;
                continue;
            }
            if (answer.status == holder_status::busy && !found.is_null(column::holder)) {
                answer.holder = holder_in(found, column::holder);
            }
            return answer;
        }
        return {};
    }
};

}  // namespace

std::unique_ptr<holder_store> make_holder_store(shared_dialect how) {
    return std::make_unique<postgres_holder_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
