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
#include "modules/static_path.h"
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
    uvhttp_slice_t normal = {copy, uvh_static_path_normalize(path.base, path.length, copy)};
    if (normal.length != path.length) {
        known = uvh_file_cache_find(cache, normal.base, normal.length);
        if (known != NULL &&
            uvh_static_fetch_is_usable(&context->settings, known, uvhttp_response_now(response)))
            return answer_from_cache(request, response, known);
    }
    if (!context->settings.hidden && uvh_static_path_is_hidden(normal.base))
        return uvh_static_fetch_status(&context->settings, cache, response, 404);
    uvhttp_request_count_cache(request, false);
    return uvh_static_fetch(&context->settings, cache, response, normal, known);
}

/* The folder is an alias of one file, whatever the path. */
static int serve_only_file(struct uvhttp_static *context, struct uvh_file_cache *cache,
                           uvhttp_response_t *response)
{
    const struct uvh_static_settings *settings = &context->settings;
    const struct uvh_static_page *page = &settings->map.pages[settings->map.only];
    const struct uvh_file_entry *entry = uvh_file_cache_find(cache, page->key, page->key_length);
    bool cached = entry != NULL && uvh_static_fetch_is_usable(settings, entry, uvhttp_response_now(response));
    uvhttp_request_count_cache(uvhttp_response_request(response), cached);
    return uvh_static_fetch_page(settings, cache, response, settings->map.only, 200);
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
    struct uvh_file_cache *cache = files->caches[uvhttp_request_worker(request)];
    if (UVH_UNLIKELY(cache == NULL)) {
        cache = open_cache(files, request);
        if (cache == NULL)
            return UVHTTP_ENOMEM;
    }
    if (UVH_UNLIKELY(files->settings.map.only != UVH_STATIC_NO_PAGE))
        return serve_only_file(files, cache, response);
    uvhttp_slice_t path = file_path(files, request);
    if (UVH_UNLIKELY(memchr(path.base, '%', path.length) != NULL)) {
        /* No name holds a slash. Any other '%' belongs to a name. */
        if (uvh_target_has_slash(path))
            return uvh_static_fetch_status(&files->settings, cache, response, 404);
        char *copy = uvhttp_request_allocate(request, path.length + 1);
        if (copy == NULL)
            return UVHTTP_ENOMEM;
        path = (uvhttp_slice_t){copy, uvh_target_release_kept(path, copy)};
    }
    struct uvh_file_entry *entry = uvh_file_cache_find(cache, path.base, path.length);
    if (UVH_LIKELY(entry != NULL) &&
        uvh_static_fetch_is_usable(&files->settings, entry, uvhttp_response_now(response)))
        return answer_from_cache(request, response, entry);
    return serve_from_disk(files, cache, response, path, entry);
}

int uvhttp_static_check(const uvhttp_static_config_t *config, char *message, size_t size)
{
    return uvh_static_settings_check(config, message, size);
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
    length = uvh_static_path_normalize(path, length, copy);
    struct uvh_static_load load = {
        .settings = &context->settings, .path = {copy, length},
             .key = {copy, length},
             .title = path
    };
    if (context->settings.map.only != UVH_STATIC_NO_PAGE) {
        const struct uvh_static_page *page = &context->settings.map.pages[context->settings.map.only];
        load.key = (uvhttp_slice_t){page->key, page->key_length};
        load.path = (uvhttp_slice_t){page->key + 1, page->key_length - 1};
        load.exact = true;
    }
    if (!load.exact && !context->settings.hidden && uvh_static_path_is_hidden(copy))
        load.error = -ENOENT;
    else
        uvh_static_load_run(&load);
    int err = load.error;
    if (load.outcome == UVH_STATIC_LISTING)
        uvh_bytes_release(&load.page);
    if (load.outcome == UVH_STATIC_LISTING || load.outcome == UVH_STATIC_REDIRECT)
        err = UVHTTP_ENOTREG;
    if (load.outcome == UVH_STATIC_PAGE || load.outcome == UVH_STATIC_FALLBACK ||
        load.outcome == UVH_STATIC_STATUS)
        err = -ENOENT;
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
    bool folder = length > 0 && prefix[length - 1] == '/';
    if (length == 0 || prefix[0] != '/' || (!folder && (config == NULL || config->file == NULL)))
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
    memcpy(pattern + length, folder ? "*" : "", folder ? 2 : 1);
    /* Should this fail, the context is the server's already and goes with it. */
    err = uvhttp_server_route(server, "GET", pattern, uvhttp_static_handle_request, context);
    uvh_free(allocator, pattern);
    return err;
}
