# The commit that this tree is of, in `leasehold_commit`: git writes it into commit.txt if it makes
# an archive, and tells it of a checkout. Empty where neither is there. Each commit configures anew.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" leasehold_commit LIMIT_COUNT 1)
if(leasehold_commit MATCHES "^.Format")
    set(leasehold_commit "")
    find_program(leasehold_git git)
    mark_as_advanced(leasehold_git)
    if(leasehold_git AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
        execute_process(
            COMMAND "${leasehold_git}" rev-parse --short HEAD
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
            OUTPUT_VARIABLE leasehold_commit
            OUTPUT_STRIP_TRAILING_WHITESPACE
            ERROR_QUIET
        )
        if(EXISTS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD")
            set_property(
                DIRECTORY
                APPEND
                PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD"
            )
        endif()
    endif()
endif()
