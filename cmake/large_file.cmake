# Writes examples/site/large.txt, the 1 MiB file that the sample site offers for downloads:
#
#   cmake -D FILE=<path> -P large_file.cmake
#
# It has 16,384 lines of 64 bytes, which begin with their offset. It is written with a temporary
# name and then renamed, so that concurrent builds of one checkout do not interfere.
set(lines 16384)
set(dots "...............................................................")
string(RANDOM suffix)
set(temporary "${FILE}.${suffix}")

execute_process(COMMAND ${CMAKE_COMMAND} -E touch ${temporary} RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
    message(STATUS "${FILE} is not written: its directory is read-only")
    return()
endif()

foreach(first RANGE 0 16320 64)
    set(text "")
    math(EXPR last "${first} + 63")
    foreach(index RANGE ${first} ${last})
        math(EXPR offset "10000000000 + ${index} * 64")
        string(SUBSTRING ${offset} 1 10 offset)
        math(EXPR number "${index} + 1")
        set(line "${offset} line ${number} of ${lines}, the sample site's large file${dots}")
        string(SUBSTRING "${line}" 0 63 line)
        string(APPEND text "${line}\n")
    endforeach()
    file(APPEND ${temporary} "${text}")
endforeach()
file(RENAME ${temporary} ${FILE})
