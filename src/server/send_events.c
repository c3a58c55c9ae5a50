/* Server-sent events over a streamed body: each event is one chunk, so it arrives as soon as it is
 * sent. */
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "server/exchange.h"
#include "server/server.h"

enum { USUAL_EVENT = 1024 }; /* events up to this size are built on the stack */

int uvhttp_response_begin_events(uvhttp_response_t *response)
{
    int err = uvhttp_response_set_header(response, "Cache-Control", "no-store");
    if (err != 0)
        return err;
    /* before the head is sent, because that sets the connection's timeout */
    response->heartbeat = true;
    err = uvhttp_response_begin(response, 200, "text/event-stream", UVHTTP_LENGTH_UNKNOWN);
    if (err != 0)
        response->heartbeat = false;
    return err;
}

int uvhttp_response_send_event(uvhttp_response_t *response, const uvhttp_sse_event_t *event)
{
    const uvhttp_allocator_t *allocator =
        uvh_exchange_of_response(response)->worker->server->allocator;
    char usual[USUAL_EVENT];
    if (event == NULL)
        return UVHTTP_EINVAL;
    ptrdiff_t size = uvhttp_sse_encode(event, usual, sizeof(usual));
    if (size < 0)
        return UVHTTP_EINVAL;
    if ((size_t)size <= sizeof(usual))
        return uvhttp_response_write(response, usual, (size_t)size);
    char *large = uvh_alloc(allocator, (size_t)size);
    if (large == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_sse_encode(event, large, (size_t)size);
    int err = uvhttp_response_write(response, large, (size_t)size);
    uvh_free(allocator, large);
    return err;
}
