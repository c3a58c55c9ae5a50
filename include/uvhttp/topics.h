/* Topics: publish and subscribe for WebSocket connections, on all workers and, with an adapter, on
 * all machines.
 *
 *     uvhttp_topics_new(&topics, server, NULL, NULL);
 *     uvhttp_websocket_subscribe(ws, topics, "room/7"); // in `open`
 *     uvhttp_websocket_publish(ws, topics, "room/7", UVHTTP_WEBSOCKET_TEXT, data, size);
 *
 * A topic consists of levels separated by '/': "room/7/typing". A subscription may be a pattern:
 * '+' matches exactly one level, '#' at the end any number of levels, including none
 * ("room/+/typing", "room/#"). Published topics contain neither.
 *
 * A message is framed and compressed once. It is sent at the end of the loop iteration, with one
 * system call per subscriber for all messages of that iteration. A connection with several matching
 * subscriptions gets it once. Messages of one publisher stay in order. The queue limits and `slow`
 * of a connection apply (uvhttp/websocket.h). If a message must be queued when its endpoint's
 * `memory` is exhausted, that subscriber misses it and it counts as dropped; with SLOW_CLOSE the
 * connection is closed with TRY_AGAIN_LATER. Other subscribers are not affected. A connection
 * within a streamed message (uvhttp_websocket_send_fragment) misses messages published meanwhile,
 * which count as dropped.
 *
 * Publishing from connections takes one lock per loop iteration and worker; from other threads
 * one more per message. */
#ifndef UVHTTP_TOPICS_H
#define UVHTTP_TOPICS_H

#include <uvhttp/error.h>
#include <uvhttp/websocket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The topics of a server. */
typedef struct uvhttp_topics uvhttp_topics_t;

/* Options of topics. Zeros are the defaults. */
typedef struct uvhttp_topics_options {
    size_t max_topic_size;    /* bytes of a topic or pattern; 0: 255 */
    size_t max_subscriptions; /* per connection; 0: 64 */
    /* Bytes of messages in transit to all workers; 0: 64 MiB. Messages queued for slow peers
     * count in the memory of their endpoint instead, once for all peers. */
    size_t memory;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the server */
} uvhttp_topics_options_t;

/* Creates topics, which the server owns. Before the server listens. `options` NULL: the defaults.
 * Returns 0, or with `*topics` NULL
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_topics_new(uvhttp_topics_t **topics, uvhttp_server_t *server,
                                    const uvhttp_topics_options_t *options, uvhttp_error_t *error);

/* Subscribes a connection until it unsubscribes or ends; a repeated subscription has no effect. On
 * the connection's thread, as all functions that take one.
 * Returns 0, or
 *   UVHTTP_EINVAL         no pattern, too long, a connection of another server, or a client
 *                         connection
 *   UVHTTP_EFULL          max_subscriptions
 *   UVHTTP_EDISCONNECTED  closing
 *   UVHTTP_ENOMEM         out of memory */
UVHTTP_EXPORT int uvhttp_websocket_subscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                             const char *pattern);

/* Ends a subscription.
 * Returns 0, or
 *   UVHTTP_EINVAL  not subscribed */
UVHTTP_EXPORT int uvhttp_websocket_unsubscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                               const char *pattern);

/* Publishes to all subscribers except `ws`. After an error no subscriber gets the message, on other
 * machines neither. If memory is exhausted later, in transit to another worker, its subscribers
 * miss the messages of that loop iteration, with a line in the log.
 * Returns 0, or
 *   UVHTTP_EINVAL    no topic, or a text that is not UTF-8
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory, or options.memory is exhausted because workers are too slow */
UVHTTP_EXPORT int uvhttp_websocket_publish(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                           const char *topic, uvhttp_websocket_kind_t kind,
                                           const void *data, size_t size);

/* Publishes to all subscribers. Any thread, after the server listens. Calls on several threads are
 * delivered in order if a lock or the like orders them. Errors as above, and those of
 * uvhttp_server_post. */
UVHTTP_EXPORT int uvhttp_topics_publish(uvhttp_topics_t *topics, const char *topic,
                                        uvhttp_websocket_kind_t kind, const void *data,
                                        size_t size);

/* Number of connections subscribed to exactly this topic or pattern, on all workers of this
 * machine. Any thread. */
UVHTTP_EXPORT size_t uvhttp_topics_count(uvhttp_topics_t *topics, const char *pattern);

/* Sets the callback for changes of the number of subscribers of a pattern on this machine, for
 * presence lists; `count` is the new number. It runs on the worker's thread. Callbacks of
 * several workers may run concurrently and out of order; uvhttp_topics_count returns the current
 * number. A second call replaces the first; NULL removes it. Before the server listens, so not in a
 * reload: later it has no effect, which is logged. */
typedef void (*uvhttp_topics_presence_cb)(uvhttp_topics_t *topics, const char *pattern,
                                          size_t count, void *arg);
UVHTTP_EXPORT void uvhttp_topics_on_presence(uvhttp_topics_t *topics,
                                             uvhttp_topics_presence_cb presence, void *arg);

/* ---- Several machines ---- */

/* Transport of messages to other machines, usually a broker. Its functions are called on the
 * thread of any worker, or of uvhttp_topics_publish, and must not block. */
typedef struct uvhttp_topics_adapter {
    /* A message was published on this machine: once per message, for any number of subscribers.
     * Returns 0, or a negative code for the log; the message was delivered on this machine in
     * both cases. */
    int (*publish)(void *adapter, const char *topic, uvhttp_websocket_kind_t kind, const void *data,
                   size_t size);
    /* The first subscription of a pattern on this machine was added, or the last one removed.
     * Called under a lock, so it must not call functions of topics. NULL: not needed. */
    void (*subscribe)(void *adapter, const char *pattern);
    void (*unsubscribe)(void *adapter, const char *pattern);
    /* The topics are freed. NULL: nothing. */
    void (*release)(void *adapter);
} uvhttp_topics_adapter_t;

/* Sets the adapter. `*functions` is copied. Before the server listens, so not in a reload, which
 * topics outlive.
 * Returns 0, or
 *   UVHTTP_EINVAL   no publish, or an adapter is set already
 *   UVHTTP_EFROZEN  the server listens already */
UVHTTP_EXPORT int uvhttp_topics_set_adapter(uvhttp_topics_t *topics,
                                            const uvhttp_topics_adapter_t *functions,
                                            void *adapter);

/* Delivers a message of another machine to the subscribers of this one, without publishing it
 * again. Any thread. Errors as for uvhttp_topics_publish. */
UVHTTP_EXPORT int uvhttp_topics_deliver(uvhttp_topics_t *topics, const char *topic,
                                        uvhttp_websocket_kind_t kind, const void *data,
                                        size_t size);

#ifdef __cplusplus
}
#endif

#endif
