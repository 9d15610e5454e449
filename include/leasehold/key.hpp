#pragma once
// The name of the thing that is locked.
//
//   leasehold::key closing{"invoices/closing"};
//
// 1 to 255 bytes of UTF-8 without NUL. Compared byte by byte on every engine: "Job", "JOB" and
// "Job " are three keys. Anything else is refused with errc::invalid_argument before it is sent.
// By convention keys read like paths, so that `leasehold locks --prefix invoices/` finds a family.
//
// Threads: an immutable value.
#include <compare>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

class LEASEHOLD_EXPORT key {
public:
    static constexpr std::size_t max_bytes = 255;

    key(std::string_view name);
    // A null pointer is an empty name, which is refused.
    key(const char* name) : key(name ? std::string_view{name} : std::string_view{}) {}
    key(std::nullptr_t) = delete;
    key(const std::string& name) : key(std::string_view{name}) {}

    const std::string& name() const& noexcept { return name_; }
    std::string name() const&& { return name_; }
    auto operator<=>(const key&) const = default;  // NOLINT(modernize-use-nullptr)

private:
    std::string name_;
};

// Its name, as it is.
LEASEHOLD_EXPORT std::ostream& operator<<(std::ostream& out, const key& name);

}  // namespace leasehold

namespace std {

template <>
struct hash<leasehold::key> {
    size_t operator()(const leasehold::key& name) const noexcept {
        return hash<string>{}(name.name());
    }
};

}  // namespace std
