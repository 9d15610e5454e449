#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "driver/mysql_classify.hpp"

namespace leasehold {
namespace {

// Errors of an attempt to connect that may be gone in a moment: a server that starts, stops or is
// full, a network or a proxy that cut the line, a machine without memory. In ascending order, which
// is checked below.
//
// Not here, because they stay until a person does something: the rights of the account (1044, 1045,
// 1130, 1227, 1251, 1524, 1698, 1820, 1862, 3118, 3159, 3955, 4151), an unknown database (1049), a
// host that the server has blocked (1129, until FLUSH HOSTS), packets it finds too large (1153,
// 2020), other versions, character sets, plugins and options (2007, 2009, 2019, 2047, 2049, 2054,
// 2058 to 2070, 5001 to 5012, 5024). 2005 and 2026 are judged by their messages, below.
constexpr std::array passing{
    1040,  // CON_COUNT_ERROR: too many connections
    1041,  // OUT_OF_RESOURCES: the server's memory
    1042,  // BAD_HOST_ERROR: the server could not look our address up
    1043,  // HANDSHAKE_ERROR: our greeting was cut off on its way to the server, or a proxy
    1047,  // UNKNOWN_COM_ERROR: a Galera node that joins its cluster
    1053,  // SERVER_SHUTDOWN
    1077,  // NORMAL_SHUTDOWN
    1078,  // GOT_SIGNAL
    1079,  // SHUTDOWN_COMPLETE
    1080,  // FORCING_CLOSE
    1135,  // CANT_CREATE_THREAD
    1152,  // ABORTING_CONNECTION
    1156,  // NET_PACKETS_OUT_OF_ORDER: a proxy that changed servers in the middle
    1158,  // NET_READ_ERROR
    1159,  // NET_READ_INTERRUPTED: connect_timeout of the server
    1160,  // NET_ERROR_ON_WRITE
    1161,  // NET_WRITE_INTERRUPTED
    1184,  // NEW_ABORTING_CONNECTION
    1203,  // TOO_MANY_USER_CONNECTIONS
    1205,  // LOCK_WAIT_TIMEOUT: the account's tables were locked
    1226,  // USER_LIMIT_REACHED: per hour, or at once
    1317,  // QUERY_INTERRUPTED: in init_connect, or by a server that stops
    1927,  // CONNECTION_KILLED: MariaDB, and MaxScale that lost its server
    2000,  // UNKNOWN_ERROR: libmariadb's for a line that is cut within authentication
    2001,  // SOCKET_CREATE_ERROR: our own descriptors are used up
    2002,  // CONNECTION_ERROR
    2003,  // CONN_HOST_ERROR
    2004,  // IPSOCK_ERROR: as 2001
    2006,  // SERVER_GONE_ERROR
    2008,  // OUT_OF_MEMORY
    2011,  // TCP_CONNECTION
    2012,  // SERVER_HANDSHAKE_ERR: half of a greeting
    2013,  // SERVER_LOST
    2014,  // COMMANDS_OUT_OF_SYNC: the packet was not the answer to the question
    2027,  // MALFORMED_PACKET: cut off within
    2055,  // SERVER_LOST_EXTENDED
    3032,  // SERVER_OFFLINE_MODE
    3168,  // SERVER_ISNT_AVAILABLE: before it has started, or while it stops
    3169,  // SESSION_WAS_KILLED
    4031,  // CLIENT_INTERACTION_TIMEOUT
    5013,  // ERR_NET_READ of libmariadb
    5014,  // ERR_NET_WRITE
    5015,  // ERR_NET_UNCOMPRESS: cut off within
    5026,  // ERR_MISSING_ERROR_INFO: as 5015
    9001,  // ProxySQL: none of its servers took the connection in time
};

static_assert(std::ranges::is_sorted(passing));

bool mentions(std::string_view words, std::string_view lower) {
    const auto is_same = [](char said, char wanted) {
        return std::tolower(static_cast<unsigned char>(said)) == wanted;
    };
    return std::search(words.begin(), words.end(), lower.begin(), lower.end(), is_same) !=
           words.end();
}

// Both client libraries also say 2026 when a line is cut within the handshake. Faults of
// certificates, names, files or versions have one of these texts, of OpenSSL, GnuTLS and the client
// libraries; the message of a cut line varies.
bool is_lasting_tls_problem(std::string_view words) {
    constexpr std::array<std::string_view, 17> lasting{
        "certificate",
        "verif",
        "host name",
        "hostname",
        "no such file",
        "reading file",
        "permission",
        "private key",
        "key file",
        "ca file",
        "not trusted",
        "self-signed",
        "self signed",
        "cipher",
        "version",
        "support",
        "fips"};
    const auto is_there = [words](std::string_view each) { return mentions(words, each); };
    return std::ranges::any_of(lasting, is_there);
}

}  // namespace

bool may_connect_later_mysql(int native_code, std::string_view words) noexcept {
    constexpr int unknown_host = 2005;
    constexpr int tls = 2026;
    // A name that does not exist stays so; the resolver's "try again" (EAI_AGAIN) does not.
    if (native_code == unknown_host) return mentions(words, "(-3)");
    if (native_code == tls) return !is_lasting_tls_problem(words);
    return std::ranges::binary_search(passing, native_code);
}

}  // namespace leasehold
