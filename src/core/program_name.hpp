#pragma once
// The name of this program, for people: the one it was started under.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

std::string program_name();

// The name of a connection at the server, "backup@host:123"; an empty name is the program's. At
// most 63 bytes, which PostgreSQL keeps: a longer one is cut in the name.
LEASEHOLD_EXPORT std::string connection_name(std::string_view name);

}  // namespace leasehold
