#include "cli/terminal.hpp"

#include <fcntl.h>

#include <utility>

namespace leasehold::cli {

terminal::terminal() : device_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {}

bool terminal::is_ours() const noexcept {
    return exists() && tcgetpgrp(device_.number()) == getpgrp();
}

void terminal::take_back() noexcept {
    if (std::exchange(is_lent_, false)) lend(getpgrp());
}

}  // namespace leasehold::cli
