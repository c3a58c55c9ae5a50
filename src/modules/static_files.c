/* Static files over the public API: uvhttp/static.h.
 *
 * A request for a file that was looked at lately is answered from the cache at once: one look into the table, no system call, no
 * allocation. Everything else is fetched (static_fetch.c). Each
 * worker of a server has a cache of its own, made when its first request comes, so that none waits for another. */
#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "codec/target.h"
#include "modules/file_cache.h"
#include "modules/static_entity.h"
#include "modules/static_fetch.h"
#include "modules/static_load.h"
#include "modules/static_settings.h"
#include "platform/random.h"

struct uvhttp_static {
    struct uvh_static_settings settings;
    uint64_t seed; /* of the caches */
    struct uvh_file_cache
        prewarmed; /* with several workers not changed any more once requests come: each copies it */
    struct uvh_file_cache *caches[UVHTTP_WORKERS_MAX]; /* each is touched by its worker only */
    size_t
        prefix_length; /* of every path that gets here, when mounted below a prefix of fixed length; else 0 */
};

/* Copies a path without the slashes at its beginning and without repeated ones, so that each file has one key. Returns the length. */
static size_t normalize(const char *path, size_t length, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '/' && (size == 0 || out[size - 1] == '/'))
            continue;
        out[size++] = path[i];
    }
    out[size] = '\0';
    return size;
}

/* Some name of the path begins with a dot. ".well-known" (RFC 8615) at its beginning does not count: it is there to be found. */
static bool is_hidden(const char *path)
{
    static const char well_known[] = ".well-known";
    size_t length = strlen(well_known);
    if (strncmp(path, well_known, length) == 0 && (path[length] == '/' || path[length] == '\0'))
        path += length;
    return path[0] == '.' || strstr(path, "/.") != NULL;
}

/* The entry may be used without looking at the file: it was looked at lately, or somebody is doing so just now. */
static bool is_usable(const struct uvhttp_static *context, const struct uvh_file_entry *entry, uint64_t now)
{
    if (UVH_LIKELY(now < entry->fresh_until))
        return true;
    return entry->looking && now < entry->fresh_until + context->settings.revalidate_ms;
}

static int answer_from_cache(uvhttp_request_t *request, uvhttp_response_t *response,
                             struct uvh_file_entry *entry)
{
    uvhttp_request_count_cache(request, true);
    return uvh_static_entity_answer(request, response, entry);
}

/* What the cache cannot answer at once. */
static int serve_from_disk(struct uvhttp_static *context, struct uvh_file_cache *cache,
                           uvhttp_response_t *response, uvhttp_slice_t path, struct uvh_file_entry *known)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    char *copy = uvhttp_request_allocate(request, path.length + 1);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_slice_t normal = {copy, normalize(path.base, path.length, copy)};
    if (normal.length != path.length) {
        known = uvh_file_cache_find(cache, normal.base, normal.length);
        if (known != NULL && is_usable(context, known, uvhttp_response_now(response)))
            return answer_from_cache(request, response, known);
    }
    if (!context->settings.hidden && is_hidden(normal.base))
        return uvhttp_response_send_status(response, 404);
    uvhttp_request_count_cache(request, false);
    return uvh_static_fetch(&context->settings, cache, response, normal, known);
}

static int refuse_method(uvhttp_response_t *response)
{
    int err = uvhttp_response_set_header(response, "Allow", "GET, HEAD");
    return err != 0 ? err : uvhttp_response_send_status(response, 405);
}

/* The path below the root; slashes may stand before it. */
static uvhttp_slice_t file_path(const struct uvhttp_static *context, uvhttp_request_t *request)
{
    size_t prefix = context->prefix_length;
    if (prefix == 0) {
        uvhttp_slice_t rest = uvhttp_request_param_path(request, "*");
        if (rest.base != NULL)
            return rest;
        prefix = 1;
    }
    uvhttp_slice_t path = uvhttp_request_path_slice(request);
    return (uvhttp_slice_t){path.base + prefix, path.length - prefix};
}

static void close_cache(struct uvhttp_static *context, struct uvh_file_cache *cache)
{
    if (cache == NULL || cache == &context->prewarmed)
        return;
    uvh_file_cache_release(cache);
    uvh_free(context->settings.allocator, cache);
}

/* The first request of a worker: its cache begins with what was prewarmed, or is that, when there is no other worker. NULL when memory ran out. */
static struct uvh_file_cache *open_cache(struct uvhttp_static *context, const uvhttp_request_t *request)
{
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    size_t workers = uvhttp_server_worker_count(uvhttp_request_server(request));
    struct uvh_file_cache_limits limits = context->settings.limits;
    limits.descriptors /= workers;
    if (workers == 1)
        return context->caches[0] = &context->prewarmed;
    struct uvh_file_cache *cache = uvh_alloc(allocator, sizeof(*cache));
    if (cache == NULL)
        return NULL;
    if (uvh_file_cache_init(cache, allocator, &limits, context->seed) != 0) {
        uvh_free(allocator, cache);
        return NULL;
    }
    uvh_file_cache_copy(cache, &context->prewarmed);
    context->caches[uvhttp_request_worker(request)] = cache;
    return cache;
}

int uvhttp_static_handle_request(uvhttp_request_t *request, uvhttp_response_t *response, void *context)
{
    struct uvhttp_static *files = context;
    uvhttp_method_t method = uvhttp_request_method(request);
    if (UVH_UNLIKELY(method != UVHTTP_METHOD_GET && method != UVHTTP_METHOD_HEAD))
        return refuse_method(response);
    uvhttp_slice_t path = file_path(files, request);
    if (UVH_UNLIKELY(memchr(path.base, '%', path.length) != NULL)) {
        /* No name holds a slash. Any other '%' belongs to a name. */
        if (uvh_target_has_slash(path))
            return uvhttp_response_send_status(response, 404);
        char *copy = uvhttp_request_allocate(request, path.length + 1);
        if (copy == NULL)
            return UVHTTP_ENOMEM;
        path = (uvhttp_slice_t){copy, uvh_target_release_kept(path, copy)};
    }
    struct uvh_file_cache *cache = files->caches[uvhttp_request_worker(request)];
    if (UVH_UNLIKELY(cache == NULL)) {
        cache = open_cache(files, request);
        if (cache == NULL)
            return UVHTTP_ENOMEM;
    }
    struct uvh_file_entry *entry = uvh_file_cache_find(cache, path.base, path.length);
    if (UVH_LIKELY(entry != NULL) && is_usable(files, entry, uvhttp_response_now(response)))
        return answer_from_cache(request, response, entry);
    return serve_from_disk(files, cache, response, path, entry);
}

int uvhttp_static_open(uvhttp_static_t **context, const uvhttp_static_config_t *config)
{
    struct uvh_static_settings settings;
    *context = NULL;
    int err = uvh_static_settings_open(&settings, config);
    if (err != 0)
        return err;
    struct uvhttp_static *made = uvh_alloc_zero(settings.allocator, sizeof(*made));
    err = made == NULL ? UVHTTP_ENOMEM : uvh_random_number(&made->seed);
    if (err == 0)
        err = uvh_file_cache_init(&made->prewarmed, settings.allocator, &settings.limits, made->seed);
    if (err != 0) {
        uvh_free(settings.allocator, made);
        uvh_static_settings_release(&settings);
        return err;
    }
    made->settings = settings;
    *context = made;
    return 0;
}

void uvhttp_static_close(uvhttp_static_t *context)
{
    if (context == NULL)
        return;
    for (size_t i = 0; i < UVHTTP_WORKERS_MAX; i++)
        close_cache(context, context->caches[i]);
    uvh_file_cache_release(&context->prewarmed);
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    uvh_static_settings_release(&context->settings);
    uvh_free(allocator, context);
}

int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path)
{
    size_t length = strlen(path);
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    char *copy = uvh_alloc(allocator, length + 1);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    length = normalize(path, length, copy);
    struct uvh_static_load load = {
        .settings = &context->settings, .path = {copy, length},
             .title = path
    };
    if (!context->settings.hidden && is_hidden(copy))
        load.error = -ENOENT;
    else
        uvh_static_load_run(&load);
    int err = load.error;
    if (load.outcome == UVH_STATIC_LISTING)
        uvh_static_listing_free(load.listing);
    if (load.outcome == UVH_STATIC_LISTING || load.outcome == UVH_STATIC_REDIRECT)
        err = UVHTTP_ENOTREG;
    /* There is no clock here, so fresh_until stays 0: the first request looks whether the file is still the same, and then
     * needs not read it. */
    if (load.outcome == UVH_STATIC_ENTRY && !uvh_file_cache_insert(&context->prewarmed, load.entry))
        err = UVHTTP_ENOMEM;
    uvh_file_entry_unref(load.entry);
    uvh_free(allocator, copy);
    return err;
}

static void close_context(void *context)
{
    uvhttp_static_close(context);
}

int uvhttp_static_mount(uvhttp_server_t *server, const char *prefix, const uvhttp_static_config_t *config)
{
    uvhttp_static_t *context;
    if (server == NULL)
        return UVHTTP_ENOMEM;
    size_t length = prefix == NULL ? 0 : strlen(prefix);
    if (length == 0 || prefix[0] != '/' || prefix[length - 1] != '/')
        return UVHTTP_EINVAL;
    int err = uvhttp_static_open(&context, config);
    if (err != 0)
        return err;
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    char *pattern = uvh_alloc(allocator, length + 2);
    err = pattern == NULL ? UVHTTP_ENOMEM : uvhttp_server_own(server, close_context, context);
    if (err != 0) {
        uvhttp_static_close(context);
        uvh_free(allocator, pattern);
        return err;
    }
    /* Saves each request the search for its parameter. */
    if (strpbrk(prefix, ":*%") == NULL)
        context->prefix_length = length;
    memcpy(pattern, prefix, length);
    memcpy(pattern + length, "*", 2);
    /* Should this fail, the context is the server's already and goes with it. */
    err = uvhttp_server_route(server, "GET", pattern, uvhttp_static_handle_request, context);
    uvh_free(allocator, pattern);
    return err;
}
