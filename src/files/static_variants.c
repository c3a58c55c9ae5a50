/* A coding is made once per state of a file and worker. Requests meanwhile get the file as it is,
 * without waiting; so do requests when the job queue is full. A file that does not become smaller
 * is not tried again. A representation encoded on the fly has a weak entity tag, and a request with
 * a valid range never gets it, since ranges of representations encoded at different times may not
 * fit together. */
#include "files/static_variants.h"

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "codec/fields/compressible.h"
#include "files/file_cache.h"
#include "middleware/accepted_coding.h"
#include "platform/compress.h"

enum { WORTH_PERCENT = 95 }; /* a larger result, relative to the original, is not worth decoding */

/* One job of the heavy lane; lives in the exchange's memory. */
struct job {
    const struct uvh_static_settings *settings;
    struct uvh_file_entry *source; /* one reference */
    enum uvh_coding coding;
    struct uvh_file_entry *made; /* NULL: it failed */
    bool useless;
};

unsigned uvh_static_variants_makeable(const struct uvh_static_settings *settings, const char *path,
                                      const char *type, uint64_t size)
{
    if (!settings->compress || size < settings->compress_min_size ||
        size > settings->compress_max_size || !uvh_compressible_type(uvh_slice(type)) ||
        uvh_static_rules_keep_bytes(settings->rules, path))
        return 0;
    return uvh_compress_codings();
}

/* The bytes of a file that is not in memory. False when they no longer match the entry, or when out
 * of memory. */
static bool read_source(const struct uvh_file_entry *source, char **bytes)
{
    struct uvh_file_facts facts;
    *bytes = uvh_alloc(source->allocator, (size_t)source->size);
    return *bytes != NULL &&
           uvh_file_read(source->descriptor, *bytes, (size_t)source->size, 0) ==
               (int64_t)source->size &&
           uvh_file_facts_of(source->descriptor, &facts) == 0 &&
           uvh_file_facts_equal(&facts, &source->facts);
}

static void run_compress(void *arg)
{
    struct job *job = arg;
    const struct uvh_file_entry *source = job->source;
    struct uvh_bytes made;
    char *bytes = NULL;
    uvh_bytes_init(&made, source->allocator, (size_t)source->size / 100 * WORTH_PERCENT);
    if (source->descriptor < 0 || read_source(source, &bytes)) {
        int err =
            uvh_compress_bytes(source->allocator, job->coding, job->settings->levels[job->coding],
                               bytes != NULL ? bytes : source->body, (size_t)source->size, &made);
        job->useless = err == UVHTTP_ETOOLARGE;
        if (err == 0)
            job->made = uvh_file_entry_encoded(source, job->coding,
                                               (uvhttp_slice_t){made.data, made.length});
    }
    uvh_bytes_release(&made);
    uvh_free(source->allocator, bytes);
}

static int finish_compress(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    struct uvh_file_entry *source = job->source;
    source->making &= (unsigned char)~UVH_CODING_BIT(job->coding);
    if (job->useless)
        source->codings &= (unsigned char)~UVH_CODING_BIT(job->coding);
    if (job->made != NULL)
        uvh_file_cache_attach(source, job->coding, job->made);
    int err = 0;
    if (uvhttp_response_open(response))
        err = uvh_static_entity_respond(uvhttp_response_request(response), response,
                                        job->made != NULL ? job->made : source);
    uvh_file_entry_unref(job->made);
    uvh_file_entry_unref(source);
    return err;
}

static int make(const struct uvh_static_settings *settings, uvhttp_response_t *response,
                struct uvh_file_entry *entry, enum uvh_coding coding)
{
    struct job *job = uvhttp_request_allocate(uvhttp_response_request(response), sizeof(*job));
    if (job == NULL)
        return UVHTTP_ENOMEM;
    *job = (struct job){.settings = settings, .source = entry, .coding = coding};
    int err = uvhttp_response_defer_heavy(response, run_compress, finish_compress, job);
    if (err == UVHTTP_EFULL)
        return uvh_static_entity_respond(uvhttp_response_request(response), response, entry);
    if (err == 0) {
        uvh_file_entry_ref(entry);
        entry->making |= (unsigned char)UVH_CODING_BIT(coding);
    }
    return err;
}

/* A range applies to the file or to a sibling. An ignored Range, such as that of a HEAD, changes
 * nothing (RFC 9110 section 14.2). */
static enum uvh_coding choose(uvhttp_request_t *request, const struct uvh_file_entry *entry)
{
    if (uvhttp_request_field(request, UVHTTP_FIELD_RANGE).base != NULL) {
        enum uvh_coding coding = uvh_accepted_coding(request, entry->siblings, NULL);
        if (uvh_static_entity_has_range(
                request, entry->variants[coding] != NULL ? entry->variants[coding] : entry))
            return coding;
    }
    return uvh_accepted_coding(request, entry->codings, NULL);
}

int uvh_static_variants_respond(const struct uvh_static_settings *settings,
                                uvhttp_request_t *request, uvhttp_response_t *response,
                                struct uvh_file_entry *entry)
{
    if (entry->codings == 0)
        return uvh_static_entity_respond(request, response, entry);
    enum uvh_coding coding = choose(request, entry);
    struct uvh_file_entry *variant = entry->variants[coding];
    if (variant != NULL && variant->broken) {
        /* A sibling is opened again with its source, for the next request; this one gets the
         * source. */
        entry->settled = false;
        entry->fresh_until = 0;
        return uvh_static_entity_respond(request, response, entry);
    }
    if (variant != NULL)
        return uvh_static_entity_respond(request, response, variant);
    if (coding == UVH_CODING_IDENTITY || (entry->making & UVH_CODING_BIT(coding)) != 0)
        return uvh_static_entity_respond(request, response, entry);
    return make(settings, response, entry, coding);
}
