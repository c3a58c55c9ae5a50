/* Event hub: publishes server-sent events to all subscribed streams.
 *
 *     static int follow(uvhttp_request_t *req, uvhttp_response_t *res, void *hub)
 *     {
 *         return uvhttp_event_hub_subscribe(hub, res);
 *     }
 *
 * and anywhere on the loop thread:
 *
 *     uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {"hello", 5}});
 *
 * An event is encoded once. A client that reads too slowly (more than `write_backlog` bytes queued)
 * is dropped: its stream ends, and the browser reconnects with its Last-Event-ID. If events must
 * not be missed, give them IDs; after subscribe the handler sends the missed ones. Idle streams get
 * a heartbeat (`event_heartbeat`), which detects disconnected clients.
 *
 * A hub belongs to one loop: its thread calls all functions, and only responses of that loop can
 * subscribe. With several workers create one hub per worker. */
#ifndef UVHTTP_EVENT_HUB_H
#define UVHTTP_EVENT_HUB_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of event streams that get the same events. */
typedef struct uvhttp_event_hub uvhttp_event_hub_t;

/* Creates a hub without subscribers; `allocator` NULL means the system's. Returns NULL when out
 * of memory. */
UVHTTP_EXPORT uvhttp_event_hub_t *uvhttp_event_hub_new(const uvhttp_allocator_t *allocator);

/* Ends all streams and frees the hub; NULL does nothing. Not from a callback that runs during
 * publishing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_event_hub_free(void *hub);

/* Makes the response an event stream (uvhttp_response_begin_events, unless already called) that
 * gets all events published from now on, until its client disconnects, uvhttp_response_end is
 * called for it, or it is dropped. Other events may be sent to it individually. HEAD gets the head
 * of the stream: its events are discarded, and the server ends it in the next loop iteration.
 * Errors as for uvhttp_response_begin_events; UVHTTP_EINVAL also if it is subscribed to a hub or
 * its handler is blocking (UVHTTP_ROUTE_BLOCKING). */
UVHTTP_EXPORT int uvhttp_event_hub_subscribe(uvhttp_event_hub_t *hub, uvhttp_response_t *response);

/* Sends an event to all streams. If called in an abort callback that runs during publishing, some
 * streams get the second event first.
 * Returns 0, or with nothing sent
 *   UVHTTP_EINVAL  a line end in id or type
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_event_hub_publish(uvhttp_event_hub_t *hub,
                                           const uvhttp_sse_event_t *event);

/* Ends all streams. A stopping server does this itself. */
UVHTTP_EXPORT void uvhttp_event_hub_end(uvhttp_event_hub_t *hub);

/* Number of current streams, and number of streams dropped so far. */
UVHTTP_EXPORT size_t uvhttp_event_hub_count(const uvhttp_event_hub_t *hub);
UVHTTP_EXPORT uint64_t uvhttp_event_hub_dropped(const uvhttp_event_hub_t *hub);

#ifdef __cplusplus
}
#endif

#endif
