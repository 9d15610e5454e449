#pragma once
// Private to the MySQL driver: the client library's headers, and what its versions differ in.
//
// Connector/C++ 1.1 (Debian's, on top of libmariadb) has its headers at the top of the include
// path; 8 and 9 (Oracle's, on top of libmysqlclient) have them behind <mysql/jdbc.h>.
#if __has_include(<mysql/jdbc.h>)
#include <mysql/jdbc.h>
#else
#include <mysql_connection.h>
#include <mysql_driver.h>

#include <cppconn/connection.h>
#include <cppconn/datatype.h>
#include <cppconn/exception.h>
#include <cppconn/metadata.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#endif

namespace leasehold::mysql {

// Whether OPT_SSL_MODE is heeded. 1.1 takes it and does nothing with it; there only sslEnforce and
// sslVerify count, and what they do is said where they are set (mysql_connect.cpp).
#if __has_include(<mysql/jdbc.h>)
inline constexpr bool has_ssl_mode = true;
#else
inline constexpr bool has_ssl_mode = false;
#endif

}  // namespace leasehold::mysql
