# Turns migrations/<engine>/NNNN_name.{up,down}.sql into two include files of initialisers, names
# and texts:
#   {1, "locks", "<SHA-256 of the up file>"},
#   {1, R"sql(…)sql", R"sql(…)sql"},
# Byte-faithful, at build time, without a generator program or files at run time.
function(leasehold_embed_migrations engine)
    set(folder "${PROJECT_SOURCE_DIR}/migrations/${engine}")
    # The only glob of the project: migrations are append-only files found by their numbers.
    file(GLOB ups CONFIGURE_DEPENDS "${folder}/*.up.sql")
    list(SORT ups)
    set(names "")
    set(texts "")
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
        string(APPEND names "{${version}, \"${name}\", \"${checksum}\"},\n")
        string(APPEND texts "{${version}, R\"sql(${up_text})sql\",\nR\"sql(${down_text})sql\"},\n")
    endforeach()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/sql")
    file(CONFIGURE OUTPUT "${folder}/migration_names_${engine}.inc" CONTENT "${names}" @ONLY)
    file(CONFIGURE OUTPUT "${folder}/migration_texts_${engine}.inc" CONTENT "${texts}" @ONLY)
endfunction()

include(embed_columns)

# Turns these src/<room>/<engine>/<name>.sql into one include file with an array for each engine,
# such as postgres_locks, of the blocks of its files; src/sql/statements.hpp says what a block is.
#   {"hold", block_kind::name, "release", R"sql(…)sql"},
# A name such as sqlite/boot is of that engine alone.
function(leasehold_embed_statements room)
    set(all_lists "")
    string(ASCII 1 begins)
    set(text "namespace {\n")
    foreach(engine IN ITEMS postgres mysql sqlite)
        string(APPEND text "constexpr sql_block ${engine}_${room}[] = {\n")
        foreach(name IN LISTS ARGN)
            if(name MATCHES "^(.+)/(.+)$")
                if(NOT CMAKE_MATCH_1 STREQUAL engine)
                    continue()
                endif()
                set(name "${CMAKE_MATCH_2}")
            endif()
            set(path "${PROJECT_SOURCE_DIR}/src/${room}/${engine}/${name}.sql")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
            file(READ "${path}" blocks)
            leasehold_note_columns(${engine} "${path}" "${blocks}")
            # The lists of columns are no part of the texts.
            set(named "\n-- (name|fragment): [^\n]*")
            string(REGEX REPLACE "(${named})(\n-- gives: [^\n]*)+" "\\1" blocks "\n${blocks}")
            if(blocks MATCHES "\n(-- gives:[^\n]*)")
                message(FATAL_ERROR "${path}: no block begins right above ${CMAKE_MATCH_1}")
            endif()
            string(
                REGEX REPLACE
                "\n-- (name|fragment): ([^\n]*)"
                "\n${begins}\\1, \"\\2\""
                blocks
                "${blocks}"
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
        if(room STREQUAL "admin")
            leasehold_shape_blocks(${engine} known)
            string(APPEND text "${known}")
        endif()
        string(APPEND text "};\n")
    endforeach()
    string(APPEND text "}  // namespace\n")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/sql/statements_${room}.inc")
    file(CONFIGURE OUTPUT "${output}" CONTENT "${text}" @ONLY)
    leasehold_write_columns(${room})
endfunction()
