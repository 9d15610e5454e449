#include "leasehold/connection.hpp"

#include "leasehold/error.hpp"
#include "leasehold/observer.hpp"

namespace leasehold {
namespace {

[[noreturn]] void no_notifications(const server_info& server) {
    throw error(
        errc::unsupported,
        std::string(name_of(server.engine)) + " sends no notifications on this connection; poll"
    );
}

}  // namespace

bool connection::answers() noexcept {
    try {
        return execute("SELECT 1").rows.size() == 1;
    } catch (const std::exception&) {
        return false;  // the pool replaces it; why it went does not matter any more
    }
}

void connection::listen(std::string_view) {
    no_notifications(server());
}

std::optional<notification> connection::wait_for_notification(std::chrono::milliseconds) {
    no_notifications(server());
}

const char* name_of(event_kind kind) noexcept {
    switch (kind) {
        case event_kind::granted:
            return "granted";
        case event_kind::refused:
            return "refused";
        case event_kind::released:
            return "released";
        case event_kind::lost:
            return "lost";
        case event_kind::late_heartbeat:
            return "late_heartbeat";
        case event_kind::stale_token_refused:
            return "stale_token_refused";
        case event_kind::outcome_unknown:
            return "outcome_unknown";
        case event_kind::release_failed:
            return "release_failed";
        case event_kind::reconnected:
            return "reconnected";
        case event_kind::reaped:
            return "reaped";
        case event_kind::revoke_requested:
            return "revoke_requested";
        case event_kind::warning:
            return "warning";
    }
    return "unknown";
}

}  // namespace leasehold
