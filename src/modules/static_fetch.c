/* The result goes into the cache first, then to the client, who may have left meanwhile. */
#include "modules/static_fetch.h"

#include <uvhttp/error.h>
#include <uvhttp/negotiate.h>

#include <errno.h>

#include "modules/static_answer.h"
#include "modules/static_entity.h"
#include "modules/static_load.h"

/* One trip to the thread pool; lives in the exchange's memory. */
struct job {
    struct uvh_static_load load;
    struct uvh_file_cache *cache; /* of the worker that has the request */
    struct uvh_file_entry *known; /* the entry that is looked at again, or NULL; one reference */
    uint64_t started;             /* milliseconds of the loop's clock */
    int page;                     /* what is loaded is a page of the settings, or UVH_STATIC_NO_PAGE */
    int status;                   /* of the answer, when it is */
};

/* A page that could not be had. Without it an error is a line of text; another page is an error that may have one. */
static int answer_without_page(uvhttp_response_t *response, const struct job *job)
{
    const struct uvh_static_settings *settings = job->load.settings;
    if (!atomic_exchange(&settings->map.pages[job->page].missing, true))
        uvhttp_response_log(response, UVHTTP_LOG_ERROR, "static files: the page '/%s' cannot be sent: %s",
                            uvh_static_map_page_path(&settings->map, job->page),
                            uvhttp_strerror(job->load.error));
    if (job->status >= 400)
        return uvhttp_response_send_status(response, job->status);
    return uvh_static_fetch_status(settings, job->cache, response,
                                   uvh_static_answer_status_of(response, job->load.error));
}

static int answer_entry(uvhttp_response_t *response, const struct job *job, struct uvh_file_entry *entry)
{
    if (job->page != UVH_STATIC_NO_PAGE)
        atomic_store(&job->load.settings->map.pages[job->page].missing, false);
    if (job->page != UVH_STATIC_NO_PAGE && job->status >= 400)
        return uvh_static_entity_answer_error(response, entry, job->status);
    return uvh_static_entity_answer(uvhttp_response_request(response), response, entry);
}

/* Programs that ask for data had better hear that there is none than get a page for it. */
static int answer_fallback(uvhttp_response_t *response, const struct job *job)
{
    uvhttp_slice_t accept = uvhttp_request_field(uvhttp_response_request(response), UVHTTP_FIELD_ACCEPT);
    int err = uvhttp_response_add_header(response, "Vary", "Accept");
    if (err != 0)
        return err;
    if (uvhttp_negotiate_type_quality(accept, "text/html") == 0)
        return uvh_static_fetch_status(job->load.settings, job->cache, response,
                                       uvh_static_answer_status_of(response, job->load.error));
    return uvh_static_fetch_page(job->load.settings, job->cache, response, job->load.page_index, 200);
}

static int answer_load(uvhttp_response_t *response, struct job *job)
{
    struct uvh_static_load *load = &job->load;
    switch (load->outcome) {
    case UVH_STATIC_ENTRY:
        return answer_entry(response, job, load->entry);
    case UVH_STATIC_UNCHANGED:
        return answer_entry(response, job, job->known);
    case UVH_STATIC_REDIRECT:
        return uvh_static_answer_redirect(uvhttp_response_request(response), response, load->redirect);
    case UVH_STATIC_LISTING:
        return uvh_static_answer_listing(response, &load->page);
    case UVH_STATIC_PAGE:
        return uvh_static_fetch_page(load->settings, job->cache, response, load->page_index, 200);
    case UVH_STATIC_FALLBACK:
        return answer_fallback(response, job);
    case UVH_STATIC_STATUS:
        return uvh_static_fetch_status(load->settings, job->cache, response, load->status);
    case UVH_STATIC_FAILED:
        break;
    }
    if (job->page != UVH_STATIC_NO_PAGE)
        return answer_without_page(response, job);
    return uvh_static_fetch_status(load->settings, job->cache, response,
                                   uvh_static_answer_status_of(response, load->error));
}

/* Brings the cache up to date with what was found. */
static void store(struct job *job)
{
    struct uvh_file_entry *entry = job->load.outcome == UVH_STATIC_UNCHANGED ? job->known : job->load.entry;
    if (job->known != NULL)
        job->known->looking = false;
    if (entry != NULL && entry->looked_at <= job->started) {
        entry->looked_at = job->started;
        entry->fresh_until = job->started + job->load.settings->revalidate_ms;
    }
    if (job->load.outcome == UVH_STATIC_ENTRY)
        uvh_file_cache_insert(job->cache, entry);
    else if (job->load.outcome != UVH_STATIC_UNCHANGED && job->known != NULL &&
             job->known->looked_at <= job->started)
        uvh_file_cache_remove(job->cache, job->known);
    if (job->load.error == -EMFILE || job->load.error == -ENFILE)
        uvh_file_cache_shed(job->cache);
}

static void run_load(void *arg)
{
    struct job *job = arg;
    uvh_static_load_run(&job->load);
}

static int finish_load(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    int err = 0;
    store(job);
    if (uvhttp_response_open(response))
        err = answer_load(response, job);
    else if (job->load.outcome == UVH_STATIC_LISTING)
        uvh_bytes_release(&job->load.page);
    uvh_file_entry_unref(job->load.entry);
    uvh_file_entry_unref(job->known);
    return err;
}

/* `job` says what to load and how to answer with it. */
static int start(const struct job *given, uvhttp_response_t *response)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct uvh_file_entry *known = given->known;
    struct job *job = uvhttp_request_allocate(request, sizeof(*job));
    if (job == NULL)
        return UVHTTP_ENOMEM;
    *job = *given;
    job->started = uvhttp_response_now(response);
    job->load.title = uvhttp_request_path(request);
    if (known != NULL) {
        job->load.known = true;
        job->load.known_settled = known->settled;
        job->load.known_facts = known->facts;
        job->load.known_type = known->type;
    }
    int err = uvhttp_response_defer(response, run_load, finish_load, job);
    if (err == 0 && known != NULL) {
        uvh_file_entry_ref(known);
        known->looking = true;
    }
    return err;
}

int uvh_static_fetch(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path, struct uvh_file_entry *known)
{
    const struct job job = {
        .load = {.settings = settings, .path = path, .key = path},
        .cache = cache,
        .known = known,
        .page = UVH_STATIC_NO_PAGE,
    };
    return start(&job, response);
}

int uvh_static_fetch_page(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                          uvhttp_response_t *response, int page, int status)
{
    const struct uvh_static_page *wanted = &settings->map.pages[page];
    struct uvh_file_entry *known = uvh_file_cache_find(cache, wanted->key, wanted->key_length);
    const struct job job = {
        .load = {.settings = settings,
                 .path = {wanted->key + 1, wanted->key_length - 1},
                 .key = {wanted->key, wanted->key_length},
                 .exact = true},
        .cache = cache,
        .known = known,
        .page = page,
        .status = status,
    };
    if (known != NULL && uvh_static_fetch_is_usable(settings, known, uvhttp_response_now(response)))
        return answer_entry(response, &job, known);
    return start(&job, response);
}

int uvh_static_fetch_status(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                            uvhttp_response_t *response, int status)
{
    int page = uvh_static_map_error_page(&settings->map, status);
    return page == UVH_STATIC_NO_PAGE ? uvhttp_response_send_status(response, status)
                                      : uvh_static_fetch_page(settings, cache, response, page, status);
}
