/* The first request for a path starts a load. The load is in the memory of its exchange, which
 * outlives the client; further requests are queued in the load's list. The result goes into the
 * cache, then to the first request, then to the queued ones. A request that arrived after a change
 * the load may have missed starts the next load. A second job, in the heavy lane, lists a
 * directory, once per request. */
#include "files/static_fetch.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/negotiate.h>

#include "base/compiler.h"
#include "base/counter.h"
#include "base/hash.h"
#include "files/static_error.h"
#include "files/static_listing.h"
#include "files/static_load.h"
#include "files/static_path.h"
#include "files/static_response.h"
#include "files/static_variants.h"
#include "options/field_lines.h"

/* A lookup: a path, or a page of the settings, whatever the request's path. */
struct lookup {
    uvhttp_slice_t path; /* below the root, NUL-terminated; lives as long as the request */
    uvhttp_slice_t key;  /* its key in the cache; see is_exact */
    int page;            /* UVH_STATIC_NO_PAGE for a path */
    /* Status of the response with a page: 200 sends it as a file, others as the body of an
     * error. */
    int status;
};

/* A load in progress: one job of the quick lane. */
struct pending {
    struct uvh_list link; /* in the cache's list of loads; unlinked when no request may join */
    struct uvh_list waiters;
    struct uvhttp_static *context;
    struct uvh_static_cache *cache; /* of the worker that handles the request */
    struct lookup lookup;           /* of the first request */
    struct uvh_static_load load;
    struct uvh_file_entry *known; /* the entry to revalidate, or NULL; one reference */
    uint64_t hash;
    uint64_t started;            /* milliseconds of the loop's clock */
    uint64_t seen;               /* count of all changes when it started */
    struct uvh_path_state state; /* the job sets the directory, before it accesses the disk */
};

/* A request queued for the load of another one. */
struct waiter {
    struct uvh_list link;
    uvhttp_response_t *response;
    struct lookup lookup;
    uint64_t seen; /* count of all changes when the request arrived */
};

/* Only that file is wanted, without index, alternatives and redirects. Then the key begins with
 * NUL, so that the result is not cached for a request of the path. */
static bool is_exact(const struct lookup *lookup)
{
    return lookup->key.length != lookup->path.length;
}

/* ---- cached results ---- */

static bool is_unchanged(const struct uvhttp_static *context, const struct uvh_path_state *state,
                         uint64_t *seen)
{
    uint64_t changed = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&context->changed,
                                            memory_order_acquire);
    if (*seen == changed)
        return true;
    if (uvh_path_versions_read(&context->versions, state->version_index) != state->version ||
        (state->directory != NULL && uvh_dir_watch_changes(state->directory) != state->dir_changes))
        return false;
    *seen = changed; /* another path changed; no further check until the next change */
    return true;
}

bool uvh_static_fetch_usable(const struct uvhttp_static *context, struct uvh_file_entry *entry,
                             uint64_t now)
{
    if (!is_unchanged(context, &entry->state, &entry->seen))
        return false;
    return now < entry->fresh_until ||
           (entry->looking && now < entry->fresh_until + context->settings.revalidate_ms / 2);
}

/* The name of a file usually has a dot: an HTML page in place of a missing script causes errors
 * that are hard to find. So it is sent only to clients that prefer HTML, as browsers do for a page.
 */
static bool accepts_fallback(uvhttp_request_t *request, uvhttp_slice_t accept)
{
    return uvh_static_path_has_extension(uvhttp_request_path(request))
               ? uvh_static_error_prefers_html(request)
               : uvhttp_negotiate_type_quality(accept, "text/html") > 0;
}

/* Programs that request data get the error instead of a page. */
static int respond_fallback(struct uvhttp_static *context, struct uvh_static_cache *cache,
                            uvhttp_response_t *response, int page, int error)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    uvhttp_slice_t accept = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT);
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT, &accept);
    if (err == 0)
        err = uvhttp_response_add_header(response, "Vary", "Accept");
    if (err != 0)
        return err;
    if (!accepts_fallback(request, accept))
        return uvh_static_fetch_status(context, cache, response,
                                       uvh_static_response_logged_status(response, error));
    return uvh_static_fetch_page(context, cache, response, page, 200);
}

static int respond_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                          uvhttp_response_t *response, const struct uvh_absent_entry *entry)
{
    if (entry->for_html)
        return respond_fallback(context, cache, response, entry->page, entry->error);
    if (entry->page != UVH_STATIC_NO_PAGE)
        return uvh_static_fetch_page(context, cache, response, entry->page, 200);
    return uvh_static_fetch_status(context, cache, response,
                                   uvh_static_response_logged_status(response, entry->error));
}

bool uvh_static_fetch_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                             uvhttp_response_t *response, uvhttp_slice_t path, int *result)
{
    struct uvh_absent_entry *entry = uvh_absent_cache_find(&cache->absent, path);
    if (entry == NULL || uvhttp_response_now(response) >= entry->until ||
        !is_unchanged(context, &entry->state, &entry->seen))
        return false;
    uvh_counter_add(&cache->counts.negative_hits, 1);
    *result = respond_absent(context, cache, response, entry);
    return true;
}

/* ---- a load's result into the cache ---- */

/* Whether the path is cached as one without a file: an error of the disk may be temporary. */
static bool leads_to_no_file(const struct uvh_static_load *load)
{
    if (load->outcome == UVH_STATIC_PAGE)
        return true;
    if (load->by_request ||
        (load->outcome != UVH_STATIC_FAILED && load->outcome != UVH_STATIC_FALLBACK))
        return false;
    int status = uvh_static_response_status(load->error);
    return status == 403 || status == 404;
}

static void store_absent(struct pending *pending)
{
    struct uvh_static_cache *cache = pending->cache;
    const struct uvh_static_load *load = &pending->load;
    struct uvh_absent_entry *entry = NULL;
    if (leads_to_no_file(load))
        entry = uvh_absent_cache_put(&cache->absent, load->path);
    else
        uvh_absent_cache_remove(&cache->absent, load->path);
    if (entry != NULL) {
        entry->error = load->error;
        entry->page = load->outcome == UVH_STATIC_FAILED ? UVH_STATIC_NO_PAGE : load->page_index;
        entry->for_html = load->outcome == UVH_STATIC_FALLBACK;
        entry->until = pending->started + load->settings->negative_ms;
        entry->state = pending->state;
        entry->seen = pending->seen;
    }
    uvh_counter_set(&cache->counts.negative_entries, cache->absent.table.count);
}

/* The result may predate an upload. */
static bool is_outdated(const struct pending *pending)
{
    return uvh_path_versions_read(&pending->context->versions, pending->state.version_index) !=
           pending->state.version;
}

/* The job ran out of descriptors. */
static void shed_descriptors(struct pending *pending)
{
    if (pending->load.error == -EMFILE || pending->load.error == -ENFILE)
        uvh_file_cache_shed(&pending->cache->files);
}

/* Updates the cache with the result. */
static void store(struct pending *pending)
{
    bool outdated = is_outdated(pending);
    const struct uvh_static_load *load = &pending->load;
    const struct uvh_static_settings *settings = load->settings;
    struct uvh_file_cache *files = &pending->cache->files;
    struct uvh_file_entry *known = pending->known;
    struct uvh_file_entry *entry = load->outcome == UVH_STATIC_UNCHANGED ? known : load->entry;
    if (known != NULL)
        known->looking = false;
    if (entry != NULL && entry->checked_at <= pending->started) {
        entry->checked_at = pending->started;
        /* It is revalidated some time before it expires, so that no request waits for the check. */
        entry->fresh_until =
            pending->started - settings->revalidate_ms / 2 +
            (pending->state.directory != NULL ? settings->watched_ms : settings->revalidate_ms);
        entry->seen = pending->seen;
        entry->state = pending->state;
    }
    if (load->outcome == UVH_STATIC_ENTRY && !outdated)
        uvh_file_cache_insert(files, entry);
    else if (load->outcome != UVH_STATIC_UNCHANGED && known != NULL &&
             known->checked_at <= pending->started)
        uvh_file_cache_remove(files, known);
    shed_descriptors(pending);
    if (!is_exact(&pending->lookup) && !outdated)
        store_absent(pending);
    uvh_counter_add(load->outcome == UVH_STATIC_ENTRY ? &pending->cache->counts.loads
                                                      : &pending->cache->counts.lookups,
                    1);
}

/* ---- responses ---- */

static int respond_with_entry(const struct uvhttp_static *context, uvhttp_response_t *response,
                              const struct lookup *lookup, struct uvh_file_entry *entry)
{
    if (lookup->page != UVH_STATIC_NO_PAGE) {
        atomic_store(&context->settings.map.pages[lookup->page].missing, false);
        if (lookup->status >= 400)
            return uvh_static_entity_respond_error(response, entry, lookup->status);
    }
    return uvh_static_variants_respond(&context->settings, uvhttp_response_request(response),
                                       response, entry);
}

/* A page that could not be loaded. Without it an error has a default page; for another page the
 * result is an error, which may have a page. */
static int respond_without_page(uvhttp_response_t *response, struct pending *pending,
                                const struct lookup *lookup)
{
    const struct uvh_static_map *map = &pending->context->settings.map;
    if (!atomic_exchange(&map->pages[lookup->page].missing, true))
        uvhttp_response_log(
            response, UVHTTP_LOG_ERROR, "static files: the page '/%s' cannot be sent: %s",
            uvh_static_map_page_path(map, lookup->page), uvhttp_strerror(pending->load.error));
    if (lookup->status >= 400)
        return uvh_static_error_respond(pending->context, response, lookup->status);
    return uvh_static_fetch_status(
        pending->context, pending->cache, response,
        uvh_static_response_logged_status(response, pending->load.error));
}

/* An archive that would be too large gets the page of its status, if there is one; else a text with
 * the reason. */
static int respond_with_listing(uvhttp_response_t *response, struct pending *pending)
{
    struct uvh_static_listing *listing = pending->load.listing;
    bool too_large = uvh_static_listing_is_too_large(listing);
    if (too_large)
        uvhttp_response_log(response, UVHTTP_LOG_DEBUG,
                            "static files: %s is denied: too large for an archive",
                            uvhttp_request_path(uvhttp_response_request(response)));
    if (!too_large ||
        uvh_static_map_error_page(&pending->context->settings.map, 403) == UVH_STATIC_NO_PAGE)
        return uvh_static_listing_respond(response, listing);
    uvh_static_listing_free(listing);
    return uvh_static_fetch_status(pending->context, pending->cache, response, 403);
}

/* Sends the load's result, for one of its requests. */
static int respond(uvhttp_response_t *response, struct pending *pending,
                   const struct lookup *lookup)
{
    struct uvhttp_static *context = pending->context;
    struct uvh_static_load *load = &pending->load;
    switch (load->outcome) {
    case UVH_STATIC_ENTRY:
        return respond_with_entry(context, response, lookup, load->entry);
    case UVH_STATIC_UNCHANGED:
        return respond_with_entry(context, response, lookup, pending->known);
    case UVH_STATIC_REDIRECT:
        return uvh_static_response_redirect(uvhttp_response_request(response), response,
                                            load->redirect);
    case UVH_STATIC_LISTING:
        return respond_with_listing(response, pending);
    case UVH_STATIC_PAGE:
        return uvh_static_fetch_page(context, pending->cache, response, load->page_index, 200);
    case UVH_STATIC_FALLBACK:
        return respond_fallback(context, pending->cache, response, load->page_index, load->error);
    case UVH_STATIC_STATUS:
        return uvh_static_fetch_status(context, pending->cache, response, load->status);
    case UVH_STATIC_DIRECTORY: /* is listed for one request, not shared */
    case UVH_STATIC_FAILED:
        break;
    }
    if (lookup->page != UVH_STATIC_NO_PAGE)
        return respond_without_page(response, pending, lookup);
    return uvh_static_fetch_status(context, pending->cache, response,
                                   uvh_static_response_logged_status(response, load->error));
}

static int start_load(struct uvhttp_static *context, struct uvh_static_cache *cache,
                      uvhttp_response_t *response, const struct lookup *lookup,
                      struct uvh_file_entry *known, bool alone);
static int look_up(struct uvhttp_static *context, struct uvh_static_cache *cache,
                   uvhttp_response_t *response, const struct lookup *lookup);

/* In order. Sending one response may remove other requests from the list, so each is unlinked
 * first. */
static void respond_to_waiters(struct pending *pending)
{
    while (!uvh_list_empty(&pending->waiters)) {
        struct waiter *waiter = UVH_CONTAINER_OF(pending->waiters.next, struct waiter, link);
        uvhttp_response_t *response = waiter->response;
        int err;
        uvh_list_remove(&waiter->link);
        uvhttp_response_on_abort(response, NULL, NULL);
        if (pending->load.by_request)
            err =
                start_load(pending->context, pending->cache, response, &waiter->lookup, NULL, true);
        /* as for a new request, but counted already */
        else if (waiter->seen != pending->seen)
            err = look_up(pending->context, pending->cache, response, &waiter->lookup);
        else
            err = respond(response, pending, &waiter->lookup);
        if (err != 0)
            uvhttp_response_fail(response, err);
    }
}

/* Logged once per context. */
static void tell_unwatched(struct uvhttp_static *context, uvhttp_response_t *response)
{
    if (context->watch_error != 0 && !atomic_exchange(&context->watch_error_logged, true))
        uvhttp_response_log(
            response, UVHTTP_LOG_WARNING,
            "static files: cannot watch for changes: %s; files are checked every %llu ms",
            uvhttp_strerror(context->watch_error),
            (unsigned long long)context->settings.revalidate_ms);
}

static void run_load(void *arg)
{
    struct pending *pending = arg;
    struct uvh_dir_watch *directories = pending->context->directories;
    uvh_static_settings_follow_roots(pending->load.settings);
    if (directories != NULL && pending->load.settings->watchable)
        pending->state.directory = uvh_dir_watch_add(directories, pending->load.path);
    if (pending->state.directory != NULL)
        pending->state.dir_changes = uvh_dir_watch_changes(pending->state.directory);
    uvh_static_load_run(&pending->load);
}

static void run_listing(void *arg)
{
    struct pending *pending = arg;
    uvh_static_settings_follow_roots(pending->load.settings);
    uvh_static_load_listing(&pending->load);
}

static int finish_listing(uvhttp_response_t *response, void *arg)
{
    struct pending *pending = arg;
    shed_descriptors(pending);
    if (uvhttp_response_open(response))
        return respond(response, pending, &pending->lookup);
    if (pending->load.outcome == UVH_STATIC_LISTING)
        uvh_static_listing_free(pending->load.listing);
    return 0;
}

/* The style sheet and the script of a listing need no job. */
static int list_dir(uvhttp_response_t *response, struct pending *pending)
{
    if (pending->load.query.kind != UVH_STATIC_LISTING_STYLE &&
        pending->load.query.kind != UVH_STATIC_LISTING_SCRIPT)
        return uvhttp_response_defer_heavy(response, run_listing, finish_listing, pending);
    uvh_static_load_listing(&pending->load);
    return finish_listing(response, pending);
}

static int finish_load(uvhttp_response_t *response, void *arg)
{
    struct pending *pending = arg;
    bool directory = pending->load.outcome == UVH_STATIC_DIRECTORY;
    int err = 0;
    uvh_list_remove(&pending->link);
    store(pending);
    tell_unwatched(pending->context, response);
    if (!directory && uvhttp_response_open(response))
        err = respond(response, pending, &pending->lookup);
    respond_to_waiters(pending);
    uvh_file_entry_unref(pending->load.entry);
    uvh_file_entry_unref(pending->known);
    if (directory && uvhttp_response_open(response)) /* last: the job owns the load from here on */
        err = list_dir(response, pending);
    return err;
}

/* ---- lookup ---- */

static struct uvh_list *pending_loads_of(struct uvh_static_cache *cache, uint64_t hash)
{
    return &cache->pending_loads[hash % UVH_STATIC_CACHE_PENDING_SLOTS];
}

static struct pending *find_pending(struct uvh_static_cache *cache, uvhttp_slice_t key,
                                    uint64_t hash)
{
    const struct uvh_list *pending_loads = pending_loads_of(cache, hash);
    for (struct uvh_list *link = pending_loads->next; link != pending_loads; link = link->next) {
        struct pending *pending = UVH_CONTAINER_OF(link, struct pending, link);
        if (pending->hash == hash && pending->load.key.length == key.length &&
            memcmp(pending->load.key.base, key.base, key.length) == 0)
            return pending;
    }
    return NULL;
}

static void leave(uvhttp_response_t *response, void *arg)
{
    struct waiter *waiter = arg;
    (void)response;
    uvh_list_remove(&waiter->link);
}

static int join(struct pending *pending, uvhttp_response_t *response, const struct lookup *lookup)
{
    struct waiter *waiter =
        uvhttp_request_allocate(uvhttp_response_request(response), sizeof(*waiter));
    if (waiter == NULL)
        return UVHTTP_ENOMEM;
    *waiter = (struct waiter){
        .response = response,
        .lookup = *lookup,
        .seen = atomic_load_explicit(&pending->context->changed, memory_order_acquire),
    };
    uvh_list_init(&waiter->link);
    uvh_list_append(&pending->waiters, &waiter->link);
    uvhttp_response_on_abort(response, leave, waiter);
    uvh_counter_add(&pending->cache->counts.coalesced, 1);
    return 0;
}

static int start_load(struct uvhttp_static *context, struct uvh_static_cache *cache,
                      uvhttp_response_t *response, const struct lookup *lookup,
                      struct uvh_file_entry *known, bool alone)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct pending *pending = uvhttp_request_allocate(request, sizeof(*pending));
    if (pending == NULL)
        return UVHTTP_ENOMEM;
    *pending = (struct pending){
        .context = context,
        .cache = cache,
        .lookup = *lookup,
        .known = known,
        .hash = uvh_hash(lookup->key.base, lookup->key.length, context->seed),
        .started = uvhttp_response_now(response),
        .seen = atomic_load_explicit(&context->changed, memory_order_acquire),
        .load = {.settings = &context->settings,
                 .path = lookup->path,
                 .key = lookup->key,
                 .exact = is_exact(lookup),
                 .title = uvhttp_request_path(request)},
    };
    pending->state.version_index = uvh_path_versions_index(&context->versions, lookup->path);
    pending->state.version =
        uvh_path_versions_read(&context->versions, pending->state.version_index);
    uvh_list_init(&pending->link);
    uvh_list_init(&pending->waiters);
    if (known != NULL) {
        pending->load.known = true;
        pending->load.known_settled = known->settled;
        pending->load.known_facts = known->facts;
        pending->load.known_type = known->type;
        pending->load.known_siblings = known->siblings_digest;
        pending->load.known_path = known->ruled_path;
    }
    int err = context->settings.listing
                  ? uvh_static_listing_read_query(&context->settings, request, &pending->load.query)
                  : 0;
    if (err == 0)
        err = uvhttp_response_defer(response, run_load, finish_load, pending);
    if (err != 0)
        return err;
    if (!alone)
        uvh_list_prepend(pending_loads_of(cache, pending->hash), &pending->link);
    if (known != NULL) {
        uvh_file_entry_ref(known);
        known->looking = true;
    }
    return 0;
}

/* From the cache if possible, else from a load in progress or a new one. */
static int look_up(struct uvhttp_static *context, struct uvh_static_cache *cache,
                   uvhttp_response_t *response, const struct lookup *lookup)
{
    uvhttp_slice_t key = lookup->key;
    struct uvh_file_entry *known = uvh_file_cache_find(&cache->files, key.base, key.length);
    if (known != NULL && uvh_static_fetch_usable(context, known, uvhttp_response_now(response)))
        return respond_with_entry(context, response, lookup, known);
    struct pending *pending =
        find_pending(cache, key, uvh_hash(key.base, key.length, context->seed));
    /* A request after an upload does not join a load that began before it, nor wait for it. */
    return pending != NULL && !is_outdated(pending)
               ? join(pending, response, lookup)
               : start_load(context, cache, response, lookup, known, false);
}

int uvh_static_fetch(struct uvhttp_static *context, struct uvh_static_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path)
{
    return look_up(context, cache, response, &(struct lookup){path, path, UVH_STATIC_NO_PAGE, 200});
}

int uvh_static_fetch_exact(struct uvhttp_static *context, struct uvh_static_cache *cache,
                           uvhttp_response_t *response, uvhttp_slice_t key)
{
    const struct lookup lookup = {
        .path = {key.base + 1, key.length - 1},
        .key = key,
        .page = UVH_STATIC_NO_PAGE,
        .status = 200,
    };
    return look_up(context, cache, response, &lookup);
}

int uvh_static_fetch_page(struct uvhttp_static *context, struct uvh_static_cache *cache,
                          uvhttp_response_t *response, int page, int status)
{
    const struct uvh_static_page *wanted = &context->settings.map.pages[page];
    const struct lookup lookup = {
        .path = {wanted->key + 1, wanted->key_length - 1},
        .key = {wanted->key, wanted->key_length},
        .page = page,
        .status = status,
    };
    return look_up(context, cache, response, &lookup);
}

int uvh_static_fetch_status(struct uvhttp_static *context, struct uvh_static_cache *cache,
                            uvhttp_response_t *response, int status)
{
    int page = uvh_static_map_error_page(&context->settings.map, status);
    return page == UVH_STATIC_NO_PAGE
               ? uvh_static_error_respond(context, response, status)
               : uvh_static_fetch_page(context, cache, response, page, status);
}
