# Builds the command's SQLite driver with the SQLite of LEASEHOLD_SQLITE_SOURCE: the sources of the
# driver once more, against that header, and sqlite3.c with hidden names. The library keeps the
# system's SQLite, since a program may use SQLite by itself: a process with two copies of it loses
# its locks on a file when one of them closes it.
function(leasehold_own_sqlite module)
    set(header "${LEASEHOLD_SQLITE_SOURCE}/sqlite3.h")
    if(NOT EXISTS "${LEASEHOLD_SQLITE_SOURCE}/sqlite3.c" OR NOT EXISTS "${header}")
        message(
            FATAL_ERROR
            "LEASEHOLD_SQLITE_SOURCE: ${LEASEHOLD_SQLITE_SOURCE} has no sqlite3.c and sqlite3.h; "
            "unpack the amalgamation of https://sqlite.org/download.html there"
        )
    endif()
    file(STRINGS "${header}" version REGEX "^#define SQLITE_VERSION +")
    string(REGEX REPLACE "[^\"]*\"(.*)\".*" "\\1" version "${version}")
    message(STATUS "The command's SQLite is ${version}, of ${LEASEHOLD_SQLITE_SOURCE}")

    add_library(leasehold_own_sqlite STATIC "${LEASEHOLD_SQLITE_SOURCE}/sqlite3.c")
    set_target_properties(
        leasehold_own_sqlite
        PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF
    )
    target_compile_definitions(
        leasehold_own_sqlite
        PRIVATE SQLITE_THREADSAFE=1 SQLITE_OMIT_LOAD_EXTENSION HAVE_FDATASYNC=1 HAVE_USLEEP=1
    )
    target_include_directories(leasehold_own_sqlite SYSTEM PUBLIC "${LEASEHOLD_SQLITE_SOURCE}")

    get_target_property(sources leasehold_sqlite SOURCES)
    list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/src/" REGEX "^[^/]")
    target_sources(${module} PRIVATE ${sources})
    target_link_libraries(${module} PRIVATE leasehold::core leasehold_own_sqlite)
endfunction()
