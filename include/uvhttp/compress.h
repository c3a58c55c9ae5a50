/* Compression of answers: a middleware that sends what handlers answer in the coding that suits the
 * client best (brotli, zstd or gzip, RFC 9110 section 8.4), and compression of bytes for other
 * uses.
 *
 *     uvhttp_compress_t *compress;
 *     int err = uvhttp_compress_new(&compress, NULL, NULL, 0);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_compress_handle_request, compress);
 *
 * What is compressed: bodies in memory from `min_size` to `max_size`, when they leave, and bodies
 * in pieces of any length while they are written, if their type is in the list. The answer gets
 * Content-Encoding and, whatever was chosen, "Vary: Accept-Encoding"; a strong ETag becomes weak,
 * since it names other bytes (RFC 9110 section 8.8.1). Left as they are: 204, 205, 206, 304;
 * answers that have Content-Encoding, Content-Range, Accept-Ranges (ranges are counted in bytes as
 * they are stored), a digest or "Cache-Control: no-transform" (section 7.7); prepared fields with
 * an ETag; and bodies in files: folders (uvhttp/static.h) have coded variants of their own.
 *
 * A secret in an answer (a token in a form) that also repeats what the client sent can be guessed
 * from the compressed length by somebody who can make a victim's browser send requests and sees how
 * much comes back over TLS (the BREACH attack). Do not compress such answers: "Cache-Control:
 * no-transform", or leave the middleware off those routes. See docs/compression.md.
 *
 * Needs brotli, zstd and zlib (CMake option BUILD_WITH_COMPRESSION): without them
 * uvhttp_compress_new and uvhttp_compress_bytes give UVHTTP_ENOTSUP. */
#ifndef UVHTTP_COMPRESS_H
#define UVHTTP_COMPRESS_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Content codings; sets of them are their sum. */
typedef enum uvhttp_coding {
    UVHTTP_CODING_GZIP = 2,   /* "gzip", RFC 1952 */
    UVHTTP_CODING_BROTLI = 4, /* "br", RFC 7932 */
    UVHTTP_CODING_ZSTD = 8,   /* "zstd", RFC 8878 */
} uvhttp_coding_t;

/* In the place of a level: what suits answers that somebody waits for (gzip 5, br 4, zstd 3), and
 * the smallest, for files that are compressed once (gzip 9, br 11, zstd 19). */
#define UVHTTP_COMPRESS_DEFAULT 0
#define UVHTTP_COMPRESS_BEST    (-1)

/* How to compress, ready for use. */
typedef struct uvhttp_compress uvhttp_compress_t;

/* Zeros are the defaults. Strings are copied. */
typedef struct uvhttp_compress_config {
    size_t min_size; /* bytes of a body in one piece below which it stays as it is; 0: 1,024 */
    /* and above which, since the loop waits meanwhile (5 to 40 ms for each MiB); 0: 1 MiB */
    size_t max_size;
    const char *
        /* media types, separated by spaces or commas: "text/html", all of "text" with a star behind
         * its slash, a suffix "+json"; NULL: what is text in the widest sense, fonts that are not
         * compressed, and the like */
        types;
    unsigned codings;                    /* sum of uvhttp_coding_t; 0: all */
    int gzip_level;                      /* 1 to 9; 0: 5 */
    int brotli_level;                    /* 1 to 11; 0: 4 */
    int zstd_level;                      /* 1 to 22; 0: 3 */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_compress_config_t;

/* 0, or with `*compress` NULL: UVHTTP_ECONFIG, with a NUL-terminated message of at most `size`
 * bytes that names field and value (`message` may be NULL), UVHTTP_ENOTSUP, UVHTTP_ENOMEM. `config`
 * NULL: all defaults. Any thread. */
UVHTTP_EXPORT int uvhttp_compress_new(uvhttp_compress_t **compress,
                                      const uvhttp_compress_config_t *config, char *message,
                                      size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_compress_free(uvhttp_compress_t *compress);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `compress` is the
 * uvhttp_compress_t. Lets every request pass, and looks at what is answered. Of Accept-Encoding
 * (section 12.5.3) the coding with the highest weight is taken, of equal ones br before zstd before
 * gzip. Bodies in pieces go out in chunks; of server-sent events, JSON lines (application/x-ndjson,
 * json-seq) and multipart/x-mixed-replace every piece leaves at once, of others when there is
 * enough of them or with uvhttp_response_flush. Such a stream costs 0.3 to 2 MiB while it is open.
 * When memory runs out, a body in one piece is sent as it is, one in pieces ends. Added before
 * uvhttp_body_etag_handle_request, it makes those tags weak; behind it, they are made of the coded
 * bytes. */
UVHTTP_EXPORT int uvhttp_compress_handle_request(uvhttp_request_t *request,
                                                 uvhttp_response_t *response, void *compress);

/* Compresses bytes at once: the same ones always give the same. `level` as above. `*out` is
 * `*out_size` bytes of the allocator's (NULL: the system's), to be given back with its `release` or
 * by uvhttp_compress_release, at most `most` of them. Errors, with `*out` NULL: UVHTTP_ETOOLARGE
 * (more than `most`), UVHTTP_EINVAL (no such coding or level), UVHTTP_ENOTSUP, UVHTTP_ENOMEM. Takes
 * as long as it takes (brotli 11: seconds for each MiB), so rather not on a loop's thread. Any
 * thread. */
UVHTTP_EXPORT int uvhttp_compress_bytes(const uvhttp_allocator_t *allocator, uvhttp_coding_t coding,
                                        int level, const void *data, size_t size, size_t most,
                                        void **out, size_t *out_size);

/* Frees what uvhttp_compress_bytes made with the same allocator. NULL is fine. */
UVHTTP_EXPORT void uvhttp_compress_release(const uvhttp_allocator_t *allocator, void *out);

/* True when files of that name are worth compressing, by the type that their extension means. Any
 * thread. */
UVHTTP_EXPORT bool uvhttp_compress_suits_file(const char *name);

#ifdef __cplusplus
}
#endif

#endif
