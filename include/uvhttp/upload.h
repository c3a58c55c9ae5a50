/* Uploads: streams the body of a request of any size to a file.
 *
 *     static int put(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     {
 *         const char *name = uvhttp_request_param(req, "name");
 *         return uvhttp_upload_to_file(req, "incoming", name, NULL, NULL, NULL);
 *     }
 *
 * in a route with UVHTTP_ROUTE_STREAM. Jobs in the heavy lane write the file
 * (uvhttp_response_defer_heavy). Flow control slows a client that sends faster than the disk
 * writes, so an upload needs at most about 350 KiB of memory. The file has a hidden name
 * (".uvhttp-....part") in the same directory until it is complete. It is removed if the upload
 * fails: disconnect, rejection, full disk, server stop. Only a killed process leaves such files;
 * remove them before the next start.
 *
 * If a uvhttp_static_t serves the directory, call uvhttp_static_invalidate in `done`; otherwise its
 * cache may respond with the old file, or 404, for a second. */
#ifndef UVHTTP_UPLOAD_H
#define UVHTTP_UPLOAD_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An upload. In `done` complete, valid as long as the exchange. */
typedef struct uvhttp_upload {
    const char *path;   /* directory, '/' and name */
    uint64_t size;      /* bytes */
    bool created;       /* no file had that name before */
    const char *sha256; /* 64 hexadecimal digits with the option `sha256`, else NULL */
} uvhttp_upload_t;

/* Called on the loop for each received part of the body: `received` bytes of `total`, which is 0 if
 * the client did not send Content-Length. It must not respond. */
typedef void (*uvhttp_upload_progress_cb)(uvhttp_request_t *request, uint64_t received,
                                          uint64_t total, void *arg);

/* Checks a file that is complete but has not got its name: `upload->path` is that of the hidden
 * file, which may be read. In a job of the heavy lane, so it may block. Returns 0 to accept it, or
 * the status (400 to 599) of the response; the file is then removed. Another result gives 500. */
typedef int (*uvhttp_upload_check_cb)(const uvhttp_upload_t *upload, void *arg);

/* Options of an upload; zeros are the defaults. */
typedef struct uvhttp_upload_options {
    /* Bytes of the body; more gets 413. 0: only the route's max_body_size applies. */
    uint64_t max_size;
    unsigned mode; /* permission bits of the file; 0: 0666 minus the process's umask */
    /* Keep an existing file and respond 409; otherwise it is replaced. */
    bool keep_existing;
    bool sync; /* fsync file and directory before the response */
    /* Create an absent directory, 0777 minus the process's umask; its parent must exist. */
    bool create_directory;
    bool sha256;                        /* compute the SHA-256 of the body */
    uvhttp_upload_progress_cb progress; /* NULL: none */
    uvhttp_upload_check_cb check;       /* NULL: none */
    void *arg;                          /* of `progress` and `check` */
} uvhttp_upload_options_t;

/* Called when the file exists under its name. Responds immediately or later, like a handler; the
 * result is handled like that of a handler. */
typedef int (*uvhttp_upload_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                const uvhttp_upload_t *upload, void *arg);

/* Stores the body of a request as file `name` of the directory `directory`. From a handler of a
 * route with UVHTTP_ROUTE_STREAM, which returns the result. `directory`, `name` and `options` are
 * copied. `done` is called with `arg` when the file is complete. With `done` NULL the response is
 * 201 for a new file, 204 for a replaced one (RFC 9110 section 9.3.4).
 *
 * On failure this function's code sends the response and `done` is not called; errors of the server
 * are logged:
 *   400  invalid name (NULL, empty, longer than 255 bytes, "." or "..", with a slash or a control
 *        character, or a hidden name of uvhttp); so a route parameter may be passed unchecked;
 *        a malformed or wrong Content-Digest or Repr-Digest (RFC 9530, sha-256 and sha-512), also
 *        as a trailer that "Trailer" announces
 *   403  no permission to write
 *   409  a directory, or a file that must be kept, has the name
 *   413  the body is too large
 *   500  the directory does not exist or cannot be created; other errors of the file system
 *   501  a digest or `sha256`, in a build without libcrypto (BUILD_WITH_LIBCRYPTO)
 *   507  the disk is full (RFC 4918 section 11.5)
 * Returns 0, or
 *   UVHTTP_EINVAL         no `directory`, the body is read already, or as uvhttp_request_on_body
 *   UVHTTP_ENOMEM         out of memory
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
UVHTTP_EXPORT int uvhttp_upload_to_file(uvhttp_request_t *request, const char *directory,
                                        const char *name, const uvhttp_upload_options_t *options,
                                        uvhttp_upload_cb done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
