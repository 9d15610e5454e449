#pragma once
// The library's warnings on standard error, each once: a setting of the server that weakens a
// promise, a table prefix that another installation has, clean-up that cannot go on.
//
// Threads: safe. Threads that keep leases call it, and a full pipe that nobody reads would block
// them. So it writes fewer lines in all than any pipe has room for.
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "leasehold/observer.hpp"

namespace leasehold::cli {

class warnings final : public observer {
public:
    explicit warnings(bool is_json) : is_json_(is_json) {}
    void on_event(const event& what) noexcept override;

private:
    static constexpr std::size_t max_said = 16;

    const bool is_json_;
    std::mutex mutex_;  // guards the words that were said
    std::set<std::string, std::less<>> said_;
};

}  // namespace leasehold::cli
