#pragma once
// Private to the MySQL driver: the client library's headers, and the differences of its versions.
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

// True when the client library obeys the option for ssl-mode. 1.1 takes it and does nothing with
// it; there only sslEnforce and sslVerify count, as described where they are set
// (mysql_connect.cpp).
#if __has_include(<mysql/jdbc.h>)
inline constexpr bool has_ssl_mode = true;
#else
inline constexpr bool has_ssl_mode = false;
#endif

// The names of options were changed within version 8, together with macros for them. The library
// ignores an unknown name without a word.
#ifdef OPT_SSL_MODE
inline constexpr const char* ssl_mode_option = OPT_SSL_MODE;
inline constexpr const char* ssl_ca_option = OPT_SSL_CA;
inline constexpr const char* ssl_cert_option = OPT_SSL_CERT;
inline constexpr const char* ssl_key_option = OPT_SSL_KEY;
#else
inline constexpr const char* ssl_mode_option = "OPT_SSL_MODE";
inline constexpr const char* ssl_ca_option = "sslCA";
inline constexpr const char* ssl_cert_option = "sslCert";
inline constexpr const char* ssl_key_option = "sslKey";
#endif

}  // namespace leasehold::mysql
