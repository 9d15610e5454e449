#pragma once
// The implementation of a leasehold::pending_lease, and the try that makes one.
#include <functional>
#include <memory>
#include <optional>

#include "leasehold/pending_lease.hpp"
#include "locks/acquire.hpp"
#include "session/grant.hpp"
#include "session/session.hpp"

namespace leasehold {

class pending_lease::implementation {
public:
    // Called with the grant when it is confirmed.
    using listener = std::function<void(const std::shared_ptr<grant>&)>;

    // `granted`: the hold under the owner id it was tried with; `moved`: the one it has once the
    // transaction commits. Inside: both were made in that transaction.
    implementation(
        std::shared_ptr<session::implementation> within,
        std::shared_ptr<grant> granted,
        owner_id moved,
        bool is_inside,
        listener on_confirmed
    );
    ~implementation();
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    const hold& granted() const noexcept { return granted_->what(); }
    const owner_id& moved() const noexcept { return moved_; }

    acquisition confirm();

private:
    enum class fate { committed = 1, undone = 2, lost = 3 };
    fate ask(const bounds& of_call) const;
    bool was_ever_granted(connection& on, store_set& stores) const;

    const std::shared_ptr<session::implementation> session_;
    const std::shared_ptr<grant> granted_;
    const owner_id moved_;
    const bool is_inside_;
    const listener on_confirmed_;
    // An end() of the session meanwhile must leave its row for the transaction to find expired.
    const session::implementation::under_way is_open_;
    bool is_settled_ = false;
};

// Tries once, in the transaction open on `inside`.
pending_acquisition try_once_in(
    const std::shared_ptr<session::implementation>& within,
    const wish& what,
    connection& inside,
    pending_lease::implementation::listener on_confirmed
);

}  // namespace leasehold
