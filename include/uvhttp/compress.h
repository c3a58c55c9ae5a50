/* Compression of responses: a middleware that compresses with the content coding the client prefers
 * (brotli, zstd or gzip, RFC 9110 section 8.4), and compression of bytes for other uses.
 *
 *     uvhttp_compress_t *compress;
 *     int err = uvhttp_compress_new(&compress, NULL, NULL);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_compress_handle_request, compress);
 *
 * It compresses bodies in memory from `min_size` to `max_size` when they are sent, and streamed
 * bodies of any length while they are written, if their type is in the list. Above `job_size` a
 * body in memory is compressed by a job of the heavy lane, also one of a blocking handler, so that
 * the loop is not blocked; it is sent uncompressed if config->heavy_queue jobs are pending. The
 * response gets Content-Encoding and, in all cases, "Vary: Accept-Encoding"; a strong ETag becomes
 * weak, because the bytes differ (RFC 9110 section 8.8.1). Unchanged are 204, 205, 206 and 304;
 * responses with Content-Encoding, Content-Range, Accept-Ranges (ranges count stored bytes), a
 * digest or "Cache-Control: no-transform" (section 7.7); prepared fields with an ETag; and bodies
 * in files (uvhttp/static.h has its own compression).
 *
 * BREACH attack: if a response contains both a secret (a token in a form) and text from the
 * request, an attacker can guess the secret from the compressed length, if he can make a victim's
 * browser send requests and observes the size of TLS responses. Do not compress such responses: set
 * "Cache-Control: no-transform", or do not use the middleware on those routes. See
 * docs/compression.md.
 *
 * Needs brotli, zstd and zlib (CMake option BUILD_WITH_COMPRESSION): without them
 * uvhttp_compress_new and uvhttp_compress_bytes return UVHTTP_ENOTSUP. */
#ifndef UVHTTP_COMPRESS_H
#define UVHTTP_COMPRESS_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Content codings; combined by addition. */
typedef enum uvhttp_coding {
    UVHTTP_CODING_GZIP = 2,   /* "gzip", RFC 1952 */
    UVHTTP_CODING_BROTLI = 4, /* "br", RFC 7932 */
    UVHTTP_CODING_ZSTD = 8,   /* "zstd", RFC 8878 */
} uvhttp_coding_t;

/* Values for a level: the default for dynamic responses (gzip 5, br 4, zstd 3), and the best
 * compression, for files compressed once (gzip 9, br 11, zstd 19). */
#define UVHTTP_COMPRESS_DEFAULT 0
#define UVHTTP_COMPRESS_BEST    (-1)

/* A compression policy. */
typedef struct uvhttp_compress uvhttp_compress_t;

/* Zeros are the defaults. Strings are copied. */
typedef struct uvhttp_compress_options {
    size_t min_size; /* bytes; a smaller body sent as a whole is not compressed; 0: 1,024 */
    /* Bytes; a larger one is not compressed either, because of the memory for body and result; 0:
     * 16 MiB. */
    size_t max_size;
    /* Bytes; a larger body sent as a whole is compressed by a job of the heavy lane, because it
     * would block the loop (5 to 40 ms per MiB); 0: 65,536. */
    size_t job_size;
    /* Media types, separated by spaces or commas: "text/html", all of "text" with a star after
     * its slash, a suffix "+json"; NULL: text formats, uncompressed fonts and similar. */
    const char *types;
    unsigned codings;                    /* sum of uvhttp_coding_t; 0: all */
    int gzip_level;                      /* 1 to 9; 0: 5 */
    int brotli_level;                    /* 1 to 11; 0: 4 */
    int zstd_level;                      /* 1 to 22; 0: 3 */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_compress_options_t;

/* False in a build without compression (BUILD_WITH_COMPRESSION). Any thread. */
UVHTTP_EXPORT bool uvhttp_compress_available(void);

/* Creates a policy. `options` NULL: all defaults. Any thread.
 * Returns 0, or with `*compress` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_ENOTSUP  a build without compression
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_compress_new(uvhttp_compress_t **compress,
                                      const uvhttp_compress_options_t *options,
                                      uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_compress_free(void *compress);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_compress_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_compress_use(uvhttp_router_t *router,
                                      const uvhttp_compress_options_t *options);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `compress` is
 * the uvhttp_compress_t. Passes every request and compresses its response. Of Accept-Encoding
 * (section 12.5.3) the coding with the highest weight is used; of equal ones br, then zstd, then
 * gzip.
 *
 * Streamed bodies are sent with chunked coding. Each chunk of server-sent events, JSON lines
 * (application/x-ndjson, json-seq) and multipart/x-mixed-replace is flushed; other output is
 * buffered until there is enough, or uvhttp_response_flush. An open stream needs 0.3 to 2 MiB.
 * When out of memory, a body sent as a whole is sent uncompressed, and a streamed one is
 * aborted. Added before uvhttp_body_etag_handle_request, it makes those tags weak; added after
 * it, tags are computed from the compressed bytes. */
UVHTTP_EXPORT int uvhttp_compress_handle_request(uvhttp_request_t *request,
                                                 uvhttp_response_t *response, void *compress);

/* Compresses bytes; the result is deterministic. `level` as above. `*out` has `*out_size` bytes, at
 * most `most`, from the allocator (NULL: the built-in one); free it with the allocator's `release`
 * or uvhttp_compress_release. Any thread; may be slow (brotli 11: seconds per MiB), so not on a
 * loop thread.
 * Returns 0, or with `*out` NULL
 *   UVHTTP_ETOOLARGE  more than `most` bytes
 *   UVHTTP_EINVAL     no such coding or level
 *   UVHTTP_ENOTSUP    a build without compression
 *   UVHTTP_ENOMEM     out of memory */
UVHTTP_EXPORT int uvhttp_compress_bytes(const uvhttp_allocator_t *allocator, uvhttp_coding_t coding,
                                        int level, const void *data, size_t size, size_t most,
                                        void **out, size_t *out_size);

/* Frees a result of uvhttp_compress_bytes with the same allocator. NULL does nothing. */
UVHTTP_EXPORT void uvhttp_compress_release(const uvhttp_allocator_t *allocator, void *out);

/* True if files of that name are compressible, by the type of their extension. Any thread. */
UVHTTP_EXPORT bool uvhttp_compress_suits_file(const char *name);

#ifdef __cplusplus
}
#endif

#endif
