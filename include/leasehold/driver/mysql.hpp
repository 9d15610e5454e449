#pragma once
// MySQL 8.0.1 or newer and MariaDB 10.6 or newer through MySQL Connector/C++ (the JDBC interface).
//
//   leasehold::database db = leasehold::mysql::open("mysql://app:secret@db.example:3306/app");
//
// URL: mysql://user[:password]@host[:port]/database[?option=value&…], or mariadb://…, which is the
// same; user and password are percent-decoded. With several hosts, host[:port],host[:port], the
// first that takes writes is connected to, and from then on asked before the others; the rest of
// the URL is the same for all, connect_timeout is for all together, and where none takes writes the
// error says what each has answered. Which of the two servers it is, is found out when connecting.
// Options, and any other is refused:
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
// A password that neither the URL nor such a file has is the environment's MYSQL_PWD.
//
// A stranger that answers at the host's address gets no password in clear: a server that asks for
// mysql_clear_password or dialog (LDAP, PAM) is refused, but on a socket and with VERIFY_IDENTITY.
// Not so for caching_sha2_password through Connector/C++ 1.1, which may send it in clear to a
// server without TLS, also with REQUIRED. Where others may be on the network: VERIFY_IDENTITY.
//
// Time-outs: Connector/C++ knows whole seconds only, so limits are rounded up, and a statement that
// is given up may still be carried out by the server: its outcome is then unknown.
//
// Signals: the client library sets SIGPIPE to ignored for the whole process when it is first used;
// where that is here, it is undone, and calls made here raise none. A program that uses
// Connector/C++ directly as well should ignore SIGPIPE itself, as that library relies on it.
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

LEASEHOLD_EXPORT database open(std::string_view url, database_settings settings = {});
LEASEHOLD_EXPORT database open(url_source source, database_settings settings = {});

}  // namespace mysql

// Takes part in a transaction of the caller's own connection, which it neither opens nor closes;
// its settings are left as they are. Before the first statement it is asked, once, at one round
// trip, for those that would bend ours without a sign: character sets other than utf8mb4, a
// sql_select_limit, a timestamp that is set are errc::unsupported.
//
// Set autocommit by setAutoCommit() alone: of SQL text that sets it the client does not hear, and
// where the two differ a transaction is refused that has sent nothing yet, or statements that
// commit one by one are taken for a transaction.
LEASEHOLD_EXPORT borrowed_connection borrow(sql::Connection* handle);

}  // namespace leasehold
