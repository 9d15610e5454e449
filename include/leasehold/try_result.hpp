#pragma once
// The base of all outcomes of tries. An outcome owns what was granted, or says why nothing was.
//
//   if (auto got = closing.try_acquire()) {  // `got` has the lease until the block ends
//       got->verify_in(tx);
//   }
//   auto mine = *closing.try_acquire();      // takes the lease, or throws errc::busy
//
// | asked of                  | has_value(), if (…), -> | *                                      |
// |---------------------------|-------------------------|----------------------------------------|
// | a named outcome, granted  | true; the lease         | the lease                              |
// | a named outcome, refused  | false; throws busy      | throws busy                            |
// | a temporary outcome       | does not compile        | the lease itself, moved out; or throws |
// | one that was moved from   | false; throws busy      | throws busy                            |
//
// `std::move(*got)` is the lease where it is, for a call that leaves the lease as it was if the
// call refuses: detach(std::move(*got)). `*` of a moved outcome takes the lease out first.
//
// Promises: no question to a temporary outcome compiles. `if (closing.try_acquire())` would give
// the key back before its block begins.
// Does not promise: that a lease which `*` moves out of a temporary is kept: name the lease.
// Does not promise: that a lease which was found in an outcome is still held; see lease.hpp.
//
// Errors: errc::busy, by * and -> of an outcome without a lease: the message names the key, and the
// holder if one is known. A program to which contention is an exception writes `*`.
// Threads: one outcome, one thread at a time.
#include <optional>
#include <utility>

#include "leasehold/export.hpp"

namespace leasehold {

// `Outcome` derives from this, and has `[[noreturn]] void refuse() const`, which throws busy; that
// of adopt(database) throws session_lost.
template <class Outcome, class Granted>
class [[nodiscard]] try_result {
public:
    bool has_value() const& noexcept { return granted_.has_value(); }
    bool has_value() const&& = delete;  // name the outcome first: see above
    explicit operator bool() const& noexcept { return has_value(); }
    explicit operator bool() const&& = delete;

    Granted& operator*() & {
        require();
        return *granted_;
    }
    const Granted& operator*() const& {
        require();
        return *granted_;
    }
    const Granted& operator*() const&& = delete;
    Granted operator*() && {
        require();
        Granted taken = *std::move(granted_);
        granted_.reset();
        return taken;
    }
    Granted* operator->() & { return &**this; }
    const Granted* operator->() const& { return &**this; }
    Granted* operator->() const&& = delete;

protected:
    try_result() = default;
    try_result(try_result&& from) noexcept : granted_(std::exchange(from.granted_, std::nullopt)) {}
    try_result& operator=(try_result&& from) noexcept {
        granted_ = std::exchange(from.granted_, std::nullopt);
        return *this;
    }
    ~try_result() = default;
    explicit try_result(Granted granted) : granted_(std::move(granted)) {}

private:
    void require() const {
        if (!granted_) static_cast<const Outcome&>(*this).refuse();
    }

    std::optional<Granted> granted_;
};

}  // namespace leasehold
