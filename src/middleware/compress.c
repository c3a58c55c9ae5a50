/* Compressed responses, on public functions only: uvhttp/compress.h.
 *
 * The decision is made when the response is sent (uvhttp_response_on_send). A body in memory is
 * replaced. A streamed body gets a filter, which creates its compressor for the first chunk, so
 * that HEAD creates none. */
#include <uvhttp/compress.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/text.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/compressible.h"
#include "codec/fields/field.h"
#include "codec/fields/media_type.h"
#include "codec/fields/mime.h"
#include "middleware/accepted_coding.h"
#include "options/error.h"
#include "options/field_lines.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/use.h"
#include "platform/compress.h"

enum {
    DEFAULT_MIN_SIZE = 1024,
    DEFAULT_MAX_SIZE = 16 << 20,
    DEFAULT_JOB_SIZE = 65536, /* at most some milliseconds of the loop's time */
    MAX_SIZE_LIMIT = 1 << 30,
    CHUNK_SIZE = 16384,
    /* streams of small chunks are often numerous: a small window for each */
    FLUSHED_SIZE_HINT = 16384,
};

_Static_assert((int)UVHTTP_CODING_GZIP == (int)UVH_CODING_BIT(UVH_CODING_GZIP) &&
                   (int)UVHTTP_CODING_BROTLI == (int)UVH_CODING_BIT(UVH_CODING_BROTLI) &&
                   (int)UVHTTP_CODING_ZSTD == (int)UVH_CODING_BIT(UVH_CODING_ZSTD),
               "a set of codings is the same inside and outside");

struct uvhttp_compress {
    struct uvh_owned owned;
    size_t min_size;
    size_t max_size;
    size_t job_size;
    const char *types; /* NULL: the defaults */
    unsigned codings;
    int levels[UVH_CODING_COUNT];
};

/* A streamed body; lives in the exchange's memory. */
struct stream {
    const struct uvhttp_compress *compress;
    struct uvh_compressor *compressor; /* NULL before the first chunk */
    enum uvh_coding coding;
    bool flushes; /* each chunk is sent at once */
    uint64_t size_hint;
};

/* ---- which responses are compressed ---- */

static bool has(const uvhttp_response_t *response, const char *name)
{
    return uvhttp_response_header_slice(response, name).base != NULL;
}

/* Among the prepared fields, which cannot be changed. */
static bool has_prepared(const uvhttp_response_t *response, const char *name)
{
    return uvhttp_response_header(response, name) == NULL && has(response, name);
}

/* The content coding would invalidate a field. */
static bool is_fixed(const uvhttp_response_t *response)
{
    static const char *const names[] = {"Content-Encoding", "Content-Range", "Accept-Ranges",
                                        "Content-Digest",   "Repr-Digest",   "Digest",
                                        "Content-MD5"};
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        if (has(response, names[i]))
            return true;
    }
    return uvhttp_response_header_lists(response, "Cache-Control", "no-transform") ||
           has_prepared(response, "ETag");
}

static bool is_wanted_type(const struct uvhttp_compress *compress, uvhttp_slice_t type)
{
    if (type.base == NULL)
        return false;
    return compress->types == NULL ? uvh_compressible_type(type)
                                   : uvhttp_media_type_is(type, compress->types);
}

static bool is_wanted(const struct uvhttp_compress *compress, uvhttp_request_t *request,
                      const uvhttp_response_t *response)
{
    int status = uvhttp_response_status(response);
    if (status == 204 || status == 205 || status == 206 || status == 304 || status < 200)
        return false;
    if (!uvhttp_response_is_streamed(response)) {
        uvhttp_slice_t body = uvhttp_response_body(response);
        bool left_out = body.length == 0 && uvhttp_request_method(request) == UVHTTP_METHOD_HEAD;
        if (body.base == NULL || body.length > compress->max_size ||
            (body.length < compress->min_size && !left_out))
            return false;
    } else if (uvhttp_response_body_length(response) < compress->min_size) {
        return false;
    }
    return is_wanted_type(compress, uvhttp_response_header_slice(response, "Content-Type")) &&
           !is_fixed(response);
}

/* ---- the fields ---- */

/* Sets `*weak` to the weak form of the response's strong tag; NULL when it has none. */
static int make_weak_etag(uvhttp_request_t *request, const uvhttp_response_t *response, char **weak)
{
    const char *tag = uvhttp_response_header(response, "ETag");
    *weak = NULL;
    if (tag == NULL || tag[0] != '"')
        return 0;
    size_t size = strlen(tag) + 3;
    *weak = uvhttp_request_allocate(request, size);
    if (*weak == NULL)
        return UVHTTP_ENOMEM;
    snprintf(*weak, size, "W/%s", tag);
    return 0;
}

static int weaken_etag(uvhttp_request_t *request, uvhttp_response_t *response)
{
    char *weak;
    int err = make_weak_etag(request, response, &weak);
    return err != 0 || weak == NULL ? err : uvhttp_response_set_header(response, "ETag", weak);
}

/* A 304 has the tag and the Vary of the 200 (RFC 9110 section 15.4.5). Whether that is compressed
 * is not known without its body, so the tag is weak when the client has stored a weak one. */
static int set_fields_of_304(uvhttp_request_t *request, uvhttp_response_t *response)
{
    char *weak;
    uvhttp_slice_t stored = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH);
    int err = uvh_vary_add(response, "Accept-Encoding", "accept-encoding");
    if (err == 0)
        err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_NONE_MATCH, &stored);
    if (err == 0)
        err = make_weak_etag(request, response, &weak);
    /* No tag contains a quote, so the text is found as a whole tag only. */
    if (err != 0 || weak == NULL || stored.base == NULL ||
        memmem(stored.base, stored.length, weak, strlen(weak)) == NULL)
        return err;
    return uvhttp_response_set_header(response, "ETag", weak);
}

static int set_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                      enum uvh_coding coding)
{
    int err = uvhttp_response_set_header(response, "Content-Encoding", uvh_coding_name(coding));
    return err != 0 ? err : weaken_etag(request, response);
}

/* ---- bodies in memory ---- */

/* A body that is compressed; lives in the exchange's memory. */
struct whole {
    const struct uvhttp_compress *compress;
    enum uvh_coding coding;
    struct uvh_bytes coded;
    int err;
};

/* A uvhttp_body_work_cb. */
static void compress_whole(uvhttp_slice_t body, void *arg)
{
    struct whole *whole = arg;
    const struct uvhttp_compress *compress = whole->compress;
    uvh_bytes_init(&whole->coded, compress->owned.allocator, body.length - 1);
    whole->err =
        uvh_compress_bytes(compress->owned.allocator, whole->coding,
                           compress->levels[whole->coding], body.base, body.length, &whole->coded);
}

/* A uvhttp_done_cb. */
static int use_coded(uvhttp_response_t *response, void *arg)
{
    struct whole *whole = arg;
    int err = whole->err;
    if (err == 0)
        err = uvhttp_response_replace_body(response, whole->coded.data, whole->coded.length);
    uvh_bytes_release(&whole->coded);
    /* Not smaller, out of memory, or disconnected: the body stays as it is. */
    return err != 0 ? 0 : set_fields(uvhttp_response_request(response), response, whole->coding);
}

static int replace_body(const struct uvhttp_compress *compress, uvhttp_request_t *request,
                        uvhttp_response_t *response, enum uvh_coding coding)
{
    uvhttp_slice_t body = uvhttp_response_body(response);
    if (body.length == 0) /* of HEAD */
        return 0;
    struct whole *whole = uvhttp_request_allocate(request, sizeof(*whole));
    if (whole == NULL)
        return 0;
    *whole = (struct whole){.compress = compress, .coding = coding};
    if (body.length > compress->job_size && !uvhttp_request_is_blocking(request)) {
        /* If the queue is full, it is sent uncompressed. */
        (void)uvhttp_response_defer_send(response, compress_whole, use_coded, whole);
        return 0;
    }
    compress_whole(body, whole);
    return use_coded(response, whole);
}

/* ---- streamed bodies ---- */

static int run_compressor(struct stream *stream, const char *data, size_t size,
                          enum uvh_compress_mode mode, uvhttp_filter_output_t *output)
{
    bool done = false;
    int err = 0;
    while (err == 0 && !done) {
        char chunk[CHUNK_SIZE];
        size_t taken = size;
        size_t made = sizeof(chunk);
        err = uvh_compressor_run(stream->compressor, data, &taken, chunk, &made, mode, &done);
        if (err == 0 && made > 0)
            err = uvhttp_filter_output_append(output, chunk, made);
        data = taken > 0 ? data + taken : data;
        size -= taken;
    }
    return err;
}

/* A uvhttp_filter_cb. */
static int filter_chunk(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                        size_t size, uvhttp_filter_output_t *output, void *arg)
{
    struct stream *stream = arg;
    const struct uvhttp_compress *compress = stream->compress;
    enum uvh_compress_mode mode = stream->flushes ? UVH_COMPRESS_FLUSH : UVH_COMPRESS_PROCESS;
    (void)response;
    if (event == UVHTTP_FILTER_FLUSH)
        mode = UVH_COMPRESS_FLUSH;
    else if (event == UVHTTP_FILTER_END)
        mode = UVH_COMPRESS_FINISH;
    if (stream->compressor == NULL) {
        int err = uvh_compressor_new(&stream->compressor, compress->owned.allocator, stream->coding,
                                     compress->levels[stream->coding], stream->size_hint);
        if (err != 0)
            return err;
    }
    return run_compressor(stream, data, size, mode, output);
}

static void release_stream(void *arg)
{
    struct stream *stream = arg;
    uvh_compressor_free(stream->compressor);
    stream->compressor = NULL;
}

/* Media types whose chunks are sent at once. */
static bool is_flushed_type(uvhttp_slice_t type)
{
    static const char list[] = "text/event-stream application/x-ndjson application/ndjson "
                               "application/jsonl application/json-seq multipart/x-mixed-replace";
    return uvhttp_media_type_is(type, list);
}

static int filter_chunks(const struct uvhttp_compress *compress, uvhttp_request_t *request,
                         uvhttp_response_t *response, enum uvh_coding coding)
{
    struct stream *stream = uvhttp_request_allocate(request, sizeof(*stream));
    if (stream == NULL)
        return UVHTTP_ENOMEM;
    *stream = (struct stream){.compress = compress, .coding = coding};
    stream->flushes = is_flushed_type(uvhttp_response_header_slice(response, "Content-Type"));
    uint64_t length = uvhttp_response_body_length(response);
    stream->size_hint = length == UVHTTP_LENGTH_UNKNOWN ? UVH_COMPRESS_SIZE_UNKNOWN : length;
    if (stream->flushes && length > FLUSHED_SIZE_HINT)
        stream->size_hint = FLUSHED_SIZE_HINT;
    int err = uvhttp_response_filter(response, filter_chunk, release_stream, stream);
    return err != 0 ? err : set_fields(request, response, coding);
}

/* A uvhttp_send_cb. */
static int on_send(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvhttp_compress *compress = arg;
    if (!is_wanted(compress, request, response))
        return uvhttp_response_status(response) == 304 && !is_fixed(response)
                   ? set_fields_of_304(request, response)
                   : 0;
    int err = uvh_vary_add(response, "Accept-Encoding", "accept-encoding");
    if (err != 0)
        return err;
    enum uvh_coding coding = uvh_accepted_coding(request, compress->codings, NULL);
    if (coding == UVH_CODING_IDENTITY)
        return 0;
    return uvhttp_response_is_streamed(response)
               ? filter_chunks(compress, request, response, coding)
               : replace_body(compress, request, response, coding);
}

int uvhttp_compress_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *compress)
{
    (void)request;
    if (compress == NULL)
        return UVHTTP_EINVAL;
    int err = uvhttp_response_on_send(response, on_send, compress);
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* ---- create and destroy ---- */

static int check(const uvhttp_compress_options_t *options, uvhttp_error_t *error)
{
    const struct uvh_option_range ranges[] = {
        {"min_size", options->min_size, 0, MAX_SIZE_LIMIT, "bytes"},
        {"max_size", options->max_size, 0, MAX_SIZE_LIMIT, "bytes"},
        {"job_size", options->job_size, 0, MAX_SIZE_LIMIT, "bytes"},
    };
    static const char *const names[UVH_CODING_COUNT] = {[UVH_CODING_GZIP] = "gzip_level",
                                                        [UVH_CODING_BROTLI] = "brotli_level",
                                                        [UVH_CODING_ZSTD] = "zstd_level"};
    const int levels[UVH_CODING_COUNT] = {0, options->gzip_level, options->brotli_level,
                                          options->zstd_level};
    int err = uvh_option_check(ranges, UVH_COUNT_OF(ranges), error);
    if (err == 0 && (options->codings & ~UVH_CODING_ALL) != 0)
        err = uvh_error_size(error, "codings", options->codings,
                             "allowed is a sum of values of uvhttp_coding_t");
    for (int coding = UVH_CODING_GZIP; coding < UVH_CODING_COUNT && err == 0; coding++) {
        int most = uvh_compress_level_most((enum uvh_coding)coding);
        if (levels[coding] >= UVHTTP_COMPRESS_BEST && levels[coding] <= most)
            continue;
        err = uvh_error_int(error, names[coding], levels[coding],
                            "allowed are 0 to %d, and -1 for the best", most);
    }
    size_t length;
    const char *wrong =
        err != 0 || options->types == NULL ? NULL : uvh_media_type_check(options->types, &length);
    if (wrong == NULL)
        return err;
    char element[128];
    snprintf(element, sizeof(element), "%.*s",
             (int)(length < sizeof(element) ? length : sizeof(element)), wrong);
    return uvh_error_string(error, "types", element,
                            "allowed are media types (type/subtype), type/*, +suffix and */*");
}

bool uvhttp_compress_available(void)
{
    return uvh_compress_codings() != 0;
}

static int create(uvhttp_compress_t **compress, const uvhttp_compress_options_t *options,
                  uvhttp_error_t *error)
{
    static const uvhttp_compress_options_t defaults = {.min_size = 0};
    if (compress == NULL)
        return UVHTTP_EINVAL;
    *compress = NULL;
    if (options == NULL)
        options = &defaults;
    if (!uvhttp_compress_available())
        return UVHTTP_ENOTSUP;
    int err = check(options, error);
    if (err != 0)
        return err;
    struct uvhttp_compress *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->min_size = options->min_size != 0 ? options->min_size : DEFAULT_MIN_SIZE;
    made->max_size = options->max_size != 0 ? options->max_size : DEFAULT_MAX_SIZE;
    made->job_size = options->job_size != 0 ? options->job_size : DEFAULT_JOB_SIZE;
    made->codings = options->codings != 0 ? options->codings : UVH_CODING_ALL;
    made->levels[UVH_CODING_GZIP] = options->gzip_level;
    made->levels[UVH_CODING_BROTLI] = options->brotli_level;
    made->levels[UVH_CODING_ZSTD] = options->zstd_level;
    if (options->types != NULL) {
        made->types = uvh_owned_string(&made->owned, options->types, strlen(options->types));
        if (made->types == NULL) {
            uvhttp_compress_free(made);
            return UVHTTP_ENOMEM;
        }
    }
    *compress = made;
    return 0;
}

int uvhttp_compress_new(uvhttp_compress_t **compress, const uvhttp_compress_options_t *options,
                        uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(compress, options, error));
}

void uvhttp_compress_free(void *compress)
{
    uvh_owned_free(compress);
}

/* ---- bytes and files ---- */

int uvhttp_compress_bytes(const uvhttp_allocator_t *allocator, uvhttp_coding_t coding, int level,
                          const void *data, size_t size, size_t most, void **out, size_t *out_size)
{
    struct uvh_bytes coded;
    enum uvh_coding number = UVH_CODING_GZIP;
    if (out == NULL || out_size == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    *out_size = 0;
    if (data == NULL && size > 0)
        return UVHTTP_EINVAL;
    while (number < UVH_CODING_COUNT && UVH_CODING_BIT(number) != (unsigned)coding)
        number++;
    if (number == UVH_CODING_COUNT)
        return UVHTTP_EINVAL;
    uvh_bytes_init(&coded, allocator != NULL ? allocator : uvh_alloc_default(), most);
    int err = uvh_compress_bytes(coded.allocator, number, level, data, size, &coded);
    if (err != 0) {
        uvh_bytes_release(&coded);
        return err;
    }
    *out = coded.data;
    *out_size = coded.length;
    return 0;
}

void uvhttp_compress_release(const uvhttp_allocator_t *allocator, void *out)
{
    uvh_free(allocator != NULL ? allocator : uvh_alloc_default(), out);
}

bool uvhttp_compress_suits_file(const char *name)
{
    return name != NULL && uvh_compressible_type(uvh_slice(uvh_mime_type(uvh_slice(name))));
}

UVH_USE_FUNCTION(compress)
