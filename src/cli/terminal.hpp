#pragma once
// The terminal, which a command may need in its own foreground.
#include <sys/types.h>
#include <unistd.h>

#include "cli/events.hpp"

namespace leasehold::cli {

// The terminal, while we are in its foreground.
class terminal {
public:
    terminal();
    bool exists() const noexcept { return device_.number() >= 0; }
    bool is_ours() const noexcept;
    bool is_lent() const noexcept { return is_lent_; }

    // The borrower lends it to itself, in its own process, or it could read before it may.
    bool reserve() noexcept { return is_lent_ = is_ours(); }
    void lend(pid_t group) const noexcept { tcsetpgrp(device_.number(), group); }
    void take_back() noexcept;

private:
    descriptor device_;
    bool is_lent_ = false;
};

}  // namespace leasehold::cli
