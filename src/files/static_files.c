/* Static files, on public functions only: uvhttp/static.h.
 *
 * A request for a recently checked file is served from the cache: one table lookup, no system call,
 * no allocation. All others are loaded (static_fetch.c). Each worker of a server has its own cache,
 * created for its first request, so that workers never wait for each other. */
#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "codec/http1/target.h"
#include "files/send_file.h"
#include "files/static_entity.h"
#include "files/static_fetch.h"
#include "files/static_files.h"
#include "files/static_path.h"
#include "files/static_response.h"
#include "files/static_upload.h"
#include "files/static_variants.h"
#include "options/error.h"
#include "platform/random.h"
#include "platform/store.h"
#include "uploads/spool.h"

/* Limit of watched directories; files in others are revalidated as without watching. */
enum { MOST_DIRECTORIES = 4096 };

/* The entry may be used without revalidation. */
static bool is_usable(const struct uvhttp_static *context, struct uvh_file_entry *entry,
                      uint64_t now)
{
    if (UVH_LIKELY(now < entry->fresh_until && !uvh_static_files_changed(context, entry->seen)))
        return true;
    return uvh_static_fetch_usable(context, entry, now);
}

static int respond_from_cache(const struct uvhttp_static *context, uvhttp_request_t *request,
                              uvhttp_response_t *response, struct uvh_static_cache *cache,
                              struct uvh_file_entry *entry)
{
    uvhttp_request_count_cache(request, true);
    uvh_counter_add(&cache->counts.hits, 1);
    if (entry->codings != 0)
        return uvh_static_variants_respond(&context->settings, request, response, entry);
    return uvh_static_entity_respond(request, response, entry);
}

static bool has_repeated_slash(uvhttp_request_t *request)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    return memmem(path.base, path.length, "//", 2) != NULL;
}

/* For requests that the cache cannot serve at once. */
static int serve_from_disk(struct uvhttp_static *context, struct uvh_static_cache *cache,
                           uvhttp_response_t *response, uvhttp_slice_t path)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    char *copy = uvhttp_request_allocate(request, path.length + 1);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_slice_t normal = {copy, uvh_static_path_normalize(path.base, path.length, copy)};
    if (normal.length != path.length) {
        /* Other spellings of a path would bypass its route's requirements, such as a password. */
        if (has_repeated_slash(request))
            return uvh_static_response_redirect(request, response, UVH_STATIC_ONE_SLASH);
        struct uvh_file_entry *known =
            uvh_file_cache_find(&cache->files, normal.base, normal.length);
        if (known != NULL && is_usable(context, known, uvhttp_response_now(response)))
            return respond_from_cache(context, request, response, cache, known);
    }
    if (uvh_static_path_is_denied(normal.base, context->settings.hidden, context->settings.hide))
        return uvh_static_fetch_status(context, cache, response, 404);
    int result;
    bool absent = uvh_static_fetch_absent(context, cache, response, normal, &result);
    uvhttp_request_count_cache(request, absent);
    if (absent)
        return result;
    uvh_counter_add(&cache->counts.misses, 1);
    return uvh_static_fetch(context, cache, response, normal);
}

/* The mount serves one file, whatever the path. */
static int serve_only_file(struct uvhttp_static *context, struct uvh_static_cache *cache,
                           uvhttp_response_t *response)
{
    const struct uvh_static_page *page = &context->settings.map.pages[context->settings.map.only];
    struct uvh_file_entry *entry = uvh_file_cache_find(&cache->files, page->key, page->key_length);
    bool cached = entry != NULL && is_usable(context, entry, uvhttp_response_now(response));
    uvhttp_request_count_cache(uvhttp_response_request(response), cached);
    uvh_counter_add(cached ? &cache->counts.hits : &cache->counts.misses, 1);
    return uvh_static_fetch_page(context, cache, response, context->settings.map.only, 200);
}

static int refuse_method(uvhttp_response_t *response, const char *allowed)
{
    int err = uvhttp_response_set_header(response, "Allow", allowed);
    return err != 0 ? err : uvhttp_response_send_status(response, 405);
}

/* The path of a request without its first `prefix` bytes. It may be shorter: where slashes are
 * ignored, "/files" matches the route of "/files/". */
static uvhttp_slice_t path_after(uvhttp_request_t *request, size_t prefix)
{
    uvhttp_slice_t path = uvhttp_request_path_slice(request);
    if (prefix > path.length)
        prefix = path.length;
    return (uvhttp_slice_t){path.base + prefix, path.length - prefix};
}

/* The path below the root, without leading slashes. */
static uvhttp_slice_t file_path(uvhttp_request_t *request)
{
    uvhttp_slice_t rest = uvhttp_request_param_path(request, "*");
    return rest.base != NULL ? rest : path_after(request, 1);
}

static void close_cache(struct uvhttp_static *context, struct uvh_static_cache *cache)
{
    if (cache == NULL || cache == &context->prewarmed)
        return;
    uvh_static_cache_release(cache);
    uvh_free(context->settings.allocator, cache);
}

static struct uvh_static_cache_options cache_order(const struct uvhttp_static *context)
{
    return (struct uvh_static_cache_options){
        .allocator = context->settings.allocator,
        .limits = context->settings.limits,
        .absent = context->settings.absent_limit,
        .seed = context->seed,
    };
}

/* A separate cache, for one of several workers. */
static struct uvh_static_cache *new_cache(const struct uvhttp_static *context, size_t workers)
{
    struct uvh_static_cache_options order = cache_order(context);
    order.limits.descriptors /= workers;
    struct uvh_static_cache *cache = uvh_alloc(order.allocator, sizeof(*cache));
    if (cache == NULL)
        return NULL;
    uvh_static_cache_init(cache, &order);
    uvh_file_cache_copy(&cache->files, &context->prewarmed.files);
    return cache;
}

/* The first request of a worker: its cache is a copy of the prewarmed one, or that itself when
 * there is no other worker. NULL when out of memory. */
static struct uvh_static_cache *open_cache(struct uvhttp_static *context,
                                           const uvhttp_request_t *request)
{
    size_t workers = uvhttp_server_worker_count(uvhttp_request_server(request));
    struct uvh_static_cache *cache =
        workers == 1 ? &context->prewarmed : new_cache(context, workers);
    if (workers == 1)
        uvh_file_cache_hand_over(&cache->files); /* from the prewarming thread */
    atomic_store_explicit(&context->caches[uvhttp_request_worker(request)], cache,
                          memory_order_release);
    return cache;
}

/* Prepares a response with a file: limits its rate, and finds the cache of the worker. Returns 0 or
 * UVHTTP_ENOMEM. */
static UVH_ALWAYS_INLINE int begin(struct uvhttp_static *files, uvhttp_request_t *request,
                                   uvhttp_response_t *response, struct uvh_static_cache **cache)
{
    if (UVH_UNLIKELY(files->settings.rate_limit != 0)) {
        int err = uvhttp_response_limit_rate(response, files->settings.rate_limit,
                                             files->settings.rate_burst);
        if (err != 0)
            return err;
    }
    *cache =
        atomic_load_explicit(&files->caches[uvhttp_request_worker(request)], memory_order_relaxed);
    if (UVH_UNLIKELY(*cache == NULL))
        *cache = open_cache(files, request);
    return *cache == NULL ? UVHTTP_ENOMEM : 0;
}

static int serve(struct uvhttp_static *files, uvhttp_request_t *request,
                 uvhttp_response_t *response, uvhttp_slice_t path)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    struct uvh_static_cache *cache;
    if (UVH_UNLIKELY(method != UVHTTP_METHOD_GET && method != UVHTTP_METHOD_HEAD))
        return refuse_method(response, "GET, HEAD");
    int err = begin(files, request, response, &cache);
    if (UVH_UNLIKELY(err != 0))
        return err;
    if (UVH_UNLIKELY(files->settings.map.only != UVH_STATIC_NO_PAGE))
        return serve_only_file(files, cache, response);
    if (UVH_UNLIKELY(memchr(path.base, '%', path.length) != NULL)) {
        /* No name contains a slash. Any other '%' is part of a name. */
        if (uvh_target_has_slash(path))
            return uvh_static_fetch_status(files, cache, response, 404);
        char *copy = uvhttp_request_allocate(request, path.length + 1);
        if (copy == NULL)
            return UVHTTP_ENOMEM;
        path = (uvhttp_slice_t){copy, uvh_target_release_kept(path, copy)};
    }
    struct uvh_file_entry *entry = uvh_file_cache_find(&cache->files, path.base, path.length);
    if (UVH_LIKELY(entry != NULL) && is_usable(files, entry, uvhttp_response_now(response)))
        return respond_from_cache(files, request, response, cache, entry);
    return serve_from_disk(files, cache, response, path);
}

/* True when the context belongs to this server, or is assigned to it now. */
bool uvh_static_files_belongs_to(struct uvhttp_static *files, const uvhttp_server_t *server)
{
    const uvhttp_server_t *owner = NULL;
    return atomic_compare_exchange_strong(&files->server, &owner, server) || owner == server;
}

/* Whether a handler added by the user may use the context for this request: 0 or UVHTTP_EINVAL. The
 * caches have no locks, and each belongs to one worker's thread. */
static int check_use(struct uvhttp_static *files, uvhttp_request_t *request,
                     uvhttp_response_t *response)
{
    const uvhttp_server_t *server = uvhttp_request_server(request);
    /* The router rejects a blocking route, but not a blocking handler that calls this one. */
    if (UVH_UNLIKELY(uvhttp_request_is_blocking(request))) {
        uvhttp_response_log(response, UVHTTP_LOG_ERROR,
                            "static files: %s: a blocking handler cannot use a uvhttp_static_t; "
                            "call uvhttp_response_send_file_with",
                            uvhttp_request_path(request));
        return UVHTTP_EINVAL;
    }
    if (UVH_LIKELY(atomic_load_explicit(&files->server, memory_order_relaxed) == server) ||
        uvh_static_files_belongs_to(files, server))
        return 0;
    if (!atomic_exchange(&files->foreign_logged, true))
        uvhttp_response_log(response, UVHTTP_LOG_ERROR,
                            "static files: this uvhttp_static_t belongs to another server; open "
                            "one for each server");
    return UVHTTP_EINVAL;
}

int uvhttp_static_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                 void *context)
{
    int err = context == NULL ? UVHTTP_EINVAL : check_use(context, request, response);
    return UVH_UNLIKELY(err != 0) ? err : serve(context, request, response, file_path(request));
}

/* Below a prefix of fixed length, which saves each request the search for its parameter. */
int uvh_static_files_serve_mounted(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *context)
{
    struct uvhttp_static *files = context;
    return serve(files, request, response, path_after(request, files->prefix_length));
}

/* Sends the file with this key, see uvh_static_fetch_exact. */
static int send_exact(struct uvhttp_static *files, uvhttp_response_t *response, uvhttp_slice_t key)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct uvh_static_cache *cache;
    int err = begin(files, request, response, &cache);
    if (err != 0)
        return err;
    if (uvh_static_path_is_denied(key.base + 1, files->settings.hidden, files->settings.hide))
        return uvh_static_fetch_status(files, cache, response, 404);
    struct uvh_file_entry *entry = uvh_file_cache_find(&cache->files, key.base, key.length);
    if (entry != NULL && is_usable(files, entry, uvhttp_response_now(response)))
        return respond_from_cache(files, request, response, cache, entry);
    uvhttp_request_count_cache(request, false);
    uvh_counter_add(&cache->counts.misses, 1);
    return uvh_static_fetch_exact(files, cache, response, key);
}

int uvhttp_static_send(uvhttp_static_t *context, uvhttp_response_t *response, const char *path,
                       const uvhttp_send_file_options_t *options)
{
    if (context == NULL || path == NULL || (options != NULL && options->content_type != NULL))
        return UVHTTP_EINVAL;
    uvhttp_request_t *request = uvhttp_response_request(response);
    int err = check_use(context, request, response);
    if (err == 0)
        err = uvh_send_file_disposition(response, options);
    if (err != 0)
        return err;
    size_t length = strlen(path);
    char *key = uvhttp_request_allocate(request, length + 2);
    if (key == NULL)
        return UVHTTP_ENOMEM;
    key[0] = '\0';
    length = uvh_static_path_normalize(path, length, key + 1);
    return send_exact(context, response, (uvhttp_slice_t){key, length + 1});
}

/* Without watching, files are revalidated regularly, so failure is not fatal. */
static int open_watch(struct uvhttp_static *context)
{
    if (!context->settings.watch)
        return 0;
    context->watch_error =
        uvh_dir_watch_open(&context->directories, context->settings.allocator,
                           &context->settings.root, MOST_DIRECTORIES, &context->changed);
    return context->watch_error == UVHTTP_ENOMEM ? UVHTTP_ENOMEM : 0;
}

static int store(struct uvhttp_static *files, uvhttp_request_t *request,
                 uvhttp_response_t *response, uvhttp_slice_t path)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    if (!files->settings.uploads)
        return refuse_method(response, "GET, HEAD");
    if (method != UVHTTP_METHOD_PUT && method != UVHTTP_METHOD_POST)
        return refuse_method(response, "GET, HEAD, PUT, POST");
    if (uvh_target_has_slash(path) || has_repeated_slash(request))
        return uvhttp_response_send_status(response, 404);
    char *released = uvhttp_request_allocate(request, path.length + 1);
    char *copy = uvhttp_request_allocate(request, path.length + 1);
    if (released == NULL || copy == NULL)
        return UVHTTP_ENOMEM;
    size_t length = uvh_target_release_kept(path, released);
    length = uvh_static_path_normalize(released, length, copy);
    if (uvh_static_path_is_denied(copy, files->settings.hidden, files->settings.hide))
        return uvh_spool_refuse(response, 403, "the name is hidden");
    if (method == UVHTTP_METHOD_PUT && (length == 0 || copy[length - 1] == '/'))
        return refuse_method(response, "GET, HEAD, POST");
    const struct uvh_static_upload_options order = {
        .settings = &files->settings,
        .lock = &files->uploading,
        .versions = &files->versions,
        .path = {copy, length},
    };
    return uvh_static_upload_begin(response, &order);
}

int uvhttp_static_handle_upload(uvhttp_request_t *request, uvhttp_response_t *response,
                                void *context)
{
    int err = context == NULL ? UVHTTP_EINVAL : check_use(context, request, response);
    return UVH_UNLIKELY(err != 0) ? err : store(context, request, response, file_path(request));
}

int uvh_static_files_store_mounted(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *context)
{
    struct uvhttp_static *files = context;
    return store(files, request, response, path_after(request, files->prefix_length));
}

int uvhttp_static_check(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, uvh_static_settings_check(options, error));
}

static int create(uvhttp_static_t **context, const uvhttp_static_options_t *options,
                  uvhttp_error_t *error)
{
    struct uvh_static_settings settings;
    if (context == NULL)
        return UVHTTP_EINVAL;
    *context = NULL;
    int err = uvh_static_settings_open(&settings, options, error);
    if (err != 0)
        return err;
    struct uvhttp_static *made = uvh_alloc_zero(settings.allocator, sizeof(*made));
    if (made == NULL) {
        uvh_static_settings_release(&settings);
        return UVHTTP_ENOMEM;
    }
    made->settings = settings;
    uvh_path_versions_init(&made->versions, !settings.follows_name, &made->changed);
    err = uvh_random_number(&made->seed);
    if (err == 0)
        err = open_watch(made);
    if (err != 0) {
        uvh_free(settings.allocator, made);
        uvh_static_settings_release(&settings);
        return err;
    }
    struct uvh_static_cache_options order = cache_order(made);
    uvh_static_cache_init(&made->prewarmed, &order);
    uvh_lock_init(&made->uploading);
    *context = made;
    return 0;
}

int uvhttp_static_new(uvhttp_static_t **context, const uvhttp_static_options_t *options,
                      uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(context, options, error));
}

void uvhttp_static_free(void *context)
{
    uvhttp_static_t *old = context;
    if (old == NULL)
        return;
    for (size_t i = 0; i < UVHTTP_WORKERS_MAX; i++)
        close_cache(old, old->caches[i]);
    uvh_static_cache_release(&old->prewarmed);
    uvh_dir_watch_close(old->directories);
    uvh_lock_destroy(&old->uploading);
    const uvhttp_allocator_t *allocator = old->settings.allocator;
    uvh_static_settings_release(&old->settings);
    uvh_free(allocator, old);
}

static void add_counts(const struct uvh_static_cache *cache, uvhttp_static_stats_t *stats)
{
    stats->entries += uvh_counter_read(&cache->files.counts.entries);
    stats->memory += uvh_counter_read(&cache->files.counts.memory);
    stats->descriptors += uvh_counter_read(&cache->files.counts.descriptors);
    stats->evictions += uvh_counter_read(&cache->files.counts.evictions);
    stats->negative_entries += uvh_counter_read(&cache->counts.negative_entries);
    stats->hits += uvh_counter_read(&cache->counts.hits);
    stats->negative_hits += uvh_counter_read(&cache->counts.negative_hits);
    stats->misses += uvh_counter_read(&cache->counts.misses);
    stats->coalesced += uvh_counter_read(&cache->counts.coalesced);
    stats->lookups += uvh_counter_read(&cache->counts.lookups);
    stats->loads += uvh_counter_read(&cache->counts.loads);
}

int uvhttp_static_read_stats(uvhttp_static_t *context, uvhttp_static_stats_t *stats)
{
    if (context == NULL)
        return UVHTTP_ENOMEM;
    if (stats == NULL)
        return UVHTTP_EINVAL;
    *stats = (uvhttp_static_stats_t){.hit_rate = 0};
    add_counts(&context->prewarmed, stats);
    for (size_t i = 0; i < UVHTTP_WORKERS_MAX; i++) {
        const struct uvh_static_cache *cache =
            atomic_load_explicit(&context->caches[i], memory_order_acquire);
        if (cache != NULL && cache != &context->prewarmed)
            add_counts(cache, stats);
    }
    uint64_t hits = stats->hits + stats->negative_hits;
    if (hits + stats->misses > 0)
        stats->hit_rate = (double)hits / (double)(hits + stats->misses);
    if (context->directories != NULL)
        stats->watched_directories = uvh_dir_watch_count(context->directories);
    return 0;
}

void uvhttp_static_invalidate(uvhttp_static_t *context, const char *path)
{
    char normal[PATH_MAX];
    size_t length = path == NULL ? 0 : strlen(path);
    if (context == NULL || length >= sizeof(normal)) /* no file has a longer path */
        return;
    if (path == NULL) {
        uvh_path_versions_raise_all(&context->versions);
        return;
    }
    length = uvh_static_path_normalize(path, length, normal);
    uvh_path_versions_raise(&context->versions, (uvhttp_slice_t){normal, length});
    /* its directories may be new, too */
    while (length > 0 && normal[length - 1] != '/')
        length--;
    if (length > 0)
        uvh_path_versions_raise_directories(&context->versions,
                                            (uvhttp_slice_t){normal, length - 1});
}
