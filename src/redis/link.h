/* A connection to the broker that reconnects whenever it breaks, and the commands it queues. Used
 * by publishing.c and subscribing.c through callbacks; knows neither of them.
 *
 * hiredis provides the protocol and the socket, without blocking; libuv polls the socket. Handles
 * do not keep the loop alive. Only the loop's thread uses a connection. */
#ifndef UVH_REDIS_LINK_H
#define UVH_REDIS_LINK_H

#include <stdatomic.h>
#include <stdbool.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include <uvhttp/server.h>

#include "base/counter.h"
#include "base/list.h"
#include "net/lookup.h"

/* ---- outbox.c ---- */

/* A message: its channel, then its data. Or another command that awaits its reply: its argument, or
 * nothing for a command of link.c. */
struct uvh_redis_parcel {
    struct uvh_list link;
    enum uvh_redis_command {
        UVH_REDIS_MESSAGE = 0,
        UVH_REDIS_SUBSCRIBE,
        UVH_REDIS_UNSUBSCRIBE,
        UVH_REDIS_LINK, /* AUTH or PING */
    } command;
    bool glob;      /* of UVH_REDIS_SUBSCRIBE */
    size_t channel; /* its length */
    size_t size;    /* of channel and data */
    char bytes[];   /* of a command NUL-terminated */
};

struct uvh_redis_parcels {
    struct uvh_list list;
    size_t bytes; /* including the overhead of each */
};

void uvh_redis_parcels_append(struct uvh_redis_parcels *parcels, struct uvh_redis_parcel *parcel);
/* NULL when there is none. */
struct uvh_redis_parcel *uvh_redis_parcels_take(struct uvh_redis_parcels *parcels);
/* Drops the oldest until at most `bytes` remain; returns the number of messages dropped. */
size_t uvh_redis_parcels_limit(struct uvh_redis_parcels *parcels, size_t bytes,
                               const uvhttp_allocator_t *allocator);

/* ---- link.c ---- */

/* Where and how to connect. */
struct uvh_redis_broker {
    const uvhttp_allocator_t *allocator;
    uvhttp_server_t *server; /* for the log */
    uv_loop_t *loop;
    const char *host, *path, *user, *password; /* NULL: none */
    int port;
    uint64_t ping_ms;
    uint64_t max_delay_ms;
};

struct uvh_redis_link;

struct uvh_redis_link_events {
    const char *name; /* for the log */
    void (*on_ready)(struct uvh_redis_link *link);
    /* Reply to a command; with `parcel` NULL, a push message. */
    void (*on_reply)(struct uvh_redis_link *link, const struct uvh_redis_parcel *parcel,
                     const redisReply *reply);
    /* `messages` had no reply. May be NULL. */
    void (*on_lost)(struct uvh_redis_link *link, size_t messages);
};

struct uvh_redis_link {
    const struct uvh_redis_broker *broker;
    const struct uvh_redis_link_events *events;
    void (*closed)(struct uvh_redis_link *link);
    enum uvh_redis_link_state {
        UVH_REDIS_DOWN = 0, /* until its timer expires */
        UVH_REDIS_RESOLVING,
        UVH_REDIS_CONNECTING, /* until the last reply of the handshake */
        UVH_REDIS_READY,
        UVH_REDIS_ENDED,
    } state;
    atomic_bool connected; /* the state is READY; any thread */
    _Atomic uint64_t attempts;
    struct uvh_redis_parcels sent; /* commands without a reply yet */
    redisContext *context;         /* NULL unless CONNECTING or READY */
    uv_poll_t *poll;
    /* Of the next attempt, the deadline of the current one, or the next PING. */
    uv_timer_t timer;
    unsigned handles;            /* not closed */
    struct uvh_lookup *lookup;   /* when RESOLVING */
    struct addrinfo *found;      /* by the last lookup; NULL when ready or all have failed */
    const struct addrinfo *next; /* to try */
    unsigned failures;           /* since it was last ready */
    bool heard;                  /* data arrived since the last PING */
    int polled;                  /* the poll's events */
};

/* For a zeroed link. The first attempt runs in the next loop iteration. */
void uvh_redis_link_open(struct uvh_redis_link *link, const struct uvh_redis_broker *broker,
                         const struct uvh_redis_link_events *events);
/* Queues a command, in state READY; uvh_redis_link_flush sends it. Takes ownership of `parcel`,
 * which is passed to the callback of the reply; NULL: the caller is out of memory, and the
 * connection breaks. */
void uvh_redis_link_send(struct uvh_redis_link *link, struct uvh_redis_parcel *parcel, int count,
                         const char **words, const size_t *sizes);
/* Sends queued commands as far as the socket accepts them. */
void uvh_redis_link_flush(struct uvh_redis_link *link);
/* The same without a running loop: blocks at most `ms` for the socket, and also reads. In state
 * READY. */
void uvh_redis_link_wait(struct uvh_redis_link *link, int ms);
/* Makes no further callbacks but `closed`, when the handles are closed. */
void uvh_redis_link_close(struct uvh_redis_link *link, void (*closed)(struct uvh_redis_link *link));

#endif
