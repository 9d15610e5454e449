// SQLite: the highest tokens of resources. One writer at a time makes the rest of it true.
#include "store/fence_store.hpp"
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// Each of the two reads 1 row, by primary key.
constexpr std::string_view admit_sql = R"sql(
INSERT INTO {prefix}fence_guard AS g (resource, fence) VALUES (?1, ?2)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE g.fence <= excluded.fence
RETURNING fence)sql";

constexpr std::string_view highest_sql =
    "SELECT fence FROM {prefix}fence_guard WHERE resource = ?1";

class sqlite_fence_store final : public fence_store {
public:
    explicit sqlite_fence_store(const table_names& names)
        : admit_(fill_in(admit_sql, names)), highest_(fill_in(highest_sql, names)) {}

    bool admit(connection& inside, const key& resource, fencing_token token) override {
        return !inside.execute(admit_, {blob{resource.name()}, token.number}).rows.empty();
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        const auto found = on.execute(highest_, {blob{resource.name()}});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }

private:
    const std::string admit_;
    const std::string highest_;
};

}  // namespace

std::unique_ptr<fence_store> make_fence_store(const table_names& names) {
    return std::make_unique<sqlite_fence_store>(names);
}

}  // namespace leasehold::sqlite_dialect
