#pragma once
// The operations on the highest token that guarded data has seen. The greater of two tokens counts,
// in whatever order they arrive. The general MUSTs: hold_store.hpp.
#include <memory>
#include <optional>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/key.hpp"

namespace leasehold {

class sql_dialect;

class fence_store {
public:
    virtual ~fence_store() = default;
    static std::unique_ptr<fence_store> make(const std::shared_ptr<const sql_dialect>& how);

    // Runs in the transaction open on `inside`, beside the caller's own writes: raises the highest
    // token of the resource to this one and keeps other writers of it waiting until that
    // transaction ends. False, changing nothing, if the highest token was greater already, by the
    // data committed when this answers and not by a snapshot.
    virtual bool admit(connection& inside, const key& resource, fencing_token token) = 0;

    // A plain read.
    virtual std::optional<fencing_token> highest(connection& on, const key& resource) = 0;
};

}  // namespace leasehold
