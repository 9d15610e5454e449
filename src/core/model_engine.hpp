#pragma once
// The engine of the model that the tests compare databases with. No database is of it.
#include "leasehold/engine.hpp"

namespace leasehold {

inline constexpr engine model_engine{0};

}  // namespace leasehold
