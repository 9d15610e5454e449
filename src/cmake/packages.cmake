# Debian packages, by `cmake --workflow --preset deb`, or `cpack -G DEB` in a build of shared
# libraries whose prefix is /usr:
#
#   libleasehold-<component>0.4  one shared library each, so that a program brings the client
#                                library of its own engine, and no other
#   libleasehold-dev             headers, and files that find the libraries, of all components
#   leasehold                    the tool, with its manual pages and completions
#   leasehold-<driver>           the module that the tool loads for one engine
#
# dpkg-shlibdeps tells the name of a client library's own package.
set(LEASEHOLD_PACKAGER
    "The leasehold authors <leasehold@example.org>"
    CACHE STRING "Who answers for the packages: a name, and a mail address in <>"
)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME leasehold)
set(CPACK_PACKAGE_CONTACT "${LEASEHOLD_PACKAGER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "locks, leases, claims and jobs on the database you have")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Whatever the umask of whoever builds them.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Our own libraries are found where they were built, and named below.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/package_files.cmake")
set(CPACK_LEASEHOLD_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_LEASEHOLD_RELEASED "${LEASEHOLD_RELEASED}")
set(CPACK_COMPONENTS_ALL "")

foreach(name IN ITEMS components drivers soversion soci_drivers)
    get_directory_property(
        ${name} DIRECTORY "${PROJECT_SOURCE_DIR}/src" DEFINITION leasehold_${name}
    )
endforeach()
list(REMOVE_ITEM drivers soci)

set(this "(= ${PROJECT_VERSION})")

# leasehold_package(COMPONENT NAME SECTION DESCRIPTION [DEPENDS …] [RECOMMENDS …] [SUGGESTS …])
macro(leasehold_package component name section description)
    cmake_parse_arguments(part "" "" "DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
    string(TOUPPER "${component}" upper)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${name}")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION "${section}")
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
    foreach(field IN ITEMS DEPENDS RECOMMENDS SUGGESTS)
        list(JOIN part_${field} ", " CPACK_DEBIAN_${upper}_PACKAGE_${field})
    endforeach()
endmacro()

# cpack runs ldconfig when such a package is installed; Debian wants it done once for several.
set(triggers "${PROJECT_BINARY_DIR}/debian/triggers")
file(WRITE "${triggers}" "activate-noawait ldconfig\n")

# All libraries are of one version, since they show each other names that no header declares.
set(all_libraries "")
foreach(component IN LISTS components)
    set(needed core)
    if(component STREQUAL "core")
        set(needed "")
    elseif(component STREQUAL "open")
        list(APPEND needed ${drivers})
    elseif(component STREQUAL "soci")
        list(APPEND needed ${soci_drivers})
    endif()
    list(TRANSFORM needed REPLACE "(.+)" "libleasehold-\\1${soversion} ${this}")
    set(what "This package has the shared library of the driver for ${component}.")
    if(component STREQUAL "core")
        set(what "This package has the shared library that all others stand on.")
    elseif(component STREQUAL "open")
        set(what "This package has the shared library that picks the driver by a URL.")
    elseif(component STREQUAL "soci")
        set(what "This package has the shared library that borrows SOCI sessions.")
    endif()
    leasehold_package(
        lib_${component} libleasehold-${component}${soversion} libs "${what}" DEPENDS ${needed}
    )
    string(TOUPPER "LIB_${component}" upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${triggers}")
    list(APPEND all_libraries "libleasehold-${component}${soversion} ${this}")
endforeach()

leasehold_package(
    dev
    libleasehold-dev
    libdevel
    "This package has the headers, and files for CMake and pkg-config."
    DEPENDS ${all_libraries}
    SUGGESTS libsoci-dev
)

# The smallest driver comes along where nobody says otherwise; the others bring client libraries
# that few need at once.
set(others ${drivers})
list(REMOVE_ITEM others sqlite)
list(TRANSFORM others PREPEND leasehold-)
set(usual "")
if("sqlite" IN_LIST drivers)
    set(usual "leasehold-sqlite ${this}")
endif()
leasehold_package(
    tool
    leasehold
    database
    "This package has the command leasehold. A database needs its driver's package."
    DEPENDS "libleasehold-core${soversion} ${this}"
    RECOMMENDS ${usual}
    SUGGESTS ${others}
)
foreach(driver IN LISTS drivers)
    leasehold_package(
        tool_${driver}
        leasehold-${driver}
        database
        "This package has what the command leasehold needs for ${driver}."
        DEPENDS
            "leasehold ${this}"
            "libleasehold-core${soversion} ${this}"
            "libleasehold-${driver}${soversion} ${this}"
    )
endforeach()

include(CPack)
