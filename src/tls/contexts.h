/* A uvhttp_tls_t with one context for each worker of a server, created at first use.
 *
 * Always true: a worker accesses its own slot only, on its thread. */
#ifndef UVH_TLS_CONTEXTS_H
#define UVH_TLS_CONTEXTS_H

#include <uvhttp/tls.h>

#include "base/buffer.h"

struct uvh_tls_context;
struct uvh_tls_session;

struct uvh_tls_slot {
    struct uvh_tls_context *context; /* NULL: not created yet */
    uint64_t number;                 /* of its generation */
};

struct uvh_tls_contexts {
    struct uvh_tls_contexts *next; /* the server's list */
    struct uvhttp_tls *tls;        /* with a reference */
    const uvhttp_allocator_t *allocator;
    size_t count;
    bool http2; /* offered by ALPN */
    struct uvh_tls_slot slots[];
};

/* `http2`: offered by ALPN, before HTTP/1.1. NULL if out of memory. */
struct uvh_tls_contexts *uvh_tls_contexts_new(struct uvhttp_tls *tls, size_t workers, bool http2,
                                              const uvhttp_allocator_t *allocator);

/* Call after all workers have ended. */
void uvh_tls_contexts_free(struct uvh_tls_contexts *contexts);

/* A server session for a new connection, with the newest generation; NULL if out of memory. */
struct uvh_tls_session *uvh_tls_contexts_accept(struct uvh_tls_contexts *contexts, size_t worker,
                                                struct uvh_buffer_pool *pool);

#endif
