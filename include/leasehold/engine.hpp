#pragma once
// The database engines that leasehold speaks, and what a server says about itself.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"

namespace leasehold {

// MariaDB and MySQL share a wire protocol and a driver, not a dialect.
enum class engine {
    postgres = 1,  // 13 or newer
    mysql = 2,     // 8.0.1 or newer
    mariadb = 3,   // 10.6 or newer
    sqlite = 4,    // 3.35 or newer
};

// "postgres", "mysql", "mariadb", "sqlite".
LEASEHOLD_EXPORT std::string_view name_of(engine which) noexcept;

// The way that statements and answers take between this process and the server.
enum class transport {
    unknown = 0,     // a connection that somebody else has opened
    local = 1,       // within one machine
    clear = 2,       // over a network: anybody on the way can read and change it
    unverified = 3,  // encrypted, or on MySQL's family so if the server can; nobody has checked
                     // who answers
    verified = 4,    // encrypted, and the server has shown a certificate that was checked
};

// A connection knows this of the server to which it leads.
struct server_info {
    leasehold::engine engine = engine::sqlite;
    int version = 0;  // major * 10000 + minor * 100 + patch: 15.20 is 152000, 10.11.19 101119
    std::string version_text{};  // as the server says it
    // PostgreSQL: true if statements run in another process than the one that accepted the
    // connection, as behind pgbouncer.
    bool is_pooled = false;
    leasehold::transport transport = leasehold::transport::unknown;
    // PostgreSQL: the data of the server when the connection was opened, as "system
    // identifier/timeline"; empty if the server refuses to tell, on a standby, and behind a pooler.
    std::string place{};
};

}  // namespace leasehold
