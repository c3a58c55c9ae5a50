/* One body, one file: its chunks go through a spool (spool.c), which publishes the file once the
 * last chunk is written. */
#include <uvhttp/error.h>
#include <uvhttp/upload.h>

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "uploads/body_digest.h"
#include "uploads/spool.h"

struct upload {
    struct uvh_spool spool;
    struct uvh_spool_file file;
    uint64_t max_size;
    uint64_t total; /* by Content-Length; 0: unknown */
    struct uvh_body_digest digest;
    uvhttp_upload_options_t options;
    uvhttp_upload_t facts;
    /* refused by the job */
    int status;
    const char *reason;
    char *hidden_path; /* has space for the hidden name at its end */
    char sha256[2 * 32 + 1];
    uvhttp_upload_cb done;
    void *arg;
};

static const char digest_key; /* the digest is released with the exchange */

static void release_digest(void *digest)
{
    uvh_body_digest_release(digest);
}

/* ---- in a job ---- */

static void add_to_digest(struct uvh_spool *spool, const uvhttp_slice_t *slices, size_t count)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
    uvh_body_digest_add(&upload->digest, slices, count);
}

static int refuse(struct upload *upload, int status, const char *reason)
{
    upload->status = status;
    upload->reason = reason;
    return UVHTTP_DECLINED;
}

static void write_sha256(struct upload *upload)
{
    for (size_t i = 0; i < sizeof(upload->digest.sha_256); i++)
        snprintf(upload->sha256 + 2 * i, 3, "%02x", upload->digest.sha_256[i]);
    upload->facts.sha256 = upload->sha256;
}

static int run_check(struct upload *upload, const struct uvh_spool_file *file)
{
    uvhttp_upload_t hidden = upload->facts;
    size_t directory = strlen(upload->spool.directory);
    snprintf(upload->hidden_path + directory + 1, UVH_STORE_NAME_SIZE, "%s", file->name);
    hidden.path = upload->hidden_path;
    int status = upload->options.check(&hidden, upload->options.arg);
    if (status == 0)
        return 0;
    return refuse(upload, status >= 400 && status <= 599 ? status : 500,
                  "the file is not accepted");
}

/* The file is complete, and has not got its name. */
static int complete(struct uvh_spool *spool, struct uvh_spool_file *file)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
    upload->facts.size = file->size;
    if (!uvh_body_digest_end(&upload->digest))
        return refuse(upload, 400, UVH_BODY_DIGEST_WRONG);
    if (upload->options.sha256)
        write_sha256(upload);
    return upload->options.check == NULL ? 0 : run_check(upload, file);
}

/* ---- on the loop ---- */

static int written(struct uvh_spool *spool, int err)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
    if (upload->status != 0)
        return uvh_spool_refuse(spool->response, upload->status, upload->reason);
    if (err != 0)
        return uvh_spool_respond_error(spool, err);
    upload->facts.size = upload->file.size;
    upload->facts.created = upload->file.created;
    if (upload->done != NULL)
        return upload->done(spool->request, spool->response, &upload->facts, upload->arg);
    return uvhttp_response_send_status(spool->response, upload->facts.created ? 201 : 204);
}

static int refuse_size(uvhttp_response_t *response)
{
    return uvh_spool_refuse(response, 413, "the body is too large for this resource");
}

static int take_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    struct upload *upload = arg;
    if (size > upload->max_size - upload->file.size)
        return refuse_size(response);
    if (size > 0 && upload->options.progress != NULL)
        upload->options.progress(request, upload->file.size + size, upload->total,
                                 upload->options.arg);
    if (size > 0)
        return uvh_spool_put(&upload->spool, &upload->file, data, size);
    int err = uvh_body_digest_read_trailers(&upload->digest, request);
    if (err != 0)
        return uvh_body_digest_refuse(response, err);
    err = uvh_spool_end_file(&upload->spool, &upload->file);
    return err != 0 ? err : uvh_spool_end(&upload->spool);
}

/* 0 without Content-Length. */
static uint64_t content_length(uvhttp_request_t *request)
{
    uvhttp_slice_t text = uvhttp_request_field(request, UVHTTP_FIELD_CONTENT_LENGTH);
    uint64_t size = 0;
    /* the same number may follow once more, after a comma */
    for (size_t i = 0; i < text.length && text.base[i] >= '0' && text.base[i] <= '9'; i++)
        size = size * 10 + (uint64_t)(text.base[i] - '0');
    return size;
}

/* Returns the upload with copies of all parameters, in the exchange's memory; NULL when out of
 * memory. */
static struct upload *new_upload(uvhttp_request_t *request, const char *directory, const char *name,
                                 const uvhttp_upload_options_t *options)
{
    size_t dir_length = strlen(directory);
    size_t size = dir_length + 1 + strlen(name) + 1;
    size_t hidden = dir_length + 1 + UVH_STORE_NAME_SIZE;
    struct upload *upload =
        uvhttp_request_allocate(request, sizeof(*upload) + dir_length + 1 + size + hidden);
    if (upload == NULL)
        return NULL;
    char *dir_copy = (char *)(upload + 1);
    char *path = dir_copy + dir_length + 1;
    memcpy(dir_copy, directory, dir_length + 1);
    snprintf(path, size, "%s/%s", directory, name);
    snprintf(path + size, hidden, "%s/", directory);
    *upload = (struct upload){
        .spool = {.request = request,
                  .response = uvhttp_request_response(request),
                  .directory = dir_copy,
                  .create_directory = options->create_directory,
                  .mode = options->mode,
                  .sync = options->sync,
                  .written_cb = written,
                  .complete = complete},
        .file = {.target = path + dir_length + 1, .keep = options->keep_existing},
        .max_size = options->max_size == 0 ? UINT64_MAX : options->max_size,
        .total = content_length(request),
        .options = *options,
        .facts = {.path = path},
        .hidden_path = path + size,
    };
    return upload;
}

int uvhttp_upload_to_file(uvhttp_request_t *request, const char *directory, const char *name,
                          const uvhttp_upload_options_t *options, uvhttp_upload_cb done, void *arg)
{
    static const uvhttp_upload_options_t defaults;
    uvhttp_response_t *response = uvhttp_request_response(request);
    if (directory == NULL || directory[0] == '\0')
        return UVHTTP_EINVAL;
    if (name == NULL || !uvh_store_name_is_plain(uvh_slice(name)))
        return uvh_spool_refuse(response, 400, "invalid file name");
    struct upload *upload =
        new_upload(request, directory, name, options == NULL ? &defaults : options);
    if (upload == NULL)
        return UVHTTP_ENOMEM;
    upload->done = done;
    upload->arg = arg;
    if (uvh_spool_exceeds(request, upload->max_size))
        return refuse_size(response);
    int err = uvh_spool_begin(&upload->spool);
    if (err == 0)
        err = uvhttp_request_attach(request, &digest_key, &upload->digest, release_digest);
    if (err != 0)
        return err;
    err = uvh_body_digest_begin(&upload->digest, request, upload->options.sha256);
    if (err != 0)
        return uvh_body_digest_refuse(response, err);
    if (uvh_body_digest_is_needed(&upload->digest))
        upload->spool.wrote = add_to_digest;
    err = uvh_spool_to_disk(&upload->spool, &upload->file);
    return err != 0 ? err : uvhttp_request_on_body(request, take_chunk, upload);
}
