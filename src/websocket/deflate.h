/* permessage-deflate for the connections of an endpoint: assigns dedicated or shared windows, and
 * limits their total memory.
 *
 * Each worker has deflaters and an inflater for all connections that share (struct
 * uvh_ws_deflate_worker); they are few, whatever the number of connections, and not in the budget.
 * A connection with dedicated windows allocates them at its first compressed message. The handshake
 * chooses them by what is left of the windows' part of the budget, and reserves that at once, so
 * the memory is always available. A fragmented message to a connection that shares needs a separate
 * inflater until it ends, which is in the budget, too.
 *
 * Invariants: called on the worker's thread, except uvh_ws_deflate_for_many. Memory is charged to
 * the budget before it is allocated, and released when it is freed. Called by the sources of
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
    UVH_WS_DEFLATE_BITS_LEAST = 9, /* zlib has no windows of 8 bits */
    UVH_WS_DEFLATE_BITS_MOST = 15,
    UVH_WS_DEFLATE_SIZES = UVH_WS_DEFLATE_BITS_MOST - UVH_WS_DEFLATE_BITS_LEAST + 1,
    UVH_WS_DEFLATE_SPARES = 4, /* inflaters a worker keeps for fragmented messages */
};

/* Deflaters for broadcast messages, which any thread borrows for a short time. Initialized with
 * zeros. */
struct uvh_ws_deflate_many {
    _Atomic(struct uvh_deflater *) deflaters[UVH_WS_DEFLATE_SIZES];
};
void uvh_ws_deflate_many_release(struct uvh_ws_deflate_many *many);

/* Of an endpoint, immutable. Zeros are not allowed: the endpoint has set the defaults. */
struct uvh_ws_deflate_settings {
    const uvhttp_allocator_t *allocator;
    uvhttp_websocket_compression_t compression;
    int level;
    int shared_level; /* for broadcast messages */
    int window_bits;
    size_t min_size; /* of a message that is compressed; checked by the callers */
    size_t max_ratio;
    size_t memory_per_connection;
    struct uvh_budget *budget;
    struct uvh_budget *windows; /* the part of it for dedicated windows; messages get the rest */
    struct uvh_ws_deflate_many *many; /* NULL: each broadcast message creates a deflater */
};

/* Of one connection. */
struct uvh_ws_deflate;

/* State shared by the connections of one worker and endpoint; created when first needed.
 * Initialized with zeros. Released after all connections. */
struct uvh_ws_deflate_worker {
    struct uvh_deflater *deflaters[UVH_WS_DEFLATE_SIZES]; /* by window bits */
    struct uvh_inflater *inflater;
    struct uvh_ws_deflate *inflater_user; /* whose message is not fully expanded yet */
    struct uvh_budget *budget;            /* charged for the spare inflaters */
    struct uvh_ws_deflate_spare {
        struct uvh_inflater *inflater;
        int window_bits;
    } spares[UVH_WS_DEFLATE_SPARES];
    size_t spare_count;
};
void uvh_ws_deflate_worker_release(struct uvh_ws_deflate_worker *worker);

/* Bytes of the smallest windows of a connection, in both directions: a smaller limit per connection
 * permits no dedicated windows at all. */
size_t uvh_ws_deflate_least(void);

/* The offer for a new connection, by the settings and what is left of the windows' part of the
 * budget. Reserves `*reserved` bytes at once, to be passed to uvh_ws_deflate_new or
 * uvh_ws_deflate_unreserve. False: no compression (by the settings, or without zlib). */
bool uvh_ws_deflate_preferences(const struct uvh_ws_deflate_settings *settings,
                                struct uvh_ws_deflate_preferences *preferences, size_t *reserved);

void uvh_ws_deflate_unreserve(const struct uvh_ws_deflate_settings *settings, size_t reserved);

/* The handshake negotiated `terms`. Releases reserved bytes that they do not need. `client`: this
 * side is the client. NULL when out of memory; the reserved bytes are released then. */
struct uvh_ws_deflate *uvh_ws_deflate_new(const struct uvh_ws_deflate_settings *settings,
                                          const struct uvh_ws_deflate_terms *terms, bool client,
                                          size_t reserved);
/* Frees everything. NULL is allowed. */
void uvh_ws_deflate_free(struct uvh_ws_deflate *deflate);

/* True for dedicated windows. */
bool uvh_ws_deflate_dedicated(const struct uvh_ws_deflate *deflate);

/* Appends a compressed message to `out`. False when it does not become smaller, does not fit or
 * memory ran out: send it uncompressed; `out` has its previous length. */
bool uvh_ws_deflate_message(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                            const void *data, size_t size, struct uvh_bytes *out);

/* Appends a message compressed for broadcast to `out`, without context. Returns the window bits
 * that a peer must have (uvh_ws_deflate_understands), or 0 when it does not become smaller, does
 * not fit or memory ran out: send it uncompressed; `out` has its previous length. Any thread. */
int uvh_ws_deflate_for_many(const struct uvh_ws_deflate_settings *settings, const void *data,
                            size_t size, struct uvh_bytes *out);

/* Whether this peer can expand a message compressed elsewhere, without context, with windows of
 * `window_bits`. */
bool uvh_ws_deflate_understands(const struct uvh_ws_deflate *deflate, int window_bits);

/* Resets the own window: a broadcast message is about to be sent, which the peer's window will hold
 * and the own one will not; or a compressed message of this connection is not sent after all. */
void uvh_ws_deflate_forget(struct uvh_ws_deflate *deflate);

/* Begins to expand the first or a further part of a message; `last`: its compressed bytes end with
 * this part. The bytes must stay valid until uvh_ws_deflate_expand is done. Returns 0, or
 * UVHTTP_EFULL (the budget is used up), UVHTTP_ENOMEM; then the connection must fail. */
int uvh_ws_deflate_begin(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                         const char *data, size_t size, bool last);

/* Writes the next bytes to `out`; `*size` is its space, then the bytes written; `*done`: nothing of
 * the part is left. Returns 0, or UVHTTP_EINVAL (invalid DEFLATE), UVHTTP_ETOOLARGE (exceeds
 * max_ratio); then the connection must fail. */
int uvh_ws_deflate_expand(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                          char *out, size_t *size, bool *done);

/* While it is not done: the number of bytes left of the part; and their new address. */
size_t uvh_ws_deflate_left(const struct uvh_ws_deflate *deflate);
void uvh_ws_deflate_moved(struct uvh_ws_deflate *deflate, const char *data);

#endif
