#pragma once
// What this program is called, for people: the name it was started under.
#include <string>

namespace leasehold {

std::string program_name();

}  // namespace leasehold
