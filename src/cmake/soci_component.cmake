# The component soci. A SOCI session is borrowed by way of its engine's own driver, so it knows the
# engines whose drivers are built, and links those; SOCI must have a backend for each of them.
set(leasehold_soci_sources driver/soci.cpp)
set(leasehold_soci_backends "")
set(leasehold_soci_drivers "")
set(leasehold_soci_definitions "")
foreach(pair IN ITEMS "postgres;PostgreSQL" "mysql;MySQL" "sqlite;SQLite3")
    list(GET pair 0 driver)
    list(GET pair 1 backend)
    string(TOUPPER "${driver}" switch)
    if(LEASEHOLD_${switch})
        list(APPEND leasehold_soci_backends ${backend})
        list(APPEND leasehold_soci_drivers leasehold_${driver} SOCI::${backend})
        list(APPEND leasehold_soci_definitions LEASEHOLD_SOCI_${switch}=1)
    else()
        list(APPEND leasehold_soci_definitions LEASEHOLD_SOCI_${switch}=0)
    endif()
endforeach()
if(LEASEHOLD_MYSQL)
    list(APPEND leasehold_soci_sources driver/soci_mysql.cpp)
endif()
find_package(SOCI 4.0 REQUIRED COMPONENTS ${leasehold_soci_backends})
leasehold_component(
    soci
    SOURCES ${leasehold_soci_sources}
    HEADERS driver/soci.hpp
    LINK SOCI::Core ${leasehold_soci_drivers}
)
target_compile_definitions(leasehold_soci PRIVATE ${leasehold_soci_definitions})
