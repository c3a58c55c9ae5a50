/* Static files: a folder of the file system as part of the URL space.
 *
 * GET and HEAD; regular files only; nothing outside the root is ever opened, whatever the path, links included (they may point
 * inside the root). ETag, Last-Modified, conditional requests (RFC 9110 section 13) and single ranges (section 14). Small files are
 * kept in memory with their fields, larger ones as open descriptors.
 *
 * Answers: 200, 206 and 304 as the request's conditions and range say, 412 and 416 when they cannot be met; 301 from a folder without
 * the slash to the one with it; 404 for what is not there, or hidden; 403 for what may not be seen: a folder with neither index nor
 * listing, a file without permission, a FIFO, socket or device, a link that leads out of the root (every absolute one does) or in a
 * circle; 404 also for a path with an encoded slash, since no name holds one; 405 for other methods; 503 without descriptors or memory; 500, with a line in the log, when the disk fails. Several
 * ranges in one request are answered with the whole file. A folder ".well-known" in the root is never hidden (RFC 8615).
 *
 * A context keeps a cache for each worker of its server, so one context serves one server, and no other. */
#ifndef UVHTTP_STATIC_H
#define UVHTTP_STATIC_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A folder that is served, with its cache; from uvhttp_static_open. */
typedef struct uvhttp_static uvhttp_static_t;

/* What uvhttp_static_open is told. All but the root may be zero. */
typedef struct uvhttp_static_config {
    const char *root;     /* folder; copied and opened once. Required. */
    const char *index;    /* index file names, separated by spaces; NULL: "index.html"; "": none */
    bool listing;         /* answer folders without index with a listing; default: 403 */
    bool hidden;          /* serve names that begin with a dot; default: 404 */
    size_t cache_memory;  /* bytes of file contents kept in memory by each worker; 0: 64 MiB */
    size_t cache_entries; /* files each worker knows at once (bodies or descriptors); 0: 1,024 */
    size_t
        memory_file_size; /* bytes; files up to this size are kept in memory, larger ones sent by sendfile; 0: 16 KiB */
    size_t revalidate_ms; /* milliseconds after which a cached file is looked at again; 0: 1,000 */
    /* Listings, when `listing` is on. */
    size_t
        listing_max; /* entries of a folder that are shown; 0: 10,000. A longer listing says that it is not complete. */
    bool archive;           /* also answer with the folder and all below it as a tar archive; default: 403 */
    size_t archive_entries; /* files and folders an archive may hold; 0: 100,000. For a larger one 403. */
    size_t archive_size;    /* bytes of all files in one; 0: 16 GiB. The same. */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the context. */
} uvhttp_static_config_t;

/* Opens a root. 0 and the context in `*context`, or: UVHTTP_EINVAL (no root), UVHTTP_ENOMEM, libuv's (UV_ENOENT, UV_ENOTDIR,
 * UV_EACCES, ...) with `*context` NULL. Belongs to the caller, who closes it after the server is freed (or hands
 * it to the server with uvhttp_server_own). Any thread. */
UVHTTP_EXPORT int uvhttp_static_open(uvhttp_static_t **context, const uvhttp_static_config_t *config);
UVHTTP_EXPORT void uvhttp_static_close(uvhttp_static_t *context);

/* A handler: `context` is the uvhttp_static_t. The file's path is the route's "*" (or "*name") parameter, the whole path when
 * the route has none. Declines nothing: a missing file is 404. */
UVHTTP_EXPORT int uvhttp_static_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                               void *context);

/* Loads one file into the caches of all workers now: its first request of each only looks whether the file is still the same, and needs not read it. `path`
 * as in a URL below the root, decoded ("/static/index.html", "/" for an index file). 0, or libuv's code when it cannot be opened,
 * UVHTTP_ENOTREG, UVHTTP_ENOMEM. Before the server runs. */
UVHTTP_EXPORT int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path);

/* Opens a root and serves it below `prefix` ("/", "/assets/"), owned by the server: uvhttp_static_open, a "prefix*" route for
 * GET, and uvhttp_server_own in one call. Errors as those. */
UVHTTP_EXPORT int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix,
                                      const uvhttp_static_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
