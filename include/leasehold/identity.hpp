#pragma once
// The identity of a holder, which programs compare, and its description, which only people read.
//
// An owner id is 128 random bits, new for each acquisition: a program that shows it, together with
// the fencing token, is the holder. Host, process and thread are never identity (a recycled process
// number or a shared host name must not release somebody else's lease); they are in node_info, for
// the people who read `leasehold locks`.
//
// Threads: immutable values.
#include <array>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

// 128 random bits. Printed as 32 lower-case hexadecimal digits.
// An owner_id and a session_id are identities that neither compare with nor convert to each other.
class LEASEHOLD_EXPORT identity {
public:
    static constexpr std::size_t size_bytes = 16;

    // New random bits from the operating system.
    static identity random();
    // From 16 bytes as a database returns them, or from 32 hexadecimal digits; anything else is
    // errc::invalid_argument.
    static identity from_bytes(std::string_view bytes);
    static identity from_text(std::string_view hexadecimal);

    std::string bytes() const { return {bytes_.begin(), bytes_.end()}; }
    std::string text() const;
    // NOLINTNEXTLINE(modernize-use-nullptr): what compares it is taken for a null pointer
    auto operator<=>(const identity&) const = default;

private:
    friend struct std::hash<identity>;

    std::array<char, size_bytes> bytes_{};
};

// Writes its text().
LEASEHOLD_EXPORT std::ostream& operator<<(std::ostream& out, const identity& id);

template <class Kind>
class identity_of_kind {
public:
    static constexpr std::size_t size_bytes = identity::size_bytes;

    identity_of_kind() = default;
    identity_of_kind(const identity& any) : id_(any) {}  // NOLINT: converts on purpose
    static identity_of_kind random() { return identity::random(); }
    static identity_of_kind from_bytes(std::string_view bytes) {
        return identity::from_bytes(bytes);
    }
    static identity_of_kind from_text(std::string_view hexadecimal) {
        return identity::from_text(hexadecimal);
    }
    std::string bytes() const { return id_.bytes(); }
    std::string text() const { return id_.text(); }
    const identity& untyped() const noexcept { return id_; }
    // NOLINTNEXTLINE(modernize-use-nullptr): as above
    auto operator<=>(const identity_of_kind&) const = default;

    friend std::ostream& operator<<(std::ostream& out, const identity_of_kind& id) {
        return out << id.untyped();
    }

private:
    identity id_{};
};

using owner_id = identity_of_kind<struct owner_kind>;
using session_id = identity_of_kind<struct session_kind>;

// A number that only grows, per key: a store that remembers the highest it has seen can refuse a
// holder that lost its lease and does not know it yet (Kleppmann 2016; Chubby's sequencer).
struct fencing_token {
    std::int64_t number = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): as above
    auto operator<=>(const fencing_token&) const = default;
};

// The digits of its number.
LEASEHOLD_EXPORT std::string to_string(fencing_token token);
LEASEHOLD_EXPORT std::ostream& operator<<(std::ostream& out, fencing_token token);

// "name@host:pid" of this process, cut to 255 bytes; for people.
LEASEHOLD_EXPORT std::string node_info_of_this_process(std::string_view name);

}  // namespace leasehold

namespace std {

template <>
struct hash<leasehold::identity> {
    size_t operator()(const leasehold::identity& id) const noexcept {
        return hash<string_view>{}({id.bytes_.data(), id.bytes_.size()});
    }
};
template <class Kind>
struct hash<leasehold::identity_of_kind<Kind>> {
    size_t operator()(const leasehold::identity_of_kind<Kind>& id) const noexcept {
        return hash<leasehold::identity>{}(id.untyped());
    }
};
template <>
struct hash<leasehold::fencing_token> {
    size_t operator()(leasehold::fencing_token token) const noexcept {
        return hash<int64_t>{}(token.number);
    }
};

}  // namespace std
