# The port of packaging/vcpkg, as far as it can be tried without vcpkg: what it configures is
# configured, every option is one of the project, and its version is the project's.
#
#   cmake -DSOURCE=TREE -DWORK=FOLDER -P vcpkg.cmake
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PORT_DIR "${SOURCE}/packaging/vcpkg/leasehold")
set(CURRENT_PACKAGES_DIR "${WORK}/packages")

function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 asked "" "OUT_FEATURE_OPTIONS" "FEATURES")
    set(options "")
    while(asked_FEATURES)
        list(POP_FRONT asked_FEATURES feature option)
        list(APPEND options "-D${option}=ON")
    endwhile()
    set(${asked_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 asked "" "SOURCE_PATH" "OPTIONS")
    file(REMOVE_RECURSE "${WORK}/build")
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -S "${asked_SOURCE_PATH}" -B "${WORK}/build" ${asked_OPTIONS}
        OUTPUT_QUIET
        ERROR_VARIABLE said
        COMMAND_ERROR_IS_FATAL ANY
    )
    if(said MATCHES "not used by the project")
        message(FATAL_ERROR "${said}")
    endif()
endfunction()
function(vcpkg_cmake_install)
    file(READ "${WORK}/build/cmake_install.cmake" rules)
    if(NOT rules MATCHES "src/cmake_install.cmake")
        message(FATAL_ERROR "the port installs nothing")
    endif()
endfunction()
function(vcpkg_cmake_config_fixup)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 asked "" "" "FILE_LIST")
    file(SIZE "${asked_FILE_LIST}" size)
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")
file(READ "${CURRENT_PORT_DIR}/vcpkg.json" port)
string(JSON version GET "${port}" version)
load_cache("${WORK}/build" READ_WITH_PREFIX of_ CMAKE_PROJECT_VERSION)
if(NOT version STREQUAL of_CMAKE_PROJECT_VERSION)
    message(FATAL_ERROR "vcpkg.json says ${version}, the project ${of_CMAKE_PROJECT_VERSION}")
endif()
