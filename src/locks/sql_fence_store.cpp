#include "locks/sql_fence_store.hpp"

namespace leasehold {

bool sql_fence_store::admit(connection& in, const key& resource, fencing_token token) {
    const parameters values{value_of(resource), token.number};
    if (const statement* raise = texts_.find("raise")) how_->inside(in, *raise, values);
    return !inside(in, "admit", values).rows.empty();
}

std::optional<fencing_token> sql_fence_store::highest(connection& on, const key& resource) {
    return only_integer_if_any<fencing_token>(read(on, "highest", {value_of(resource)}));
}

}  // namespace leasehold
