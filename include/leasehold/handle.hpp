#pragma once
// The pointer from an object to its implementation. A move leaves it empty.
//
// A shared implementation lives until the call that is under way has returned, also if another
// thread destroys the object meanwhile, as the end of the process does with one that is static:
// worker::run() and acquire() go on until they end by themselves. Not so those of a quorum_lock.
//
// Errors: a call of an object that was moved from throws invalid_argument, "this mutex was moved
// from". Such an object may be assigned to and destroyed; session::end() and
// transaction::rollback() of it do nothing. A lease that was moved from is spent: see lease.hpp.
#include <cstddef>
#include <type_traits>
#include <utility>

#include "leasehold/export.hpp"

namespace leasehold {

struct handle_maker;  // private: src/core/handle_maker.hpp

[[noreturn]] LEASEHOLD_EXPORT void refuse_moved_from(const char* what);
[[noreturn]] LEASEHOLD_EXPORT void refuse_spent(const char* what);  // lease_lost

// The name of a class, as an argument of a template.
template <std::size_t Size>
struct handle_name {
    consteval handle_name(const char (&name)[Size]) {
        for (std::size_t at = 0; at < Size; ++at) text[at] = name[at];
    }
    char text[Size]{};
};

template <class Pointer, handle_name Name, auto Refuse = refuse_moved_from>
class handle {
public:
    handle(Pointer to) noexcept : to_(std::move(to)) {}

    explicit operator bool() const noexcept { return to_ != nullptr; }
    operator const Pointer&() const {
        if (!to_) Refuse(Name.text);
        return to_;
    }
    auto operator->() const {
        const Pointer& checked = *this;
        if constexpr (std::is_copy_constructible_v<Pointer>) {
            return checked;
        } else {
            return checked.get();
        }
    }
    typename Pointer::element_type& operator*() const {
        const Pointer& checked = *this;
        return *checked;
    }

private:
    Pointer to_;
};

}  // namespace leasehold
