/* Writes heads (RFC 9112 sections 3 to 5) and chunk lines (section 7.1) into memory of the caller.
 *
 * Every function writes at `out` at most `room` bytes and returns how many it wrote, or 0 when they
 * do not fit; then nothing was written. Nothing is terminated by NUL. Names and values are taken as
 * they are: check what comes from a user with uvh_field_name_valid and uvh_field_value_valid first.
 * Called by server/conn_head.c, server/conn_pieces.c and by writer.c, which checks. */
#ifndef UVH_CODEC_HTTP1_ENCODE_H
#define UVH_CODEC_HTTP1_ENCODE_H

#include <uvhttp/types.h>

enum {
    UVH_H1_ENCODE_CHUNK_LINE_SIZE = 16 + 2, /* longest chunk line */
    UVH_H1_ENCODE_FIELD_EXTRA = 4           /* ": " and CR LF of a field line */
};

/* "GET /path HTTP/1.1\r\n" */
size_t uvh_h1_encode_request_line(char *out, size_t room, uvhttp_slice_t method,
                                  uvhttp_slice_t target);

/* "HTTP/1.1 404 Not Found\r\n". The line of a registered status (codec/http1/status.h) is pre-built
 * and `phrase` is not looked at; for others it is the reason phrase, NUL-terminated, "" for none.
 * `status` is 100 to 999. */
size_t uvh_h1_encode_status_line(char *out, size_t room, int status, const char *phrase);

/* The same with this phrase, whatever the status. */
size_t uvh_h1_encode_status_phrase(char *out, size_t room, int status, const char *phrase);

/* "Name: value\r\n" */
size_t uvh_h1_encode_field(char *out, size_t room, uvhttp_slice_t name, uvhttp_slice_t value);

/* "\r\n", which ends a head or a trailer section. */
size_t uvh_h1_encode_end(char *out, size_t room);

/* "1f\r\n": what stands before a chunk's data. Behind the data comes CR LF (uvh_h1_encode_end), and
 * a chunk of size 0 is the last. */
size_t uvh_h1_encode_chunk_line(char *out, size_t room, uint64_t size);

#endif
