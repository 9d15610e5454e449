# SOCI, its core and its backends: 4.0 (Debian's libsoci-dev, which brings no configuration), or 4.1
# and newer.
#
#   find_package(SOCI [VERSION] [REQUIRED] [COMPONENTS PostgreSQL MySQL SQLite3])
#
# Targets:   SOCI::Core, and per component SOCI::PostgreSQL, SOCI::MySQL, SOCI::SQLite3, as SOCI's
#            own packages call them; a backend's target brings its client library and its headers
# Variables: SOCI_FOUND, SOCI_VERSION, SOCI_<component>_FOUND
# Hints:     CMAKE_PREFIX_PATH, SOCI_ROOT
include(FindPackageHandleStandardArgs)

# From 4.1 on SOCI brings a configuration, which knows better than any search.
find_package(SOCI CONFIG QUIET COMPONENTS ${SOCI_FIND_COMPONENTS})
if(SOCI_FOUND AND TARGET SOCI::Core)
    find_package_handle_standard_args(SOCI CONFIG_MODE HANDLE_COMPONENTS)
    return()
endif()

find_path(SOCI_INCLUDE_DIR NAMES soci/soci.h)
find_library(SOCI_LIBRARY NAMES soci_core PATH_SUFFIXES lib64 lib)
mark_as_advanced(SOCI_INCLUDE_DIR SOCI_LIBRARY)

set(SOCI_VERSION "")
if(SOCI_INCLUDE_DIR AND EXISTS "${SOCI_INCLUDE_DIR}/soci/version.h")
    file(STRINGS "${SOCI_INCLUDE_DIR}/soci/version.h" line REGEX "define SOCI_LIB_VERSION ")
    if(line MATCHES "\"([0-9_]+)\"")
        string(REPLACE "_" "." SOCI_VERSION "${CMAKE_MATCH_1}")
    endif()
endif()

if(SOCI_INCLUDE_DIR AND SOCI_LIBRARY AND NOT TARGET SOCI::Core)
    add_library(SOCI::Core UNKNOWN IMPORTED)
    set_target_properties(
        SOCI::Core
        PROPERTIES
            IMPORTED_LOCATION "${SOCI_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${SOCI_INCLUDE_DIR}"
    )
endif()

# leasehold_find_soci_backend(NAME LIBRARY HEADER CLIENT): a target for one backend; CLIENT is the
# client library's target, or empty where it is not there.
function(leasehold_find_soci_backend name library header client)
    find_library(SOCI_${name}_LIBRARY NAMES ${library} PATH_SUFFIXES lib64 lib)
    mark_as_advanced(SOCI_${name}_LIBRARY)
    if(NOT SOCI_${name}_LIBRARY OR NOT EXISTS "${SOCI_INCLUDE_DIR}/soci/${header}" OR NOT client)
        set(SOCI_${name}_FOUND FALSE PARENT_SCOPE)
        return()
    endif()
    set(SOCI_${name}_FOUND TRUE PARENT_SCOPE)
    if(NOT TARGET SOCI::${name})
        add_library(SOCI::${name} UNKNOWN IMPORTED)
        set_target_properties(
            SOCI::${name}
            PROPERTIES
                IMPORTED_LOCATION "${SOCI_${name}_LIBRARY}"
                INTERFACE_LINK_LIBRARIES "SOCI::Core;${client}"
        )
    endif()
endfunction()

if("PostgreSQL" IN_LIST SOCI_FIND_COMPONENTS)
    find_package(PostgreSQL QUIET)
    set(client "")
    if(TARGET PostgreSQL::PostgreSQL)
        set(client PostgreSQL::PostgreSQL)
    endif()
    leasehold_find_soci_backend(
        PostgreSQL soci_postgresql postgresql/soci-postgresql.h "${client}"
    )
endif()
if("SQLite3" IN_LIST SOCI_FIND_COMPONENTS)
    find_package(SQLite3 QUIET)
    set(client "")
    if(TARGET SQLite::SQLite3)
        set(client SQLite::SQLite3)
    endif()
    leasehold_find_soci_backend(SQLite3 soci_sqlite3 sqlite3/soci-sqlite3.h "${client}")
endif()
if("MySQL" IN_LIST SOCI_FIND_COMPONENTS)
    # Only in libraries' own folders: Connector/C++ also has a mysql.h in some versions.
    find_path(
        SOCI_MySQL_CLIENT_INCLUDE_DIR
        NAMES mysql.h
        PATH_SUFFIXES mariadb mysql mariadb/mysql
    )
    find_library(SOCI_MySQL_CLIENT_LIBRARY NAMES mariadb mariadbclient mysqlclient)
    mark_as_advanced(SOCI_MySQL_CLIENT_INCLUDE_DIR SOCI_MySQL_CLIENT_LIBRARY)
    set(client "")
    if(SOCI_MySQL_CLIENT_INCLUDE_DIR AND SOCI_MySQL_CLIENT_LIBRARY)
        set(client "${SOCI_MySQL_CLIENT_LIBRARY}")
    endif()
    leasehold_find_soci_backend(MySQL soci_mysql mysql/soci-mysql.h "${client}")
    if(SOCI_MySQL_FOUND)
        set_target_properties(
            SOCI::MySQL
            PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${SOCI_MySQL_CLIENT_INCLUDE_DIR}"
        )
    endif()
endif()

find_package_handle_standard_args(
    SOCI
    REQUIRED_VARS SOCI_LIBRARY SOCI_INCLUDE_DIR
    VERSION_VAR SOCI_VERSION
    HANDLE_COMPONENTS
    REASON_FAILURE_MESSAGE
        "on Debian: apt-get install libsoci-dev, and libpq-dev, libmariadb-dev or libsqlite3-dev"
)
