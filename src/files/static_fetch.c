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
#include "files/static_listing.h"
#include "files/static_load.h"
#include "files/static_response.h"
#include "files/static_variants.h"
#include "options/field_lines.h"

/* A lookup: a path, or a page of the settings, whatever the request's path. */
struct wish {
    uvhttp_slice_t path; /* below the root, NUL-terminated; lives as long as the request */
    uvhttp_slice_t key;  /* its key in the cache */
    int page;            /* UVH_STATIC_NO_PAGE for a path */
    /* Status of the response with a page: 200 sends it as a file, others as the body of an
     * error. */
    int status;
};

/* A load in progress: one job of the quick lane. */
struct flight {
    struct uvh_list link; /* in the cache's list of loads; unlinked when no request may join */
    struct uvh_list waiters;
    struct uvhttp_static *context;
    struct uvh_static_cache *cache; /* of the worker that handles the request */
    struct wish wish;               /* of the first request */
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
    struct wish wish;
    uint64_t seen; /* count of all changes when the request arrived */
};

/* ---- cached results ---- */

static bool is_unchanged(const struct uvhttp_static *context, const struct uvh_path_state *state,
                         uint64_t *seen)
{
    uint64_t changed = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&context->changed,
                                            memory_order_acquire);
    if (*seen == changed)
        return true;
    if (uvh_path_versions_read(&context->versions, state->version_index) != state->version ||
        (state->folder != NULL && uvh_folder_watch_changes(state->folder) != state->folder_changes))
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

/* Programs that request data get the error instead of a page. */
static int answer_fallback(struct uvhttp_static *context, struct uvh_static_cache *cache,
                           uvhttp_response_t *response, int page, int error)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    uvhttp_slice_t accept = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT);
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT, &accept);
    if (err == 0)
        err = uvhttp_response_add_header(response, "Vary", "Accept");
    if (err != 0)
        return err;
    if (uvhttp_negotiate_type_quality(accept, "text/html") == 0)
        return uvh_static_fetch_status(context, cache, response,
                                       uvh_static_answer_status_of(response, error));
    return uvh_static_fetch_page(context, cache, response, page, 200);
}

static int answer_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                         uvhttp_response_t *response, const struct uvh_absent_entry *entry)
{
    if (entry->for_html)
        return answer_fallback(context, cache, response, entry->page, entry->error);
    if (entry->page != UVH_STATIC_NO_PAGE)
        return uvh_static_fetch_page(context, cache, response, entry->page, 200);
    return uvh_static_fetch_status(context, cache, response,
                                   uvh_static_answer_status_of(response, entry->error));
}

bool uvh_static_fetch_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                             uvhttp_response_t *response, uvhttp_slice_t path, int *result)
{
    struct uvh_absent_entry *entry = uvh_absent_cache_find(&cache->absent, path);
    if (entry == NULL || uvhttp_response_now(response) >= entry->until ||
        !is_unchanged(context, &entry->state, &entry->seen))
        return false;
    uvh_counter_add(&cache->counts.negative_hits, 1);
    *result = answer_absent(context, cache, response, entry);
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
    int status = uvh_static_answer_status(load->error);
    return status == 403 || status == 404;
}

static void store_absent(struct flight *flight)
{
    struct uvh_static_cache *cache = flight->cache;
    const struct uvh_static_load *load = &flight->load;
    struct uvh_absent_entry *entry = NULL;
    if (leads_to_no_file(load))
        entry = uvh_absent_cache_put(&cache->absent, load->path);
    else
        uvh_absent_cache_remove(&cache->absent, load->path);
    if (entry != NULL) {
        entry->error = load->error;
        entry->page = load->outcome == UVH_STATIC_FAILED ? UVH_STATIC_NO_PAGE : load->page_index;
        entry->for_html = load->outcome == UVH_STATIC_FALLBACK;
        entry->until = flight->started + load->settings->negative_ms;
        entry->state = flight->state;
        entry->seen = flight->seen;
    }
    uvh_counter_set(&cache->counts.negative_entries, cache->absent.count);
}

/* The result may predate an upload. */
static bool is_outdated(const struct flight *flight)
{
    return uvh_path_versions_read(&flight->context->versions, flight->state.version_index) !=
           flight->state.version;
}

/* The job ran out of descriptors. */
static void shed_descriptors(struct flight *flight)
{
    if (flight->load.error == -EMFILE || flight->load.error == -ENFILE)
        uvh_file_cache_shed(&flight->cache->files);
}

/* Updates the cache with the result. */
static void store(struct flight *flight)
{
    bool outdated = is_outdated(flight);
    const struct uvh_static_load *load = &flight->load;
    const struct uvh_static_settings *settings = load->settings;
    struct uvh_file_cache *files = &flight->cache->files;
    struct uvh_file_entry *known = flight->known;
    struct uvh_file_entry *entry = load->outcome == UVH_STATIC_UNCHANGED ? known : load->entry;
    if (known != NULL)
        known->looking = false;
    if (entry != NULL && entry->looked_at <= flight->started) {
        entry->looked_at = flight->started;
        /* It is revalidated some time before it expires, so that no request waits for the check. */
        entry->fresh_until =
            flight->started - settings->revalidate_ms / 2 +
            (flight->state.folder != NULL ? settings->watched_ms : settings->revalidate_ms);
        entry->seen = flight->seen;
        entry->state = flight->state;
    }
    if (load->outcome == UVH_STATIC_ENTRY && !outdated)
        uvh_file_cache_insert(files, entry);
    else if (load->outcome != UVH_STATIC_UNCHANGED && known != NULL &&
             known->looked_at <= flight->started)
        uvh_file_cache_remove(files, known);
    shed_descriptors(flight);
    if (flight->wish.page == UVH_STATIC_NO_PAGE && !outdated)
        store_absent(flight);
    uvh_counter_add(load->outcome == UVH_STATIC_ENTRY ? &flight->cache->counts.loads
                                                      : &flight->cache->counts.looks,
                    1);
}

/* ---- responses ---- */

static int answer_entry(const struct uvhttp_static *context, uvhttp_response_t *response,
                        const struct wish *wish, struct uvh_file_entry *entry)
{
    if (wish->page != UVH_STATIC_NO_PAGE) {
        atomic_store(&context->settings.map.pages[wish->page].missing, false);
        if (wish->status >= 400)
            return uvh_static_entity_answer_error(response, entry, wish->status);
    }
    return uvh_static_variants_answer(&context->settings, uvhttp_response_request(response),
                                      response, entry);
}

/* A page that could not be loaded. Without it an error has a line of text; for another page the
 * result is an error, which may have a page. */
static int answer_without_page(uvhttp_response_t *response, struct flight *flight,
                               const struct wish *wish)
{
    const struct uvh_static_map *map = &flight->context->settings.map;
    if (!atomic_exchange(&map->pages[wish->page].missing, true))
        uvhttp_response_log(
            response, UVHTTP_LOG_ERROR, "static files: the page '/%s' cannot be sent: %s",
            uvh_static_map_page_path(map, wish->page), uvhttp_strerror(flight->load.error));
    if (wish->status >= 400)
        return uvhttp_response_send_status(response, wish->status);
    return uvh_static_fetch_status(flight->context, flight->cache, response,
                                   uvh_static_answer_status_of(response, flight->load.error));
}

/* An archive that would be too large gets the page of its status, if there is one; else a text with
 * the reason. */
static int answer_listing(uvhttp_response_t *response, struct flight *flight)
{
    struct uvh_static_listing *listing = flight->load.listing;
    if (!uvh_static_listing_is_too_large(listing) ||
        uvh_static_map_error_page(&flight->context->settings.map, 403) == UVH_STATIC_NO_PAGE)
        return uvh_static_listing_answer(response, listing);
    uvh_static_listing_free(listing);
    return uvh_static_fetch_status(flight->context, flight->cache, response, 403);
}

/* Sends the load's result, for one of its requests. */
static int answer(uvhttp_response_t *response, struct flight *flight, const struct wish *wish)
{
    struct uvhttp_static *context = flight->context;
    struct uvh_static_load *load = &flight->load;
    switch (load->outcome) {
    case UVH_STATIC_ENTRY:
        return answer_entry(context, response, wish, load->entry);
    case UVH_STATIC_UNCHANGED:
        return answer_entry(context, response, wish, flight->known);
    case UVH_STATIC_REDIRECT:
        return uvh_static_answer_redirect(uvhttp_response_request(response), response,
                                          load->redirect);
    case UVH_STATIC_LISTING:
        return answer_listing(response, flight);
    case UVH_STATIC_PAGE:
        return uvh_static_fetch_page(context, flight->cache, response, load->page_index, 200);
    case UVH_STATIC_FALLBACK:
        return answer_fallback(context, flight->cache, response, load->page_index, load->error);
    case UVH_STATIC_STATUS:
        return uvh_static_fetch_status(context, flight->cache, response, load->status);
    case UVH_STATIC_FOLDER: /* is listed for one request, not shared */
    case UVH_STATIC_FAILED:
        break;
    }
    if (wish->page != UVH_STATIC_NO_PAGE)
        return answer_without_page(response, flight, wish);
    return uvh_static_fetch_status(context, flight->cache, response,
                                   uvh_static_answer_status_of(response, load->error));
}

static int take_off(struct uvhttp_static *context, struct uvh_static_cache *cache,
                    uvhttp_response_t *response, const struct wish *wish,
                    struct uvh_file_entry *known, bool alone);
static int ask(struct uvhttp_static *context, struct uvh_static_cache *cache,
               uvhttp_response_t *response, const struct wish *wish);

/* In order. Sending one response may remove other requests from the list, so each is unlinked
 * first. */
static void answer_waiters(struct flight *flight)
{
    while (!uvh_list_empty(&flight->waiters)) {
        struct waiter *waiter = UVH_CONTAINER_OF(flight->waiters.next, struct waiter, link);
        uvhttp_response_t *response = waiter->response;
        int err;
        uvh_list_remove(&waiter->link);
        uvhttp_response_on_abort(response, NULL, NULL);
        if (flight->load.by_request)
            err = take_off(flight->context, flight->cache, response, &waiter->wish, NULL, true);
        /* as for a new request, but counted already */
        else if (waiter->seen != flight->seen)
            err = ask(flight->context, flight->cache, response, &waiter->wish);
        else
            err = answer(response, flight, &waiter->wish);
        if (err != 0)
            uvhttp_response_fail(response, err);
    }
}

/* Logged once per context. */
static void tell_unwatched(struct uvhttp_static *context, uvhttp_response_t *response)
{
    if (context->watch_error != 0 && !atomic_exchange(&context->watch_told, true))
        uvhttp_response_log(
            response, UVHTTP_LOG_WARNING,
            "static files: changes cannot be watched: %s; files are looked at every %llu ms",
            uvhttp_strerror(context->watch_error),
            (unsigned long long)context->settings.revalidate_ms);
}

static void run_flight(void *arg)
{
    struct flight *flight = arg;
    struct uvh_folder_watch *folders = flight->context->folders;
    if (folders != NULL && flight->load.settings->watchable)
        flight->state.folder =
            uvh_folder_watch_add(folders, &flight->load.settings->root, flight->load.path);
    if (flight->state.folder != NULL)
        flight->state.folder_changes = uvh_folder_watch_changes(flight->state.folder);
    uvh_static_load_run(&flight->load);
}

static void run_listing(void *arg)
{
    struct flight *flight = arg;
    uvh_static_load_listing(&flight->load);
}

static int finish_listing(uvhttp_response_t *response, void *arg)
{
    struct flight *flight = arg;
    shed_descriptors(flight);
    if (uvhttp_response_open(response))
        return answer(response, flight, &flight->wish);
    if (flight->load.outcome == UVH_STATIC_LISTING)
        uvh_static_listing_free(flight->load.listing);
    return 0;
}

/* The style sheet of a listing needs no job. */
static int list_folder(uvhttp_response_t *response, struct flight *flight)
{
    if (flight->load.wish.kind != UVH_STATIC_LISTING_STYLE)
        return uvhttp_response_defer_heavy(response, run_listing, finish_listing, flight);
    run_listing(flight);
    return finish_listing(response, flight);
}

static int finish_flight(uvhttp_response_t *response, void *arg)
{
    struct flight *flight = arg;
    bool folder = flight->load.outcome == UVH_STATIC_FOLDER;
    int err = 0;
    uvh_list_remove(&flight->link);
    store(flight);
    tell_unwatched(flight->context, response);
    if (!folder && uvhttp_response_open(response))
        err = answer(response, flight, &flight->wish);
    answer_waiters(flight);
    uvh_file_entry_unref(flight->load.entry);
    uvh_file_entry_unref(flight->known);
    if (folder && uvhttp_response_open(response)) /* last: the job owns the load from here on */
        err = list_folder(response, flight);
    return err;
}

/* ---- lookup ---- */

static struct uvh_list *flights_of(struct uvh_static_cache *cache, uint64_t hash)
{
    return &cache->flights[hash % UVH_STATIC_CACHE_FLIGHTS];
}

static struct flight *find_flight(struct uvh_static_cache *cache, uvhttp_slice_t key, uint64_t hash)
{
    const struct uvh_list *flights = flights_of(cache, hash);
    for (struct uvh_list *link = flights->next; link != flights; link = link->next) {
        struct flight *flight = UVH_CONTAINER_OF(link, struct flight, link);
        if (flight->hash == hash && flight->load.key.length == key.length &&
            memcmp(flight->load.key.base, key.base, key.length) == 0)
            return flight;
    }
    return NULL;
}

static void leave(uvhttp_response_t *response, void *arg)
{
    struct waiter *waiter = arg;
    (void)response;
    uvh_list_remove(&waiter->link);
}

static int join(struct flight *flight, uvhttp_response_t *response, const struct wish *wish)
{
    struct waiter *waiter =
        uvhttp_request_allocate(uvhttp_response_request(response), sizeof(*waiter));
    if (waiter == NULL)
        return UVHTTP_ENOMEM;
    *waiter = (struct waiter){
        .response = response,
        .wish = *wish,
        .seen = atomic_load_explicit(&flight->context->changed, memory_order_acquire),
    };
    uvh_list_init(&waiter->link);
    uvh_list_append(&flight->waiters, &waiter->link);
    uvhttp_response_on_abort(response, leave, waiter);
    uvh_counter_add(&flight->cache->counts.coalesced, 1);
    return 0;
}

static int take_off(struct uvhttp_static *context, struct uvh_static_cache *cache,
                    uvhttp_response_t *response, const struct wish *wish,
                    struct uvh_file_entry *known, bool alone)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct flight *flight = uvhttp_request_allocate(request, sizeof(*flight));
    if (flight == NULL)
        return UVHTTP_ENOMEM;
    *flight = (struct flight){
        .context = context,
        .cache = cache,
        .wish = *wish,
        .known = known,
        .hash = uvh_hash(wish->key.base, wish->key.length, context->seed),
        .started = uvhttp_response_now(response),
        .seen = atomic_load_explicit(&context->changed, memory_order_acquire),
        .load = {.settings = &context->settings,
                 .path = wish->path,
                 .key = wish->key,
                 .exact = wish->page != UVH_STATIC_NO_PAGE,
                 .title = uvhttp_request_path(request)},
    };
    flight->state.version_index = uvh_path_versions_index(&context->versions, wish->path);
    flight->state.version = uvh_path_versions_read(&context->versions, flight->state.version_index);
    uvh_list_init(&flight->link);
    uvh_list_init(&flight->waiters);
    if (known != NULL) {
        flight->load.known = true;
        flight->load.known_settled = known->settled;
        flight->load.known_facts = known->facts;
        flight->load.known_type = known->type;
        flight->load.known_siblings = known->siblings_digest;
        flight->load.known_path = known->ruled_path;
    }
    int err = context->settings.listing
                  ? uvh_static_listing_ask(&context->settings, request, &flight->load.wish)
                  : 0;
    if (err == 0)
        err = uvhttp_response_defer(response, run_flight, finish_flight, flight);
    if (err != 0)
        return err;
    if (!alone)
        uvh_list_prepend(flights_of(cache, flight->hash), &flight->link);
    if (known != NULL) {
        uvh_file_entry_ref(known);
        known->looking = true;
    }
    return 0;
}

/* From the cache if possible, else from a load in progress or a new one. */
static int ask(struct uvhttp_static *context, struct uvh_static_cache *cache,
               uvhttp_response_t *response, const struct wish *wish)
{
    uvhttp_slice_t key = wish->key;
    struct uvh_file_entry *known = uvh_file_cache_find(&cache->files, key.base, key.length);
    if (known != NULL && uvh_static_fetch_usable(context, known, uvhttp_response_now(response)))
        return answer_entry(context, response, wish, known);
    struct flight *flight = find_flight(cache, key, uvh_hash(key.base, key.length, context->seed));
    /* A request after an upload does not join a load that began before it, nor wait for it. */
    return flight != NULL && !is_outdated(flight)
               ? join(flight, response, wish)
               : take_off(context, cache, response, wish, known, false);
}

int uvh_static_fetch(struct uvhttp_static *context, struct uvh_static_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path)
{
    return ask(context, cache, response, &(struct wish){path, path, UVH_STATIC_NO_PAGE, 200});
}

int uvh_static_fetch_page(struct uvhttp_static *context, struct uvh_static_cache *cache,
                          uvhttp_response_t *response, int page, int status)
{
    const struct uvh_static_page *wanted = &context->settings.map.pages[page];
    const struct wish wish = {
        .path = {wanted->key + 1, wanted->key_length - 1},
        .key = {wanted->key, wanted->key_length},
        .page = page,
        .status = status,
    };
    return ask(context, cache, response, &wish);
}

int uvh_static_fetch_status(struct uvhttp_static *context, struct uvh_static_cache *cache,
                            uvhttp_response_t *response, int status)
{
    int page = uvh_static_map_error_page(&context->settings.map, status);
    return page == UVH_STATIC_NO_PAGE
               ? uvhttp_response_send_status(response, status)
               : uvh_static_fetch_page(context, cache, response, page, status);
}
