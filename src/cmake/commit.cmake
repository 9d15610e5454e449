# Sets `leasehold_commit` to the first 12 digits of the commit of this tree. `git archive` writes
# the commit into commit.txt; in a checkout git is asked, after each commit again. Without either,
# the variable stays empty. It says nothing of changes that are not committed.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/commit.txt" leasehold_commit LIMIT_COUNT 1)
if(leasehold_commit MATCHES "^.Format")
    set(leasehold_commit "")
    find_program(leasehold_git git)
    mark_as_advanced(leasehold_git)
    if(leasehold_git AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
        execute_process(
            COMMAND
                "${CMAKE_COMMAND}" -E env --unset=GIT_DIR --unset=GIT_WORK_TREE
                "${leasehold_git}" rev-parse HEAD --git-path logs/HEAD
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
            OUTPUT_VARIABLE answer
            OUTPUT_STRIP_TRAILING_WHITESPACE
            ERROR_QUIET
        )
        if(answer MATCHES "^([0-9a-f]+)\n(.+)$")
            set(leasehold_commit "${CMAKE_MATCH_1}")
            file(REAL_PATH "${CMAKE_MATCH_2}" log BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
            if(EXISTS "${log}")
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
            endif()
        endif()
    endif()
endif()
if(leasehold_commit)
    string(SUBSTRING "${leasehold_commit}" 0 12 leasehold_commit)
endif()
