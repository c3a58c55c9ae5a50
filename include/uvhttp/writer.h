/* Writes HTTP/1.1 messages (RFC 9112) to memory of the caller: heads, trailers, chunks.
 *
 * Part of uvhttp_parser. Names must be tokens and values must not contain control characters, which
 * prevents header injection. The caller is responsible for consistent fields (Content-Length with
 * Transfer-Encoding, ...). Errors are sticky: write everything, check once.
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

/* Errors of a writer:
 *   FULL     the buffer is too small: use more, or send the contents and continue with a new writer
 *   INVALID  an invalid method, target, status, phrase, name or value, or the line of an empty
 *            chunk */
typedef enum uvhttp_writer_error {
    UVHTTP_WRITER_OK = 0,
    UVHTTP_WRITER_FULL = 1,
    UVHTTP_WRITER_INVALID = 2
} uvhttp_writer_error_t;

/* A writer over memory of the caller. Read `length` and `error`. */
typedef struct uvhttp_writer {
    char *memory;
    size_t capacity; /* bytes of `memory` */
    /* bytes written: complete lines, chunks and bodies only */
    size_t length;
    uvhttp_writer_error_t error; /* the first error; nothing is written after it */
} uvhttp_writer_t;

/* Initializes an empty writer for `memory`, which the caller owns; with NULL every write fails.
 * The output is not NUL-terminated. */
UVHTTP_EXPORT void uvhttp_writer_init(uvhttp_writer_t *writer, char *memory, size_t capacity);

/* All of these return true if written; false, with nothing written and writer->error set, if not
 * or after an earlier error. Arguments are copied. Strings are NUL-terminated; NULL is INVALID
 * unless stated otherwise. A NULL writer gives false. Methods and names have at most 65,535
 * bytes. */

/* "GET /path HTTP/1.1": `method` is a token, `target` visible ASCII without '#' (RFC 9112
 * section 3). */
UVHTTP_EXPORT bool uvhttp_writer_request_line(uvhttp_writer_t *writer, const char *method,
                                              const char *target);
UVHTTP_EXPORT bool uvhttp_writer_request_line_slice(uvhttp_writer_t *writer, uvhttp_slice_t method,
                                                    uvhttp_slice_t target);

/* "HTTP/1.1 200 OK": `status` is 100 to 999. `phrase` NULL writes the registered phrase, if any;
 * "" writes none. No control characters except HTAB (RFC 9112 section 4). */
UVHTTP_EXPORT bool uvhttp_writer_status_line(uvhttp_writer_t *writer, int status,
                                             const char *phrase);

/* "name: value", in a head or a trailer section: `name` is a token, `value` has no control
 * characters except HTAB (RFC 9110 section 5). White space around the value is removed. */
UVHTTP_EXPORT bool uvhttp_writer_field(uvhttp_writer_t *writer, const char *name,
                                       const char *value);
UVHTTP_EXPORT bool uvhttp_writer_field_slice(uvhttp_writer_t *writer, uvhttp_slice_t name,
                                             uvhttp_slice_t value);
UVHTTP_EXPORT bool uvhttp_writer_field_number(uvhttp_writer_t *writer, const char *name,
                                              uint64_t number);

/* The empty line at the end of a head or a trailer section. */
UVHTTP_EXPORT bool uvhttp_writer_end(uvhttp_writer_t *writer);

/* Raw bytes: a body. `data` may be NULL if `length` is 0. */
UVHTTP_EXPORT bool uvhttp_writer_bytes(uvhttp_writer_t *writer, const void *data, size_t length);

/* One chunk with its size line and line end (RFC 9112 section 7.1). Empty data writes nothing,
 * because an empty chunk would end the body. */
UVHTTP_EXPORT bool uvhttp_writer_chunk(uvhttp_writer_t *writer, const void *data, size_t length);

/* The size line of a chunk whose data is sent separately, followed by CR LF (uvhttp_writer_end).
 * `length` 0 is INVALID. */
UVHTTP_EXPORT bool uvhttp_writer_chunk_line(uvhttp_writer_t *writer, uint64_t length);

/* "0": the last chunk. Trailer fields may follow, then uvhttp_writer_end. */
UVHTTP_EXPORT bool uvhttp_writer_last_chunk(uvhttp_writer_t *writer);

#ifdef __cplusplus
}
#endif

#endif
