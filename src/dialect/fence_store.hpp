#pragma once
// The highest tokens of resources: alike on all engines.
#include "dialect/sql_store.hpp"
#include "store/fence_store.hpp"

namespace leasehold {

class sql_fence_store final : public fence_store, private sql_store {
public:
    explicit sql_fence_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), "fence") {}

    bool admit(connection& in, const key& resource, fencing_token token) override {
        const parameters values{value_of(resource), token.number};
        if (const statement* raise = texts_.find("raise")) how_->inside(in, *raise, values);
        return !inside(in, "admit", values).rows.empty();
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        const result found = read(on, "highest", {value_of(resource)});
        if (found.rows.empty()) return std::nullopt;
        return fencing_token{found.rows[0].integer(0)};
    }
};

}  // namespace leasehold
