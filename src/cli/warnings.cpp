#include "cli/warnings.hpp"

#include <exception>

#include "cli/output.hpp"

namespace leasehold::cli {

void warnings::on_event(const event& what) noexcept {
    if (what.kind != event_kind::warning) return;
    try {
        const std::lock_guard guard{mutex_};
        if (said_.size() == max_said || !said_.emplace(what.detail).second) return;
        report(is_json_, name_of(what.kind), "warning: " + std::string{what.detail});
    } catch (const std::exception&) {
        return;  // there is less to be said then
    }
}

}  // namespace leasehold::cli
