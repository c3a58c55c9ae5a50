/* Streams on their way to another server: between uvhttp_stream_connect and `connected`. Called by
 * stream.c, shared.c and server/streams.c. */
#ifndef UVH_CONN_STREAM_CONNECT_H
#define UVH_CONN_STREAM_CONNECT_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/stream.h>

struct uvh_conn_shared;
struct uvh_connecting;
struct uvhttp_tls_client;

/* Begins. As uvhttp_stream_connect and uvhttp_stream_connect_tls say; the arguments were checked.
 * `tls` NULL: plain. */
int uvh_stream_connect_start(struct uvh_conn_shared *shared, struct uvhttp_tls_client *tls,
                             const char *host, int port, uint32_t timeout_ms,
                             uvhttp_stream_connected_cb connected,
                             const uvhttp_stream_events_t *events, void *arg,
                             uvhttp_stream_t **out);

/* Milliseconds, at least 1, for the first of so many addresses when so many milliseconds are left
 * for all: as much as each of the others may get, so that a silent one does not take it all, but no
 * less than it takes to cross the world. */
uint32_t uvh_stream_connect_share(uint64_t left_ms, size_t addresses);

struct uvh_conn_shared *uvh_stream_connect_shared(const struct uvh_connecting *connecting);

/* Why the handshake of the last attempt has failed. Static; NULL: there was none, or it has not. */
const char *uvh_stream_connect_tls_error(const struct uvh_connecting *connecting);

/* The stream's timer has expired: goes on to the next address, or fails; then the stream is
 * gone. */
void uvh_stream_connect_on_timer(struct uvhttp_stream *stream);

/* Steps that were left for this loop iteration. */
void uvh_stream_connect_resume(struct uvh_conn_shared *shared);

/* Reports failure with `code`, then the end; the stream is gone afterwards. */
void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code);

/* Reports only the end. As above. */
void uvh_stream_connect_give_up(struct uvhttp_stream *stream);

#endif
