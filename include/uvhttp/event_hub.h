/* Event hub: publishes server-sent events to all subscribed streams, on all workers.
 *
 *     uvhttp_server_route(server, "GET", "/news", uvhttp_event_hub_handle_request, hub);
 *
 * and on any thread:
 *
 *     uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {"hello", 5}});
 *
 * An event is encoded once. Streams get it in the next loop iteration of their worker, all in the
 * order of publishing. A client that reads too slowly (more than `write_backlog` bytes queued) is
 * dropped: its stream ends, and the browser reconnects with its Last-Event-ID. If events must not
 * be missed, set `keep`: the hub then numbers events, and a client that reconnects gets those it
 * has missed. Idle streams get a heartbeat (`event_heartbeat`), which detects disconnected clients.
 */
#ifndef UVHTTP_EVENT_HUB_H
#define UVHTTP_EVENT_HUB_H

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of event streams that get the same events. */
typedef struct uvhttp_event_hub uvhttp_event_hub_t;

/* Options of an event hub. Zeros are the defaults. */
typedef struct uvhttp_event_hub_options {
    /* Events kept for clients that reconnect, 0 to 1,000,000; each takes its encoded size and about
     * 100 bytes. 0: none are kept, and the application may set ids itself. */
    size_t keep;
    /* Thread-safe; NULL: the built-in one. Must outlive the hub. */
    const uvhttp_allocator_t *allocator;
} uvhttp_event_hub_options_t;

/* Creates a hub without subscribers. Any thread. `options` NULL: the defaults. The hub is not bound
 * to a server, and is freed with uvhttp_event_hub_free.
 * Returns 0, or with `*hub` NULL
 *   UVHTTP_ECONFIG  keep out of range
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_event_hub_new(uvhttp_event_hub_t **hub,
                                       const uvhttp_event_hub_options_t *options,
                                       uvhttp_error_t *error);

/* Ends all streams as uvhttp_event_hub_end, and frees the hub when the last one has ended. Without
 * memory to tell a worker its streams last until their clients or the server end them. Any thread;
 * `hub` is invalid after this call. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_event_hub_free(void *hub);

/* Makes the response an event stream (uvhttp_response_begin_events, unless already called) that
 * gets all events published from now on, until its client disconnects, uvhttp_response_end is
 * called for it, or it is dropped. On the request's thread. Other events may be sent to it
 * individually. HEAD gets the head of the stream: its events are discarded, and the server ends it
 * in the next loop iteration.
 *
 * With `keep`, a request with Last-Event-ID first gets the kept events after that one; if it is
 * not one of this hub or no longer kept, all kept events. If they exceed `write_backlog`, the
 * client gets the first ones, is dropped, and gets the others when it reconnects.
 *
 * Errors as for uvhttp_response_begin_events; UVHTTP_EINVAL also if it is subscribed to a hub or
 * its handler is blocking (UVHTTP_ROUTE_BLOCKING). */
UVHTTP_EXPORT int uvhttp_event_hub_subscribe(uvhttp_event_hub_t *hub, uvhttp_response_t *response);

/* A handler that subscribes the response; `hub` is the uvhttp_event_hub_t. */
UVHTTP_EXPORT int uvhttp_event_hub_handle_request(uvhttp_request_t *request,
                                                  uvhttp_response_t *response, void *hub);

/* Sends an event to all streams. Any thread, until the servers of its streams are freed.
 * Returns 0, or with nothing sent
 *   UVHTTP_EINVAL  a line end in id or type; an id although the hub has `keep`
 *   UVHTTP_EFULL   65,536 events are pending because a worker is blocked
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_event_hub_publish(uvhttp_event_hub_t *hub,
                                           const uvhttp_sse_event_t *event);

/* Ends all streams, after the events published so far. Any thread. A stopping server does this
 * itself. Without memory to tell a worker, which is logged, its streams end with the next call of
 * this function or of uvhttp_event_hub_publish. */
UVHTTP_EXPORT void uvhttp_event_hub_end(uvhttp_event_hub_t *hub);

/* Number of current streams, and number of streams dropped so far. Any thread. */
UVHTTP_EXPORT size_t uvhttp_event_hub_count(uvhttp_event_hub_t *hub);
UVHTTP_EXPORT uint64_t uvhttp_event_hub_dropped(uvhttp_event_hub_t *hub);

#ifdef __cplusplus
}
#endif

#endif
