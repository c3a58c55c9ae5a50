/* An SSL_CTX for one worker and one generation, with the decisions of a handshake: certificate by
 * name, client authentication, ALPN, tickets.
 *
 * Always true: used on the worker's thread only, because OpenSSL 3.0 takes locks in contexts shared
 * by threads. The context is freed with its last session. */
#ifndef UVH_TLS_CONTEXT_H
#define UVH_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include "tls/generation.h"
#include "tls/used_tickets.h"

struct uvh_tls_context {
    SSL_CTX *ctx;
    struct uvh_tls_generation *generation;
    struct uvh_tls_tickets *tickets;
    struct uvh_tls_used_tickets *used_tickets;
    BIO_METHOD *bio_method; /* of its sessions */
    size_t refs;
    bool http2;                 /* offered by ALPN */
    atomic_bool kernel_refuses; /* kernel TLS was tried, and the kernel does not support it */
};

/* `http2`: offered by ALPN. Returns a context with one reference; NULL if out of memory. Takes over
 * the caller's reference of the generation in either case. */
struct uvh_tls_context *uvh_tls_context_new(struct uvh_tls_generation *generation,
                                            struct uvh_tls_tickets *tickets,
                                            struct uvh_tls_used_tickets *used_tickets, bool http2);
void uvh_tls_context_unref(struct uvh_tls_context *context);

#endif
