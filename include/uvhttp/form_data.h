/* Forms with files (multipart/form-data, RFC 7578) of a request, complete: small parts in memory,
 * large ones in files.
 *
 *     static int received(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_form_data_t
 *     *form, void *arg)
 *     {
 *         const uvhttp_form_part_t *photo = uvhttp_form_data_part(form, "photo");
 *         if (photo == NULL || uvhttp_form_part_keep(photo, "photos/42.jpg") != 0)
 *             return uvhttp_response_send_status(res, 400);
 *         return uvhttp_response_redirect(res, 303, "/photos");
 *     }
 *
 *     static int post(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     { return uvhttp_form_data_read(req, &(uvhttp_form_options_t){.folder = "incoming"}, received,
 *         NULL);
 *     }
 *
 * in a route with UVHTTP_ROUTE_STREAM. Files are written as uvhttp/upload.h says: by jobs, with the
 * client held back when it is too quick, under hidden names. They are removed when the exchange
 * ends, unless they were kept. For other forms: uvhttp_request_form. To take a form apart while it
 * comes: uvhttp/multipart.h. */
#ifndef UVHTTP_FORM_DATA_H
#define UVHTTP_FORM_DATA_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a form may measure, and where it goes; zeros are the defaults. */
typedef struct uvhttp_form_options {
    const char *folder; /* for parts that do not stay in memory; NULL: there is none, and they are
                           answered 413 */
    size_t memory_part_size; /* bytes up to which a part stays in memory. Default: 65,536 */
    size_t
        /* bytes of all such parts; one that would be too much goes to a file. Default: 1 MiB */
        memory_size;
    /* bytes of the whole body: 413. 0: the route's max_body_size alone counts */
    uint64_t max_size;
    uint64_t max_part_size; /* bytes of a part: 413. 0: no limit but that of the body */
    uint32_t max_parts;     /* 413. Default: 100 */
    /* bytes of the header section of a part: 413. Default and most: 2,048 */
    uint32_t max_header_size;
    unsigned mode; /* permission bits of the files; 0: 0666 less the process's umask */
} uvhttp_form_options_t;

/* One part. All of it lives as long as the exchange; texts end with NUL. */
typedef struct uvhttp_form_part {
    const struct uvhttp_form_part *next; /* in the order of the form; NULL behind the last one */
    const char *name;                    /* of the form's field */
    /* What a file is called, fit to be a file's name: what stands behind the last slash or
     * backslash, control characters and dots at its beginning replaced by '_', at most 255 bytes.
     * Still the client's words, so two may be equal. "" for a file input without a file; NULL when
     * the part is no file. */
    const char *filename;
    const char *raw_filename; /* as the client says: never use it as a path */
    /* Content-Type as the client says; NULL when it says nothing, which means text/plain */
    const char *type;
    uint64_t size;    /* bytes */
    const char *data; /* its bytes and a NUL behind them; NULL when they are in a file */
    const char *path; /* the file, as long as it is not kept; NULL when they are in memory */
} uvhttp_form_part_t;

/* A form that has come. */
typedef struct uvhttp_form_data {
    const uvhttp_form_part_t *parts; /* the first one; NULL when there is none */
    uint32_t count;
} uvhttp_form_data_t;

/* The form has come, and all files are written. Answer now or later, as a handler does; the result
 * is that of a handler. */
typedef int (*uvhttp_form_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                              const uvhttp_form_data_t *form, void *arg);

/* Takes the form that is the body of a request; from a handler of a route with UVHTTP_ROUTE_STREAM,
 * which returns the result. `done` is called with `arg` when it is complete. The options are
 * copied.
 *
 * All that goes wrong is answered here, with a line that says why, and `done` is not called then:
 * 415 for a body that is no such form, 400 for a malformed one, 413 for what is too large, and for
 * files the statuses of uvhttp_upload_to_file.
 *
 * Errors: UVHTTP_EINVAL (no `done`, the body is taken already, or as uvhttp_request_on_body),
 * UVHTTP_ENOMEM, UVHTTP_EANSWERED, UVHTTP_EGONE. */
UVHTTP_EXPORT int uvhttp_form_data_read(uvhttp_request_t *request,
                                        const uvhttp_form_options_t *options, uvhttp_form_cb done,
                                        void *arg);

/* The first part of that name, or NULL. */
UVHTTP_EXPORT const uvhttp_form_part_t *uvhttp_form_data_part(const uvhttp_form_data_t *form,
                                                              const char *name);

/* Gives the part to a file of your own: one that is in a file gets that path, which must lie on the
 * file system of options.folder; one that is in memory is written there. Nothing is replaced. From
 * `done` on, and not behind the answer. This waits for the disk: a rename, or writing what fits
 * into memory. Errors: UVHTTP_EINVAL (no path; it was kept already), libuv's (UV_EEXIST, UV_EXDEV,
 * UV_ENOENT, UV_EACCES, UV_ENOSPC, ...); then it stays where it is. */
UVHTTP_EXPORT int uvhttp_form_part_keep(const uvhttp_form_part_t *part, const char *path);

#ifdef __cplusplus
}
#endif

#endif
