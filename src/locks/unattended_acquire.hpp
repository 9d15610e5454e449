#pragma once
// mutex::acquire_async(): a mutex_wait that the threads of its database handle go on with.
#include <memory>

#include "leasehold/async.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold {

void acquire_unattended(
    std::shared_ptr<mutex::implementation> of, async_wait how, acquire_completion done
);

}  // namespace leasehold
