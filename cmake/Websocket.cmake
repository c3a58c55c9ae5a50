# WebSocket and topics are optional. Without them their headers are still installed, so that
# `#include <uvhttp.h>` always works, but their functions are missing.

option(BUILD_WITH_WEBSOCKET "WebSocket and topics" ON)

if(NOT BUILD_WITH_WEBSOCKET)
    set(BUILD_WITH_REDIS OFF) # topics over Redis
endif()

# uvhttp_without_websocket(<list>...): in a build without WebSocket, removes files that include one
# of its headers from these lists: its sources, and examples, benchmarks and tests that use it.
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
