#include <map>

#include "core/broken_pipe.hpp"
#include "core/program_name.hpp"
#include "driver/mysql_connection.hpp"
#include "driver/mysql_password_guard.hpp"
#include "driver/mysql_sockets.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Our own driver object, made by one thread and never destroyed. The library's own, which
// get_driver_instance() returns, is destroyed at the end of the process before older objects of
// static duration, and a session among these still has to send its good-bye.
sql::Driver& client_library() {
    static sql::Driver& only = []() -> sql::Driver& {
        const kept_disposition of_broken_pipe;
        return *new ::sql::mysql::MySQL_Driver;
    }();
    return only;
}

class thread_announcement {
public:
    thread_announcement() : driver_(client_library()) { driver_.threadInit(); }
    thread_announcement(const thread_announcement&) = delete;
    thread_announcement& operator=(const thread_announcement&) = delete;
    ~thread_announcement() { driver_.threadEnd(); }

private:
    sql::Driver& driver_;
};

// 1.1, over libmariadb (tried against MySQL 9.7, and MariaDB without TLS): nothing set means plain
// text even if the server offers TLS; sslEnforce means TLS if the server offers it, and plain
// text if it does not; sslCA makes it check the authority, if there is TLS; sslVerify insists
// on TLS and checks authority and host name. So "authority checked, host name not" cannot be had in
// a way that an attacker could not switch off.
void set_tls(sql::ConnectOptionsMap& options, const address& to) {
    if constexpr (has_ssl_mode) {
        options[ssl_mode_option] = static_cast<int>(to.tls);  // sql::ssl_mode has these numbers
    } else {
        if (to.tls == tls_mode::verify_authority) {
            throw error{
                errc::unsupported,
                "ssl-mode=VERIFY_CA cannot be had with MySQL Connector/C++ 1.1, which would go on "
                "without TLS where there is none: use ssl-mode=VERIFY_IDENTITY"};
        }
        if (to.tls != tls_mode::disabled) options["sslEnforce"] = true;
        if (to.tls == tls_mode::verify_identity) options["sslVerify"] = true;
    }
    const auto set_file = [&options](const char* name, const std::string& path) {
        if (!path.empty()) options[name] = sql::SQLString{path};
    };
    set_file(ssl_ca_option, to.authority_file);
    set_file(ssl_cert_option, to.certificate_file);
    set_file(ssl_key_option, to.key_file);
}

int whole_seconds(milliseconds duration) {
    return static_cast<int>(std::chrono::ceil<seconds>(duration).count());
}

sql::ConnectOptionsMap options_for(
    const address& to, milliseconds statement_timeout, milliseconds timeout, const std::string& name
) {
    const int read_timeout = whole_seconds(read_timeout_for(statement_timeout));
    sql::ConnectOptionsMap options;
    // The scheme keeps "localhost" from meaning a Unix socket.
    options["hostName"] = sql::SQLString{(to.socket.empty() ? "tcp://" : "unix://") + place_of(to)};
    options["userName"] = sql::SQLString{to.user};
    options["password"] = sql::SQLString{to.password};
    options["schema"] = sql::SQLString{to.database};
    options["OPT_CHARSET_NAME"] = sql::SQLString{"utf8mb4"};
    options["OPT_CONNECT_TIMEOUT"] = whole_seconds(timeout);
    options["OPT_READ_TIMEOUT"] = read_timeout;
    options["OPT_WRITE_TIMEOUT"] = read_timeout;
    options["CLIENT_MULTI_STATEMENTS"] = true;
    // A server may ask any client that has not said no for any file that it can read.
    options["OPT_LOCAL_INFILE"] = 0;
    // Affected rows are rows changed. OPT_RECONNECT is off unless set, and newer client libraries
    // complain on standard error when it is mentioned at all.
    options["CLIENT_FOUND_ROWS"] = false;
    // Shown by performance_schema alone: session_connect_attrs.
    options["OPT_CONNECT_ATTR_ADD"] = std::map<sql::SQLString, sql::SQLString>{
        {"program_name", sql::SQLString{connection_name(name)}}};
    set_tls(options, to);
    return options;
}

}  // namespace

void announce_thread() {
    thread_local const thread_announcement once;
}

std::unique_ptr<connection> connect(
    const address& to,
    milliseconds statement_timeout,
    milliseconds timeout,
    const std::string& name,
    const std::shared_ptr<standby_refusals>& refusals
) {
    announce_thread();
    const broken_pipe_guard guard;
    sql::ConnectOptionsMap options = options_for(to, statement_timeout, timeout, name);
    const password_guard kept_in{options, to};
    const auto others = sockets_to(to);
    std::unique_ptr<sql::Connection> handle;
    try {
        handle.reset(client_library().connect(options));
    } catch (const sql::SQLException& said) {
        throw connect_error(to, failure_of(said));
    }
    close_new_at_exec(to, others);
    auto made =
        std::make_unique<owned_connection>(std::move(handle), to, statement_timeout, refusals);
    try {
        made->set_up(to);
    } catch (const error& failure) {
        if (failure.code() == errc::unsupported || failure.code() == errc::connection_failed) throw;
        throw set_up_error(to, failure);
    }
    return made;
}

}  // namespace leasehold::mysql
