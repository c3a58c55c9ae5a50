/* Static files: serves a directory of the file system below a URL prefix.
 *
 * GET and HEAD; regular files only. Nothing outside the roots is opened; symbolic links may point
 * within their root, unless `symlinks` says otherwise. ETag, Last-Modified, conditional requests
 * (RFC 9110 section 13) and ranges (section 14). Small files are cached in memory with their
 * fields, larger ones as open descriptors.
 *
 * Responses:
 *   200, 206, 304  by the request's conditions and ranges
 *   301  path with repeated slashes; directory without trailing slash; with clean URLs, other names
 *        of a file
 *   403  directory with neither index nor listing, missing permission, FIFO, socket or device, link
 *        that leaves the root (every absolute one does) or a link loop
 *   404  missing or hidden file; path with an encoded slash, because no file name contains one
 *   405  other methods (except uploads, if enabled)
 *   412, 416  a condition or range cannot be met
 *   500  disk error, with a line in the log
 *   503  out of descriptors or memory
 *
 * Several ranges get multipart/byteranges in the requested order (section 15.3.7.2). Overlapping
 * ranges, or ranges less than 80 bytes apart, are merged; a single remaining range is a plain 206.
 * The whole file is sent for more than 64 ranges, for ranges that would make the response longer
 * than the file, and for a malformed Range. A directory ".well-known" in the root is never hidden
 * (RFC 8615).
 *
 * A context has a lock-free cache per worker of its server, so it belongs to one server: the
 * first that mounts it or handles a request with it. Mounting it on another server fails with
 * UVHTTP_EINVAL; requests of another server fail with UVHTTP_EINVAL (500) and one line in the
 * log. Open one context per server. */
#ifndef UVHTTP_STATIC_H
#define UVHTTP_STATIC_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A served directory with its cache; from uvhttp_static_new. */
typedef struct uvhttp_static uvhttp_static_t;

/* A response field for files that match a pattern. All matching rules apply; for the same field the
 * last one does.
 *
 * Pattern: without a slash it matches file names in any directory ("*.css"). With a slash it
 * matches the path below the root; "/assets/" followed by "**" matches everything below a
 * directory. `*` matches any characters except a slash, `?` one character, `[a-z]` one of a set.
 * The path is that of the file: "/docs/index.html", also for a request of "/docs/".
 *
 * Field: any except those set by the server for each response (ETag, Last-Modified, Accept-Ranges,
 * Content-Encoding, Content-Range, Location and others). "Content-Type" is the file's type.
 * "Content-Disposition" with the value "attachment" or "inline" is sent with the file's name (RFC
 * 6266), a non-ASCII name in both encodings; any other value is sent as is. Fields are sent with
 * 200 and 206; Cache-Control, Content-Location, Expires and Vary also with 304 (RFC 9110 section
 * 15.4.5); none with errors, listings and redirects. A field that middleware also sets is sent
 * twice.
 *
 * Value: NULL removes the field of earlier rules. */
typedef struct uvhttp_static_rule {
    const char *pattern;
    const char *field;
    const char *value;
} uvhttp_static_rule_t;

/* Policy for symbolic links below a root. A link that is not allowed gets 403. */
typedef enum uvhttp_static_symlinks {
    UVHTTP_SYMLINKS_INSIDE = 0, /* may point within the root */
    /* may point anywhere: for directories that no other user can write */
    UVHTTP_SYMLINKS_ALL,
    UVHTTP_SYMLINKS_NONE, /* not followed */
    /* may point anywhere, to files of the link's owner; the same for every link on the path */
    UVHTTP_SYMLINKS_OWNER
} uvhttp_static_symlinks_t;

/* Options of uvhttp_static_new. All except the root may be zero. An option that needs another
 * one (upload_... needs uploads, archive needs listing, a level needs compress, rate_burst needs
 * rate_limit) is rejected without it. */
typedef struct uvhttp_static_options {
    /* Directory; copied. Required. If its path leads to another directory later, because it was
     * replaced or a symbolic link was changed, that one is served; without one, requests get 404.
     * `symlinks` does not apply to the links on this path, so only trusted users may write to the
     * directories above the root. After chroot(2) the path is looked up in the new file system. */
    const char *root;
    /* Index file names, separated by spaces, without slashes; NULL: "index.html"; "": none. */
    const char *index;
    bool listing; /* list directories without index; default: 403 */
    bool hidden;  /* serve names that begin with a dot; default: 404 */
    /* Patterns of paths to hide, as in uvhttp_static_rule_t, up to a NULL; copied; without a final
     * slash. A matching file gets 404, a matching directory with everything in it, and neither is
     * in listings and archives; uploads get 403. "app.js" does not match its "app.js.gz". The path
     * of a link counts, not its target; a fallback or error page may be hidden from requests for
     * itself. */
    const char *const *hide;
    size_t cache_memory;  /* bytes of file contents cached by each worker; 0: 64 MiB */
    size_t cache_entries; /* files cached by each worker (bodies or descriptors); 0: 1,024 */
    /* Bytes; files up to this size are cached in memory, larger ones sent with sendfile; 0: 16
     * KiB. */
    size_t memory_file_size;
    uint32_t revalidate_ms; /* milliseconds until a cached file is checked again; 0: 1,000 */

    /* Compression (RFC 9110 section 12.5.3), by Accept-Encoding; of equally weighted codings br
     * is preferred to zstd, and zstd to gzip. */

    /* For a file "a.js" send "a.js.br", "a.js.zst" or "a.js.gz" in the same directory, if not
     * older. */
    bool precompressed;
    /* Compress missing variants in a job of the heavy lane, for compressible types, and cache
     * them. */
    bool compress;
    size_t compress_min_size; /* bytes; smaller files are not compressed on the fly; 0: 1,024 */
    size_t compress_max_size; /* bytes; larger ones neither; 0: 8 MiB */
    size_t gzip_level;        /* 1 to 9, as in zlib; 0: 5 */
    size_t brotli_level;      /* 1 to 11; 0: 4 */
    size_t zstd_level;        /* 1 to 19; 0: 3 */

    /* Cache */

    /* Files kept open by all workers together; 0: a quarter of the process's descriptor limit. */
    size_t cache_descriptors;
    /* Milliseconds for which a path without a file (404, 403, a fallback) is cached; 0:
     * revalidate_ms, at most 1,000; UVHTTP_NEVER: not at all. */
    uint32_t negative_ms;
    /* Detect changes with inotify. A thread reads the events, so a change is visible after some
     * milliseconds, not necessarily for the next request. revalidate_ms, then 10,000 by default,
     * covers changes without events. */
    bool watch;

    /* Types and fields by name; copied, and evaluated once per file when it is loaded. */

    /* "extension=type", for example "md=text/markdown"; the longest match is preferred to the
     * built-in types. Set both fields with UVHTTP_STATIC_TYPES; one without the other is
     * rejected, also for `rules`. */
    const char *const *types;
    size_t type_count; /* at most 1,000 */
    /* For files with an unknown extension, or none; NULL: application/octet-stream. */
    const char *default_type;
    const uvhttp_static_rule_t *rules; /* in order; set both with UVHTTP_STATIC_RULES */
    size_t rule_count;                 /* at most 256 */
    /* Cache-Control for files without one from rules: one year and "immutable" for files with a
     * content hash in the name, as bundlers create them; "no-cache" for HTML. */
    bool immutable_assets;

    /* Bandwidth: uvhttp_response_limit_rate for every response. */
    size_t rate_limit; /* bytes per second of each response; 0: no limit */
    /* Bytes sent immediately at the start; at least, and by default (0), those of a quarter of a
     * second. */
    size_t rate_burst;

    /* Uploads: see uvhttp_static_handle_upload. */
    bool uploads;            /* accept files by PUT and POST; default: 405 */
    bool upload_overwrite;   /* an existing file may be replaced; default: 409 */
    bool upload_directories; /* create missing parent directories; default: 409 */
    /* fsync file and directory before the response */
    bool upload_sync;
    size_t upload_max_size; /* bytes of a body; more gets 413; 0: 1 GiB */

    /* Mapping of a path to a file. Strings are lists of words separated by spaces, and copied;
     * files are named by their path below the root. */

    /* NULL, or directories up to a NULL, tried in order for files not in the root; copied and
     * opened once. */
    const char *const *more_roots;
    const char *file; /* serve this one file for every path; not with uploads */
    /* /about serves about.html if neither a file nor a servable directory has that name;
     * /about.html and /docs/index.html redirect (301) to /about and /docs/. */
    bool clean_urls;
    bool spa; /* same as `fallback` with the first name of `index` */
    /* File sent with 200 for a missing path to clients that accept HTML; if the last segment of
     * the path has a dot, to those that prefer HTML to plain text, as browsers do. */
    const char *fallback;
    /* Candidates for a path, in order, up to 16 words: names that contain "{path}", "{path}/"
     * for the directory, the name of one file, and as the last one "=404" or another error.
     * NULL: "{path} {path}/". */
    const char *try_files;
    /* Files sent as error pages of this directory: "404=/404.html 500,503=/busy.html
     * 4xx=/error.html" for 403, 404, 500, 503 and the status at the end of try_files. A single
     * status is preferred to its class. Not for uploads. 401 and 429 are allowed, too, for programs
     * whose uvhttp_server_on_error sends these pages; the directory itself does not. */
    const char *error_pages;
    uvhttp_static_symlinks_t symlinks;

    /* Listings, if `listing` is set. */

    /* Entries shown, the first in sort order; 0: 10,000. A longer listing states that it is
     * incomplete. */
    size_t listing_max;
    /* Names that the listing of the root shows, too, such as other mounts: "m/" for a directory,
     * "icon.ico" for a file; up to a NULL; copied. An entry of that name is not shown. */
    const char *const *listed;
    /* also offer the directory tree as a tar or zip archive; default: 403 */
    bool archive;
    /* files and directories in an archive; 0: 100,000. More: 403. */
    size_t archive_entries;
    /* bytes of all files in an archive; 0: 16 GiB. More: 403. */
    size_t archive_size;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the context. */
} uvhttp_static_options_t;

#ifndef __cplusplus
/* Sets `types` and `type_count`, `rules` and `rule_count` (C only):
 *
 *     UVHTTP_STATIC_TYPES("md=text/markdown")
 *     UVHTTP_STATIC_RULES({"*.css", "Cache-Control", "max-age=60"}) */
#define UVHTTP_STATIC_TYPES(...) UVHTTP_ARRAY_MEMBERS(types, type_count, char const *, __VA_ARGS__)
#define UVHTTP_STATIC_RULES(...) \
    UVHTTP_ARRAY_MEMBERS(rules, rule_count, uvhttp_static_rule_t, __VA_ARGS__)
#endif

/* Checks options without accessing files. Any thread.
 * Returns 0, or
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options; or types or rules without their count, or the
 *                   reverse
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_static_check(const uvhttp_static_options_t *options,
                                      uvhttp_error_t *error);

/* Opens a root. The caller owns the context and closes it after the server is freed, or passes it
 * to the server with uvhttp_server_own. Any thread.
 * Returns 0 with the context in `*context`, or with `*context` NULL
 *   UVHTTP_EINVAL   no root
 *   UVHTTP_ECONFIG  invalid options; see `error`
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           errors of opening (UV_ENOENT, UV_ENOTDIR, UV_EACCES, ...) */
UVHTTP_EXPORT int uvhttp_static_new(uvhttp_static_t **context,
                                    const uvhttp_static_options_t *options, uvhttp_error_t *error);
/* NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_static_free(void *context);

/* A handler; `context` is the uvhttp_static_t. The file's path is the route's "*" or "*name"
 * parameter, or the whole path if the route has none. Never declines: a missing file gets 404.
 * Loop thread only: uvhttp_router_add rejects it with UVHTTP_ROUTE_BLOCKING. UVHTTP_EINVAL in a
 * blocking handler, and on any server but the first that uses the context. */
UVHTTP_EXPORT int uvhttp_static_handle_request(uvhttp_request_t *request,
                                               uvhttp_response_t *response, void *context);

/* Sends one file of the context, which the handler has chosen, from the context's cache. `path` is
 * the path of the file below the root, decoded ("reports/2026.pdf"). For files that only some users
 * may get, or whose URL is not their path:
 *
 *     static int send_report(uvhttp_request_t *req, uvhttp_response_t *res, void *files)
 *     {
 *         uvhttp_send_file_options_t options = {.download_name = "Report.pdf"};
 *         return uvhttp_static_send(files, res, "reports/2026.pdf", &options);
 *     }
 *
 * Responds as for a request of that file: by conditions and ranges, compressed if the context
 * compresses, with the types, rules and error pages of its options. Index files, alternatives,
 * listings and redirects do not apply: a directory gets 403, a missing or hidden file 404.
 * `options` may be NULL. The response may be sent after this call has returned. The context need
 * not be mounted.
 * Returns 0, the errors of send, or
 *   UVHTTP_EINVAL  no context or path; options with a content_type, which the types of the
 *                  context determine; a blocking handler (uvhttp_response_send_file_with works
 *                  there), or a context of another server, which are logged */
UVHTTP_EXPORT int uvhttp_static_send(uvhttp_static_t *context, uvhttp_response_t *response,
                                     const char *path, const uvhttp_send_file_options_t *options);

/* The upload handler, for routes with UVHTTP_ROUTE_STREAM and the methods PUT and POST. `context`
 * as above, opened with `uploads` (else 405). It does not authenticate: add a middleware before it.
 *
 * PUT stores the body under the path (RFC 9110 section 9.3.4): 201 with Location and ETag for a new
 * file, 204 with ETag for a replaced one. POST stores the files of a form (multipart/form-data, RFC
 * 7578) in the directory of the path: 201, or 200 if all replaced existing files, with a text body
 * that lists the paths. Other form fields are ignored. File names are derived as
 * uvhttp_form_part_t.filename describes. All files of a form are complete before the first is
 * renamed.
 *
 * An incomplete file has a hidden name (".uvhttp-....part") in the same directory and is then
 * renamed atomically. Aborted uploads are removed; only a killed process leaves such files, which
 * are never served. Jobs in the heavy lane write all data (uvhttp/upload.h). When the response is
 * sent, all workers serve the new file under every path that maps to it (index, clean URL,
 * fallback, error page, precompressed file). A path through a symbolic link, or of another context
 * for the same directory, shows it after revalidate_ms.
 *
 * Files are stored in the root, never in more_roots. Files of more_roots count as existing;
 * replacing one leaves it unchanged, and the new file in the root is preferred to it.
 *
 * Errors, checked before the body is read (before "100 Continue"), and again before the rename:
 *   400  Content-Range (section 14.5); a name with a control character; a malformed or wrong
 *        Content-Digest or Repr-Digest (RFC 9530, sha-256 and sha-512; others are ignored, and all
 *        of forms, and trailers without "Trailer"); a malformed form or one without a file
 *   403  a hidden name; the name of a link, device, FIFO or socket; a directory that is not
 *        writable or outside of the root; a form sent by a page of another site (Sec-Fetch-Site, or
 *        else Origin and Host)
 *   404  POST to a missing directory; a path with an encoded slash
 *   405  PUT to a path that ends with a slash
 *   409  the file exists and must not be replaced; a directory has the name; the parent directory
 *        is missing (RFC 4918 section 9.7.1), or was replaced during the upload
 *   412  If-Match, If-None-Match or If-Unmodified-Since do not hold (RFC 9110 section 13), for the
 *        file or the precompressed one that a GET with this Accept-Encoding gets; of two concurrent
 *        replacements of the same state one succeeds
 *   413  larger than upload_max_size
 *   415  Content-Encoding, because it could not be sent back; POST of anything but a form
 *   501  a digest, in a build without libcrypto (BUILD_WITH_LIBCRYPTO)
 *   507  the disk is full, or the file exceeds RLIMIT_FSIZE
 *   500, 503  disk error; out of memory */
UVHTTP_EXPORT int uvhttp_static_handle_upload(uvhttp_request_t *request,
                                              uvhttp_response_t *response, void *context);

/* Call it after the program has created, replaced or removed the file at `path`, for example in the
 * callback of uvhttp_upload_to_file: in all workers the next request for it, or for a path derived
 * from it, accesses the disk. `path` is a decoded URL path below the root ("/images/a.png"); NULL:
 * all paths. Without the call a change is visible after revalidate_ms, a new file after
 * negative_ms, or when `watch` has reported it. uvhttp_static_handle_upload needs no such call. A
 * path through a symbolic link, or of another context, is not covered. Any thread. A NULL context
 * does nothing. */
UVHTTP_EXPORT void uvhttp_static_invalidate(uvhttp_static_t *context, const char *path);

/* Loads one file into the caches of all workers, so that its first requests only check whether it
 * has changed. `path` is a decoded URL path below the root ("/static/index.html", "/" for an index
 * file). Before the server runs.
 * Returns 0, or
 *   UVHTTP_ENOTREG  not a regular file
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           errors of opening */
UVHTTP_EXPORT int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path);

/* Progress and result of uvhttp_static_prewarm_directory. */
typedef struct uvhttp_static_prewarmed {
    size_t loaded;      /* files, or index files for their directories */
    size_t bytes;       /* of them, cached in memory */
    size_t unwanted;    /* no pattern matches, or hidden */
    size_t over_budget; /* beyond the limits of memory or entries */
    size_t not_regular; /* links to directories or out of the root, devices, ... */
    size_t failed;      /* not readable */
    bool cancelled;     /* by `progress`; the rest was not visited */
} uvhttp_static_prewarmed_t;

/* Options of uvhttp_static_prewarm_directory; NULL and zeros select everything within the limits.
 * Read during the call only. */
typedef struct uvhttp_static_prewarm_options {
    const char *directory; /* below the root, as in a URL ("/assets/"); NULL: the root */
    /* A file is loaded if one of them matches its path below the root: see docs/static-files.md,
     * "Patterns". NULL with 0: all files. Set both with UVHTTP_PREWARM_PATTERNS; one without the
     * other is rejected. */
    const char *const *patterns;
    size_t pattern_count;
    size_t most_bytes;   /* cached in memory; 0, or more than cache_memory: cache_memory */
    size_t most_entries; /* files; 0, or more than cache_entries: cache_entries */
    /* Called for each loaded file with its path below the root; false stops the loading. May be
     * NULL. */
    bool (*progress)(const uvhttp_static_prewarmed_t *so_far, const char *path, void *arg);
    void *arg;
} uvhttp_static_prewarm_options_t;

#ifndef __cplusplus
/* Sets `patterns` and `pattern_count` (C only): UVHTTP_PREWARM_PATTERNS("*.css", "*.js"). */
#define UVHTTP_PREWARM_PATTERNS(...) \
    UVHTTP_ARRAY_MEMBERS(patterns, pattern_count, char const *, __VA_ARGS__)
#endif

/* Loads the files of a directory tree, those of a directory before those of its subdirectories; an
 * index file as its directory. Links to directories are not followed. `options` and `found` may be
 * NULL. Before the server runs.
 * Returns 0, also if files were skipped (see `found`), or
 *   UVHTTP_EINVAL  a malformed pattern, patterns without their count or the reverse
 *   UVHTTP_ENOMEM  out of memory
 *   libuv          the directory cannot be read */
UVHTTP_EXPORT int uvhttp_static_prewarm_directory(uvhttp_static_t *context,
                                                  const uvhttp_static_prewarm_options_t *options,
                                                  uvhttp_static_prewarmed_t *found);

/* Statistics of one context, the sum over all workers. The first group are current values, the
 * others counters since it was opened. */
typedef struct uvhttp_static_stats {
    uint64_t entries;          /* known files, including those retained for further workers */
    uint64_t negative_entries; /* paths known to have no file */
    uint64_t memory;           /* bytes of contents in memory */
    uint64_t descriptors;      /* open for the cache */
    uint64_t watched_directories;

    uint64_t hits;          /* requests served from the cache */
    uint64_t negative_hits; /* requests with a cached negative result */
    uint64_t misses;        /* requests that waited for the disk */
    uint64_t coalesced;     /* of them, those that waited for a load in progress */
    /* Disk checks that read no file: it was unchanged or missing. */
    uint64_t lookups;
    uint64_t loads;     /* disk accesses that read a file */
    uint64_t evictions; /* files removed from the cache to free space */
    double hit_rate;    /* share of requests served from the cache, 0 to 1 */
} uvhttp_static_stats_t;

/* Reads the statistics of a context. Any thread, until the context is closed. Values may lag
 * slightly and are not one atomic snapshot.
 * Returns 0, or
 *   UVHTTP_EINVAL  no `stats`
 *   UVHTTP_ENOMEM  `context` is NULL */
UVHTTP_EXPORT int uvhttp_static_read_stats(uvhttp_static_t *context, uvhttp_static_stats_t *stats);

/* Opens a root and serves it below `prefix` ("/", "/assets/"). The server owns it. Combines
 * uvhttp_static_new, a "prefix*" route for GET (with `uploads` also for PUT and POST), and
 * uvhttp_server_own. Errors as for those; uvhttp_server_error describes them, too, and invalid
 * options are logged. With a `file` the prefix may be its path ("/favicon.ico"). */
UVHTTP_EXPORT int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix,
                                      const uvhttp_static_options_t *options,
                                      uvhttp_error_t *error);

/* The same with an open context, for example a prewarmed one; the caller keeps it. It may be
 * mounted several times on one server.
 * Returns 0, the errors of uvhttp_server_route, or
 *   UVHTTP_EINVAL  the prefix does not begin and end with a slash, or the context belongs to
 *                  another server
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_static_mount_context(uvhttp_server_t *server, const char *prefix,
                                              uvhttp_static_t *context, uvhttp_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
