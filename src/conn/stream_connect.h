/* Outgoing streams between uvhttp_stream_connect and `connected`. */
#ifndef UVH_CONN_STREAM_CONNECT_H
#define UVH_CONN_STREAM_CONNECT_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/stream.h>

struct uvh_conn_shared;
struct uvh_connecting;
struct uvhttp_tls_client;

/* As uvhttp_stream_connect and uvhttp_stream_connect_tls; the arguments were checked. `tls` NULL:
 * plain text. */
int uvh_stream_connect_start(struct uvh_conn_shared *shared, struct uvhttp_tls_client *tls,
                             const char *host, int port, uint32_t timeout_ms,
                             uvhttp_stream_connected_cb connected,
                             const uvhttp_stream_events_t *events, void *arg,
                             uvhttp_stream_t **out);

/* Milliseconds, at least 1, for the first of `addresses` when `left_ms` are left for all. An equal
 * share, so that an address that does not respond does not use all the time, but not less than a
 * long round trip takes. */
uint32_t uvh_stream_connect_share(uint64_t left_ms, size_t addresses);

struct uvh_conn_shared *uvh_stream_connect_shared(const struct uvh_connecting *connecting);

/* Why the handshake of the last attempt failed. Static; NULL: no handshake, or no failure. */
const char *uvh_stream_connect_tls_error(const struct uvh_connecting *connecting);

/* The stream's timer has expired: tries the next address, or fails; then the stream is invalid. */
void uvh_stream_connect_on_timer(struct uvhttp_stream *stream);

/* Runs the steps pending for this loop iteration. */
void uvh_stream_connect_resume(struct uvh_conn_shared *shared);

/* Reports failure with `code`, then the end; the stream is invalid after this call. */
void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code);

/* Reports only the end. As above. */
void uvh_stream_connect_give_up(struct uvhttp_stream *stream);

#endif
