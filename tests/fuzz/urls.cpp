// URLs of databases: whatever they hold, a refusal repeats no password.
#include <string>

#include "driver/mysql_url.hpp"
#include "driver/postgres_url.hpp"
#include "fuzz.hpp"

namespace leasehold::fuzz {

void try_text(std::string_view text) {
    for (const char* scheme : {"mysql://", "mariadb://", ""}) {
        is_taken([&] {
            for (const auto& each : mysql::parse_url(std::string{scheme} + std::string{text})) {
                require(each.port >= 0 && each.port <= 65535, "a port is one");
                require(!each.host.empty() || !each.socket.empty(), "an address has a place");
                require(!mysql::place_of(each).empty(), "a place has a name");
            }
        });
    }
    is_taken([&] { postgres::require_valid_url(text); });
    // A password with a mark that no message has by itself.
    const std::string secret = "Zq7secretQz",
                      url = "mysql://u:" + secret + "@h/" + std::string{text};
    try {
        mysql::parse_url(url);
    } catch (const error& refused) {
        require(
            std::string_view{refused.what()}.find(secret) == std::string_view::npos, "it is kept"
        );
    }
}

}  // namespace leasehold::fuzz
