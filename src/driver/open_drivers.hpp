#pragma once
// The ways of open() to a driver: open_linked.cpp for programs that link leasehold::open, all of
// whose drivers are part of them; open_loaded.cpp for the tool, which loads the one it needs.
#include <string_view>

#include "leasehold/database.hpp"
#include "leasehold/url_source.hpp"

namespace leasehold {

using opener = database (*)(url_source source, database_settings settings);

// Null if leasehold was built without the driver: LEASEHOLD_OPEN_<DRIVER> is 0 or 1.
opener opener_of(std::string_view driver) noexcept;

// True when the driver can be used here: a module may be missing.
bool is_installed(std::string_view driver) noexcept;

}  // namespace leasehold
