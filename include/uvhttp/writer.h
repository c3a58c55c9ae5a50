/* Writes HTTP/1.1 messages (RFC 9112) into memory of the caller: heads, trailers, chunks.
 *
 * Part of uvhttp_parser. What a parser would refuse is not written: names are checked to be tokens,
 * values to hold no control, so no line can be smuggled in. The writer does not judge whether the
 * fields fit together (Content-Length with Transfer-Encoding, ...); that is its caller's message.
 * An error stays: write everything, look once.
 *
 *     char memory[512];
 *     uvhttp_writer_t writer;
 *     uvhttp_writer_init(&writer, memory, sizeof memory);
 *     uvhttp_writer_status_line(&writer, 200, NULL);
 *     uvhttp_writer_field(&writer, "content-type", "text/plain");
 *     uvhttp_writer_field_number(&writer, "content-length", 5);
 *     uvhttp_writer_end(&writer);
 *     uvhttp_writer_bytes(&writer, "hello", 5);
 *     if (writer.error == UVHTTP_WRITER_OK) send(fd, memory, writer.length, 0);
 *
 * Plain value, no allocation; one thread at a time. */
#ifndef UVHTTP_WRITER_H
#define UVHTTP_WRITER_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why nothing more is written:
 *   FULL     the memory is too small: give more, or send what is there and go on with a new writer
 *   INVALID  a method, target, status, phrase, name or value that must not be sent, or the line of
 *            an empty chunk */
typedef enum uvhttp_writer_error {
    UVHTTP_WRITER_OK = 0,
    UVHTTP_WRITER_FULL = 1,
    UVHTTP_WRITER_INVALID = 2
} uvhttp_writer_error_t;

/* A writer over memory of the caller. Read `length` and `error`. */
typedef struct uvhttp_writer {
    char *memory;
    size_t capacity; /* bytes of `memory` */
    /* bytes written: whole lines, chunks and bodies, never a part of one */
    size_t length;
    uvhttp_writer_error_t error; /* the first one; nothing is written after it */
} uvhttp_writer_t;

/* An empty writer over `memory`, which stays the caller's; NULL gives
 * one in which nothing has room. Nothing is terminated by NUL. */
UVHTTP_EXPORT void uvhttp_writer_init(uvhttp_writer_t *writer, char *memory, size_t capacity);

/* All of these: true when it was written; false, with nothing written and writer->error set, when
 * it was not or an earlier one had failed. What is given is copied. Strings end with NUL; one that
 * is NULL is INVALID unless it says so, a writer that is NULL gives false. Methods and names have
 * at most 65,535 bytes. */

/* "GET /path HTTP/1.1": `method` is a token, `target` holds visible ASCII without '#' (RFC 9112
 * section 3). */
UVHTTP_EXPORT bool uvhttp_writer_request_line(uvhttp_writer_t *writer, const char *method,
                                              const char *target);
UVHTTP_EXPORT bool uvhttp_writer_request_line_slice(uvhttp_writer_t *writer, uvhttp_slice_t method,
                                                    uvhttp_slice_t target);

/* "HTTP/1.1 200 OK": `status` is 100 to 999. `phrase` NULL takes the registered one, none for
 * numbers without one; "" sends none; it holds no control but HTAB (RFC 9112 section 4). */
UVHTTP_EXPORT bool uvhttp_writer_status_line(uvhttp_writer_t *writer, int status,
                                             const char *phrase);

/* "name: value", in a head or in a trailer section: `name` is a token, `value` holds no control but
 * HTAB (RFC 9110 section 5). White space around the value is not sent. */
UVHTTP_EXPORT bool uvhttp_writer_field(uvhttp_writer_t *writer, const char *name,
                                       const char *value);
UVHTTP_EXPORT bool uvhttp_writer_field_slice(uvhttp_writer_t *writer, uvhttp_slice_t name,
                                             uvhttp_slice_t value);
UVHTTP_EXPORT bool uvhttp_writer_field_number(uvhttp_writer_t *writer, const char *name,
                                              uint64_t number);

/* The empty line that ends a head or a trailer section. */
UVHTTP_EXPORT bool uvhttp_writer_end(uvhttp_writer_t *writer);

/* Bytes as they are: a body. `data` may be NULL when `length` is 0. */
UVHTTP_EXPORT bool uvhttp_writer_bytes(uvhttp_writer_t *writer, const void *data, size_t length);

/* One chunk with its size line and line end (RFC 9112 section 7.1). Empty data writes nothing,
 * since an empty chunk would end the body. */
UVHTTP_EXPORT bool uvhttp_writer_chunk(uvhttp_writer_t *writer, const void *data, size_t length);

/* The size line of a chunk whose data is sent from elsewhere; behind the data comes CR LF:
 * uvhttp_writer_end. `length` 0 is INVALID. */
UVHTTP_EXPORT bool uvhttp_writer_chunk_line(uvhttp_writer_t *writer, uint64_t length);

/* "0": the last chunk. Trailer fields may follow, then uvhttp_writer_end. */
UVHTTP_EXPORT bool uvhttp_writer_last_chunk(uvhttp_writer_t *writer);

#ifdef __cplusplus
}
#endif

#endif
