// The highest tokens of resources, on all engines.
#include "locks/fence_store.hpp"
#include "locks/sql_stores.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {
namespace {

class sql_fence_store final : public fence_store, sql_store {
public:
    explicit sql_fence_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), locks_sql, "fence") {}

    bool admit(connection& in, const key& resource, fencing_token token) override {
        const parameters values{value_of(resource), token.number};
        if (const statement* raise = texts_.find("raise")) how_->inside(in, *raise, values);
        return !inside(in, "admit", values).rows.empty();
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        return only_integer_if_any<fencing_token>(read(on, "highest", {value_of(resource)}));
    }
};

}  // namespace

std::unique_ptr<fence_store> fence_store::make(const std::shared_ptr<const sql_dialect>& how) {
    return std::make_unique<sql_fence_store>(how);
}

}  // namespace leasehold
