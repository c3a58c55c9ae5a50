/* Streams on their way to somebody else: what becomes of them between uvhttp_stream_connect and `connected`. conn.c and stream.c call what
 * stands here. */
#ifndef UVH_SERVER_STREAM_CONNECT_H
#define UVH_SERVER_STREAM_CONNECT_H

#include <stddef.h>
#include <stdint.h>

struct uvh_conn;
struct uvhttp_stream;

/* Milliseconds, at least 1, for the first of so many addresses when so many milliseconds are left for all: as much as each of the others may get, so that one that is silent does not take it all, but no less than it takes
 * to cross the world. */
uint32_t uvh_stream_connect_share(uint64_t left_ms, size_t addresses);

/* The time of its timer has come: goes on to the next address, or tells that it has failed; then the stream is gone afterwards. */
void uvh_stream_connect_time_has_come(struct uvhttp_stream *stream);

/* Its next step was left for this turn. */
void uvh_stream_connect_next(struct uvh_conn *conn);

/* Tells that it has failed with `code`, and that it is over; the stream is gone afterwards. */
void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code);

/* Tells only that it is over. As above. */
void uvh_stream_connect_give_up(struct uvhttp_stream *stream);

#endif
