/* The result goes into the cache first, then to the client, who may have left meanwhile. */
#include "modules/static_fetch.h"

#include <errno.h>

#include "modules/static_answer.h"
#include "modules/static_entity.h"
#include "modules/static_listing.h"
#include "modules/static_load.h"

/* One trip to the thread pool; lives in the exchange's memory. */
struct job {
    struct uvh_static_load load;
    struct uvh_file_cache *cache; /* of the worker that has the request */
    struct uvh_file_entry *known; /* the entry that is looked at again, or NULL; one reference */
    uint64_t started;             /* milliseconds of the loop's clock */
};

static int answer_load(uvhttp_response_t *response, struct job *job)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    switch (job->load.outcome) {
    case UVH_STATIC_ENTRY:
        return uvh_static_entity_answer(request, response, job->load.entry);
    case UVH_STATIC_UNCHANGED:
        return uvh_static_entity_answer(request, response, job->known);
    case UVH_STATIC_REDIRECT:
        return uvh_static_answer_redirect(request, response);
    case UVH_STATIC_LISTING:
        return uvh_static_listing_answer(response, job->load.listing);
    case UVH_STATIC_FAILED:
        break;
    }
    return uvh_static_answer_error(request, response, job->load.error);
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
        uvh_static_listing_free(job->load.listing);
    uvh_file_entry_unref(job->load.entry);
    uvh_file_entry_unref(job->known);
    return err;
}

int uvh_static_fetch(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path, struct uvh_file_entry *known)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct job *job = uvhttp_request_allocate(request, sizeof(*job));
    if (job == NULL)
        return UVHTTP_ENOMEM;
    *job = (struct job){
        .cache = cache,
        .known = known,
        .started = uvhttp_response_now(response),
        .load = {.settings = settings, .path = path, .title = uvhttp_request_path(request)},
    };
    if (known != NULL) {
        job->load.known = true;
        job->load.known_settled = known->settled;
        job->load.known_facts = known->facts;
        job->load.known_type = known->type;
    }
    int err = settings->listing ? uvh_static_listing_ask(settings, request, &job->load.wish) : 0;
    if (err == 0)
        err = uvhttp_response_defer(response, run_load, finish_load, job);
    if (err == 0 && known != NULL) {
        uvh_file_entry_ref(known);
        known->looking = true;
    }
    return err;
}
