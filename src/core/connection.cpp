#include "leasehold/connection.hpp"

#include "leasehold/error.hpp"

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
        return false;  // the pool replaces it; the cause does not matter
    }
}

void connection::listen(std::string_view) {
    no_notifications(server());
}

std::optional<notification> connection::wait_for_notification(std::chrono::milliseconds) {
    no_notifications(server());
}

}  // namespace leasehold
