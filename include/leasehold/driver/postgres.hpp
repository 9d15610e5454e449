#pragma once
// PostgreSQL 13 or newer through libpq (14 or newer), never blocking beyond its own deadlines.
//
//   leasehold::database db = leasehold::postgres::open("postgresql://app@db.example/app");
//
// Any URL or key=value string that libpq takes, TLS options included (sslmode, sslrootcert, …), and
// its environment (PGPASSFILE, PGSSLMODE, …). Works behind a transaction-mode pooler: the driver
// notices one because the process that answers is not the one that greeted, and then relies on no
// server-side session state, at the same number of round trips.
// It connects to the first of several hosts (target_session_attrs=read-write) that takes writes.
// Each has an equal part of what is left of connect_timeout: the driver passes over a host that
// says nothing, and from then on first asks the one that took its place. It also passes over a
// former primary, if this handle has seen the standby that was promoted: docs/clusters.md. It
// reads a list of several hosts when the handle first connects.
// Looking up a host name may take longer than connect_timeout, because libpq leaves that to others
// (addresses need none).
//
// Errors: invalid_argument for a malformed URL, or an option's value that libpq does not know (when
// it first connects); connection_failed for host, port, password, too
// many connections; no message holds the password.
// Threads: as database.hpp and connection.hpp say.
#include <memory>
#include <string_view>

#include "leasehold/database.hpp"
#include "leasehold/export.hpp"
#include "leasehold/url_source.hpp"

struct pg_conn;  // libpq's PGconn

namespace leasehold {

namespace postgres {

LEASEHOLD_EXPORT database open(url_text url, database_settings settings = {});
LEASEHOLD_EXPORT database open(url_source source, database_settings settings = {});

}  // namespace postgres

// Takes part in a transaction of the caller's own connection (a PGconn*), which it neither opens
// nor closes, and whose settings it leaves as they are. Not in pipeline mode. A client_encoding
// other than UTF8, or standard_conforming_strings off, is errc::unsupported; real numbers come as
// exactly as the connection's extra_float_digits says.
//
// A statement that is not answered within 10 s, or the time that set_statement_timeout() of
// `inside()` sets, is given up with errc::timed_out, and its command goes on in the server:
// PQtransactionStatus says PQTRANS_ACTIVE. All further calls through the borrowed_connection are
// errc::connection_lost, and the PGconn is yours to recover: PQcancel it or wait, take PQgetResult
// until it is null, roll back if a transaction is open, and borrow anew; or PQfinish it. Only
// PQfinish will do where PQisnonblocking says 1 and you had not set that: part of the request was
// never sent.
LEASEHOLD_EXPORT borrowed_connection borrow(pg_conn* handle);

}  // namespace leasehold
