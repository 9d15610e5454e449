# MySQL Connector/C++, its JDBC interface: 1.1 (Debian's libmysqlcppconn-dev), or 8 and newer.
#
#   find_package(MySQLConnectorCpp [VERSION] [REQUIRED])
#
# Target:    mysql::concpp-jdbc, as Oracle's own packages call it
# Variables: MySQLConnectorCpp_FOUND, MySQLConnectorCpp_VERSION
# Hints:     CMAKE_PREFIX_PATH, MySQLConnectorCpp_ROOT
include(FindPackageHandleStandardArgs)

# Packages of 8.3 and newer bring a configuration, which knows better than any search.
find_package(mysql-concpp CONFIG QUIET COMPONENTS jdbc)
if(mysql-concpp_FOUND AND TARGET mysql::concpp-jdbc)
    set(MySQLConnectorCpp_VERSION "${mysql-concpp_VERSION}")
    find_package_handle_standard_args(
        MySQLConnectorCpp
        REQUIRED_VARS mysql-concpp_DIR
        VERSION_VAR MySQLConnectorCpp_VERSION
    )
    return()
endif()

# 1.1 has its headers at the top of the include path, later ones in folders of their own.
find_path(
    MySQLConnectorCpp_INCLUDE_DIR
    NAMES mysql/jdbc.h mysql_driver.h
    PATH_SUFFIXES mysql-cppconn mysql-cppconn-8
)
# Not libmysqlcppconn8 and libmysqlcppconnx: those are the other interface, X DevAPI.
find_library(MySQLConnectorCpp_LIBRARY NAMES mysqlcppconn PATH_SUFFIXES lib64 lib)
mark_as_advanced(MySQLConnectorCpp_INCLUDE_DIR MySQLConnectorCpp_LIBRARY)

set(MySQLConnectorCpp_VERSION "")
foreach(folder IN ITEMS cppconn jdbc/cppconn)
    set(header "${MySQLConnectorCpp_INCLUDE_DIR}/${folder}/version_info.h")
    if(MySQLConnectorCpp_INCLUDE_DIR AND EXISTS "${header}")
        set(parts "")
        foreach(part IN ITEMS MAJOR MINOR PATCH)
            file(STRINGS "${header}" line REGEX "define MYCPPCONN_DM_${part}_VERSION")
            string(REGEX MATCH "[0-9]+$" number "${line}")
            list(APPEND parts "${number}")
        endforeach()
        list(JOIN parts "." MySQLConnectorCpp_VERSION)
    endif()
endforeach()

find_package_handle_standard_args(
    MySQLConnectorCpp
    REQUIRED_VARS MySQLConnectorCpp_LIBRARY MySQLConnectorCpp_INCLUDE_DIR
    VERSION_VAR MySQLConnectorCpp_VERSION
    REASON_FAILURE_MESSAGE "on Debian: apt-get install libmysqlcppconn-dev"
)
if(MySQLConnectorCpp_FOUND AND NOT TARGET mysql::concpp-jdbc)
    add_library(mysql::concpp-jdbc UNKNOWN IMPORTED)
    set_target_properties(
        mysql::concpp-jdbc
        PROPERTIES
            IMPORTED_LOCATION "${MySQLConnectorCpp_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${MySQLConnectorCpp_INCLUDE_DIR}"
    )
endif()
