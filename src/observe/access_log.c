/* The access log, on public functions only. The facts of an exchange become a line
 * (access_format.c), which a separate thread writes to the file (platform/line_writer.c). */
#include <uvhttp/access_log.h>
#include <uvhttp/auth.h>
#include <uvhttp/error.h>
#include <uvhttp/request_id.h>
#include <uvhttp/trace.h>

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "observe/access_format.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/use.h"
#include "platform/clock.h"
#include "platform/line_writer.h"

enum {
    DEFAULT_BUFFER_SIZE = 262144,
    LEAST_BUFFER_SIZE = 65536, /* several lines of maximum length */
    MOST_BUFFER_SIZE = 1 << 30,
    DEFAULT_FLUSH_MS = 1000,
    ZONE_SECONDS = 900, /* clock changes happen at full quarters of an hour of UTC */
};

struct uvhttp_access_log {
    const uvhttp_allocator_t *allocator;
    /* The number of quarters of an hour since 1970; the low 16 bits hold the UTC offset + 32768.
     * See zone_minutes. */
    struct uvh_line_writer *writer;
    _Atomic uint64_t zone;
    uint32_t sample;
    _Atomic uint32_t skipped; /* requests, counted up to `sample` and on */
    struct uvh_access_format format;
};

/* Local time minus UTC. Asks libc once per quarter of an hour, since its time zone takes a lock. */
static int zone_minutes(struct uvhttp_access_log *log, int64_t unix_ms)
{
    enum { BIAS = 32768 };
    int64_t seconds = unix_ms < 0 ? 0 : unix_ms / 1000;
    /* never 0, the initial value of `zone` */
    uint64_t quarter = (uint64_t)seconds / ZONE_SECONDS + 1;
    uint64_t known = atomic_load_explicit(&log->zone, memory_order_relaxed);
    if (known >> 16 != quarter) {
        known = quarter << 16 | (uint64_t)(uvh_clock_zone_minutes(seconds) + BIAS);
        atomic_store_explicit(&log->zone, known, memory_order_relaxed);
    }
    return (int)(known & 0xffff) - BIAS;
}

static size_t write_notice(uint64_t count, char out[UVH_LINE_WRITER_NOTICE_SIZE], void *arg)
{
    const struct uvh_access_format *format = arg;
    int length = format->json ? snprintf(out, UVH_LINE_WRITER_NOTICE_SIZE, "{\"dropped\":%llu}\n",
                                         (unsigned long long)count)
                              : snprintf(out, UVH_LINE_WRITER_NOTICE_SIZE, "%llu lines dropped\n",
                                         (unsigned long long)count);
    return (size_t)length;
}

static int compile(struct uvh_access_format *format, const uvhttp_access_log_options_t *options)
{
    if (options->pattern != NULL) {
        int err = uvh_access_format_compile(format, options->pattern, false);
        bool only_text =
            format->part_count == 0 || (format->part_count == 1 && format->text_length > 0);
        return err == 0 && only_text ? UVHTTP_EINVAL : err;
    }
    switch (options->format) {
    case UVHTTP_ACCESS_COMMON:
        return uvh_access_format_compile(format, uvh_access_format_common, false);
    case UVHTTP_ACCESS_COMBINED:
        return uvh_access_format_compile(format, uvh_access_format_combined, false);
    case UVHTTP_ACCESS_JSON:
        return uvh_access_format_compile(format, uvh_access_format_json, true);
    }
    return UVHTTP_EINVAL;
}

static int check(const uvhttp_access_log_options_t *options, size_t buffer_size,
                 uvhttp_error_t *error)
{
    const struct uvh_option_range range = {"buffer_size", buffer_size, LEAST_BUFFER_SIZE,
                                           MOST_BUFFER_SIZE, "bytes"};
    if (options->path == NULL || options->path[0] == '\0') {
        uvh_error_string(error, "path", "", "a file, a FIFO or \"-\" is needed");
        return UVHTTP_EINVAL;
    }
    return uvh_option_check(&range, 1, error) == 0 ? 0 : UVHTTP_EINVAL;
}

static void refuse_format(const struct uvh_access_format *format,
                          const uvhttp_access_log_options_t *options, uvhttp_error_t *error)
{
    if (options->pattern == NULL) {
        uvh_error_int(error, "format", (int)options->format, "allowed are 0 to 2");
        return;
    }
    char reason[128];
    const char *at = options->pattern + format->read;
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    size_t length = end == NULL ? 0 : (size_t)(end - at) + 1;
    if (*at == '\0')
        snprintf(reason, sizeof(reason), "it has no value, such as {client}");
    else if (format->part_count == UVH_ACCESS_PARTS || format->text_length == UVH_ACCESS_TEXT_SIZE)
        snprintf(reason, sizeof(reason), "it is too long");
    else if (*at != '{')
        snprintf(reason, sizeof(reason), "it has a control character");
    else if (end == NULL)
        snprintf(reason, sizeof(reason), "a brace is not closed; write a brace as {{");
    else
        snprintf(reason, sizeof(reason), "%.*s is an unknown name; write a brace as {{",
                 uvh_error_quoted(at, length < 64 ? length : 64), at);
    uvh_error_string(error, "pattern", options->pattern, reason);
}

static int create(uvhttp_access_log_t **log, const uvhttp_access_log_options_t *options,
                  uvhttp_error_t *error)
{
    if (log == NULL)
        return UVHTTP_EINVAL;
    *log = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
    size_t size = options->buffer_size != 0 ? options->buffer_size : DEFAULT_BUFFER_SIZE;
    int err = check(options, size, error);
    if (err != 0)
        return err;
    struct uvhttp_access_log *opened = uvh_alloc_zero(allocator, sizeof(*opened));
    if (opened == NULL)
        return UVHTTP_ENOMEM;
    opened->allocator = allocator;
    opened->sample = options->sample;
    err = compile(&opened->format, options);
    if (err != 0)
        refuse_format(&opened->format, options, error);
    if (err == 0)
        err = uvh_line_writer_open(
            &opened->writer,
            &(struct uvh_line_writer_config){.path = options->path,
                                             .buffer_size = size,
                                             .flush_ms = options->flush_ms != 0 ? options->flush_ms
                                                                                : DEFAULT_FLUSH_MS,
                                             .notice = write_notice,
                                             .notice_arg = &opened->format,
                                             .log = options->log,
                                             .log_arg = options->log_arg,
                                             .allocator = allocator});
    if (err != 0) {
        uvh_free(allocator, opened);
        return err;
    }
    *log = opened;
    return 0;
}

int uvhttp_access_log_new(uvhttp_access_log_t **log, const uvhttp_access_log_options_t *options,
                          uvhttp_error_t *error)
{
    uvh_error_clear(error);
    int err = create(log, options, error);
    if (err != 0 && err != UVHTTP_EINVAL && err != UVHTTP_ENOMEM && options != NULL)
        uvh_error_string(error, "path", options->path, uvhttp_strerror(err));
    return uvh_error_end(error, err);
}

void uvhttp_access_log_write(uvhttp_access_log_t *log, const uvhttp_access_facts_t *facts)
{
    char line[UVH_ACCESS_LINE_SIZE];
    if (log == NULL || facts == NULL)
        return;
    int zone = log->format.needs_zone ? zone_minutes(log, facts->outcome.unix_ms) : 0;
    uvh_line_writer_put(log->writer, line, uvh_access_format_line(&log->format, facts, zone, line));
}

/* True for the requests without a line. */
static bool leaves_out(struct uvhttp_access_log *log, const uvhttp_outcome_t *outcome)
{
    if (log->sample <= 1 || outcome->status >= 400 || outcome->aborted)
        return false;
    return atomic_fetch_add_explicit(&log->skipped, 1, memory_order_relaxed) % log->sample != 0;
}

static const char skipped; /* its address is the key */

int uvhttp_access_log_skip(uvhttp_request_t *request)
{
    return uvhttp_request_attach(request, &skipped, (void *)(uintptr_t)&skipped, NULL);
}

void uvhttp_access_log_finished(uvhttp_request_t *request, uvhttp_response_t *response,
                                const uvhttp_outcome_t *outcome, void *log)
{
    (void)response;
    struct uvhttp_access_log *to = log;
    if (to == NULL || outcome == NULL || uvhttp_request_attached(request, &skipped) != NULL ||
        leaves_out(to, outcome))
        return;
    /* Without an id of the server, the one sent by the client: the one field that needs a
     * search. */
    const char *id = to->format.needs_request_id ? uvhttp_request_id(request) : NULL;
    if (id == NULL && to->format.needs_request_id)
        id = uvhttp_request_header(request, "x-request-id");
    const uvhttp_trace_t *trace = to->format.needs_trace ? uvhttp_request_trace(request) : NULL;
    uvhttp_access_facts_t facts = {
        .client = uvh_slice(uvhttp_request_client_address(request)),
        .user = uvh_slice(uvhttp_auth_user(request)),
        .method = uvh_slice(uvhttp_request_method_name(request)),
        .target = uvhttp_request_target(request),
        .route = uvh_slice(uvhttp_request_route(request)),
        .host = uvhttp_request_field(request, UVHTTP_FIELD_HOST),
        .referer = uvhttp_request_field(request, UVHTTP_FIELD_REFERER),
        .user_agent = uvhttp_request_field(request, UVHTTP_FIELD_USER_AGENT),
        .request_id = uvh_slice(id),
        .trace_id = uvh_slice(trace == NULL ? NULL : trace->trace_id),
        .span_id = uvh_slice(trace == NULL ? NULL : trace->span_id),
        .http_minor = uvhttp_request_http_minor(request),
        .is_http2 = strcmp(uvhttp_request_protocol(request), "HTTP/2.0") == 0,
        .outcome = *outcome,
    };
    uvhttp_access_log_write(to, &facts);
}

void uvhttp_access_log_reopen(uvhttp_access_log_t *log)
{
    if (log != NULL)
        uvh_line_writer_reopen(log->writer);
}

uint64_t uvhttp_access_log_dropped(uvhttp_access_log_t *log)
{
    return log == NULL ? 0 : uvh_line_writer_counts(log->writer).dropped;
}

void uvhttp_access_log_free(void *log)
{
    uvhttp_access_log_t *old = log;
    if (old == NULL)
        return;
    uvh_line_writer_close(old->writer);
    uvh_free(old->allocator, old);
}

int uvhttp_access_log_use(uvhttp_server_t *server, const uvhttp_access_log_options_t *options)
{
    uvhttp_access_log_t *log;
    uvhttp_error_t error;
    if (uvhttp_access_log_new(&log, options, &error) != 0)
        return uvh_use_error(server, &error);
    int err = uvhttp_server_own(server, uvhttp_access_log_free, log);
    if (err == 0)
        uvhttp_server_on_finished(server, uvhttp_access_log_finished, log);
    else
        uvhttp_access_log_free(log);
    return err;
}
