/* Mounts contexts: the routes of a directory below a prefix. */
#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "files/static_files.h"
#include "options/error.h"
#include "options/use.h"

enum { SHOWN_PREFIX = 200 };

/* One file may be mounted at a path of its own. */
static bool is_prefix(const char *prefix, bool of_one_file)
{
    size_t length = prefix == NULL ? 0 : strlen(prefix);
    return length > 0 && prefix[0] == '/' && (of_one_file || prefix[length - 1] == '/');
}

static int refuse_prefix(const char *prefix, bool of_one_file, uvhttp_error_t *error)
{
    prefix = prefix != NULL ? prefix : "";
    uvh_error_sentence(error, "prefix", prefix, "the prefix \"%.*s\" does not begin %swith \"/\"",
                       uvh_error_quoted(prefix, SHOWN_PREFIX), prefix,
                       of_one_file ? "" : "and end ");
    return UVHTTP_EINVAL;
}

static int refuse_server(uvhttp_error_t *error)
{
    uvh_error_sentence(error, "context", NULL,
                       "static files: this uvhttp_static_t belongs to another server; open one "
                       "for each server");
    return UVHTTP_EINVAL;
}

/* Adds the routes of a context. */
static int mount(uvhttp_server_t *server, const char *prefix, uvhttp_static_t *context,
                 uvhttp_error_t *error)
{
    if (server == NULL || context == NULL)
        return UVHTTP_ENOMEM;
    const uvhttp_server_t *owner = atomic_load(&context->server);
    bool of_one_file = context->settings.map.only != UVH_STATIC_NO_PAGE;
    if (!is_prefix(prefix, of_one_file))
        return refuse_prefix(prefix, of_one_file, error);
    if (owner != NULL && owner != server)
        return refuse_server(error);
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    size_t length = strlen(prefix);
    char *pattern = uvh_alloc(allocator, length + 2);
    if (pattern == NULL)
        return UVHTTP_ENOMEM;
    /* Requests of other mounts search for their parameter. */
    bool fixed = owner == NULL && strpbrk(prefix, ":*%") == NULL;
    memcpy(pattern, prefix, length);
    memcpy(pattern + length, "*", 2);
    if (prefix[length - 1] != '/')
        pattern[length] = '\0';
    int err = uvhttp_server_route(
        server, "GET", pattern,
        fixed ? uvh_static_files_serve_mounted : uvhttp_static_handle_request, context);
    static const char *const methods[] = {"PUT", "POST"};
    for (size_t i = 0; i < UVH_COUNT_OF(methods) && context->settings.uploads && err == 0; i++)
        err = uvhttp_router_add(uvhttp_server_router(server),
                                &(uvhttp_route_t){.method = methods[i],
                                                  .pattern = pattern,
                                                  .handler = fixed ? uvh_static_files_store_mounted
                                                                   : uvhttp_static_handle_upload,
                                                  .arg = context,
                                                  .flags = UVHTTP_ROUTE_STREAM});
    uvh_free(allocator, pattern);
    if (err != 0)
        uvh_error_copy(error, uvhttp_server_error(server));
    /* another server used it since the check above */
    if (err == 0 && !uvh_static_files_belongs_to(context, server))
        err = refuse_server(error);
    if (err == 0 && fixed)
        context->prefix_length = length;
    return err;
}

int uvhttp_static_mount_context(uvhttp_server_t *server, const char *prefix,
                                uvhttp_static_t *context, uvhttp_error_t *error)
{
    uvhttp_error_t own;
    error = error != NULL ? error : &own;
    uvh_error_clear(error);
    uvh_error_end(error, mount(server, prefix, context, error));
    return uvh_use_error(server, error);
}

static int mount_new(uvhttp_server_t *server, const char *prefix,
                     const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    uvhttp_static_t *context;
    if (server == NULL)
        return UVHTTP_ENOMEM;
    bool of_one_file = options != NULL && options->file != NULL;
    if (!is_prefix(prefix, of_one_file))
        return refuse_prefix(prefix, of_one_file, error);
    int err = uvhttp_static_new(&context, options, error);
    if (err != 0) {
        if (error->field[0] != '\0' && (err == UVHTTP_ECONFIG || err == UVHTTP_EINVAL))
            uvhttp_server_log(server, UVHTTP_LOG_ERROR,
                              "static files at \"%s\": invalid configuration: %s", prefix,
                              error->text);
        return err;
    }
    err = uvhttp_server_own(server, uvhttp_static_free, context);
    if (err != 0) {
        uvhttp_static_free(context);
        return err;
    }
    /* On failure the server owns the context already and destroys it. */
    return mount(server, prefix, context, error);
}

int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix,
                        const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    uvhttp_error_t own; /* for the log and the server */
    error = error != NULL ? error : &own;
    uvh_error_clear(error);
    uvh_error_end(error, mount_new(server, prefix, options, error));
    return uvh_use_error(server, error);
}
