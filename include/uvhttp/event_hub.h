/* One source of events, many browsers: what is published goes to all streams of server-sent events
 * that have subscribed.
 *
 *     static int listen(uvhttp_request_t *req, uvhttp_response_t *res, void *hub)
 *     {
 *         return uvhttp_event_hub_subscribe(hub, res);
 *     }
 *
 * and anywhere on the loop's thread:
 *
 *     uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {"hello", 5}});
 *
 * An event is encoded once. A client that reads too slowly (more than `write_backlog` bytes wait
 * for it) is dropped: its stream ends, and a browser connects again with the Last-Event-ID it has,
 * so events that must not be missed have ids and are sent from there by the handler, behind
 * subscribe. Idle streams get a heartbeat (`event_heartbeat`), so clients that have gone do not
 * stay.
 *
 * A hub belongs to one loop: its thread calls all functions, and only responses of that loop
 * subscribe. With several workers have a hub for each. */
#ifndef UVHTTP_EVENT_HUB_H
#define UVHTTP_EVENT_HUB_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams of events that get the same events. */
typedef struct uvhttp_event_hub uvhttp_event_hub_t;

/* A hub without subscribers; `allocator` NULL means the system's. NULL when memory ran out. */
UVHTTP_EXPORT uvhttp_event_hub_t *uvhttp_event_hub_new(const uvhttp_allocator_t *allocator);

/* Ends all streams and frees the hub; NULL is fine. Not from a callback that publishing has called.
 * A hub may be handed to uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_event_hub_free(void *hub);

/* Makes the response a stream of events (uvhttp_response_begin_events, unless that was called) that
 * gets all that is published from now on, until its client goes, uvhttp_response_end is called for
 * it, or it is dropped. More events may be sent to it alone. The stream of a HEAD request ends at
 * once. Errors as for uvhttp_response_begin_events; UVHTTP_EINVAL when it has subscribed to a hub
 * already or its handler blocks (UVHTTP_ROUTE_BLOCKING). */
UVHTTP_EXPORT int uvhttp_event_hub_subscribe(uvhttp_event_hub_t *hub, uvhttp_response_t *response);

/* Sends an event to all streams. May be called in an abort callback that publishing has called:
 * then some get the second event first. Errors: UVHTTP_EINVAL (a line end in id or type),
 * UVHTTP_ENOMEM; then nobody has got it. */
UVHTTP_EXPORT int uvhttp_event_hub_publish(uvhttp_event_hub_t *hub,
                                           const uvhttp_sse_event_t *event);

/* Ends all streams. A server that stops does so by itself. */
UVHTTP_EXPORT void uvhttp_event_hub_end(uvhttp_event_hub_t *hub);

/* Streams of the moment, and how many have been dropped so far. */
UVHTTP_EXPORT size_t uvhttp_event_hub_count(const uvhttp_event_hub_t *hub);
UVHTTP_EXPORT uint64_t uvhttp_event_hub_dropped(const uvhttp_event_hub_t *hub);

#ifdef __cplusplus
}
#endif

#endif
