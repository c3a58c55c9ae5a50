/* Streams on their way to somebody else: what becomes of them between uvhttp_stream_connect and `connected`. conn.c and stream.c call what
 * stands here. */
#ifndef UVH_SERVER_STREAM_CONNECT_H
#define UVH_SERVER_STREAM_CONNECT_H

struct uvh_conn;
struct uvhttp_stream;

/* Its next step was left for this turn. */
void uvh_stream_connect_next(struct uvh_conn *conn);

/* Tells that it has failed with `code`, and that it is over; the stream is gone afterwards. */
void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code);

/* Tells only that it is over. As above. */
void uvh_stream_connect_give_up(struct uvhttp_stream *stream);

#endif
