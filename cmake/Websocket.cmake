# WebSocket and topics, which can be left out: their headers stay, so that `#include <uvhttp.h>` is
# the same everywhere, and their functions are not there.

option(BUILD_WITH_WEBSOCKET "WebSocket and topics" ON)

if(NOT BUILD_WITH_WEBSOCKET)
    set(BUILD_WITH_REDIS OFF) # topics over Redis
endif()

# uvhttp_without_websocket(<list>...): leaves out of these lists of files what is WebSocket's, in a
# build without it. That is what includes one of its headers: its own sources, and examples,
# benchmarks and tests that use them.
function(uvhttp_without_websocket)
    if(BUILD_WITH_WEBSOCKET)
        return()
    endif()
    set(headers "uvhttp/(websocket|topics|redis)\\.h|(codec/)?websocket/|support/ws_")
    foreach(list ${ARGN})
        set(kept "")
        foreach(source ${${list}})
            file(STRINGS ${source} uses REGEX "^#include [<\"](${headers})")
            if(NOT uses)
                list(APPEND kept ${source})
            endif()
        endforeach()
        set(${list} ${kept} PARENT_SCOPE)
    endforeach()
endfunction()
