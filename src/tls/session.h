/* A TLS session, server or client, without a socket: it turns ciphertext into plaintext and back.
 *
 * With `ktls` the kernel can take over the sending direction after a server's handshake. Then the
 * session only decrypts, and `output` holds alerts of two bytes each as plaintext.
 *
 * Ciphertext comes from `input`, which the caller sets before a call; after it, `input` is the
 * unused rest. OpenSSL's output is appended to `output`, which the caller sends. OpenSSL never
 * waits for space, so no call must be repeated with the same bytes.
 *
 * Always true: the thread's error queue is empty before each OpenSSL call and after each call of
 * this file. Used on the worker's thread only, except uvh_tls_session_work. */
#ifndef UVH_TLS_SESSION_H
#define UVH_TLS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/tls.h>

#include "base/buffer.h"
#include "platform/socket.h"

struct ssl_st;
struct bio_method_st;
struct uvh_tls_context;
struct uvh_tls_host;
struct uvh_tls_info;
struct uvhttp_tls_client;
struct uvh_socket_tls_keys;

/* State of early data (RFC 8446 section 2.3), for a server session that accepts it. */
enum uvh_tls_early {
    UVH_TLS_EARLY_NONE = 0, /* not used, or the handshake is complete */
    UVH_TLS_EARLY_POSSIBLE, /* the handshake has begun */
    /* early data received: reads and writes work, the handshake continues */
    UVH_TLS_EARLY_OPEN,
    UVH_TLS_EARLY_ENDED, /* the same, and the next data is the end of the handshake */
};

struct uvh_tls_session {
    struct ssl_st *ssl;
    struct uvh_tls_context *context;  /* for a server session; NULL: client session */
    struct uvhttp_tls_client *client; /* for a client session, with a reference */
    struct uvh_buffer_pool *pool;
    struct uvh_tls_info *info; /* NULL until plaintext can be read and written */
    uvhttp_slice_t input;      /* unused ciphertext */
    struct uvh_buffer *kept;   /* holds `input` between events, or NULL */
    struct uvh_buffer *output; /* ciphertext to be sent: bytes [sent, used); or NULL */
    size_t sent;
    uint64_t burst; /* bytes of plaintext since the connection was idle */
    uint64_t last;  /* loop time of the last write, ms */
    /* bytes that reads have added to `output` since the last plaintext */
    size_t alerts;
    size_t fruitless; /* bytes received since the last plaintext, or at all */
    const char *why;  /* reason of the failure, static; or NULL */
    /* the host whose certificates are used; NULL before the ClientHello */
    const struct uvh_tls_host *host;
    struct uvh_socket_tls_keys *keys; /* of the sending direction, for kernel TLS; or NULL */
    uint64_t records;                 /* encrypted since OpenSSL provided `keys` */
    uint64_t ticket_id;               /* of the one-time ticket that it has claimed */
    /* ciphertext for `output` produced on another thread; or NULL */
    char *made;
    size_t made_size; /* its bytes */
    int result;       /* of the step on another thread */
    /* uvh_tls_session_work is queued or running on another thread */
    bool working;
    bool overdue;        /* the connection's timeout expired during that step */
    bool has_slot;       /* see conn/handshakes.h */
    bool begun;          /* bytes were received, or it is a client session */
    bool close_received; /* close_notify was received */
    bool close_sent;
    bool offloaded;      /* the kernel encrypts what is sent */
    bool rekeyed;        /* failed because the peer requested a KeyUpdate */
    bool past_hello;     /* the server's flight was produced, not a HelloRetryRequest */
    bool has_ticket;     /* `ticket_id` is set */
    unsigned char early; /* enum uvh_tls_early */
    bool has_first;      /* `first` is not read yet */
    char first;          /* first byte of the early data */
    char server_name[];  /* of a client session: the name the certificate must have */
};

/* A server session. NULL if out of memory. */
struct uvh_tls_session *uvh_tls_session_new(struct uvh_tls_context *context,
                                            struct uvh_buffer_pool *pool);

/* A client session for `host`, a name or a numeric address, not empty. It starts the handshake: the
 * first call needs no input. NULL if out of memory. */
struct uvh_tls_session *uvh_tls_session_connect(struct uvhttp_tls_client *client, const char *host,
                                                struct uvh_buffer_pool *pool);

void uvh_tls_session_free(struct uvh_tls_session *session);

/* Continues the handshake. Early data that was not read is discarded.
 * Returns 0 when it is complete, or when early data has arrived; or
 *   -EAGAIN: more ciphertext is needed,
 *   -EPROTO: it failed (`why`); `output` may hold an alert. */
int uvh_tls_session_handshake(struct uvh_tls_session *session);

/* The same in two steps, so that a handshake does not block the loop. Any thread. Meanwhile the
 * loop accesses only `working`, which it sets before and which the second step clears. */
void uvh_tls_session_work(struct uvh_tls_session *session);
/* On the loop: results as above. */
int uvh_tls_session_worked(struct uvh_tls_session *session);

/* True while the connection uses early data and its handshake is not complete: the data may be a
 * replay. Reads continue the handshake. */
static inline bool uvh_tls_session_is_early(const struct uvh_tls_session *session)
{
    return session->early >= UVH_TLS_EARLY_OPEN;
}

/* Reads plaintext.
 * Returns the bytes, 0 after close_notify, or
 *   -EAGAIN: more ciphertext is needed,
 *   -EPROTO: it failed (`why`); `output` may hold an alert. */
ssize_t uvh_tls_session_read(struct uvh_tls_session *session, void *data, size_t size);

/* Call after the handshake: keys for the kernel, for the record after those in `output`. NULL: the
 * session continues to encrypt. */
const struct uvh_socket_tls_keys *uvh_tls_session_keys(struct uvh_tls_session *session);

/* The result of passing the keys to the kernel: 0, or an error of uvh_socket_tls_start or -EAGAIN,
 * after which the session continues to encrypt. */
void uvh_tls_session_offload(struct uvh_tls_session *session, int result);

/* Encrypts the first `size` bytes of the areas. Not allowed while the kernel encrypts. `now`: loop
 * time in milliseconds, which selects the record size.
 * Returns 0, or
 *   -EPROTO: it failed. */
int uvh_tls_session_write(struct uvh_tls_session *session, const uvhttp_slice_t *areas, size_t size,
                          uint64_t now);

/* Appends close_notify to `output`, once. */
void uvh_tls_session_close(struct uvh_tls_session *session);

/* True if plaintext, or ciphertext that may contain some, is available without reading the
 * socket. */
bool uvh_tls_session_has_input(const struct uvh_tls_session *session);

/* The same, or the next read reports the end or a failure. */
static inline bool uvh_tls_session_has_more(const struct uvh_tls_session *session)
{
    return session->close_received || session->why != NULL || uvh_tls_session_has_input(session);
}

/* The ClientHello was processed. */
static inline bool uvh_tls_session_has_hello(const struct uvh_tls_session *session)
{
    return session->past_hello;
}

/* Call after the handshake: true if the session was resumed. */
bool uvh_tls_session_is_resumed(const struct uvh_tls_session *session);

static inline size_t uvh_tls_session_pending(const struct uvh_tls_session *session)
{
    return session->output == NULL ? 0 : session->output->used - session->sent;
}

/* Removes the first `count` bytes of `output`, which were sent. */
void uvh_tls_session_consume(struct uvh_tls_session *session, size_t count);

/* Copies the rest of `input`, which is the caller's memory, for the next event. False if out of
 * memory. */
bool uvh_tls_session_keep_input(struct uvh_tls_session *session);

/* True if `host` requires stricter client authentication than the host this connection's handshake
 * was for. */
bool uvh_tls_session_is_misdirected(const struct uvh_tls_session *session, uvhttp_slice_t host);

/* For context.c. */
struct uvh_tls_session *uvh_tls_session_of(const struct ssl_st *ssl);
struct bio_method_st *uvh_tls_session_bio_method(void);

#endif
