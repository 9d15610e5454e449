# The headers that many files of a target include, parsed once; every file still includes its own.
set(leasehold_common_headers
    <algorithm>
    <array>
    <atomic>
    <chrono>
    <condition_variable>
    <functional>
    <map>
    <memory>
    <mutex>
    <optional>
    <stop_token>
    <string>
    <string_view>
    <thread>
    <variant>
    <vector>
)

# leasehold_precompile(TARGET [HEADER …]): the common headers and these.
function(leasehold_precompile target)
    if(LEASEHOLD_PRECOMPILED_HEADERS)
        target_precompile_headers(${target} PRIVATE ${leasehold_common_headers} ${ARGN})
        leasehold_precompiled_options(${target})
    endif()
endfunction()

# leasehold_precompile_as(OTHER TARGET …): reuses the result of another target of the same flags.
function(leasehold_precompile_as other)
    if(LEASEHOLD_PRECOMPILED_HEADERS)
        foreach(target IN LISTS ARGN)
            target_precompile_headers(${target} REUSE_FROM ${other})
            leasehold_precompiled_options(${target})
        endforeach()
    endif()
endfunction()

# Without this option ccache cannot tell what such a file depends on.
function(leasehold_precompiled_options target)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()
