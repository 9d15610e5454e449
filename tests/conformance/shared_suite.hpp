#pragma once
// Two sessions, of two "processes", and a key that both use as a shared mutex.
#include "conformance/suite.hpp"
#include "leasehold/key.hpp"
#include "leasehold/shared_mutex.hpp"

namespace leasehold::testing {

class shared_mutex_suite : public suite {
protected:
    session one_{first_, calm("one")};
    session two_{second_, calm("two")};
    const key name_ = fresh("k");
    shared_mutex mine_{one_, name_, {.min_poll = 1ms, .max_poll = 20ms}};
    shared_mutex other_{two_, name_, {.min_poll = 1ms, .max_poll = 20ms}};
};

}  // namespace leasehold::testing
