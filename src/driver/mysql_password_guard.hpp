#pragma once
// Private to the MySQL driver: keeps the client library from giving the password in clear to any
// server that answers at the address and asks for it.
//
// libmariadb hands it over, with TLS or without, to a server that says it wants to be answered by
// mysql_clear_password or dialog (tried, with every ssl-mode but VERIFY_IDENTITY, which ends before
// that). Only its option files can restrict the ways it may answer by, so it gets such a file that
// is in no folder. Oracle's client library does so only if it was told to, and needs no guard.
//
// The remaining risk: for the full authentication of caching_sha2_password libmariadb takes the
// wish for TLS as TLS, so that a server without it gets the password in clear under PREFERRED and
// REQUIRED. That way cannot be forbidden, as it is how MySQL knows its users.
#include "driver/mysql_client.hpp"
#include "driver/mysql_url.hpp"

namespace leasehold::mysql {

class password_guard {
public:
    // Must live until the connection is made. Throws connection_failed if the system has no room
    // for it, or no /proc to name it by.
    password_guard(sql::ConnectOptionsMap& options, const address& to);
    ~password_guard();
    password_guard(const password_guard&) = delete;
    password_guard& operator=(const password_guard&) = delete;

private:
    int file_ = -1;
};

}  // namespace leasehold::mysql
