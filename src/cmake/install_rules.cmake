# The files that `cmake --install` puts in place: per component its library, its headers, its
# targets for find_package(leasehold COMPONENTS …) and its pkg-config file; the tool; the SQL and
# the documents.
#
# Both static and shared libraries are supported. A shared one shows the names that
# leasehold/export.hpp marks (and those that the components need of each other). A header outside of
# include/ is not installed, and no version promises anything about it.
#
# Each rule belongs to a package of packages.cmake: lib_<component>, dev, tool, tool_<driver>.
include(CMakePackageConfigHelpers)

set(leasehold_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leasehold")
set(leasehold_data_dir "${CMAKE_INSTALL_DATADIR}/leasehold")
set(leasehold_installed ${leasehold_components})
if(TARGET leasehold_cli)
    set_target_properties(leasehold_cli PROPERTIES EXPORT_NAME cli)
    list(APPEND leasehold_installed cli)
endif()

get_target_property(leasehold_kind leasehold_core TYPE)
if(leasehold_kind STREQUAL "STATIC_LIBRARY")
    set(leasehold_is_static TRUE)
else()
    set(leasehold_is_static FALSE)
endif()

# Shared libraries find each other, and the tool finds them, wherever the tree is put. Where there
# are none no folder may be searched: in a short command that takes longer than its lock.
if(
    NOT leasehold_is_static
    AND NOT DEFINED CMAKE_INSTALL_RPATH
    AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}"
)
    file(RELATIVE_PATH bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    foreach(component IN LISTS leasehold_components)
        set_target_properties(leasehold_${component} PROPERTIES INSTALL_RPATH "\$ORIGIN")
    endforeach()
    if(TARGET leasehold_cli)
        set_target_properties(leasehold_cli PROPERTIES INSTALL_RPATH "\$ORIGIN/${bin_to_lib}")
        foreach(driver IN LISTS leasehold_drivers)
            set_target_properties(
                leasehold_${driver}_module PROPERTIES INSTALL_RPATH "\$ORIGIN/.."
            )
        endforeach()
    endif()
endif()

foreach(component IN LISTS leasehold_installed)
    set(package dev)
    set(kinds
        LIBRARY COMPONENT lib_${component} NAMELINK_COMPONENT dev
        ARCHIVE COMPONENT dev
        FILE_SET HEADERS COMPONENT dev
    )
    if(component STREQUAL "cli")
        set(package tool)
        set(kinds RUNTIME COMPONENT tool)
    endif()
    set(features "")
    if(component STREQUAL "core")
        list(APPEND kinds FILE_SET adapters COMPONENT dev)
        list(TRANSFORM leasehold_features PREPEND leasehold_ OUTPUT_VARIABLE features)
    endif()
    # A set of its own for each, so that one can be packaged, and found, without the others.
    install(
        TARGETS leasehold_${component} ${features}
        EXPORT leasehold_${component}_targets ${kinds}
    )
    install(
        EXPORT leasehold_${component}_targets
        NAMESPACE leasehold::
        FILE "leasehold-${component}-targets.cmake"
        DESTINATION "${leasehold_config_dir}"
        COMPONENT ${package}
    )
endforeach()

# ------------------------------------------------------------------------- for find_package

# A static library hands on the libraries it was linked with; a shared one has found them by itself.
set(leasehold_core_needs Threads)
if(LEASEHOLD_TIME_ZONES AND leasehold_is_static)
    list(APPEND leasehold_core_needs date)
endif()
# Components that stand on drivers.
set(leasehold_soci_needs ${leasehold_soci_drivers})
set(leasehold_open_needs ${leasehold_drivers})
configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/leasehold-config.cmake.in"
    "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config.cmake"
    INSTALL_DESTINATION "${leasehold_config_dir}"
    NO_CHECK_REQUIRED_COMPONENTS_MACRO
    NO_SET_AND_CHECK_MACRO
)
# While the version begins with 0 a minor one may break what was there: docs/versioning.md.
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(
    "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config-version.cmake"
    COMPATIBILITY ${compatible}
)
install(
    FILES
        "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config-version.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindMySQLConnectorCpp.cmake"
        "${CMAKE_CURRENT_LIST_DIR}/FindSOCI.cmake"
    DESTINATION "${leasehold_config_dir}"
    COMPONENT dev
)

# --------------------------------------------------------------------------- for pkg-config

# Paths go by the file's own place where that is possible, so that the tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
    set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# leasehold_pc_words(VARIABLE LIBRARY…): the words a linker takes for found library files.
function(leasehold_pc_words variable)
    set(words "")
    foreach(library IN LISTS ARGN)
        if(IS_ABSOLUTE "${library}")
            get_filename_component(folder "${library}" DIRECTORY)
            get_filename_component(name "${library}" NAME_WE)
            string(REGEX REPLACE "^lib" "" name "${name}")
            if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
                string(APPEND words " -L${folder}")
            endif()
            string(APPEND words " -l${name}")
        endif()
    endforeach()
    string(STRIP "${words}" words)
    set(${variable} "${words}" PARENT_SCOPE)
endfunction()

# leasehold_pc(COMPONENT DESCRIPTION [REQUIRES …] [REQUIRES_PRIVATE …] [LIBS_PRIVATE …])
#
# The user of a static library must link libraries that are private for a shared one; `pkg-config
# --static` is no way out, for it asks for static libraries of everything below libpq as well.
function(leasehold_pc component description)
    cmake_parse_arguments(PARSE_ARGV 2 pc "" "" "REQUIRES;REQUIRES_PRIVATE;LIBS_PRIVATE")
    set(pc_LIBS "")
    if(leasehold_is_static)
        list(APPEND pc_REQUIRES ${pc_REQUIRES_PRIVATE})
        set(pc_LIBS ${pc_LIBS_PRIVATE})
        set(pc_REQUIRES_PRIVATE "")
        set(pc_LIBS_PRIVATE "")
    else()
        # pkg-config insists on all it is told of, and a program needs no client library's files.
        list(FILTER pc_REQUIRES_PRIVATE INCLUDE REGEX "^leasehold")
    endif()
    set(pc_name "leasehold-${component}")
    if(component STREQUAL "core")
        set(pc_name leasehold)
    endif()
    set(pc_description "${description}")
    set(pc_component "${component}")
    list(JOIN pc_REQUIRES ", " pc_requires)
    list(JOIN pc_REQUIRES_PRIVATE ", " pc_requires_private)
    list(JOIN pc_LIBS " " pc_libs)
    list(JOIN pc_LIBS_PRIVATE " " pc_libs_private)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${pc_name}.pc")
    configure_file("${PROJECT_SOURCE_DIR}/src/cmake/leasehold.pc.in" "${file}" @ONLY)
    install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)
endfunction()

set(this_version "leasehold = ${PROJECT_VERSION}")
set(words -pthread)
if(LEASEHOLD_TIME_ZONES)
    # Debian's has no file for pkg-config.
    list(PREPEND words -ldate-tz)
endif()
leasehold_pc(core "${PROJECT_DESCRIPTION}" LIBS_PRIVATE ${words})
if(LEASEHOLD_POSTGRES)
    leasehold_pc(
        postgres
        "leasehold on PostgreSQL, through libpq"
        REQUIRES "${this_version}"
        REQUIRES_PRIVATE libpq
    )
endif()
if(LEASEHOLD_MYSQL)
    # Neither Connector/C++ nor SOCI has a file for pkg-config.
    leasehold_pc_words(words "${MySQLConnectorCpp_LIBRARY}")
    if(NOT words)
        set(words -lmysqlcppconn)
    endif()
    leasehold_pc(
        mysql
        "leasehold on MySQL and MariaDB, through MySQL Connector/C++"
        REQUIRES "${this_version}"
        LIBS_PRIVATE ${words}
    )
endif()
if(LEASEHOLD_SQLITE)
    leasehold_pc(
        sqlite
        "leasehold on SQLite"
        REQUIRES "${this_version}"
        REQUIRES_PRIVATE sqlite3
    )
endif()
if(LEASEHOLD_SOCI)
    set(drivers ${leasehold_soci_needs})
    list(TRANSFORM drivers REPLACE "(.+)" "leasehold-\\1 = ${PROJECT_VERSION}")
    leasehold_pc_words(
        words
        "${SOCI_PostgreSQL_LIBRARY}"
        "${SOCI_MySQL_LIBRARY}"
        "${SOCI_SQLite3_LIBRARY}"
        "${SOCI_LIBRARY}"
        "${SOCI_MySQL_CLIENT_LIBRARY}"
    )
    if(NOT words)
        set(words -lsoci_core)
    endif()
    leasehold_pc(
        soci
        "leasehold in the transactions of SOCI sessions"
        REQUIRES "${this_version}"
        REQUIRES_PRIVATE ${drivers}
        LIBS_PRIVATE ${words}
    )
endif()

set(drivers ${leasehold_open_needs})
list(TRANSFORM drivers REPLACE "(.+)" "leasehold-\\1 = ${PROJECT_VERSION}")
leasehold_pc(
    open
    "leasehold on whatever database a URL names"
    REQUIRES "${this_version}"
    REQUIRES_PRIVATE ${drivers}
)

# ------------------------------------------------------------------------------ for GDB

# GDB loads the printers by itself if it loads a shared library of this name from this folder.
set(leasehold_printers "${PROJECT_SOURCE_DIR}/src/debugger/gdb_printers.py")
install(FILES "${leasehold_printers}" DESTINATION "${leasehold_data_dir}" COMPONENT dev)
if(NOT leasehold_is_static)
    install(
        FILES "${leasehold_printers}"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}"
        RENAME "libleasehold_core.so.${PROJECT_VERSION}-gdb.py"
        COMPONENT dev
    )
endif()

# --------------------------------------------------------------- what people read, and the SQL

install(
    FILES
        "${PROJECT_SOURCE_DIR}/README.md"
        "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT tool
)
install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/migrations" "${PROJECT_SOURCE_DIR}/schema"
    DESTINATION "${leasehold_data_dir}"
    COMPONENT dev
)
