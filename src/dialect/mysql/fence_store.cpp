// The highest tokens of resources, on MySQL and MariaDB.
#include "store/fence_store.hpp"
#include "dialect/mysql/stores.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

// Two statements, because the count of affected rows of the first does not tell a token that was
// too low from one that is the highest already. The first takes X on the row and waits for its
// writer; the locking read of the second is of the newest version at every isolation level. Each
// reads 1 row, as does highest_text.
constexpr std::string_view raise_text = R"sql(
INSERT INTO {prefix}fence_guard (resource, fence) VALUES (?, ?)
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, ?))sql";
constexpr std::string_view read_back_text = R"sql(
SELECT fence FROM {prefix}fence_guard WHERE resource = ? FOR UPDATE)sql";

constexpr std::string_view highest_text = R"sql(
SELECT fence FROM {prefix}fence_guard WHERE resource = ?)sql";

class mysql_fence_store final : public fence_store {
public:
    explicit mysql_fence_store(const table_names& names)
        : raise_(fill_in(raise_text, names)),
          read_back_(fill_in(read_back_text, names)),
          highest_(fill_in(highest_text, names)) {}

    bool admit(connection& inside, const key& resource, fencing_token token) override {
        const blob name{resource.name()};
        inside.execute(raise_, {name, token.number, token.number});
        return inside.execute(read_back_, {name}).rows.at(0).integer(0) == token.number;
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        const result found = on.execute(highest_, {blob{resource.name()}});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }

private:
    const std::string raise_;
    const std::string read_back_;
    const std::string highest_;
};

}  // namespace

std::unique_ptr<fence_store> make_fence_store(const table_names& names) {
    return std::make_unique<mysql_fence_store>(names);
}

}  // namespace leasehold::mysql_dialect
