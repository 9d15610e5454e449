#pragma once
// MySQL 8.0.1 or newer and MariaDB 10.6 or newer through MySQL Connector/C++ (the JDBC interface).
//
//   leasehold::database db = leasehold::mysql::open("mysql://app:secret@db.example:3306/app");
//
// URL: mysql://user[:password]@host[:port]/database[?option=value&…], or mariadb://…, which means
// the same; user and password are percent-decoded. Of several hosts, host[:port],host[:port], the
// driver connects to the first that takes writes, and from then on asks that one before the other
// hosts; the rest of the URL is the same for all, connect_timeout is for all together, and if none
// takes writes the error says what each has answered. The driver finds out which of the two servers
// it is when it connects. Options, and any other is refused:
//
// | option              | means                                                                  |
// |---------------------|------------------------------------------------------------------------|
// | ssl-mode            | DISABLED, PREFERRED (default), REQUIRED, VERIFY_CA, VERIFY_IDENTITY    |
// | ssl-ca, -cert, -key | files for it: ssl-ca, ssl-cert, ssl-key                                |
// | socket=/path        | a Unix socket of this machine; the host is left out, and so is TLS     |
// |                     | where ssl-mode does not ask for it                                     |
// | defaults_file=/path | an option file of MySQL's clients: what the URL does not say counts    |
// |                     | from its groups [client] and [leasehold], when open() is called        |
//
//   mysql://app@/orders?socket=/run/mysqld/mysqld.sock
//   mysql:///orders?defaults_file=/etc/orders/database.cnf
//
// A password that neither the URL nor such a file has comes from MYSQL_PWD of the environment.
//
// A stranger that answers at the host's address gets no password in clear: a server that asks for
// mysql_clear_password or dialog (LDAP, PAM) is refused, but on a socket and with VERIFY_IDENTITY.
// The exception is caching_sha2_password through Connector/C++ 1.1, which may send it in clear to a
// server without TLS, also with REQUIRED. Where others may be on the network: VERIFY_IDENTITY.
//
// Time-outs: Connector/C++ knows whole seconds only, so limits are rounded up. The server may still
// carry out a statement that the driver has given up: its outcome is then unknown.
//
// Signals: the client library sets SIGPIPE to ignored for the whole process when it is first used.
// If leasehold uses it first, leasehold restores the old setting, and its own calls raise no
// SIGPIPE. A program that uses Connector/C++ directly as well should ignore SIGPIPE itself, as that
// library relies on it.
//
// Errors: invalid_argument for a malformed URL; connection_failed for host, port, password.
// Threads: as database.hpp and connection.hpp say.
#include <memory>
#include <string_view>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/url_source.hpp"

namespace sql {
class Connection;
}

namespace leasehold {

namespace mysql {

LEASEHOLD_EXPORT database open(url_text url, database_settings settings = {});
LEASEHOLD_EXPORT database open(url_source source, database_settings settings = {});

}  // namespace mysql

// Takes part in a transaction of the caller's own connection, which it neither opens nor closes,
// and whose settings it leaves as they are. Before the first statement it asks once, in one round
// trip, for settings that would bend its statements without a sign: character sets other than
// utf8mb4, a sql_select_limit, a timestamp that is set are errc::unsupported.
//
// Set autocommit by setAutoCommit() alone: the client does not notice SQL text that sets it. If the
// two differ, a transaction that has sent nothing yet is refused, or statements that commit one by
// one are taken for a transaction.
LEASEHOLD_EXPORT borrowed_connection borrow(sql::Connection* handle);

}  // namespace leasehold
