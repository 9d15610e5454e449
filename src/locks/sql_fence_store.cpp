#include "locks/sql_fence_store.hpp"

namespace leasehold {

bool sql_fence_store::admit(connection& in, const key& resource, fencing_token token) {
    const parameters values{value_of(resource), token.number};
    if (const statement* raise = texts_.find("raise")) how_->inside(in, *raise, values);
    return !inside(in, "admit", values).rows.empty();
}

std::optional<fencing_token> sql_fence_store::highest(connection& on, const key& resource) {
    const result found = read(on, "highest", {value_of(resource)});
    if (found.rows.empty()) return std::nullopt;
    return fencing_token{found.rows[0].integer(0)};
}

}  // namespace leasehold
