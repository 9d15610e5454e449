# Turns migrations/<engine>/NNNN_name.{up,down}.sql into one include file of initialisers:
#   {1, "locks", R"sql(…)sql", R"sql(…)sql", "<SHA-256 of the up file>"},
# Byte-faithful, at build time, without a generator program or files at run time.
function(leasehold_embed_sql engine output)
    set(folder "${PROJECT_SOURCE_DIR}/migrations/${engine}")
    # The only glob of the project: migrations are append-only files found by their numbers.
    file(GLOB ups CONFIGURE_DEPENDS "${folder}/*.up.sql")
    list(SORT ups)
    set(text "")
    foreach(up IN LISTS ups)
        get_filename_component(file_name "${up}" NAME)
        if(NOT file_name MATCHES "^0*([1-9][0-9]*)_([a-z0-9_]+)\\.up\\.sql$")
            message(FATAL_ERROR "${up}: migrations are named NNNN_name.up.sql")
        endif()
        set(version "${CMAKE_MATCH_1}")
        set(name "${CMAKE_MATCH_2}")
        if(name MATCHES "_from_([0-9]+)$" AND NOT CMAKE_MATCH_1 LESS version)
            message(FATAL_ERROR "${up}: programs may go on from an older version, not from this")
        endif()
        string(REPLACE ".up.sql" ".down.sql" down "${up}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${up}" "${down}")
        file(SHA256 "${up}" checksum)
        file(READ "${up}" up_text)
        file(READ "${down}" down_text)
        string(APPEND text "{${version}, \"${name}\", R\"sql(${up_text})sql\",\n")
        string(APPEND text "R\"sql(${down_text})sql\", \"${checksum}\"},\n")
    endforeach()
    file(CONFIGURE OUTPUT "${output}" CONTENT "${text}" @ONLY)
endfunction()

# Turns src/<room>/<engine>/<name>.sql of these <room>/<name> into one include file of initialisers,
# one for each block of a file; src/sql/statements.hpp says what a block is.
#   {"hold", block_kind::name, "release", R"sql(…)sql"},
function(leasehold_embed_statements engine output)
    string(ASCII 1 begins)
    set(text "")
    foreach(each IN LISTS ARGN)
        get_filename_component(room "${each}" DIRECTORY)
        get_filename_component(name "${each}" NAME)
        set(path "${PROJECT_SOURCE_DIR}/src/${room}/${engine}/${name}.sql")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        file(READ "${path}" blocks)
        string(
            REGEX REPLACE
            "\n-- (name|word): ([^\n]*)"
            "\n${begins}\\1, \"\\2\""
            blocks
            "\n${blocks}"
        )
        # A comment ends a block, and the text behind a comment is of none.
        string(REGEX REPLACE "\n--[^${begins}]*" "\n" blocks "${blocks}")
        string(
            REGEX REPLACE
            "${begins}([^\n]*)\n([^${begins}]*)"
            "{\"${name}\", block_kind::\\1, R\"sql(\\2)sql\"},\n"
            blocks
            "${blocks}"
        )
        string(APPEND text "${blocks}")
    endforeach()
    file(CONFIGURE OUTPUT "${output}" CONTENT "${text}" @ONLY)
endfunction()
