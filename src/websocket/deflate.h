/* permessage-deflate for the connections of an endpoint: who has a window of its own, who shares,
 * and what all of them may hold.
 *
 * Per worker there are deflaters and an inflater for everybody who shares (struct
 * uvh_ws_deflate_worker); these are few, whatever the number of connections, and not in the budget.
 * A connection that was promised windows of its own has them from its first compressed message on;
 * what was promised is chosen at the handshake by what is left of the windows' part of the budget,
 * and taken from it then, so a promise can be kept. A message that comes in several pieces to a
 * connection that shares needs an inflater of its own until it ends, which is in the budget, too.
 *
 * Always true: called on the worker's thread, but for uvh_ws_deflate_for_many. Memory is taken from
 * the budget before it is allocated, and given back when it is freed. Called by the sources of
 * websocket/. */
#ifndef UVH_WEBSOCKET_DEFLATE_H
#define UVH_WEBSOCKET_DEFLATE_H

#include <stdatomic.h>

#include <uvhttp/websocket.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "codec/websocket/extension.h"
#include "platform/deflate.h"

enum {
    UVH_WS_DEFLATE_BITS_LEAST = 9, /* zlib makes no windows of 8 */
    UVH_WS_DEFLATE_BITS_MOST = 15,
    UVH_WS_DEFLATE_SIZES = UVH_WS_DEFLATE_BITS_MOST - UVH_WS_DEFLATE_BITS_LEAST + 1,
    UVH_WS_DEFLATE_SPARES = 4, /* inflaters a worker keeps for messages in pieces */
};

/* Deflaters for messages to many, that any thread may take for a moment. Zeros are the
 * beginning. */
struct uvh_ws_deflate_many {
    _Atomic(struct uvh_deflater *) deflaters[UVH_WS_DEFLATE_SIZES];
};
void uvh_ws_deflate_many_release(struct uvh_ws_deflate_many *many);

/* Of an endpoint, frozen. Zeros are not allowed: the endpoint has put the defaults in. */
struct uvh_ws_deflate_settings {
    const uvhttp_allocator_t *allocator;
    uvhttp_websocket_compression_t compression;
    int level;
    int shared_level; /* for messages to many */
    int window_bits;
    size_t max_ratio;
    size_t memory_per_connection;
    struct uvh_budget *budget;
    struct uvh_budget *windows; /* the part of it that windows which are kept may take, so that
                                   messages find the rest */
    struct uvh_ws_deflate_many *many; /* NULL: a deflater is made for each message to many */
};

/* Of one connection. */
struct uvh_ws_deflate;

/* What the connections of one worker share, of one endpoint; made when it is first needed. Zeros
 * are the beginning. Released behind all connections. */
struct uvh_ws_deflate_worker {
    struct uvh_deflater *deflaters[UVH_WS_DEFLATE_SIZES]; /* by window bits: a small one forgets
                                                             faster what was before */
    struct uvh_inflater *inflater;
    struct uvh_ws_deflate *inflater_user; /* whose message is not expanded to its end yet */
    struct uvh_budget *budget;            /* which the spare ones are in */
    struct uvh_ws_deflate_spare {
        struct uvh_inflater *inflater;
        int window_bits;
    } spares[UVH_WS_DEFLATE_SPARES];
    size_t spare_count;
};
void uvh_ws_deflate_worker_release(struct uvh_ws_deflate_worker *worker);

/* Bytes that the smallest windows of a connection take, both ways: with less for each, none would
 * ever have windows of its own. */
size_t uvh_ws_deflate_least(void);

/* What a connection that begins now may be promised, by settings and what is left of the windows'
 * part of the budget, which is taken for it at once: `*reserved` bytes, to be handed to
 * uvh_ws_deflate_new or to uvh_ws_deflate_unreserve. False: no compression (the settings say so, or
 * there is no zlib). */
bool uvh_ws_deflate_wishes(const struct uvh_ws_deflate_settings *settings,
                           struct uvh_ws_deflate_wishes *wishes, size_t *reserved);

void uvh_ws_deflate_unreserve(const struct uvh_ws_deflate_settings *settings, size_t reserved);

/* The handshake has agreed on `terms`. What is reserved and not needed for them is given back.
 * `client`: we are the client of this connection. NULL when memory ran out, then the reserved bytes
 * were given back. */
struct uvh_ws_deflate *uvh_ws_deflate_new(const struct uvh_ws_deflate_settings *settings,
                                          const struct uvh_ws_deflate_terms *terms, bool client,
                                          size_t reserved);
/* Gives everything back. NULL is fine. */
void uvh_ws_deflate_free(struct uvh_ws_deflate *deflate);

/* True when it has windows of its own. */
bool uvh_ws_deflate_dedicated(const struct uvh_ws_deflate *deflate);

/* Compresses a message behind what `out` has. False when that does not pay, does not fit or memory
 * ran out: it is to be sent as it is, and `out` is as long as before. */
bool uvh_ws_deflate_message(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                            const void *data, size_t size, struct uvh_bytes *out);

/* Compresses a message for many behind what `out` has, from nothing. Returns the window bits that a
 * peer must have (uvh_ws_deflate_understands), or 0 when that does not pay, does not fit or memory
 * ran out: it is to be sent as it is, and `out` is as long as before. Any thread. */
int uvh_ws_deflate_for_many(const struct uvh_ws_deflate_settings *settings, const void *data,
                            size_t size, struct uvh_bytes *out);

/* Whether this peer understands a message that somebody else has compressed, from nothing, with
 * windows of `window_bits`. */
bool uvh_ws_deflate_understands(const struct uvh_ws_deflate *deflate, int window_bits);

/* Our own window forgets what it had: such a message is going to be sent, and the peer's has more
 * than ours now; or one of ours is not going to be sent in spite of having been compressed. */
void uvh_ws_deflate_forget(struct uvh_ws_deflate *deflate);

/* Begins to expand a piece of a message, the first one or a further one: `last` says that its
 * compressed bytes end with it. The bytes lie there until uvh_ws_deflate_expand has said that it is
 * done. 0, or UVHTTP_EFULL (the budget is used up), UVHTTP_ENOMEM; then the connection has to be
 * failed. */
int uvh_ws_deflate_begin(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                         const char *data, size_t size, bool last);

/* Writes what comes next to `out`, `*size` bytes of room becoming what was written; `*done`:
 * nothing is left of the piece. 0, or UVHTTP_EINVAL (no DEFLATE), UVHTTP_ETOOLARGE (expands beyond
 * max_ratio); then the connection has to be failed. */
int uvh_ws_deflate_expand(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                          char *out, size_t *size, bool *done);

/* While it is not done: how many bytes of the piece are left; and that these lie elsewhere from now
 * on. */
size_t uvh_ws_deflate_left(const struct uvh_ws_deflate *deflate);
void uvh_ws_deflate_moved(struct uvh_ws_deflate *deflate, const char *data);

#endif
