/* Topics of several machines over Redis: messages published on one machine reach the subscribers of
 * all machines that use the same broker.
 *
 *     uvhttp_topics_new(&topics, server, NULL, NULL);
 *     uvhttp_redis_options_t options = {.host = "broker.example"};
 *     uvhttp_redis_new(&redis, topics, server, &options, NULL);
 *
 * A separate library, uvhttp_redis (CMake: uvhttp::redis, pkg-config: uvhttp_redis), which needs
 * hiredis. It opens two connections on the loop of the server's first worker, and reconnects with
 * increasing delays. A message costs one PUBLISH, for any number of machines and subscribers. A
 * machine subscribes at the broker only to the patterns of its own connections.
 *
 * Redis delivers at most once: a machine misses messages published while its subscribing connection
 * is down, and messages in transit when the publishing connection breaks may be lost. Messages not
 * yet sent are queued.
 *
 * When the server is freed, queued messages are sent first: uvhttp_server_free (with a loop of
 * the caller, its last callback) waits for a connected broker that responds, at most five
 * seconds, or one without a response. A pending name lookup does not delay it. Lost messages are
 * counted, and logged at most once per second. */
#ifndef UVHTTP_REDIS_H
#define UVHTTP_REDIS_H

#include <uvhttp/topics.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The connections of a server to a broker. */
typedef struct uvhttp_redis uvhttp_redis_t;

/* Zeros are the defaults. Strings are copied. */
typedef struct uvhttp_redis_options {
    const char *host;     /* name or address; NULL: 127.0.0.1 */
    int port;             /* 0: 6379 */
    const char *path;     /* of a Unix socket, instead of host and port; NULL: none */
    const char *user;     /* of Redis ACLs; NULL: the default user */
    const char *password; /* NULL: not sent */
    const char *prefix;   /* prefix of channel names; NULL: "uvhttp:" */
    /* Bytes of messages queued while disconnected, and of one message; four times as much while
     * connected, for bursts. Above that the oldest are dropped. 0: 4 MiB. */
    size_t max_queue_size;
    /* Milliseconds of silence until a ping, at most 86,400,000; a broker that does not reply until
     * the next one is disconnected. 0: 15,000. */
    uint32_t ping_interval_ms;
    /* Maximal delay between connection attempts, in milliseconds, at most 86,400,000; 0: 10,000. */
    uint32_t max_delay_ms;
    const uvhttp_allocator_t *allocator; /* NULL: the default. Must outlive the server */
} uvhttp_redis_options_t;

/* Sets a Redis adapter for the topics, until the server is freed. The broker need not be available
 * yet; connection events are logged. Before the server listens, so not in a reload.
 * Returns 0, or with `*redis` NULL
 *   UVHTTP_ECONFIG  a value is out of range: `error` says which
 *   UVHTTP_EINVAL   an adapter is set already
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           errors of libuv */
UVHTTP_EXPORT int uvhttp_redis_new(uvhttp_redis_t **redis, uvhttp_topics_t *topics,
                                   uvhttp_server_t *server, const uvhttp_redis_options_t *options,
                                   uvhttp_error_t *error);

/* Statistics of a Redis adapter. */
typedef struct uvhttp_redis_stats {
    bool connected;     /* both connections are ready */
    uint64_t published; /* messages accepted by the broker */
    uint64_t received;  /* messages from other machines */
    /* Messages queued too long, too large, rejected, or in transit when the connection broke. */
    uint64_t dropped;
    uint64_t waiting;  /* bytes of messages queued now */
    uint64_t attempts; /* connection attempts, of both connections */
} uvhttp_redis_stats_t;

/* Reads the statistics. Any thread, until the server is freed. */
UVHTTP_EXPORT void uvhttp_redis_read_stats(uvhttp_redis_t *redis, uvhttp_redis_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
