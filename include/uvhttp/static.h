/* Static files: a folder of the file system as part of the URL space.
 *
 * GET and HEAD; regular files only; nothing outside the roots is ever opened, whatever the path,
 * links included (they may point inside their root, unless `symlinks` says otherwise). ETag,
 * Last-Modified, conditional requests (RFC 9110 section 13) and ranges (section 14). Small files
 * are kept in memory with their fields, larger ones as open descriptors.
 *
 * Answers: 200, 206 and 304 as the request's conditions and range say, 412 and 416 when they cannot
 * be met; 301 from a path with repeated slashes to the one without, and from a folder without the
 * slash to the one with it, and with clean URLs from each other name of a file; 404 for what is not
 * there, or hidden; 403 for what may not be seen: a folder with neither index nor listing, a file
 * without permission, a FIFO, socket or device, a link that leads out of the root (every absolute
 * one does) or in a circle; 404 also for a path with an encoded slash, since no name holds one; 405
 * for other methods (but for uploads, if they are wanted); 503 without descriptors or memory; 500,
 * with a line in the log, when the disk fails. Several ranges in one request are answered with
 * multipart/byteranges in the order they were asked for (section 15.3.7.2); those that overlap or
 * lie less than 80 bytes apart become one, and when one is left it is a plain 206. More than 64 of
 * them, and such as would make the answer longer than the file, get the whole file, and so does a
 * Range that is malformed. A folder ".well-known" in the root is never hidden (RFC 8615).
 *
 * A context keeps a cache without locks for each worker of its server, so it belongs to one server:
 * the first that mounts it or answers a request with it. Another server cannot mount it
 * (UVHTTP_EINVAL), and its requests fail with UVHTTP_EINVAL (500) and one line in the log. Open one
 * context for each server. */
#ifndef UVHTTP_STATIC_H
#define UVHTTP_STATIC_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A folder that is served, with its cache; from uvhttp_static_open. */
typedef struct uvhttp_static uvhttp_static_t;

/* For negative_ms. */
#define UVHTTP_STATIC_NEVER SIZE_MAX
/* A field for the files whose path fits a pattern. All rules that fit apply; of several for the
 * same field the last one does.
 *
 * Pattern: "*.css" is for names in whatever folder; with a slash somewhere it is for the path below
 * the root: "/assets/" with "**" behind it for everything below a folder. `*` stands for anything
 * but a slash, `?` for one character, `[a-z]` for one of some. The path is that of the file:
 * "/docs/index.html", also when "/docs/" was asked for.
 *
 * Field: anything but what each answer says itself (ETag, Last-Modified, Accept-Ranges,
 * Content-Encoding, Content-Range, Location, and what belongs to the server). "Content-Type" is the
 * file's type. "Content-Disposition" with the value "attachment" or "inline" is sent with the
 * file's name (RFC 6266), non-ASCII ones in both ways that clients know; with any other as it is.
 * The fields go out with 200 and 206; Cache-Control, Content-Location, Expires and Vary with 304,
 * too (RFC 9110 section 15.4.5); none with errors, listings and redirects. A field that a
 * middleware sets as well goes out twice.
 *
 * Value: NULL takes away what earlier rules say. */
typedef struct uvhttp_static_rule {
    const char *pattern;
    const char *field;
    const char *value;
} uvhttp_static_rule_t;

/* What symbolic links below a root may do. A link that may not be taken is 403. */
typedef enum uvhttp_static_symlinks {
    UVHTTP_SYMLINKS_INSIDE = 0, /* lead to another place inside the root */
    UVHTTP_SYMLINKS_ALL,        /* lead anywhere: for folders that nobody else can write to */
    UVHTTP_SYMLINKS_NONE,       /* nothing: no link is taken at all */
    /* lead anywhere, to what belongs to the link's owner; so does every link on the way there */
    UVHTTP_SYMLINKS_OWNER
} uvhttp_static_symlinks_t;

/* What uvhttp_static_open is told. All but the root may be zero. What is of use only with another
 * option (upload_... with uploads, archive with listing, a level with compress, rate_burst with
 * rate_limit) is refused without it. */
typedef struct uvhttp_static_config {
    const char *root;     /* folder; copied and opened once. Required. */
    const char *index;    /* index file names, separated by spaces, without slashes; NULL:
                             "index.html"; "": none */
    bool listing;         /* answer folders without index with a listing; default: 403 */
    bool hidden;          /* serve names that begin with a dot; default: 404 */
    size_t cache_memory;  /* bytes of file contents kept in memory by each worker; 0: 64 MiB */
    size_t cache_entries; /* files each worker knows at once (bodies or descriptors); 0: 1,024 */
    size_t
        /* bytes; files up to this size are kept in memory, larger ones sent by sendfile; 0: 16
         * KiB */
        memory_file_size;
    size_t revalidate_ms; /* milliseconds after which a cached file is looked at again; 0: 1,000 */

    /* Compression (RFC 9110 section 12.5.3), by the client's Accept-Encoding; of codings it likes
     * equally br goes before zstd before gzip. */
    bool
        /* of a file "a.js" send "a.js.br", "a.js.zst" or "a.js.gz" that lies beside it and is no
         * older */
        precompressed;
    bool
        /* make what is not there by a job in the heavy lane, of types that become smaller, and keep
         * it in the cache */
        compress;
    size_t compress_min_size; /* bytes; smaller files are not compressed on the fly; 0: 1,024 */
    size_t compress_max_size; /* bytes; nor are larger ones; 0: 8 MiB */
    size_t gzip_level;        /* 1 to 9, as zlib counts; 0: 5 */
    size_t brotli_level;      /* 1 to 11; 0: 4 */
    size_t zstd_level;        /* 1 to 19; 0: 3 */

    /* Cache */
    size_t
        /* files kept open by all workers together; 0: a quarter of what the process may open */
        cache_descriptors;
    size_t
        /* milliseconds for which a path without a file (404, 403, a fallback) is remembered; 0:
         * revalidate_ms, but no more than 1,000; UVHTTP_STATIC_NEVER: not at all */
        negative_ms;
    /* Have the system tell of changes (inotify). A thread reads what it tells, so a change shows
     * after up to some milliseconds, not necessarily with the next request. revalidate_ms, then
     * 10,000 by default, is for changes that the system does not tell of. */
    bool watch;

    /* Types and fields by name; copied, and worked out once for each file when it is read. */
    /* "extension=type", as "md=text/markdown"; the longest that fits goes before the usual types.
     * Set both by UVHTTP_STATIC_TYPES; one without the other is refused, as it is of `rules`. */
    const char *const *types;
    size_t type_count;                 /* at most 1,000 */
    const char *default_type;          /* of files with an unknown extension, or none; NULL:
                                          application/octet-stream */
    const uvhttp_static_rule_t *rules; /* in their order; set both by UVHTTP_STATIC_RULES */
    size_t rule_count;                 /* at most 256 */
    bool
        /* Cache-Control for what rules have none for: files with a hash of their content in the
         * name, as bundlers make them, are kept for a year ("immutable"), HTML is always asked for
         * again ("no-cache") */
        immutable_assets;

    /* Bandwidth: uvhttp_response_limit_rate for every answer. */
    size_t rate_limit; /* bytes per second of each response; 0: no limit */
    size_t
        /* bytes of it that leave at once in the beginning; 0, and whatever is less: a quarter of a
         * second's worth */
        rate_burst;

    /* Uploads: see uvhttp_static_handle_upload. */
    bool uploads;          /* take files by PUT and POST; default: 405 */
    bool upload_overwrite; /* a file that is there may be replaced; default: 409 */
    bool upload_folders;   /* make the folders that are missing above a file; default: 409 */
    /* file and folder are on the disk before the client is answered (fsync) */
    bool upload_sync;
    size_t upload_max_size; /* bytes of a body; more is answered 413; 0: 1 GiB */

    /* How a path becomes a file. Texts are lists of words, separated by spaces, and copied; a file
     * is named by its path below the root. */
    const char *const *
        /* NULL, or folders up to a NULL, tried in order for what the root has not; copied and
         * opened once */
        more_roots;
    const char *file; /* serve this one file for every path: an alias; not with uploads */
    bool
        /* /about is about.html where there is neither a file nor a folder with something to show of
         * that name; /about.html and /docs/index.html are redirected (301) to /about and /docs/ */
        clean_urls;
    bool spa; /* as `fallback` with the first name of `index` */
    const char *
        /* answers a path that is missing and whose last name has no dot, for clients that accept
         * HTML: 200 */
        fallback;
    const char *
        /* what is tried for a path, in order, up to 16 words: names with "{path}" in them,
         * "{path}/" for the folder, the name of one file, and as the last one "=404" or another
         * error. NULL: "{path} {path}/" */
        try_files;
    const char *
        /* files sent with a status of this folder's: "404=/404.html 500,503=/busy.html
         * 4xx=/error.html" for 403, 404, 500, 503 and the status at the end of try_files; a single
         * status goes before its class; uploads have none */
        error_pages;
    uvhttp_static_symlinks_t symlinks;

    /* Listings, when `listing` is on. */
    size_t
        /* entries of a folder that are shown, the first of the order; 0: 10,000. A longer listing
         * says that it is not complete. */
        listing_max;
    /* also answer with the folder and all below it as a tar archive; default: 403 */
    bool archive;
    /* files and folders an archive may hold; 0: 100,000. For a larger one 403. */
    size_t archive_entries;
    size_t archive_size;                 /* bytes of all files in one; 0: 16 GiB. The same. */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the context. */
} uvhttp_static_config_t;

#ifndef __cplusplus
/* Set `types` and `type_count`, `rules` and `rule_count` (C only):
 *     UVHTTP_STATIC_TYPES("md=text/markdown")
 *     UVHTTP_STATIC_RULES({"*.css", "Cache-Control", "max-age=60"}) */
#define UVHTTP_STATIC_TYPES(...) UVHTTP_ARRAY_MEMBERS(types, type_count, char const *, __VA_ARGS__)
#define UVHTTP_STATIC_RULES(...) \
    UVHTTP_ARRAY_MEMBERS(rules, rule_count, uvhttp_static_rule_t, __VA_ARGS__)
#endif

/* Looks at the options of a config, but at no file: 0, or UVHTTP_ECONFIG with a NUL-terminated
 * message of at most `size` bytes that names the field and the value (`message` may be NULL),
 * UVHTTP_EINVAL (no config; with a message: types or rules without their count, or the reverse),
 * UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_static_check(const uvhttp_static_config_t *config, char *message,
                                      size_t size);

/* Opens a root. 0 and the context in `*context`, or: UVHTTP_EINVAL (no root), UVHTTP_ECONFIG
 * (uvhttp_static_check says why), UVHTTP_ENOMEM, libuv's (UV_ENOENT, UV_ENOTDIR, UV_EACCES, ...)
 * with `*context` NULL. Belongs to the caller, who closes it after the server is freed (or hands it
 * to the server with uvhttp_server_own). Any thread. */
UVHTTP_EXPORT int uvhttp_static_open(uvhttp_static_t **context,
                                     const uvhttp_static_config_t *config);
UVHTTP_EXPORT void uvhttp_static_close(uvhttp_static_t *context);

/* A handler: `context` is the uvhttp_static_t. The file's path is the route's "*" (or "*name")
 * parameter, the whole path when the route has none. Declines nothing: a missing file is 404.
 * Only on the loop's thread: uvhttp_router_add refuses it with UVHTTP_ROUTE_BLOCKING, and a
 * blocking handler that calls it gets UVHTTP_EINVAL.
 * So does every server but the first that uses the context. */
UVHTTP_EXPORT int uvhttp_static_handle_request(uvhttp_request_t *request,
                                               uvhttp_response_t *response, void *context);

/* The handler of uploads, for routes with UVHTTP_ROUTE_STREAM and the methods PUT and POST;
 * `context` as above, opened with `uploads` (else 405). Whoever may use the route may store files:
 * ask who it is in a middleware before it.
 *
 * PUT stores the body under the path (RFC 9110 section 9.3.4): 201 with Location and ETag for a new
 * file, 204 with ETag for one that was replaced. POST takes a form with files (multipart/form-data,
 * RFC 7578) for the folder that the path names: 201, or 200 when all replaced others, and a text
 * with the path of each; fields that are no files are ignored; names are made as
 * uvhttp_form_part_t.filename says. All files of a form are complete before the first gets its
 * name.
 *
 * A file has a hidden name (".uvhttp-....part") in the same folder until it is complete, then
 * gets its own in one step; what is given up is removed. Only a process that is killed leaves
 * such files; they are never served. All is written by jobs in the heavy lane (uvhttp/upload.h).
 * When the client is answered, all workers serve the new file, under each path that leads to it
 * (index, clean URL, fallback, page of an error, precompressed file). A path through a symbolic
 * link, or of another context for the same folder, shows it after revalidate_ms.
 *
 * Files go into the root, never into more_roots. What is seen of those counts as there; a file that
 * may be replaced is left as it is there, and the new one goes before it.
 *
 * Checked before the body is asked for (a client that expects "100 Continue" is told first), and
 * again before the file gets its name:
 *   400  Content-Range (section 14.5), a name with a control character, malformed or wrong
 *        Content-Digest or Repr-Digest (RFC 9530, sha-256 and sha-512; others are ignored; of a
 *        form they are not looked at), a form that is malformed or has no file
 *   403  a hidden name; a link, device, FIFO or socket has the name; a folder that may not be
 *        written, or leads out of the root; a form that a page of another site sends
 *        (Sec-Fetch-Site, or else Origin and Host)
 *   404  POST to a folder that is not there; a path with an encoded slash
 *   405  PUT to a path that ends with a slash
 *   409  a file has the name and may not be replaced; a folder has it; the folder above is missing
 *        (RFC 4918 section 9.7.1)
 *   412  If-Match, If-None-Match or If-Unmodified-Since say no (RFC 9110 section 13), of the file
 *        or of the precompressed one that a GET with this Accept-Encoding gets; of two who replace
 *        the same state one wins
 *   413  larger than upload_max_size
 *   415  Content-Encoding, since it could not be given back; POST of anything but a form
 *   501  a digest, in a build without OpenSSL
 *   507  the disk is full, or the file exceeds a limit of the process (RLIMIT_FSIZE)
 *   500, 503  the disk fails; out of memory */
UVHTTP_EXPORT int uvhttp_static_handle_upload(uvhttp_request_t *request,
                                              uvhttp_response_t *response, void *context);

/* Loads one file into the caches of all workers now: its first request of each only looks whether
 * the file is still the same, and needs not read it. `path` as in a URL below the root, decoded
 * ("/static/index.html", "/" for an index file). 0, or libuv's code when it cannot be opened,
 * UVHTTP_ENOTREG, UVHTTP_ENOMEM. Before the server runs. */
UVHTTP_EXPORT int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path);

/* What was found so far, by uvhttp_static_prewarm_folder. */
typedef struct uvhttp_static_prewarmed {
    size_t loaded;      /* files, or index files for their folders */
    size_t bytes;       /* of them, kept in memory */
    size_t unwanted;    /* no pattern fits, or hidden */
    size_t over_budget; /* would not fit beside those that were loaded */
    size_t not_regular; /* links to folders, devices, links that lead out of the root, ... */
    size_t failed;      /* could not be read */
    bool cancelled;     /* by `progress`, and what comes behind was not looked at */
} uvhttp_static_prewarmed_t;

/* What uvhttp_static_prewarm_folder is told; NULL and zeros stand for all that fits. Read in the
 * call only. */
typedef struct uvhttp_static_prewarm_options {
    const char *folder; /* below the root, as in a URL ("/assets/"); NULL: the root */
    /* A file is loaded if one of them fits its path below the root: see docs/static-files.md,
     * "Patterns". NULL with 0: all files. Set both by UVHTTP_PREWARM_PATTERNS; one without the
     * other is refused. */
    const char *const *patterns;
    size_t pattern_count;
    size_t most_bytes;   /* kept in memory; 0, or more than cache_memory: cache_memory */
    size_t most_entries; /* files; 0, or more than cache_entries: cache_entries */
    /* Called for each file that was loaded, with its path below the root; false ends the loading.
     * May be NULL. */
    bool (*progress)(const uvhttp_static_prewarmed_t *so_far, const char *path, void *arg);
    void *arg;
} uvhttp_static_prewarm_options_t;

#ifndef __cplusplus
/* Sets `patterns` and `pattern_count` (C only): UVHTTP_PREWARM_PATTERNS("*.css", "*.js"). */
#define UVHTTP_PREWARM_PATTERNS(...) \
    UVHTTP_ARRAY_MEMBERS(patterns, pattern_count, char const *, __VA_ARGS__)
#endif

/* Loads the files of a folder and of those in it, those of a folder before those of the ones below
 * it; an index file as the folder's own. Links to folders are not followed. `options` may be NULL,
 * and so may `found`. 0 (whatever was left out: `found` tells), or UVHTTP_EINVAL (a malformed
 * pattern, patterns without their count or the reverse), UVHTTP_ENOMEM, libuv's code when the
 * folder cannot be read. Before the server runs. */
UVHTTP_EXPORT int uvhttp_static_prewarm_folder(uvhttp_static_t *context,
                                               const uvhttp_static_prewarm_options_t *options,
                                               uvhttp_static_prewarmed_t *found);

/* Numbers of one context, added up over all workers. Those of the first group are of the moment,
 * the others have been counted since it was opened. */
typedef struct uvhttp_static_stats {
    uint64_t entries;          /* files that are known, those kept for further workers included */
    uint64_t negative_entries; /* paths known to lead to no file */
    uint64_t memory;           /* bytes of contents in memory */
    uint64_t descriptors;      /* open because of the cache */
    uint64_t watched_folders;

    uint64_t hits;          /* requests answered at once from a file that is known */
    uint64_t negative_hits; /* and from a path that led to none */
    uint64_t misses;        /* requests that had to wait for the disk */
    uint64_t coalesced;     /* of them, those that waited for what another one had begun */
    /* trips to the disk that read no file: it was as before, or there was none */
    uint64_t looks;
    uint64_t loads;     /* trips that read a file */
    uint64_t evictions; /* files thrown out to make room */
    double hit_rate;    /* of all, those answered at once; from 0 to 1 */
} uvhttp_static_stats_t;

/* Reads them. Any thread, until the context is closed; a number is at most a moment old, and not
 * all are of the same moment. Errors: UVHTTP_EINVAL (no `stats`), UVHTTP_ENOMEM (`context` is
 * NULL). */
UVHTTP_EXPORT int uvhttp_static_read_stats(uvhttp_static_t *context, uvhttp_static_stats_t *stats);

/* Opens a root and serves it below `prefix` ("/", "/assets/"), owned by the server:
 * uvhttp_static_open, a "prefix*" route for GET (with `uploads` for PUT and POST, too), and
 * uvhttp_server_own in one call. Errors as those; what is wrong with the config is logged. With a
 * `file` the prefix may be the path that it is for ("/favicon.ico"). */
UVHTTP_EXPORT int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix,
                                      const uvhttp_static_config_t *config);

/* The same with a context that was opened before, and prewarmed perhaps; it stays the caller's. It
 * may be mounted several times, on one server.
 * Errors: UVHTTP_EINVAL (the prefix does not begin and end with a slash, or the context
 * belongs to another server), UVHTTP_ENOMEM, those of uvhttp_server_route. */
UVHTTP_EXPORT int uvhttp_static_mount_opened(uvhttp_server_t *server, const char *prefix,
                                             uvhttp_static_t *context);

#ifdef __cplusplus
}
#endif

#endif
