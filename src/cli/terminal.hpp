#pragma once
// The terminal, which a command may need in its own foreground.
#include <sys/types.h>
#include <unistd.h>

#include "cli/run/events.hpp"

namespace leasehold::cli {

// The terminal, while we are in its foreground.
class terminal {
public:
    terminal();
    bool exists() const noexcept { return device_.number() >= 0; }
    bool is_ours() const noexcept;
    bool is_lent() const noexcept { return is_lent_; }

    // The child takes the foreground in its own process. If the parent gave it, the child could
    // read from the terminal before it has the foreground.
    bool reserve() noexcept { return is_lent_ = is_ours(); }
    void lend(pid_t group) const noexcept { tcsetpgrp(device_.number(), group); }
    void take_back() noexcept;

private:
    descriptor device_;
    bool is_lent_ = false;
};

}  // namespace leasehold::cli
