#pragma once
// What any database must be able to do to remember the highest fencing token of a resource. Works
// in the caller's transaction, beside the caller's own writes.
#include <optional>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"

namespace leasehold {

class fence_store {
public:
    virtual ~fence_store() = default;

    // In the transaction open on `inside`: raises the highest token of the resource to this one and
    // keeps other writers of it waiting until that transaction ends. False where it was higher
    // already, by what is committed when this answers and not by a snapshot; it stays as it was.
    virtual bool admit(connection& inside, const key& resource, fencing_token token) = 0;

    // A plain read.
    virtual std::optional<fencing_token> highest(connection& on, const key& resource) = 0;
};

}  // namespace leasehold
