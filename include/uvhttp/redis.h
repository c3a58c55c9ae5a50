/* Topics of several machines over Redis: what is published on one reaches the subscribers of all
 * that use the same broker.
 *
 *     uvhttp_topics_new(&topics, server, NULL);
 *     uvhttp_redis_carry(topics, server, &(uvhttp_redis_options_t){.host = "broker.example"},
 *     NULL);
 *
 * A library of its own, uvhttp_redis (CMake: uvhttp::redis, pkg-config: uvhttp_redis), which needs
 * hiredis. Two connections are made on the loop of the server's first worker, and made again, after
 * growing pauses, when they break. A message costs one PUBLISH, however many machines and
 * subscribers there are; a machine subscribes at the broker to what its own connections have
 * subscribed to.
 *
 * Redis' publish and subscribe gives what comes, once, to who is there: what is published while a
 * machine's subscribing connection is broken does not reach it, and what was on its way to the
 * broker when the publishing one broke may be lost. What was not on its way yet waits. When the
 * server is freed, what was published last goes out first: uvhttp_server_free waits for a broker
 * that is there as long as it answers, at most five seconds, or one without an answer (with a loop
 * of the caller, its last callback does); looking up the name of the broker holds up nobody. What
 * is lost is counted, and told in the log at most once a second. */
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
    const char *path;     /* of a unix socket, instead of host and port; NULL: none */
    const char *user;     /* of Redis' access control lists; NULL: the default one */
    const char *password; /* NULL: none is sent */
    const char *prefix;   /* of channels, before the topic; NULL: "uvhttp:" */
    size_t
        /* bytes of messages that may wait for a broker that is away, and of one message; four times
         * as much when it is there, for bursts. Beyond that the oldest are dropped. 0: 4 MiB */
        max_queue_size;
    /* seconds until a silent broker is asked; who does not answer until the next time is gone. 0:
     * 15 */
    int ping_interval;
    int max_delay;                       /* seconds between attempts to connect, at most; 0: 10 */
    const uvhttp_allocator_t *allocator; /* NULL: the C library's. Must outlive the server */
} uvhttp_redis_options_t;

/* Carries the topics' messages over a broker, as their adapter, until the server is freed. It need
 * not be there yet; what becomes of the connections is told in the server's log. Before the server
 * listens. `redis` may be NULL. Errors: UVHTTP_EINVAL (there is an adapter already, a value out of
 * range), UVHTTP_EFROZEN (the server listens), UVHTTP_ENOMEM, libuv's. */
UVHTTP_EXPORT int uvhttp_redis_carry(uvhttp_topics_t *topics, uvhttp_server_t *server,
                                     const uvhttp_redis_options_t *options, uvhttp_redis_t **redis);

/* What has gone over a broker. */
typedef struct uvhttp_redis_stats {
    bool connected;     /* both connections are ready */
    uint64_t published; /* messages that the broker has taken */
    uint64_t received;  /* messages of other machines */
    uint64_t
        /* messages that waited too long, were too large, refused, or on their way when the
         * connection broke */
        dropped;
    uint64_t waiting;  /* bytes of messages that wait now */
    uint64_t attempts; /* to connect, of both connections */
} uvhttp_redis_stats_t;

/* Any thread, until the server is freed. */
UVHTTP_EXPORT void uvhttp_redis_read_stats(uvhttp_redis_t *redis, uvhttp_redis_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
