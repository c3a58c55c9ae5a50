/* uvhttp_tls_client_t: one SSL_CTX for all threads, which only take references to it.
 *
 * Always true: never changed after it was made. Called by session.c and conn/stream_connect.c. */
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

/* One more owner, for uvhttp_tls_client_free. */
static inline void uvh_tls_client_ref(struct uvhttp_tls_client *client)
{
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
}

/* What the server of `host` has to have a certificate for. */
static inline const char *uvh_tls_client_name(const struct uvhttp_tls_client *client,
                                              const char *host)
{
    return client->server_name == NULL ? host : client->server_name;
}

/* Before a handshake: it sends the name, and demands a certificate for it. False when memory ran
 * out, or the host cannot be one. */
bool uvh_tls_client_expect(struct ssl_st *ssl, const char *host);

/* After a handshake that has succeeded: the server has a certificate that is for the host. OpenSSL
 * 3.0 checks no host when memory runs out while it prepares that, and no certificate with ciphers
 * that have none. */
bool uvh_tls_client_accepts(const struct ssl_st *ssl, const char *host);

#endif
