/* The adapter for Redis as its own files see it. redis.c is its life; publishing.c is the
 * connection by which messages leave, and subscribing.c that by which they come, over link.c, which
 * keeps a connection with the broker; outbox.c keeps messages until the broker has them; channels.c
 * knows what is subscribed to there; envelope.c is what a message looks like on its way.
 *
 * hiredis is used for its protocol and its socket, without blocking; when to read and to write is
 * asked of libuv here, so that nothing of it keeps the loop from ending.
 *
 * Always true: connections are touched on the loop's thread only; outbox and channels under the
 * lock, which is held for memory only. Handles do not keep the loop alive, and all memory goes when
 * the last of them is closed. */
#ifndef UVH_REDIS_REDIS_H
#define UVH_REDIS_REDIS_H

#include <stdbool.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include <uvhttp/redis.h>

#include "net/lookup.h"

enum {
    UVH_REDIS_ID = 16, /* characters that tell a process from others */
    UVH_REDIS_ENVELOPE_MAX = 2 + UVH_REDIS_ID + 1 + 20 + 1,
};

/* ---- envelope.c ---- */

struct uvh_redis_envelope {
    uvhttp_websocket_kind_t kind;
    uvhttp_slice_t id;
    uint64_t number; /* of the message, by its sender */
    uvhttp_slice_t data;
};

/* Writes what stands before the data; returns its size. */
size_t uvh_redis_envelope_write(char out[UVH_REDIS_ENVELOPE_MAX], uvhttp_websocket_kind_t kind,
                                const char id[UVH_REDIS_ID], uint64_t number);
/* False when it is none. */
bool uvh_redis_envelope_read(const char *bytes, size_t size, struct uvh_redis_envelope *envelope);

/* ---- channels.c ---- */

/* A channel of the broker, or a glob of them, and the patterns it stands for: several may become
 * one glob. */
struct uvh_redis_channel {
    struct uvh_redis_channel *next; /* of all */
    struct uvh_redis_channel *previous;
    struct uvh_redis_channel *next_changed;
    struct uvh_redis_pattern *patterns; /* NULL: not needed any more */
    bool changed;                       /* is in the list of those */
    bool told;                          /* the broker knows of it, on the connection there is */
    bool refused;                       /* and does not allow it there */
    bool replaced;                      /* and the glob of all channels stands in */
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
    size_t refused; /* globs for which the one of all channels stands in */
};

/* A pattern is needed, or not any more. False when memory ran out. */
bool uvh_redis_channels_add(struct uvh_redis_channels *channels, const char *pattern);
void uvh_redis_channels_remove(struct uvh_redis_channels *channels, const char *pattern);

/* A message on a channel that came by a glob: whether a pattern of that glob fits the topic. */
bool uvh_redis_channels_fit(struct uvh_redis_channels *channels, const char *glob,
                            const char *topic);

/* The broker has refused a channel: nobody asks again on this connection. True when the glob of all
 * channels is subscribed to instead, since `may_stand_in` and there is nothing against it. */
bool uvh_redis_channels_refuse(struct uvh_redis_channels *channels, bool glob, const char *text,
                               bool may_stand_in);

/* Takes a channel out of the changed ones; NULL when there is none. Who is given one that is not
 * needed frees it. */
struct uvh_redis_channel *uvh_redis_channels_changed(struct uvh_redis_channels *channels);
void uvh_redis_channels_free(struct uvh_redis_channels *channels,
                             struct uvh_redis_channel *channel);

/* A new connection: the broker knows of none, and all that are needed have changed. */
void uvh_redis_channels_forget(struct uvh_redis_channels *channels);
void uvh_redis_channels_release(struct uvh_redis_channels *channels);

/* ---- outbox.c ---- */

/* A message: its channel, then what is published. Or another command that waits for its answer: the
 * text it is about, or nothing, for a ping. */
struct uvh_redis_parcel {
    struct uvh_redis_parcel *next;
    enum uvh_redis_order {
        UVH_REDIS_MESSAGE = 0,
        UVH_REDIS_SUBSCRIBE,
        UVH_REDIS_UNSUBSCRIBE,
        UVH_REDIS_PING
    } order;
    bool glob;      /* of UVH_REDIS_SUBSCRIBE */
    size_t channel; /* its length */
    size_t size;    /* of both */
    char bytes[];   /* of a command NUL-terminated */
};

struct uvh_redis_parcels {
    struct uvh_redis_parcel *first;
    struct uvh_redis_parcel *last;
    size_t bytes; /* with what each costs */
};

void uvh_redis_parcels_append(struct uvh_redis_parcels *parcels, struct uvh_redis_parcel *parcel);
/* NULL when there is none. */
struct uvh_redis_parcel *uvh_redis_parcels_take(struct uvh_redis_parcels *parcels);
/* Frees all; how many messages there were. */
size_t uvh_redis_parcels_drop(struct uvh_redis_parcels *parcels,
                              const uvhttp_allocator_t *allocator);
/* Drops the oldest until it is at most so many bytes; how many that were. */
size_t uvh_redis_parcels_limit(struct uvh_redis_parcels *parcels, size_t bytes,
                               const uvhttp_allocator_t *allocator);

/* ---- link.c ---- */

enum uvh_redis_link_state {
    UVH_REDIS_DOWN = 0, /* until its timer */
    UVH_REDIS_RESOLVING,
    UVH_REDIS_CONNECTING, /* until the first answer */
    UVH_REDIS_READY,
    UVH_REDIS_ENDED,
};

struct uvh_redis_link {
    struct uvhttp_redis *redis;
    const char *name; /* for the log */
    void (*ready)(struct uvh_redis_link *link);
    /* To a command, or, `asked` NULL, a message. */
    void (*answer)(struct uvh_redis_link *link, const struct uvh_redis_parcel *asked,
                   const redisReply *reply);
    void (*lost)(struct uvh_redis_link *link, size_t messages); /* so many had no answer */
    enum uvh_redis_link_state state;
    struct uvh_redis_parcels asked; /* what the broker has not answered */
    redisContext *context;          /* NULL unless CONNECTING or READY */
    uv_poll_t *poll;
    /* of the next attempt, the deadline of this one, or the next ping */
    uv_timer_t timer;
    struct uvh_lookup *lookup;   /* when RESOLVING */
    struct addrinfo *found;      /* by the last one; NULL when it is ready or all have failed */
    const struct addrinfo *next; /* to be tried */
    unsigned greetings;          /* answers that are owed to ours: AUTH, PING */
    unsigned failures;           /* since it was last ready */
    bool heard;                  /* something has come since the last ping */
    int events;                  /* the poll is for */
};

/* 0 or libuv's code. The first attempt is in the loop's next turn. */
int uvh_redis_link_open(struct uvh_redis_link *link, struct uvhttp_redis *redis, const char *name);
/* A command, when it is READY, sent by uvh_redis_link_flush. Takes `asked`, which its answer comes
 * with. */
void uvh_redis_link_ask(struct uvh_redis_link *link, struct uvh_redis_parcel *asked, int count,
                        const char **words, const size_t *sizes);
/* Sends what there is, as far as the socket takes it. */
void uvh_redis_link_flush(struct uvh_redis_link *link);
/* The same for who has no loop any more: waits at most so long for the socket, and reads, too. When
 * it is READY. */
void uvh_redis_link_wait(struct uvh_redis_link *link, int ms);
/* Nothing more is called. Its handles close. */
void uvh_redis_link_close(struct uvh_redis_link *link);

/* ---- publishing.c ---- */

void uvh_redis_publishing_init(struct uvhttp_redis *redis);
/* For topics; any thread. */
int uvh_redis_publish(void *redis, const char *topic, uvhttp_websocket_kind_t kind,
                      const void *data, size_t size);
/* From what waits to the broker, as long as it answers. */
void uvh_redis_publishing_send(struct uvhttp_redis *redis);
/* The end: gives what waits a moment to go out, and tells of what does not. */
void uvh_redis_publishing_finish(struct uvhttp_redis *redis);

/* ---- subscribing.c ---- */

void uvh_redis_subscribing_init(struct uvhttp_redis *redis);
/* For topics; any thread. */
void uvh_redis_subscribe(void *redis, const char *pattern);
void uvh_redis_unsubscribe(void *redis, const char *pattern);
/* Tells the broker what has changed. */
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
    uint64_t refusal_told; /* when a refused message was last logged */
    char last_id[UVH_REDIS_ID +
                 /* of the message that came last: one that came by several channels is the same */
                 1];
    uint64_t last_number;
    uv_mutex_t lock; /* of the following */
    struct uvh_redis_parcels waiting;
    struct uvh_redis_channels channels;
    uint64_t number;         /* messages so far */
    size_t limit;            /* of `waiting` at this moment */
    uint64_t dropped_before; /* `dropped` when the publishing connection was lost */
    uint64_t drops_untold;   /* not in the log */
    uint64_t drops_told;     /* when */
    uvhttp_redis_stats_t stats;
};

/* A handle is closed. */
void uvh_redis_closed(uv_handle_t *handle);

/* Both connections are ready, or not any more. */
void uvh_redis_note_connected(struct uvhttp_redis *redis);

/* True at most once a second; `*last` is when it was. */
bool uvh_redis_may_log(uint64_t *last);

/* NULL is fine. */
void uvh_redis_release(const struct uvhttp_redis *redis, void *memory);

#endif
