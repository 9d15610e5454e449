#pragma once
// Private to src/locks: adopt() of leasehold/detach.hpp, for a caller with a session and no handle.
#include <memory>

#include "leasehold/detach.hpp"
#include "session/session.hpp"

namespace leasehold {

acquisition adopt_into(
    const std::shared_ptr<session::implementation>& into, const detached_lease& what
);

}  // namespace leasehold
