/* One end of a TLS connection, the server's or the client's, without a socket: ciphertext in,
 * plaintext out, and the reverse.
 *
 * With `ktls` the kernel can take over the sending direction after a server's handshake. From then
 * on the session only decrypts, and `output` holds alerts of two bytes each as plaintext.
 *
 * Ciphertext comes from `input`, which the caller sets before a call and looks at after it; what
 * OpenSSL makes goes to the end of `output`, which the caller sends. OpenSSL never waits for space,
 * so nothing has to be tried again with the same bytes.
 *
 * Always true: the error queue of the thread is empty before each call of OpenSSL and after each
 * call of this file. Used on the worker's thread only, but for uvh_tls_session_work. Called by
 * conn/tls_io.c and server/. */
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

/* Early data (RFC 8446 section 2.3), of a server's end that takes any. */
enum uvh_tls_early {
    UVH_TLS_EARLY_NONE = 0, /* there is none, or the handshake is over */
    UVH_TLS_EARLY_POSSIBLE, /* the handshake has begun */
    UVH_TLS_EARLY_OPEN,     /* plaintext has come: reads and writes work, the handshake goes on */
    UVH_TLS_EARLY_ENDED,    /* the same, and what comes next is the end of the handshake */
};

struct uvh_tls_session {
    struct ssl_st *ssl;
    struct uvh_tls_context *context;  /* of the server's end; NULL: this is the client's */
    struct uvhttp_tls_client *client; /* of the client's end, with a reference */
    struct uvh_buffer_pool *pool;
    struct uvh_tls_info *info; /* NULL before plaintext is read and written */
    uvhttp_slice_t input;      /* ciphertext that is not used yet */
    struct uvh_buffer *kept;   /* holds `input` between events; NULL: nothing does */
    struct uvh_buffer *output; /* ciphertext to be sent: [sent, used) of it; NULL: none */
    size_t sent;
    uint64_t burst; /* bytes of plaintext since the connection was idle */
    uint64_t last;  /* loop time of the last write */
    /* bytes that reads have put into `output` since there was plaintext */
    size_t alerts;
    size_t fruitless; /* bytes received since there was plaintext, or ever */
    const char *why;  /* it has failed: the reason, static */
    /* whose certificates it has; NULL before the client's hello */
    const struct uvh_tls_host *host;
    struct uvh_socket_tls_keys *keys; /* of the sending direction, for the kernel; NULL: none */
    uint64_t records;                 /* encrypted since OpenSSL gave `keys` */
    uint64_t ticket_id;               /* of the one-time ticket that it has claimed */
    /* ciphertext for `output` that a thread has made; NULL: none */
    char *made;
    size_t made_size; /* bytes of it */
    int result;       /* of the step on a thread */
    /* uvh_tls_session_work is called, or will be, on another thread */
    bool working;
    bool has_slot;       /* of conn/handshakes.h */
    bool begun;          /* bytes were received, or this is the client's end */
    bool close_received; /* close_notify: the peer has ended its side */
    bool close_sent;
    bool offloaded;      /* the kernel encrypts what is sent */
    bool rekeyed;        /* it has failed because the peer asked for a KeyUpdate */
    bool past_hello;     /* the server's flight is made: not by a hello that is to be repeated */
    bool has_ticket;     /* `ticket_id` is set */
    unsigned char early; /* enum uvh_tls_early */
    bool has_first;      /* `first` is to be read */
    char first;          /* byte of the early data */
    char server_name[];  /* of the client's end: what the certificate has to be for */
};

/* The server's end. NULL when memory ran out. */
struct uvh_tls_session *uvh_tls_session_new(struct uvh_tls_context *context,
                                            struct uvh_buffer_pool *pool);

/* The client's end of a connection to `host`, a name or a numeric address, not empty. It begins the
 * handshake: the first call needs no input. NULL when memory ran out. */
struct uvh_tls_session *uvh_tls_session_connect(struct uvhttp_tls_client *client, const char *host,
                                                struct uvh_buffer_pool *pool);

void uvh_tls_session_free(struct uvh_tls_session *session);

/* Goes on with the handshake. Where early data has come before, what is left of it is discarded.
 * Returns 0 when it is over, or when early data has come; or
 *   -EAGAIN: more ciphertext is needed,
 *   -EPROTO: it has failed (`why`); an alert may be in `output`. */
int uvh_tls_session_handshake(struct uvh_tls_session *session);

/* The same in two halves, for a handshake that is not to hold up the loop. Any thread, without the
 * loop touching the session meanwhile but for `working`, which it sets before and which the second
 * half clears. */
void uvh_tls_session_work(struct uvh_tls_session *session);
/* On the loop: results as above. */
int uvh_tls_session_worked(struct uvh_tls_session *session);

/* The connection is open by early data, and its handshake is not over: anybody may have recorded
 * and sent again what the client says. Reads go on with the handshake. */
static inline bool uvh_tls_session_is_early(const struct uvh_tls_session *session)
{
    return session->early >= UVH_TLS_EARLY_OPEN;
}

/* Plaintext.
 * Returns the bytes, 0 after the peer has ended its side, or
 *   -EAGAIN: more ciphertext is needed,
 *   -EPROTO: it has failed (`why`); an alert may be in `output`. */
ssize_t uvh_tls_session_read(struct uvh_tls_session *session, void *data, size_t size);

/* After the handshake: keys for the kernel, for the record after those in `output`. NULL: the
 * session goes on encrypting. */
const struct uvh_socket_tls_keys *uvh_tls_session_keys(struct uvh_tls_session *session);

/* What came of giving the keys to the kernel: 0, or an error of uvh_socket_tls_start or -EAGAIN,
 * after which the session goes on encrypting. */
void uvh_tls_session_offload(struct uvh_tls_session *session, int result);

/* Not when the kernel encrypts. Encrypts the first `size` bytes of the areas. `now`: loop time in
 * milliseconds, for the size of records.
 * Returns 0, or
 *   -EPROTO: it has failed. */
int uvh_tls_session_write(struct uvh_tls_session *session, const uvhttp_slice_t *areas, size_t size,
                          uint64_t now);

/* Puts close_notify into `output`, once. */
void uvh_tls_session_close(struct uvh_tls_session *session);

/* Plaintext, or ciphertext that may give some, is at hand without more from the socket. */
bool uvh_tls_session_has_input(const struct uvh_tls_session *session);

/* The same, or the next read tells of the end or of a failure. */
static inline bool uvh_tls_session_has_more(const struct uvh_tls_session *session)
{
    return session->close_received || session->why != NULL || uvh_tls_session_has_input(session);
}

/* The client's hello was processed. */
static inline bool uvh_tls_session_has_hello(const struct uvh_tls_session *session)
{
    return session->past_hello;
}

/* After the handshake: it was resumed. */
bool uvh_tls_session_is_resumed(const struct uvh_tls_session *session);

static inline size_t uvh_tls_session_pending(const struct uvh_tls_session *session)
{
    return session->output == NULL ? 0 : session->output->used - session->sent;
}

/* The first `count` bytes of `output` have left. */
void uvh_tls_session_consume(struct uvh_tls_session *session, size_t count);

/* Keeps what is left of `input`, which is the caller's memory, for the next event. False when
 * memory ran out. */
bool uvh_tls_session_keep_input(struct uvh_tls_session *session);

/* A host that the handshake of this connection was not for demands more of its clients than that
 * one. */
bool uvh_tls_session_is_misdirected(const struct uvh_tls_session *session, uvhttp_slice_t host);

/* For context.c. */
struct uvh_tls_session *uvh_tls_session_of(const struct ssl_st *ssl);
struct bio_method_st *uvh_tls_session_bio_method(void);

#endif
