/* Topics: who has subscribed gets what is published, on all workers and, with an adapter, on all
 * machines.
 *
 *     uvhttp_topics_new(&topics, server, NULL);
 *     uvhttp_websocket_subscribe(ws, topics, "room/7");                                  in `open`
 *     uvhttp_websocket_publish(ws, topics, "room/7", UVHTTP_WEBSOCKET_TEXT, data, size); in
 *     `message`
 *
 * A topic is a text of levels separated by '/': "room/7/typing". A subscription may be a pattern:
 * '+' stands for exactly one level, '#' at the end for any number of levels, none too
 * ("room/+/typing", "room/#"). What is published has neither.
 *
 * A message is framed, and compressed, once; it leaves at the end of the loop turn, together with
 * everything else that was published in it, by one system call for each subscriber. Who has several
 * subscriptions that fit gets it once. Messages of one publisher come in order; a connection's
 * queue and `slow` (uvhttp/websocket.h) hold for them. A subscriber that has to wait when its
 * endpoint's `memory` is used up misses the message, which counts as dropped; where `slow` is CLOSE
 * it is closed with TRY_AGAIN_LATER. Nobody else notices. A connection in the middle of a streamed
 * message (uvhttp_websocket_send_piece) misses what is published meanwhile; that counts as dropped.
 * What connections publish takes no lock for each message, but one in a loop turn for each worker;
 * what other threads publish takes one more for each. */
#ifndef UVHTTP_TOPICS_H
#define UVHTTP_TOPICS_H

#include <uvhttp/websocket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The topics of a server. */
typedef struct uvhttp_topics uvhttp_topics_t;

/* Zeros are the defaults. */
typedef struct uvhttp_topics_options {
    size_t max_topic_size;    /* bytes of a topic or pattern; 0: 255 */
    size_t max_subscriptions; /* of one connection; 0: 64 */
    size_t
        /* bytes of messages on their way to all workers; 0: 64 MiB. What waits for a slow peer is
         * in the memory of its endpoint instead, once for all who wait for it */
        memory;
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the server */
} uvhttp_topics_options_t;

/* Topics, which go with the server. Before the server listens. `options` NULL: the defaults.
 * Errors, with `*topics` NULL: UVHTTP_EFROZEN (it listens), UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_topics_new(uvhttp_topics_t **topics, uvhttp_server_t *server,
                                    const uvhttp_topics_options_t *options);

/* Subscribes a connection until it unsubscribes or ends; twice is once. On the connection's thread,
 * as all functions that take one. Errors: UVHTTP_EINVAL (no pattern, too long, a connection of
 * another server, a client's), UVHTTP_EFULL (max_subscriptions), UVHTTP_EGONE (closing),
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_websocket_subscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                             const char *pattern);

/* Ends a subscription. Errors: UVHTTP_EINVAL (there is none). */
UVHTTP_EXPORT int uvhttp_websocket_unsubscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                               const char *pattern);

/* Publishes to all subscribers but `ws` itself. Errors: UVHTTP_EINVAL (no topic, a text that is no
 * UTF-8), UVHTTP_ESTOPPED, UVHTTP_ENOMEM (or options.memory is used up: workers do not keep up);
 * then nobody has got it, other machines neither. Should memory run out later, on the way to
 * another worker, its subscribers miss what was published in that turn, with a line in the log. */
UVHTTP_EXPORT int uvhttp_websocket_publish(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                           const char *topic, uvhttp_websocket_kind_t kind,
                                           const void *data, size_t size);

/* Publishes to all subscribers. Any thread, when the server listens. Errors as above, and those of
 * uvhttp_server_post. */
UVHTTP_EXPORT int uvhttp_topics_publish(uvhttp_topics_t *topics, const char *topic,
                                        uvhttp_websocket_kind_t kind, const void *data,
                                        size_t size);

/* Presence: connections that have subscribed to exactly this topic or pattern, on all workers of
 * this machine. Any thread. */
UVHTTP_EXPORT size_t uvhttp_topics_count(uvhttp_topics_t *topics, const char *pattern);

/* Told on the thread of the worker when the number of subscribers of a pattern on this machine
 * changes, for presence lists; `count` is the new one. Those of several workers may run at once,
 * and the one with the higher count before the other: uvhttp_topics_count says what is true at that
 * moment. At most one; NULL takes it away. Before the server listens. */
typedef void (*uvhttp_topics_presence_cb)(uvhttp_topics_t *topics, const char *pattern,
                                          size_t count, void *arg);
UVHTTP_EXPORT void uvhttp_topics_on_presence(uvhttp_topics_t *topics,
                                             uvhttp_topics_presence_cb presence, void *arg);

/* ---- Several machines ---- */

/* What carries messages to other machines, usually a broker. Its functions are called on the thread
 * of any worker, or that of uvhttp_topics_publish, and may not block. */
typedef struct uvhttp_topics_adapter {
    /* A message was published here: once for each, however many subscribe. 0, or a negative code
     * for the log; it was delivered on this machine all the same. */
    int (*publish)(void *adapter, const char *topic, uvhttp_websocket_kind_t kind, const void *data,
                   size_t size);
    /* The first subscription of a pattern on this machine has come, the last one has gone: told
     * under a lock, so it calls no function of topics. NULL: not needed. */
    void (*subscribe)(void *adapter, const char *pattern);
    void (*unsubscribe)(void *adapter, const char *pattern);
    /* The topics end. NULL: nothing. */
    void (*release)(void *adapter);
} uvhttp_topics_adapter_t;

/* Has messages carried. `*functions` is copied. Before the server listens. Errors: UVHTTP_EINVAL
 * (no publish, there is one already), UVHTTP_EFROZEN (it listens). */
UVHTTP_EXPORT int uvhttp_topics_set_adapter(uvhttp_topics_t *topics,
                                            const uvhttp_topics_adapter_t *functions,
                                            void *adapter);

/* A message has come from another machine: delivered to the subscribers of this one, and not
 * carried on. Any thread. Errors as for uvhttp_topics_publish. */
UVHTTP_EXPORT int uvhttp_topics_deliver(uvhttp_topics_t *topics, const char *topic,
                                        uvhttp_websocket_kind_t kind, const void *data,
                                        size_t size);

#ifdef __cplusplus
}
#endif

#endif
