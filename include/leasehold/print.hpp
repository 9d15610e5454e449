#pragma once
// Writes the name of an outcome, a state, a reason or a kind: any enumeration with a name_of().
//
//   std::clog << "released: " << lease.release() << '\n';
#include <concepts>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "leasehold/export.hpp"

namespace leasehold {

template <class Named>
requires std::is_enum_v<Named> && requires(Named what) {
    { name_of(what) } -> std::convertible_to<std::string_view>;
}
std::ostream& operator<<(std::ostream& out, Named what) {
    return out << std::string_view{name_of(what)};
}

}  // namespace leasehold
