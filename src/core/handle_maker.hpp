#pragma once
// Makes a handle of an implementation. The constructors that do this are private: a program could
// only give them a null pointer.
#include <memory>
#include <utility>

namespace leasehold {

struct handle_maker {
    // False of a lease that was moved from: its pointer is null.
    template <class Lease>
    static bool is_there(const Lease& any) noexcept {
        return static_cast<bool>(any.held_);
    }
    template <class Handle, class Pointer>
    static Handle made(Pointer of) {
        return Handle{std::move(of)};
    }
    template <class Handle, class... Values>
    static Handle share(Values&&... values) {
        using implementation = typename Handle::implementation;
        return made<Handle>(std::make_shared<implementation>(std::forward<Values>(values)...));
    }
};

}  // namespace leasehold
