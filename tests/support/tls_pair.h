/* Both ends of a TLS connection in memory. The server side is a session of src/tls, the client is
 * OpenSSL's. Uses no socket and no clock. */
#ifndef UVH_TESTS_TLS_PAIR_H
#define UVH_TESTS_TLS_PAIR_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <uvhttp/tls.h>

#include "base/alloc.h"
#include "support/tls_certificate.h"
#include "tls/contexts.h"
#include "tls/session.h"

struct tls_pair {
    uvhttp_tls_t *tls;
    struct uvh_tls_contexts *contexts;
    struct uvh_buffer_pool pool;
    struct uvh_tls_session *server;
    SSL_CTX *client_context;
    SSL *client;
    BIO *to_client; /* input of the client */
    BIO *to_server; /* output of the client */
    bool ready;     /* the server's handshake is complete */
    int failed;     /* error of the server's handshake, or 0 */
};

/* Initializes what all connections share. Returns false without memory. */
static inline bool tls_pair_begin(struct tls_pair *pair, const uvhttp_allocator_t *allocator)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t config = {
        .certificates = &certificate, .certificate_count = 1, .allocator = allocator};
    memset(pair, 0, sizeof(*pair));
    uvh_buffer_pool_init(&pair->pool, allocator, 65536);
    if (uvhttp_tls_new(&pair->tls, &config, NULL) != 0)
        return false;
    pair->contexts = uvh_tls_contexts_new(pair->tls, 1, false, allocator);
    return pair->contexts != NULL;
}

static inline void tls_pair_end(struct tls_pair *pair)
{
    if (pair->contexts != NULL)
        uvh_tls_contexts_free(pair->contexts);
    uvhttp_tls_free(pair->tls);
    uvh_buffer_pool_release(&pair->pool);
}

/* Creates a client that accepts any certificate. `version` 0: the highest TLS version. */
static inline void tls_pair_client(struct tls_pair *pair, int version)
{
    pair->client_context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(pair->client_context, version);
    SSL_CTX_set_max_proto_version(pair->client_context, version);
    pair->client = SSL_new(pair->client_context);
    pair->to_client = BIO_new(BIO_s_mem());
    pair->to_server = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(pair->to_client, -1);
    BIO_set_mem_eof_return(pair->to_server, -1);
    SSL_set_bio(pair->client, pair->to_client, pair->to_server);
    SSL_set_connect_state(pair->client);
    SSL_set_tlsext_host_name(pair->client, "localhost");
}

static inline void tls_pair_close(struct tls_pair *pair)
{
    if (pair->server != NULL)
        uvh_tls_session_free(pair->server);
    SSL_free(pair->client);
    SSL_CTX_free(pair->client_context);
    pair->server = NULL;
    pair->client = NULL;
    pair->client_context = NULL;
    pair->ready = false;
    pair->failed = 0;
}

/* Moves the server's pending output to the client. */
static inline void tls_pair_deliver(struct tls_pair *pair)
{
    struct uvh_tls_session *server = pair->server;
    size_t pending = uvh_tls_session_pending(server);
    if (pending == 0)
        return;
    BIO_write(pair->to_client, server->output->data + server->sent, (int)pending);
    uvh_tls_session_consume(server, pending);
}

/* Moves up to `max` bytes of the client's output to the server's `input`. Returns the number of
 * bytes. */
static inline size_t tls_pair_take(struct tls_pair *pair, char *bytes, size_t max)
{
    int count = BIO_read(pair->to_server, bytes, (int)max);
    if (count <= 0)
        return 0;
    pair->server->input = (uvhttp_slice_t){bytes, (size_t)count};
    return (size_t)count;
}

/* Runs the handshake with at most `step` bytes of the client's output at a time. Returns false when
 * it fails. */
static inline bool tls_pair_handshake(struct tls_pair *pair, size_t step)
{
    char bytes[4096];
    for (int rounds = 0; rounds < 100000; rounds++) {
        int result = SSL_do_handshake(pair->client);
        if (result != 1 && SSL_get_error(pair->client, result) != SSL_ERROR_WANT_READ)
            return false;
        if (result == 1 && pair->ready)
            return true;
        size_t count = tls_pair_take(pair, bytes, step < sizeof(bytes) ? step : sizeof(bytes));
        if (count > 0 && !pair->ready) {
            int err = uvh_tls_session_handshake(pair->server);
            pair->failed = err == -EAGAIN ? 0 : err;
            pair->ready = err == 0;
            if (pair->failed != 0 || !uvh_tls_session_keep_input(pair->server))
                return false;
        }
        tls_pair_deliver(pair);
    }
    return false;
}

#endif
