#pragma once
// What this program is called, for people: the name it was started under.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

std::string program_name();

// What a connection is called at the server, "backup@host:123"; an empty name is the program's. At
// most 63 bytes, which PostgreSQL keeps: what is cut where there are more is the name.
LEASEHOLD_EXPORT std::string connection_name(std::string_view name);

}  // namespace leasehold
