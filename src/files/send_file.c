/* A file that a handler chooses becomes an entry that no cache holds. It is sent as any other
 * static file (static_entity.c) and freed with its response. On public functions only. */
#include "files/send_file.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/text.h>

#include "files/file_entry.h"
#include "files/static_entity.h"

/* A uvhttp_send_cb, since the status is not known before: an error or a 304 does not have it. */
static int add_disposition(uvhttp_request_t *request, uvhttp_response_t *response, void *value)
{
    int status = uvhttp_response_status(response);
    (void)request;
    return status == 200 || status == 206
               ? uvhttp_response_set_header(response, "Content-Disposition", value)
               : 0;
}

char *uvh_send_file_name(uvhttp_request_t *request, const char *kind, const char *name)
{
    size_t length = strlen(name);
    size_t size = uvhttp_content_disposition(kind, name, length, NULL, 0) + 1;
    char *value = uvhttp_request_allocate(request, size);
    if (value != NULL)
        uvhttp_content_disposition(kind, name, length, value, size);
    return value;
}

int uvh_send_file_disposition(uvhttp_response_t *response,
                              const uvhttp_send_file_options_t *options)
{
    if (options == NULL || options->download_name == NULL)
        return 0;
    char *value =
        uvh_send_file_name(uvhttp_response_request(response),
                           options->show_inline ? "inline" : "attachment", options->download_name);
    if (value == NULL)
        return UVHTTP_ENOMEM;
    return uvhttp_response_on_send(response, add_disposition, value);
}

/* Opens the file and sends it with `respond`. */
static int send_file(uvhttp_response_t *response, int status, const char *path,
                     const uvhttp_send_file_options_t *options)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct uvh_file_entry *entry;
    if (path == NULL)
        return UVHTTP_EINVAL;
    const struct uvh_file_load_options load = {
        .allocator = uvhttp_server_allocator(uvhttp_request_server(request)),
        .path = path,
        .type = options == NULL ? NULL : options->content_type,
    };
    int err = uvh_file_entry_load(&load, &entry);
    if (err != 0)
        return err;
    err = status == 200 ? uvh_send_file_disposition(response, options) : 0;
    if (err == 0)
        err = status == 200 ? uvh_static_entity_respond(request, response, entry)
                            : uvh_static_entity_respond_error(response, entry, status);
    bool in_use = entry->references > 1;
    uvh_file_entry_unref(entry);
    if (in_use) /* after a blocking handler the loop has it */
        uvh_owner_hand_over(&entry->owner);
    return err;
}

int uvhttp_response_send_file_with(uvhttp_response_t *response, const char *path,
                                   const uvhttp_send_file_options_t *options)
{
    return send_file(response, 200, path, options);
}

int uvhttp_response_send_file(uvhttp_response_t *response, int status, const char *path)
{
    return send_file(response, status == 0 ? uvhttp_response_status(response) : status, path, NULL);
}
