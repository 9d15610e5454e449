# The component soci. A SOCI session is borrowed by way of its engine's own driver, so it knows the
# engines whose drivers are built, and links those; SOCI must have a backend for each of them.
# LEASEHOLD_SOCI_DRIVERS asks for fewer, one at least: then only those are needed, here and by a
# project that finds the package.
set(LEASEHOLD_SOCI_DRIVERS
    ""
    CACHE STRING "Which sessions the adapter borrows: postgres mysql sqlite; empty: all built"
)
set(leasehold_soci_drivers ${LEASEHOLD_SOCI_DRIVERS})
if(NOT leasehold_soci_drivers)
    set(leasehold_soci_drivers ${leasehold_drivers})
endif()
foreach(driver IN LISTS leasehold_soci_drivers)
    if(NOT driver IN_LIST leasehold_drivers)
        message(FATAL_ERROR "LEASEHOLD_SOCI_DRIVERS names ${driver}, which is not built")
    endif()
endforeach()
if(NOT leasehold_soci_drivers)
    message(FATAL_ERROR "LEASEHOLD_SOCI needs a driver: LEASEHOLD_POSTGRES, _MYSQL or _SQLITE")
endif()

set(leasehold_soci_sources driver/soci.cpp)
set(leasehold_soci_backends "")
set(leasehold_soci_linked "")
set(leasehold_soci_definitions "")
foreach(pair IN ITEMS "postgres;PostgreSQL" "mysql;MySQL" "sqlite;SQLite3")
    list(GET pair 0 driver)
    list(GET pair 1 backend)
    string(TOUPPER "${driver}" switch)
    if(driver IN_LIST leasehold_soci_drivers)
        list(APPEND leasehold_soci_backends ${backend})
        list(APPEND leasehold_soci_linked leasehold_${driver} SOCI::${backend})
        list(APPEND leasehold_soci_definitions LEASEHOLD_SOCI_${switch}=1)
    else()
        list(APPEND leasehold_soci_definitions LEASEHOLD_SOCI_${switch}=0)
    endif()
endforeach()
if("mysql" IN_LIST leasehold_soci_drivers)
    list(APPEND leasehold_soci_sources driver/soci_mysql.cpp)
endif()
find_package(SOCI 4.0 REQUIRED COMPONENTS ${leasehold_soci_backends})
leasehold_component(
    soci
    SOURCES ${leasehold_soci_sources}
    HEADERS driver/soci.hpp
    LINK SOCI::Core ${leasehold_soci_linked}
)
target_compile_definitions(leasehold_soci PRIVATE ${leasehold_soci_definitions})
# SOCI keeps to itself the type information of its backends, which this check would need.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*undefined")
    target_compile_options(leasehold_soci PRIVATE -fno-sanitize=vptr)
endif()
