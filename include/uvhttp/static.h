/* Static files: a folder of the file system as part of the URL space.
 *
 * GET and HEAD; regular files only; nothing outside the root is ever opened, whatever the path, links included (they may point
 * inside the root). ETag, Last-Modified, conditional requests (RFC 9110 section 13) and single ranges (section 14). Small files are
 * kept in memory with their fields, larger ones as open descriptors.
 *
 * Answers: 200, 206 and 304 as the request's conditions and range say, 412 and 416 when they cannot be met; 301 from a folder without
 * the slash to the one with it; 404 for what is not there, or hidden; 403 for what may not be seen: a folder with neither index nor
 * listing, a file without permission, a FIFO, socket or device, a link that leads out of the root (every absolute one does) or in a
 * circle; 404 also for a path with an encoded slash, since no name holds one; 405 for other methods (but for uploads, if they are
 * wanted); 503 without descriptors or memory; 500, with a line in the log, when the disk fails. Several
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
    /* Uploads: see uvhttp_static_handle_upload. */
    bool uploads;           /* take files by PUT and POST; default: 405 */
    bool upload_overwrite;  /* a file that is there may be replaced; default: 409 */
    bool upload_folders;    /* make the folders that are missing above a file; default: 409 */
    bool upload_sync;       /* file and folder are on the disk before the client is answered (fsync) */
    size_t upload_max_size; /* bytes of a body; more is answered 413; 0: 1 GiB */
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

/* The handler of uploads, for routes with UVHTTP_ROUTE_STREAM and the methods PUT and POST; `context` as above, opened with `uploads` (else 405).
 * Whoever may use the route may store files: ask who it is in a middleware before it.
 *
 * PUT stores the body under the path (RFC 9110 section 9.3.4): 201 with Location and ETag for a new file, 204 with ETag for one that was replaced.
 * POST takes a form with files (multipart/form-data, RFC 7578) for the folder that the path names: 201, or 200 when all replaced others, and a
 * text with the path of each; fields that are no files are ignored; names are made as uvhttp_form_part_t.filename says. All files of a
 * form are complete before the first gets its name.
 *
 * A file has a hidden name (".uvhttp-....part") in the same folder until it is complete, then gets its own in one step; what is given up is removed. Only a process that is
 * killed leaves such files; they are never served. All is written on libuv's thread pool (uvhttp/upload.h). Afterwards this worker's
 * cache has forgotten the path; the others look at it again after revalidate_ms.
 *
 * Checked before the body is asked for (a client that expects "100 Continue" is told first), and again before the file gets its name:
 *   400  Content-Range (section 14.5), a name with a control character, malformed or wrong Content-Digest or Repr-Digest (RFC 9530,
 *        sha-256 and sha-512; others are ignored; of a form they are not looked at), a form that is malformed or has no file
 *   403  a hidden name; a link, device, FIFO or socket has the name; a folder that may not be written, or leads out of the root; a form that a page of
 *        another site sends (Sec-Fetch-Site, or else Origin and Host)
 *   404  POST to a folder that is not there; a path with an encoded slash
 *   405  PUT to a path that ends with a slash
 *   409  a file has the name and may not be replaced; a folder has it; the folder above is missing (RFC 4918 section 9.7.1)
 *   412  If-Match, If-None-Match or If-Unmodified-Since say no (RFC 9110 section 13); of two who replace the same state one wins
 *   413  larger than upload_max_size
 *   415  Content-Encoding, since it could not be given back; POST of anything but a form
 *   501  a digest, in a build without OpenSSL
 *   507  the disk is full
 *   500, 503  the disk fails; out of memory */
UVHTTP_EXPORT int uvhttp_static_handle_upload(uvhttp_request_t *request, uvhttp_response_t *response,
                                              void *context);

/* Loads one file into the caches of all workers now: its first request of each only looks whether the file is still the same, and needs not read it. `path`
 * as in a URL below the root, decoded ("/static/index.html", "/" for an index file). 0, or libuv's code when it cannot be opened,
 * UVHTTP_ENOTREG, UVHTTP_ENOMEM. Before the server runs. */
UVHTTP_EXPORT int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path);

/* Opens a root and serves it below `prefix` ("/", "/assets/"), owned by the server: uvhttp_static_open, a "prefix*" route for
 * GET (with `uploads` for PUT and POST, too), and uvhttp_server_own in one call. Errors as those. */
UVHTTP_EXPORT int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix,
                                      const uvhttp_static_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
