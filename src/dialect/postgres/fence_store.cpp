// The highest tokens of resources, on PostgreSQL.
#include "store/fence_store.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold::postgres_dialect {
namespace {

// $1 resource, $2 token. Waits for a writer of the row; at READ COMMITTED the condition is then
// tested on the newest version, above it the wait ends with 40001. The row stays locked until the
// caller's transaction ends, also where it is refused: that transaction rolls back anyway. Reads: 1
// row, as the other.
constexpr std::string_view admit_sql = R"sql(
INSERT INTO {prefix}fence_guard AS g (resource, fence) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE g.fence <= excluded.fence
RETURNING fence)sql";

constexpr std::string_view highest_sql =
    "SELECT fence FROM {prefix}fence_guard WHERE resource = $1";

class postgres_fence_store final : public fence_store {
public:
    explicit postgres_fence_store(const table_names& names)
        : admit_(fill_in(admit_sql, names)), highest_(fill_in(highest_sql, names)) {}

    bool admit(connection& inside, const key& resource, fencing_token token) override {
        const parameters values{bytes_of(resource.name()), token.number};
        return !inside.execute(admit_, values).rows.empty();
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        const result found = on.execute(highest_, {bytes_of(resource.name())});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }

private:
    const std::string admit_;
    const std::string highest_;
};

}  // namespace

std::unique_ptr<fence_store> make_fence_store(const table_names& names) {
    return std::make_unique<postgres_fence_store>(names);
}

}  // namespace leasehold::postgres_dialect
