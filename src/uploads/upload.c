/* One body, one file: its chunks go through a spool (spool.c), which publishes the file once the
 * last chunk is written. */
#include <uvhttp/error.h>
#include <uvhttp/upload.h>

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "uploads/spool.h"

struct upload {
    struct uvh_spool spool;
    struct uvh_spool_file file;
    uint64_t max_size;
    uvhttp_upload_t facts;
    uvhttp_upload_cb done;
    void *arg;
};

static int written(struct uvh_spool *spool, int err)
{
    struct upload *upload = UVH_CONTAINER_OF(spool, struct upload, spool);
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
    (void)request;
    if (size > upload->max_size - upload->file.size)
        return refuse_size(response);
    if (size > 0)
        return uvh_spool_put(&upload->spool, &upload->file, data, size);
    int err = uvh_spool_end_file(&upload->spool, &upload->file);
    return err != 0 ? err : uvh_spool_end(&upload->spool);
}

/* Returns the upload with copies of all parameters, in the exchange's memory; NULL when out of
 * memory. */
static struct upload *new_upload(uvhttp_request_t *request, const char *directory, const char *name,
                                 const uvhttp_upload_options_t *options)
{
    size_t dir_length = strlen(directory);
    size_t size = dir_length + 1 + strlen(name) + 1;
    struct upload *upload =
        uvhttp_request_allocate(request, sizeof(*upload) + dir_length + 1 + size);
    if (upload == NULL)
        return NULL;
    char *dir_copy = (char *)(upload + 1);
    char *path = dir_copy + dir_length + 1;
    memcpy(dir_copy, directory, dir_length + 1);
    snprintf(path, size, "%s/%s", directory, name);
    *upload = (struct upload){
        .spool = {.request = request,
                  .response = uvhttp_request_response(request),
                  .directory = dir_copy,
                  .create_directory = options->create_directory,
                  .mode = options->mode,
                  .sync = options->sync,
                  .written_cb = written},
        .file = {.target = path + dir_length + 1, .keep = options->keep_existing},
        .max_size = options->max_size == 0 ? UINT64_MAX : options->max_size,
        .facts = {.path = path},
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
        err = uvh_spool_to_disk(&upload->spool, &upload->file);
    return err != 0 ? err : uvhttp_request_on_body(request, take_chunk, upload);
}
