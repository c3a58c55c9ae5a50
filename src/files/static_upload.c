/* A job before the body (static_publish.c), the body through a spool (spool.c), and another job to
 * rename the files, which may wait for the disk. The body is requested after the first job, so a
 * client that waits for "100 Continue" is refused before it sends. */
#include "files/static_upload.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/multipart.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/text/percent.h"
#include "files/static_error.h"
#include "files/static_path.h"
#include "files/static_publish.h"
#include "files/static_response.h"
#include "options/field_lines.h"
#include "uploads/upload_name.h"

enum {
    MOST_FILES = 100,            /* of a form */
    MOST_ANSWER_SIZE = 16 << 20, /* exceeds the size of so many paths */
};

static const char key; /* identifies an upload in its exchange */

struct upload {
    struct uvh_spool spool;
    struct uvh_static_publish publish;
    struct uvh_static_part *last;
    struct uvh_static_part *open; /* POST: the current part, when it is a file */
    uvhttp_multipart_t *parser;   /* POST */
    uint64_t received;            /* bytes of the body */
};

/* ---- responses ---- */

static int refuse_size(uvhttp_response_t *response)
{
    return uvh_spool_refuse(response, 413, "the body is too large for this resource");
}

/* Sends the refusal of a job. */
static int respond_refused(struct upload *upload)
{
    const struct uvh_static_publish *publish = &upload->publish;
    if (publish->status != 0)
        return uvh_spool_refuse(upload->spool.response, publish->status, publish->reason);
    return uvh_spool_respond_error(&upload->spool, publish->error);
}

/* The location of the request's path, followed by a name unless that is NULL; NULL when out of
 * memory. */
static char *location_of(uvhttp_request_t *request, const char *name)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    size_t length = name == NULL ? 0 : strlen(name);
    while (path.length > 0 && path.base[0] == '/') {
        path.base++;
        path.length--;
    }
    char *location = uvhttp_request_allocate(request, 3 * (path.length + length) + 3);
    if (location == NULL)
        return NULL;
    char *end = location;
    *end++ = '/';
    end = uvh_percent_write(end, path, UVH_PERCENT_SENT);
    if (name != NULL && end[-1] != '/')
        *end++ = '/';
    if (name != NULL)
        end = uvh_percent_write(end, (uvhttp_slice_t){name, length}, UVH_PERCENT_PATH);
    *end = '\0';
    return location;
}

static int respond_to_put(struct upload *upload)
{
    uvhttp_response_t *response = upload->spool.response;
    bool created = upload->publish.parts->file.created;
    int err = 0;
    if (upload->publish.etag[0] != '\0')
        err = uvhttp_response_set_header(response, "ETag", upload->publish.etag);
    if (err == 0 && created) {
        const char *location = location_of(upload->spool.request, NULL);
        err = location == NULL ? UVHTTP_ENOMEM
                               : uvhttp_response_set_header(response, "Location", location);
    }
    return err != 0 ? err : uvhttp_response_send_status(response, created ? 201 : 204);
}

/* Back to the listing that has the form. */
static int redirect_to_listing(struct upload *upload)
{
    const char *location = location_of(upload->spool.request, NULL);
    return location == NULL ? UVHTTP_ENOMEM
                            : uvhttp_response_redirect(upload->spool.response, 303, location);
}

/* The path of each file on a line; for a browser the listing. */
static int respond_to_form(struct upload *upload)
{
    uvhttp_response_t *response = upload->spool.response;
    if (upload->publish.settings->listing && uvh_static_error_prefers_html(upload->spool.request))
        return redirect_to_listing(upload);
    struct uvh_bytes text;
    int status = 200;
    int err = 0;
    uvh_bytes_init(&text, upload->publish.settings->allocator, MOST_ANSWER_SIZE);
    for (struct uvh_static_part *part = upload->publish.parts; part != NULL && err == 0;
         part = part->next) {
        const char *location = location_of(upload->spool.request, part->name);
        if (location == NULL || uvh_bytes_append_text(&text, location) != 0 ||
            uvh_bytes_append_text(&text, "\n") != 0)
            err = UVHTTP_ENOMEM;
        if (err == 0 && part == upload->publish.parts && part->next == NULL && part->file.created)
            err = uvhttp_response_set_header(response, "Location", location);
        if (part->file.created)
            status = 201;
    }
    if (err == 0)
        err = uvhttp_response_send(response, status, "text/plain; charset=utf-8", text.data,
                                   text.length);
    uvh_bytes_release(&text);
    return err;
}

/* ---- the body ---- */

static void run_publish(void *arg)
{
    uvh_static_publish_run(arg);
}

static int finish_publish(uvhttp_response_t *response, void *arg)
{
    struct upload *upload =
        UVH_CONTAINER_OF((struct uvh_static_publish *)arg, struct upload, publish);
    if (!uvhttp_response_open(response)) /* the client disconnected; the file stays */
        return 0;
    if (upload->publish.status != 0 || upload->publish.error != 0)
        return respond_refused(upload);
    return upload->publish.form ? respond_to_form(upload) : respond_to_put(upload);
}

static int written(struct uvh_spool *spool, int err)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
    if (err != 0)
        return uvh_spool_respond_error(spool, err);
    return uvhttp_response_defer_heavy(spool->response, run_publish, finish_publish,
                                       &upload->publish);
}

static void add_to_sums(struct uvh_spool *spool, const uvhttp_slice_t *slices, size_t count)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
    uvh_body_digest_add(&upload->publish.digest, slices, count);
}

static int take_file(struct upload *upload, const char *data, size_t size)
{
    struct uvh_spool_file *file = &upload->publish.parts->file;
    if (size > 0)
        return uvh_spool_put(&upload->spool, file, data, size);
    int err = uvh_body_digest_read_trailers(&upload->publish.digest, upload->spool.request);
    if (err != 0)
        return uvh_body_digest_refuse(upload->spool.response, err);
    err = uvh_spool_end_file(&upload->spool, file);
    return err != 0 ? err : uvh_spool_end(&upload->spool);
}

static void append(struct upload *upload, struct uvh_static_part *part)
{
    if (upload->last != NULL)
        upload->last->next = part;
    else
        upload->publish.parts = part;
    upload->last = part;
}

/* The path of a request was checked before. */
static bool is_hidden(const struct upload *upload, const char *name)
{
    const struct uvh_static_publish *publish = &upload->publish;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s%s", publish->directory,
             publish->directory[0] == '\0' ? "" : "/", name);
    return uvh_static_path_matches(path, publish->settings->hide);
}

/* A part of a form begins; one without a file name is skipped. */
static int begin_part(struct upload *upload)
{
    uvhttp_request_t *request = upload->spool.request;
    uvhttp_slice_t raw = upload->parser->part.filename;
    upload->open = NULL;
    if (raw.length == 0)
        return 0;
    struct uvh_static_part *part = uvhttp_request_allocate(request, sizeof(*part));
    char *name = uvh_upload_name_from(request, raw);
    if (part == NULL || name == NULL)
        return UVHTTP_ENOMEM;
    *part = (struct uvh_static_part){.name = name};
    if (!uvh_store_name_is_plain(uvh_slice(name)))
        return uvh_spool_refuse(upload->spool.response, 400, "a file in the form has no name");
    if (is_hidden(upload, name))
        return uvh_spool_refuse(upload->spool.response, 403, "the name is hidden");
    for (const struct uvh_static_part *other = upload->publish.parts; other != NULL;
         other = other->next) {
        if (strcmp(other->name, name) == 0)
            return uvh_spool_refuse(upload->spool.response, 400,
                                    "two files in the form have the same name");
    }
    append(upload, part);
    upload->open = part;
    return uvh_spool_to_disk(&upload->spool, &part->file);
}

static int end_form(struct upload *upload)
{
    if (!uvhttp_multipart_finish(upload->parser))
        return uvh_spool_refuse(upload->spool.response,
                                uvhttp_multipart_error_status(upload->parser->error),
                                uvhttp_multipart_error_text(upload->parser->error));
    if (upload->publish.parts == NULL)
        return uvh_spool_refuse(upload->spool.response, 400, "the form contains no file");
    return uvh_spool_end(&upload->spool);
}

static int take_form(struct upload *upload, uvhttp_slice_t chunk)
{
    uvhttp_slice_t bytes;
    int err = 0;
    if (chunk.length == 0)
        return end_form(upload);
    while (err == 0 && uvhttp_response_open(upload->spool.response)) {
        switch (uvhttp_multipart_next(upload->parser, &chunk, &bytes)) {
        case UVHTTP_MULTIPART_PART:
            err = begin_part(upload);
            break;
        case UVHTTP_MULTIPART_DATA:
            if (upload->open != NULL)
                err = uvh_spool_put(&upload->spool, &upload->open->file, bytes.base, bytes.length);
            break;
        case UVHTTP_MULTIPART_PART_END:
            if (upload->open != NULL)
                err = uvh_spool_end_file(&upload->spool, &upload->open->file);
            break;
        case UVHTTP_MULTIPART_END:
            break;
        case UVHTTP_MULTIPART_BAD:
            return end_form(upload);
        case UVHTTP_MULTIPART_MORE:
            return 0;
        }
    }
    return err;
}

static int take_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    struct upload *upload = arg;
    (void)request;
    if (size > upload->publish.settings->upload_max_size - upload->received)
        return refuse_size(response);
    upload->received += size;
    if (upload->publish.form)
        return take_form(upload, (uvhttp_slice_t){data, size});
    return take_file(upload, data, size);
}

/* ---- before the body ---- */

static void run_prepare(void *arg)
{
    struct uvh_static_publish *publish = arg;
    uvh_static_settings_follow_roots(publish->settings);
    uvh_static_publish_prepare(publish);
}

static int finish_prepare(uvhttp_response_t *response, void *arg)
{
    struct upload *upload =
        UVH_CONTAINER_OF((struct uvh_static_publish *)arg, struct upload, publish);
    if (!uvhttp_response_open(response))
        return 0;
    if (upload->publish.status != 0 || upload->publish.error != 0)
        return respond_refused(upload);
    return uvhttp_request_on_body(upload->spool.request, take_chunk, upload);
}

static void release(void *data)
{
    struct upload *upload = data;
    uvh_body_digest_release(&upload->publish.digest);
}

/* A browser sends the form of any page without a preflight, with the user's credentials, so only
 * pages of this host are accepted. */
static bool comes_from_elsewhere(uvhttp_request_t *request)
{
    const char *site = uvhttp_request_header(request, "Sec-Fetch-Site");
    uvhttp_slice_t origin = uvhttp_request_field(request, UVHTTP_FIELD_ORIGIN);
    uvhttp_slice_t host = uvhttp_request_field(request, UVHTTP_FIELD_HOST);
    if (site != NULL)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    if (origin.base == NULL)
        return false;
    static const char divider[] = "://";
    for (size_t i = 0; i + strlen(divider) <= origin.length; i++) {
        if (memcmp(origin.base + i, divider, strlen(divider)) == 0) {
            size_t skip = i + strlen(divider);
            return !uvh_field_name_equal((uvhttp_slice_t){origin.base + skip, origin.length - skip},
                                         host);
        }
    }
    return true;
}

/* The reason to refuse by the head alone; `*status` is 0 without one. */
static const char *judge_head(uvhttp_request_t *request, const struct uvh_static_settings *settings,
                              int *status)
{
    const char *coding = uvhttp_request_header(request, "Content-Encoding");
    *status = 400;
    if (uvhttp_request_header(request, "Content-Range") != NULL)
        return "partial uploads (Content-Range) are not supported";
    *status = 415;
    if (coding != NULL && strcmp(coding, "identity") != 0)
        return "uploads with a content coding are not supported";
    *status = 413;
    if (uvh_spool_exceeds(request, settings->upload_max_size))
        return "the body is too large for this resource";
    *status = 0;
    return NULL;
}

static struct upload *new_upload(uvhttp_response_t *response,
                                 const struct uvh_static_upload_options *options)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct upload *upload = uvhttp_request_allocate(request, sizeof(*upload));
    if (upload == NULL)
        return NULL;
    *upload = (struct upload){
        .spool = {.request = request,
                  .response = response,
                  .sync = options->settings->upload_sync,
                  .written_cb = written},
        .publish = {.settings = options->settings,
                    .lock = options->lock,
                    .versions = options->versions},
    };
    upload->publish.store = &upload->spool.store;
    return upload;
}

/* Splits the path into directory and name. */
static int set_target(struct upload *upload, uvhttp_slice_t path)
{
    uvhttp_request_t *request = upload->spool.request;
    char *directory = uvhttp_request_allocate(request, path.length + 1);
    struct uvh_static_part *part = uvhttp_request_allocate(request, sizeof(*part));
    if (directory == NULL || part == NULL)
        return UVHTTP_ENOMEM;
    memcpy(directory, path.base, path.length + 1);
    char *slash = strrchr(directory, '/');
    bool form = upload->publish.form;
    if (slash != NULL && (!form || slash[1] == '\0'))
        *slash = '\0';
    upload->publish.directory = directory;
    if (!form) {
        *part = (struct uvh_static_part){.name = slash == NULL ? directory : slash + 1};
        if (slash == NULL)
            upload->publish.directory = "";
        append(upload, part);
    }
    upload->spool.directory =
        upload->publish.directory[0] == '\0' ? "the root directory" : upload->publish.directory;
    return 0;
}

static int read_conditions(struct upload *upload)
{
    uvhttp_request_t *request = upload->spool.request;
    struct uvh_conditional_fields *conditions = &upload->publish.conditions;
    *conditions = (struct uvh_conditional_fields){
        .if_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_MATCH),
        .if_none_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH),
        .if_unmodified_since = uvhttp_request_field(request, UVHTTP_FIELD_IF_UNMODIFIED_SINCE),
    };
    if (conditions->if_match.base == NULL && conditions->if_none_match.base == NULL &&
        conditions->if_unmodified_since.base == NULL)
        return 0;
    upload->publish.accepted = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT_ENCODING);
    int err =
        uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT_ENCODING, &upload->publish.accepted);
    return err != 0 ? err : uvh_field_lines_join_conditions(request, conditions);
}

static int begin_put(struct upload *upload)
{
    uvhttp_request_t *request = upload->spool.request;
    uvhttp_response_t *response = upload->spool.response;
    struct uvh_static_part *part = upload->publish.parts;
    if (!uvh_store_name_is_plain(uvh_slice(part->name)))
        return uvh_spool_refuse(response, 400, "invalid file name");
    int err = read_conditions(upload);
    if (err == 0)
        err = uvhttp_request_attach(request, &key, upload, release);
    if (err != 0)
        return err;
    err = uvh_body_digest_begin(&upload->publish.digest, request, false);
    if (err != 0)
        return uvh_body_digest_refuse(response, err);
    if (uvh_body_digest_is_needed(&upload->publish.digest))
        upload->spool.wrote = add_to_sums;
    return uvh_spool_to_disk(&upload->spool, &part->file);
}

static int begin_form(struct upload *upload)
{
    uvhttp_request_t *request = upload->spool.request;
    uvhttp_response_t *response = upload->spool.response;
    uvhttp_slice_t boundary;
    const uvhttp_multipart_limits_t limits = {.max_parts = MOST_FILES};
    if (comes_from_elsewhere(request))
        return uvh_spool_refuse(response, 403, "the form was submitted from another site");
    if (!uvhttp_multipart_boundary(uvhttp_request_field(request, UVHTTP_FIELD_CONTENT_TYPE),
                                   &boundary))
        return uvh_spool_refuse(response, 415, "the body is not multipart/form-data");
    upload->parser = uvhttp_request_allocate(request, sizeof(*upload->parser));
    if (upload->parser == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_multipart_init(upload->parser, boundary, &limits);
    return 0;
}

int uvh_static_upload_begin(uvhttp_response_t *response,
                            const struct uvh_static_upload_options *options)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    bool form = uvhttp_request_method(request) == UVHTTP_METHOD_POST;
    int status;
    const char *reason = judge_head(request, options->settings, &status);
    if (status != 0)
        return uvh_spool_refuse(response, status, reason);
    struct upload *upload = new_upload(response, options);
    if (upload == NULL)
        return UVHTTP_ENOMEM;
    upload->publish.form = form;
    int err = set_target(upload, options->path);
    if (err == 0)
        err = uvh_spool_begin(&upload->spool);
    if (err == 0)
        err = form ? begin_form(upload) : begin_put(upload);
    if (err != 0 || !uvhttp_response_open(response)) /* refused */
        return err;
    return uvhttp_response_defer(response, run_prepare, finish_prepare, &upload->publish);
}
