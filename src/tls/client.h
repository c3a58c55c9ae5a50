/* uvhttp_tls_client_t: one SSL_CTX for all threads, which only ref and unref it.
 *
 * Always true: immutable after creation. */
#ifndef UVH_TLS_CLIENT_H
#define UVH_TLS_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <uvhttp/tls_client.h>

struct ssl_st;
struct ssl_ctx_st;
struct bio_method_st;

struct uvhttp_tls_client {
    const uvhttp_allocator_t *allocator;
    atomic_size_t refs;
    struct ssl_ctx_st *ctx;
    struct bio_method_st *bio_method; /* of its sessions */
    char *server_name;                /* NULL: the host */
};

/* Adds a reference; uvhttp_tls_client_free drops it. */
static inline void uvh_tls_client_ref(struct uvhttp_tls_client *client)
{
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
}

/* The name that the certificate of `host` must have. */
static inline const char *uvh_tls_client_name(const struct uvhttp_tls_client *client,
                                              const char *host)
{
    return client->server_name == NULL ? host : client->server_name;
}

/* Call before the handshake: sets SNI and the name to verify. False if out of memory, or if the
 * host is invalid. */
bool uvh_tls_client_expect(struct ssl_st *ssl, const char *host);

/* Call after a successful handshake: true if the server has a certificate for the host. Needed
 * because OpenSSL 3.0 skips the host check if it ran out of memory while preparing it, and checks
 * no certificate with anonymous ciphers. */
bool uvh_tls_client_accepts(const struct ssl_st *ssl, const char *host);

#endif
