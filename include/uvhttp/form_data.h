/* Forms with files (multipart/form-data, RFC 7578): reads a complete form, small parts in memory,
 * large ones in files.
 *
 *     static int received(uvhttp_request_t *req, uvhttp_response_t *res,
 *                         const uvhttp_form_data_t *form, void *arg)
 *     {
 *         const uvhttp_form_part_t *photo = uvhttp_form_data_part(form, "photo");
 *         if (photo == NULL || uvhttp_form_part_keep(photo, "photos/42.jpg") != 0)
 *             return uvhttp_response_send_status(res, 400);
 *         return uvhttp_response_redirect(res, 303, "/photos");
 *     }
 *
 *     static int post(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     {
 *         uvhttp_form_options_t options = {.directory = "incoming"};
 *         return uvhttp_form_data_read(req, &options, received, NULL);
 *     }
 *
 * in a route with UVHTTP_ROUTE_STREAM. Files are written as in uvhttp/upload.h: by jobs, with
 * flow control, under hidden names. They are removed when the exchange ends, unless they were
 * kept. For other forms: uvhttp_request_form. For a streaming parser: uvhttp/multipart.h. */
#ifndef UVHTTP_FORM_DATA_H
#define UVHTTP_FORM_DATA_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a form, and its directory; zeros are the defaults. */
typedef struct uvhttp_form_options {
    /* Directory for parts not kept in memory; NULL: none, such parts get 413. */
    const char *directory;
    size_t memory_part_size; /* bytes; larger parts are stored in files. Default: 65,536 */
    /* Bytes of all parts in memory; further parts are stored in files. Default: 1 MiB. */
    size_t memory_size;
    /* bytes of the whole body: 413. 0: only the route's max_body_size applies */
    uint64_t max_size;
    uint64_t max_part_size; /* bytes of a part: 413. 0: only the limit of the body */
    uint32_t max_parts;     /* 413. Default: 100 */
    /* bytes of the header section of a part: 413. Default and maximum: 2,048 */
    uint32_t max_header_size;
    unsigned mode; /* permission bits of the files; 0: 0666 minus the process's umask */
} uvhttp_form_options_t;

/* One part. Valid as long as the exchange; strings are NUL-terminated. */
typedef struct uvhttp_form_part {
    const struct uvhttp_form_part *next; /* in the order of the form; NULL after the last one */
    const char *name;                    /* of the form field */
    /* Sanitized file name: the part after the last slash or backslash, with control characters
     * and leading dots replaced by '_', at most 255 bytes. Still chosen by the client, so two
     * may be equal. "" for a file input without a file; NULL if the part is not a file. */
    const char *filename;
    const char *raw_filename; /* as sent by the client: never use it as a path */
    /* Content-Type as sent; NULL if absent, which means text/plain */
    const char *type;
    uint64_t size;    /* bytes */
    const char *data; /* its bytes, NUL-terminated; NULL if in a file */
    const char *path; /* the file, until it is kept; NULL if in memory */
} uvhttp_form_part_t;

/* A complete form. */
typedef struct uvhttp_form_data {
    const uvhttp_form_part_t *parts; /* the first part; NULL if none */
    uint32_t count;
} uvhttp_form_data_t;

/* Called when the form is complete and all files are written. Responds immediately or later,
 * like a handler; the result is handled like that of a handler. */
typedef int (*uvhttp_form_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                              const uvhttp_form_data_t *form, void *arg);

/* Reads the form in the body of a request. From a handler of a route with UVHTTP_ROUTE_STREAM,
 * which returns the result. `done` is called with `arg` when the form is complete. The options are
 * copied.
 *
 * On failure an error response with a reason is sent and `done` is not called: 415 if the body is
 * no such form, 400 if malformed, 413 if too large, and for files the statuses of
 * uvhttp_upload_to_file.
 * Returns 0, or
 *   UVHTTP_EINVAL         no `done`, the body is read already, or as uvhttp_request_on_body
 *   UVHTTP_ENOMEM         out of memory
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
UVHTTP_EXPORT int uvhttp_form_data_read(uvhttp_request_t *request,
                                        const uvhttp_form_options_t *options, uvhttp_form_cb done,
                                        void *arg);

/* The first part of that name, or NULL. */
UVHTTP_EXPORT const uvhttp_form_part_t *uvhttp_form_data_part(const uvhttp_form_data_t *form,
                                                              const char *name);

/* Keeps a part as a file: a part in a file is renamed to `path`, which must be on the file system
 * of options.directory; a part in memory is written there. Existing files are not replaced. From
 * `done` on, until the response is sent. Blocks for the rename or the write. After an error the
 * part is unchanged.
 * Returns 0, or
 *   UVHTTP_EINVAL  no path, or kept already
 *   libuv          UV_EEXIST, UV_EXDEV, UV_ENOENT, UV_EACCES, UV_ENOSPC, ... */
UVHTTP_EXPORT int uvhttp_form_part_keep(const uvhttp_form_part_t *part, const char *path);

#ifdef __cplusplus
}
#endif

#endif
