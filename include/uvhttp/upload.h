/* Uploads: the body of a request goes to a file while it comes, however large it is.
 *
 *     static int put(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     { return uvhttp_upload_to_file(req, "incoming", uvhttp_request_param(req, "name"), NULL,
 *         NULL, NULL);
 *     }
 *
 * in a route with UVHTTP_ROUTE_STREAM. Writing happens in the heavy lane of jobs
 * (uvhttp_response_defer_heavy); a client that sends more quickly than the disk takes is held back,
 * so an upload costs at most about 350 KiB of memory whatever its size. The file has a hidden name
 * (".uvhttp-....part") in the same folder until it is complete, and is removed when it does not get
 * there: the client leaves, is refused, the disk is full, the server stops. Only a process that is
 * killed leaves such files behind; remove them before it starts again. */
#ifndef UVHTTP_UPLOAD_H
#define UVHTTP_UPLOAD_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may be chosen; zeros are the defaults. */
typedef struct uvhttp_upload_options {
    uint64_t
        /* bytes of the body; more is answered 413. 0: the route's max_body_size alone counts */
        max_size;
    unsigned mode; /* permission bits of the file; 0: 0666 less the process's umask */
    bool
        /* a file that has the name already stays, and the upload is answered 409; else it is
         * replaced */
        keep_existing;
    bool sync; /* file and folder are on the disk before the client is answered (fsync) */
} uvhttp_upload_options_t;

/* An upload that is complete, as long as the exchange lives. */
typedef struct uvhttp_upload {
    const char *path; /* folder, '/' and name */
    uint64_t size;    /* bytes */
    bool created;     /* no file had that name before */
} uvhttp_upload_t;

/* The file is there under its name. Answer now or later, as a handler does; the result is that of a
 * handler. */
typedef int (*uvhttp_upload_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                const uvhttp_upload_t *upload, void *arg);

/* Takes the body of a request to the file `name` in `folder`; from a handler of a route with
 * UVHTTP_ROUTE_STREAM, which returns the result. `done` is called with `arg` when the file is
 * complete; NULL: the client is answered 201 when the file is new, 204 when it has replaced one
 * (RFC 9110 section 9.3.4). folder, name and options are copied.
 *
 * All that goes wrong with a body is answered here, and `done` is not called then: 400 for a name
 * that is none (NULL, empty, longer than 255 bytes, "." or "..", with a slash or a control
 * character, or a hidden one of ours), so a parameter of the route may be given as it is; 403 where
 * nothing may be stored; 409 where a folder or a file to be kept has the name; 413 for a body that
 * is too large; 507 when the disk is full (RFC 4918 section 11.5); 500 for a folder that does not
 * exist, and other errors of the file system. What is not the client's fault is logged.
 *
 * Errors: UVHTTP_EINVAL (no folder, the body is taken already, or as uvhttp_request_on_body),
 * UVHTTP_ENOMEM, UVHTTP_EANSWERED, UVHTTP_EGONE. */
UVHTTP_EXPORT int uvhttp_upload_to_file(uvhttp_request_t *request, const char *folder,
                                        const char *name, const uvhttp_upload_options_t *options,
                                        uvhttp_upload_cb done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
