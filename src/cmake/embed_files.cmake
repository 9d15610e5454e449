# leasehold_embed_files(FOLDER OUTPUT NAME ...): each file of these names as one literal, in
# OUTPUT/<name with _ for .>.inc: made when the build is configured, by no generator program.
function(leasehold_embed_files folder output)
    foreach(name IN LISTS ARGN)
        set(path "${folder}/${name}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        file(READ "${path}" text)
        string(REPLACE "." "_" made "${name}")
        # The text is not expanded: it is put in after all else was replaced.
        file(CONFIGURE OUTPUT "${output}/${made}.inc" CONTENT "R\"page(\${text})page\"")
    endforeach()
endfunction()
