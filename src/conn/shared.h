/* State shared by the connections of one loop: poller, pools, timeouts, and connections with
 * pending work.
 *
 * Part of a worker, which provides the callbacks. */
#ifndef UVH_CONN_SHARED_H
#define UVH_CONN_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/buffer.h"
#include "base/counter.h"
#include "base/list.h"
#include "base/slab.h"
#include "conn/file_share.h"
#include "conn/handshakes.h"
#include "net/poller.h"
#include "net/timeouts.h"

struct uvh_conn;
struct uvh_conn_shared;

/* The timeout class of a connection; each is one list. docs/design/timeouts.md says what a new one
 * needs. */
enum uvh_conn_timeout {
    UVH_CONN_TIMEOUT_IDLE = 0, /* between requests */
    UVH_CONN_TIMEOUT_HEADER,   /* while a request head is received */
    UVH_CONN_TIMEOUT_WRITE,    /* the peer does not accept pending output */
    UVH_CONN_TIMEOUT_LINGER,
    UVH_CONN_TIMEOUT_HANDSHAKE, /* of TLS */
    UVH_CONN_TIMEOUT_PING,      /* HTTP/2: nothing is received while requests are in progress */
    UVH_CONN_TIMEOUT_NONE,      /* never expires */
    UVH_CONN_TIMEOUTS
};

enum { UVH_CONN_IDLE_SLACK_MS = 250 }; /* an idle connection may be closed this much later */

/* Implemented by the worker. */
struct uvh_conn_callbacks {
    void (*active)(struct uvh_conn_shared *shared); /* an event of the loop begins */
    /* uvh_shared_resume must run in the next iteration */
    void (*schedule)(struct uvh_conn_shared *shared);
    void (*failed)(struct uvh_conn_shared *shared, const char *what, int code); /* for the log */
    void (*closed)(struct uvh_conn *conn);
    void (*freed)(struct uvh_conn_shared *shared); /* `count` has decreased */
    /* A TLS handshake has failed, on either side; the connection is closed next. `reason` is
     * static. */
    void (*handshake_failed)(struct uvh_conn *conn, const char *reason);
    /* Schedules uvh_tls_session_work on another thread, followed by uvh_conn_worked. False: out of
     * memory. */
    bool (*work)(struct uvh_conn *conn);
    /* The same after the handshake of an accepted connection, when the peer did not cause the
     * error. */
    void (*tls_failed)(struct uvh_conn *conn, const char *reason);
    /* A timeout closes a connection next, without a response. */
    void (*ended_by)(struct uvh_conn *conn, enum uvh_conn_timeout timeout);
};

struct uvh_conn_shared {
    uv_loop_t *loop;
    const uvhttp_allocator_t *allocator;
    const struct uvh_conn_callbacks *callbacks;
    struct uvh_poller poller;
    struct uvh_slab slab;
    struct uvh_buffer_pool buffers;
    struct uvh_buffer *receive_buffer; /* the current one; NULL until needed */
    struct uvh_buffer *receiving;      /* the one whose bytes a user is processing; NULL: none */
    bool pinned;                       /* ... and a reference to it was taken */
    struct uvh_timeout_list timeouts[UVH_CONN_TIMEOUTS];
    struct uvh_timeout_lengths *write_timeouts; /* the other timeout lengths; NULL: none */
    /* of streams, one list per length step; NULL until one is set */
    struct uvh_timeout_list *timers;
    struct uvh_list ready;
    struct uvh_list connecting; /* connection attempts with a step for the next loop iteration */
    struct uvh_list streams;
    struct uvh_list closed_streams; /* freed by uvh_shared_resume */
    struct uvh_file_share file_share;
    struct uvh_handshakes handshakes; /* of accepted connections */
    size_t count;                     /* connections open, closing or connecting */
    /* bytes; default limit of a stream's pending output */
    size_t write_backlog;
    uint64_t max_age_ms; /* of accepted connections; 0: no limit */
    uint32_t random;     /* for their ages */
    _Atomic uint64_t open;
    _Atomic uint64_t in_class[UVH_CONN_TIMEOUTS]; /* of the accepted ones */
    _Atomic uint64_t upgraded;                    /* of these, they carry a stream */
    _Atomic uint64_t websockets;                  /* streams, also those within a connection */
    _Atomic uint64_t bytes_received;
    _Atomic uint64_t bytes_sent;
    _Atomic uint64_t tls_handshakes; /* completed handshakes */
    _Atomic uint64_t tls_resumed;    /* ... of these, resumed by a ticket */
    _Atomic uint64_t tls_offloaded;  /* ... of these, offloaded to the kernel */
    _Atomic uint64_t tls_failures;
    _Atomic uint64_t tls_waited; /* handshakes that were queued */
};

/* `conn_size`: size of the largest struct that begins with a struct uvh_conn. The caller sets the
 * timeout lengths. Returns 0, or
 *   libuv's code; then nothing is left open. */
int uvh_shared_init(struct uvh_conn_shared *shared, uv_loop_t *loop,
                    const uvhttp_allocator_t *allocator, const struct uvh_conn_callbacks *callbacks,
                    size_t conn_size, size_t buffer_size);

/* All connections are freed, and the poller is closed. */
void uvh_shared_release(struct uvh_conn_shared *shared);

/* Returns the receive buffer with at least `space` free bytes following `used`;
 *   NULL when out of memory. Borrowed. */
struct uvh_buffer *uvh_shared_receive_buffer(struct uvh_conn_shared *shared, size_t space);

/* Handles expired stream timers and connection timeouts. */
void uvh_shared_expire(struct uvh_conn_shared *shared, uint64_t now);

/* Continues the connections that were ready at the call. True when there are more. */
bool uvh_shared_resume(struct uvh_conn_shared *shared);

/* Closes all connections. */
void uvh_shared_close_all(struct uvh_conn_shared *shared);

/* Returns the list for stream timers of at least this many milliseconds; NULL when out of
 * memory. */
struct uvh_timeout_list *uvh_shared_timers(struct uvh_conn_shared *shared, uint32_t length_ms);

#endif
