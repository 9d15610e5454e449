#pragma once
// Private to the MySQL driver: the parts of a URL, taken apart before anything is connected to.
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::mysql {

// The values of ssl-mode=, which mean the same as for MySQL's own clients.
enum class tls_mode {
    disabled = 1,
    preferred = 2,         // encrypted if the server can; an attacker can prevent it
    required = 3,          // encrypted; nobody checks who the other side is
    verify_authority = 4,  // VERIFY_CA: and its certificate is signed by one we trust
    verify_identity = 5,   // and it names the host we asked for
};

struct address {
    std::string host;    // without the brackets of an IPv6 address; empty with a socket
    int port = 0;        // 0 with a socket alone
    std::string socket;  // the path of a Unix socket on this machine
    std::string user;
    std::string password;
    std::string database;
    tls_mode tls = tls_mode::preferred;
    std::string authority_file;    // ssl-ca; empty: the system's authorities
    std::string certificate_file;  // ssl-cert: our own, and
    std::string key_file;          // ssl-key
};

// One address for each host, in the order of the URL, alike except for host and port.
//
// Throws invalid_argument. Of the URL its message holds only an unknown option's name and the path
// of its option file. That file supplies the parts that the URL lacks, and after it
// `fallback_password` does (may be null). "user@" gives no password, "user:@" an empty one.
std::vector<address> parse_url(std::string_view url, const char* fallback_password = nullptr);

// "db.example:3306", "[::1]:3306", "/run/mysqld/mysqld.sock".
std::string place_of(const address& where);

}  // namespace leasehold::mysql
