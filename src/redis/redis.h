/* The internal interface of the Redis adapter. redis.c creates and destroys it. publishing.c is the
 * connection that sends messages, subscribing.c the one that receives them; both use link.c, which
 * keeps a connection to the broker. outbox.c holds messages until the broker accepts them,
 * channels.c the subscriptions at the broker, envelope.c the format of a message.
 *
 * hiredis provides the protocol and the socket, without blocking; libuv polls the socket.
 *
 * Invariants: only the loop's thread uses connections; a lock protects outbox and channels, and is
 * held for memory operations only. Handles do not keep the loop alive. Closing the last one frees
 * all memory. */
#ifndef UVH_REDIS_REDIS_H
#define UVH_REDIS_REDIS_H

#include <stdbool.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include <uvhttp/redis.h>

#include "net/lookup.h"

enum {
    UVH_REDIS_ID = 16, /* characters that identify a process */
    UVH_REDIS_ENVELOPE_MAX = 2 + UVH_REDIS_ID + 1 + 20 + 1,
};

/* ---- envelope.c ---- */

struct uvh_redis_envelope {
    uvhttp_websocket_kind_t kind;
    uvhttp_slice_t id;
    uint64_t number; /* sequence number, by sender */
    uvhttp_slice_t data;
};

/* Writes the header before the data; returns its size. */
size_t uvh_redis_envelope_write(char out[UVH_REDIS_ENVELOPE_MAX], uvhttp_websocket_kind_t kind,
                                const char id[UVH_REDIS_ID], uint64_t number);
/* False when the bytes have no valid header. */
bool uvh_redis_envelope_read(const char *bytes, size_t size, struct uvh_redis_envelope *envelope);

/* ---- channels.c ---- */

/* A channel or glob at the broker, and the patterns it serves: several patterns may map to one
 * glob. */
struct uvh_redis_channel {
    struct uvh_redis_channel *next; /* in the list of all */
    struct uvh_redis_channel *previous;
    struct uvh_redis_channel *next_changed;
    struct uvh_redis_pattern *patterns; /* NULL: no longer needed */
    bool changed;                       /* in the list of changed channels */
    bool sent;                          /* the broker is notified, on the current connection */
    bool refused;                       /* the broker refuses it there */
    bool replaced;                      /* the glob of all channels replaces it */
    bool glob;
    size_t length;
    char text[]; /* with the prefix; NUL-terminated */
};

struct uvh_redis_pattern {
    struct uvh_redis_pattern *next;
    char text[];
};

struct uvh_redis_channels {
    const uvhttp_allocator_t *allocator;
    const char *prefix;
    void *tree; /* of channels, by glob and text */
    struct uvh_redis_channel *first;
    struct uvh_redis_channel *changed;
    size_t refused; /* globs replaced by the one of all channels */
};

/* A pattern is needed, or no longer needed. False when out of memory. */
bool uvh_redis_channels_add(struct uvh_redis_channels *channels, const char *pattern);
void uvh_redis_channels_remove(struct uvh_redis_channels *channels, const char *pattern);

/* A message received by a glob: whether a pattern of that glob matches the topic. */
bool uvh_redis_channels_fit(struct uvh_redis_channels *channels, const char *glob,
                            const char *topic);

/* The broker refused a channel: it is not subscribed to again on this connection. True when the
 * glob of all channels replaces it, which `may_stand_in` permits and nothing prevents. */
bool uvh_redis_channels_refuse(struct uvh_redis_channels *channels, bool glob, const char *text,
                               bool may_stand_in);

/* Removes a channel from the list of changed ones; NULL when the list is empty. The caller frees a
 * channel that is no longer needed. */
struct uvh_redis_channel *uvh_redis_channels_changed(struct uvh_redis_channels *channels);
void uvh_redis_channels_free(struct uvh_redis_channels *channels,
                             struct uvh_redis_channel *channel);

/* A new connection: the broker knows no channel, so all needed ones count as changed. */
void uvh_redis_channels_forget(struct uvh_redis_channels *channels);
void uvh_redis_channels_release(struct uvh_redis_channels *channels);

/* ---- outbox.c ---- */

/* A message: its channel, then its data. Or another command that awaits its reply: its argument, or
 * nothing, for a PING. */
struct uvh_redis_parcel {
    struct uvh_redis_parcel *next;
    enum uvh_redis_order {
        UVH_REDIS_MESSAGE = 0,
        UVH_REDIS_SUBSCRIBE,
        UVH_REDIS_UNSUBSCRIBE,
        UVH_REDIS_PING
    } command;
    bool glob;      /* of UVH_REDIS_SUBSCRIBE */
    size_t channel; /* its length */
    size_t size;    /* of channel and data */
    char bytes[];   /* of a command NUL-terminated */
};

struct uvh_redis_parcels {
    struct uvh_redis_parcel *first;
    struct uvh_redis_parcel *last;
    size_t bytes; /* including the overhead of each */
};

void uvh_redis_parcels_append(struct uvh_redis_parcels *parcels, struct uvh_redis_parcel *parcel);
/* NULL when there is none. */
struct uvh_redis_parcel *uvh_redis_parcels_take(struct uvh_redis_parcels *parcels);
/* Frees all; returns the number of messages. */
size_t uvh_redis_parcels_drop(struct uvh_redis_parcels *parcels,
                              const uvhttp_allocator_t *allocator);
/* Drops the oldest until at most `bytes` remain; returns the number dropped. */
size_t uvh_redis_parcels_limit(struct uvh_redis_parcels *parcels, size_t bytes,
                               const uvhttp_allocator_t *allocator);

/* ---- link.c ---- */

enum uvh_redis_link_state {
    UVH_REDIS_DOWN = 0, /* until its timer expires */
    UVH_REDIS_RESOLVING,
    UVH_REDIS_CONNECTING, /* until the first reply */
    UVH_REDIS_READY,
    UVH_REDIS_ENDED,
};

struct uvh_redis_link {
    struct uvhttp_redis *redis;
    const char *name; /* for the log */
    void (*ready)(struct uvh_redis_link *link);
    /* Reply to a command; with `parcel` NULL, a push message. */
    void (*on_reply)(struct uvh_redis_link *link, const struct uvh_redis_parcel *parcel,
                     const redisReply *reply);
    void (*lost)(struct uvh_redis_link *link, size_t messages); /* `messages` had no reply */
    enum uvh_redis_link_state state;
    struct uvh_redis_parcels parcel; /* commands without a reply yet */
    redisContext *context;           /* NULL unless CONNECTING or READY */
    uv_poll_t *poll;
    /* Of the next attempt, the deadline of the current one, or the next PING. */
    uv_timer_t timer;
    struct uvh_lookup *lookup;   /* when RESOLVING */
    struct addrinfo *found;      /* by the last lookup; NULL when ready or all have failed */
    const struct addrinfo *next; /* to try */
    unsigned greetings;          /* pending replies of the handshake: AUTH, PING */
    unsigned failures;           /* since it was last ready */
    bool heard;                  /* data arrived since the last PING */
    int events;                  /* the poll's events */
};

/* Returns 0 or libuv's code. The first attempt runs in the next loop iteration. */
int uvh_redis_link_open(struct uvh_redis_link *link, struct uvhttp_redis *redis, const char *name);
/* Queues a command, in state READY; uvh_redis_link_flush sends it. Takes ownership of `parcel`,
 * which is passed to the callback of the reply. */
void uvh_redis_link_send(struct uvh_redis_link *link, struct uvh_redis_parcel *parcel, int count,
                         const char **words, const size_t *sizes);
/* Sends queued commands as far as the socket accepts them. */
void uvh_redis_link_flush(struct uvh_redis_link *link);
/* The same without a running loop: blocks at most `ms` for the socket, and also reads. In state
 * READY. */
void uvh_redis_link_wait(struct uvh_redis_link *link, int ms);
/* Makes no further callbacks and closes the handles. */
void uvh_redis_link_close(struct uvh_redis_link *link);

/* ---- publishing.c ---- */

void uvh_redis_publishing_init(struct uvhttp_redis *redis);
/* Called by topics, on any thread. */
int uvh_redis_publish(void *redis, const char *topic, uvhttp_websocket_kind_t kind,
                      const void *data, size_t size);
/* Sends pending messages while the broker replies. */
void uvh_redis_publishing_send(struct uvhttp_redis *redis);
/* On shutdown: sends pending messages for a limited time, and logs the ones lost. */
void uvh_redis_publishing_finish(struct uvhttp_redis *redis);

/* ---- subscribing.c ---- */

void uvh_redis_subscribing_init(struct uvhttp_redis *redis);
/* Called by topics, on any thread. */
void uvh_redis_subscribe(void *redis, const char *pattern);
void uvh_redis_unsubscribe(void *redis, const char *pattern);
/* Sends the changed subscriptions to the broker. */
void uvh_redis_subscribing_send(struct uvhttp_redis *redis);

/* ---- redis.c ---- */

struct uvhttp_redis {
    uvhttp_allocator_t allocator;
    uvhttp_server_t *server;
    uvhttp_topics_t *topics;
    char *host, *path, *user, *password, *prefix;
    int port;
    size_t max_queue_size;
    uint64_t ping_ms;
    uint64_t max_delay_ms;
    uv_loop_t *loop;
    uv_async_t wake;
    size_t handles; /* not closed */
    bool ended;
    char id[UVH_REDIS_ID];
    struct uvh_redis_link publishing;
    struct uvh_redis_link subscribing;
    uint64_t refusal_logged; /* time of the last log line about a refused message */
    /* Of the message received last: a copy received by another channel has the same. */
    char last_id[UVH_REDIS_ID + 1];
    uint64_t last_number;
    uv_mutex_t lock; /* of the following */
    struct uvh_redis_parcels waiting;
    struct uvh_redis_channels channels;
    uint64_t number;         /* messages published */
    size_t limit;            /* of `waiting` at the moment */
    uint64_t dropped_before; /* `dropped` when the publishing connection was lost */
    uint64_t drops_unlogged; /* not yet logged */
    uint64_t drops_logged;   /* time of that log line */
    uvhttp_redis_stats_t stats;
};

/* A handle is closed. */
void uvh_redis_closed(uv_handle_t *handle);

/* Both connections are ready, or no longer. */
void uvh_redis_note_connected(struct uvhttp_redis *redis);

/* True at most once a second; `*last` is the time of the last true result. */
bool uvh_redis_may_log(uint64_t *last);

/* NULL is allowed. */
void uvh_redis_release(const struct uvhttp_redis *redis, void *memory);

#endif
