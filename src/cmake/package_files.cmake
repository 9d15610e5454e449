# Run by cpack between installing and packing: adds files that only Debian wants of each package.
# CPACK_TEMPORARY_DIRECTORY has a folder for each component.
find_program(gzip gzip REQUIRED)
find_program(date date REQUIRED)
execute_process(
    COMMAND "${date}" --utc --rfc-email "--date=${CPACK_LEASEHOLD_RELEASED}"
    OUTPUT_VARIABLE released
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" upper)
    set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    set(share "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share")
    set(documents "${share}/doc/${package}")
    file(REMOVE "${documents}/LICENSE")
    file(READ "${CPACK_LEASEHOLD_SOURCE}/LICENSE" license)
    file(WRITE "${documents}/copyright" "${license}")
    if(EXISTS "${documents}/CHANGELOG.md")
        file(RENAME "${documents}/CHANGELOG.md" "${documents}/NEWS.md")
    endif()
    string(
        CONCAT changes
        "leasehold (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
        "  * What is new: NEWS.md of the package leasehold.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${released}\n"
    )
    file(WRITE "${documents}/changelog" "${changes}")
    if(component MATCHES "^tool_")
        # The library is one table, with the address of a function of the library beside it.
        file(
            WRITE "${share}/lintian/overrides/${package}"
            "${package}: library-not-linked-against-libc *\n"
        )
    endif()
    file(GLOB zipped "${share}/man/man1/*.1" "${documents}/NEWS.md")
    list(APPEND zipped "${documents}/changelog")
    execute_process(
        COMMAND "${gzip}" --best --no-name --force ${zipped} COMMAND_ERROR_IS_FATAL ANY
    )
endforeach()
