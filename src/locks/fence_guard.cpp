#include "leasehold/fence_guard.hpp"

#include "database/database.hpp"
#include "database/taking_part.hpp"
#include "leasehold/error.hpp"
#include "locks/fence_store.hpp"

namespace leasehold {

void fence_guard::admit_in(transaction_ref tx, const key& resource, fencing_token token) const {
    connection& inside = tx.inside();
    require_transaction(inside, "admit_in");
    guarded_.inner()->get_ready();  // a handle does not know its server before its first use
    require_database(inside, *guarded_.inner(), "admit_in");
    if (token.number < 1) {
        throw error(errc::invalid_argument, "a fencing token is greater than 0: use lease.token()");
    }
    if (guarded_.inner()->store_for(inside).get<fence_store>().admit(inside, resource, token))
        return;
    guarded_.inner()->tell(
        {event_kind::stale_token_refused,
         resource.name(),
         token.number,
         "",
         event_reason::taken_over}
    );
    throw error(
        errc::lease_lost,
        "token " + std::to_string(token.number) + " is stale: a later holder has written to '" +
            resource.name() + "'; roll back and write nothing"
    );
}

std::optional<fencing_token> fence_guard::highest(const key& resource) const {
    return guarded_.inner()->ask(bounds{}, &fence_store::highest, resource);
}

}  // namespace leasehold
