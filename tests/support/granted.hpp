#pragma once
// Questions to an outcome that nobody keeps.
#include <utility>

namespace leasehold::testing {

// True if a try was granted. Gives back what it was granted.
template <class Outcome>
bool is_granted(const Outcome& outcome) {
    return static_cast<bool>(outcome);
}

// Gives back what an outcome has, as its destructor would.
template <class Outcome>
void drop(Outcome& outcome) {
    const Outcome gone = std::move(outcome);
}

// Why a run was not started.
template <class Start>
auto outlook_of(const Start& start) {
    return start.outlook();
}

}  // namespace leasehold::testing
