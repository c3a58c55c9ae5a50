/* Writes heads (RFC 9112 sections 3 to 5) and chunk lines (section 7.1) to the caller's memory.
 *
 * Every function writes at most `space` bytes to `out` and returns the number of bytes; if they do
 * not fit, it writes nothing and returns 0. No output is NUL-terminated. Names and values are not
 * checked: check strings of the application with uvh_field_name_valid and uvh_field_value_valid
 * first. writer.c does so. */
#ifndef UVH_CODEC_HTTP1_ENCODE_H
#define UVH_CODEC_HTTP1_ENCODE_H

#include <uvhttp/types.h>

enum {
    UVH_H1_ENCODE_CHUNK_LINE_SIZE = 16 + 2, /* longest chunk line */
    UVH_H1_ENCODE_FIELD_EXTRA = 4           /* ": " and CR LF of a field line */
};

/* "GET /path HTTP/1.1\r\n" */
size_t uvh_h1_encode_request_line(char *out, size_t space, uvhttp_slice_t method,
                                  uvhttp_slice_t target);

/* "HTTP/1.1 404 Not Found\r\n". The line of a status in codec/http1/status.h is prebuilt and
 * `phrase` is ignored; for others it is the reason phrase, NUL-terminated, "" for none. Returns 0
 * also if `status` is not 100 to 999. */
size_t uvh_h1_encode_status_line(char *out, size_t space, int status, const char *phrase);

/* The same with this phrase for every status. */
size_t uvh_h1_encode_status_phrase(char *out, size_t space, int status, const char *phrase);

/* "Name: value\r\n" */
size_t uvh_h1_encode_field(char *out, size_t space, uvhttp_slice_t name, uvhttp_slice_t value);

/* "\r\n", which ends a head or a trailer section. */
size_t uvh_h1_encode_end(char *out, size_t space);

/* "1f\r\n": the line before a chunk's data. CR LF follows the data (uvh_h1_encode_end); a chunk of
 * size 0 is the last. */
size_t uvh_h1_encode_chunk_line(char *out, size_t space, uint64_t size);

#endif
