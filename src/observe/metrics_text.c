/* See metrics_text.h. */
#include "observe/metrics_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/metrics.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { US_PER_SECOND = 1000000, MS_PER_SECOND = 1000, FIRST_BOUND_US = 64 };

void uvh_metrics_text_init(struct uvh_metrics_text *text, char *out, size_t size)
{
    *text = (struct uvh_metrics_text){.out = out, .size = out != NULL ? size : 0};
    if (text->size > 0)
        out[0] = '\0';
}

void uvh_metrics_text_add(struct uvh_metrics_text *text, const char *format, ...)
{
    bool full = text->length >= text->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(full ? NULL : text->out + text->length,
                           full ? 0 : text->size - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void uvh_metrics_text_add_label(struct uvh_metrics_text *text, const char *name, const char *value,
                                const char *after)
{
    uvh_metrics_text_add(text, "%s=\"", name);
    bool full = text->length >= text->size;
    text->length += uvhttp_metrics_escape(uvh_slice(value), full ? NULL : text->out + text->length,
                                          full ? 0 : text->size - text->length);
    uvh_metrics_text_add(text, "\"%s", after);
}

void uvh_metrics_text_begin(struct uvh_metrics_text *text, const char *name, const char *type,
                            const char *help)
{
    const char *total = !text->open && strcmp(type, "counter") == 0 ? "_total" : "";
    uvh_metrics_text_add(text, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total, help, name, total,
                         type);
}

static void add_name(struct uvh_metrics_text *text, const char *name, const char *suffix,
                     const char *labels)
{
    bool any = labels[0] != '\0';
    uvh_metrics_text_add(text, "%s%s%s%s%s", name, suffix, any ? "{" : "", labels, any ? "}" : "");
}

/* For OpenMetrics: when a sample that only grows was 0. */
static void add_created(struct uvh_metrics_text *text, const char *name, const char *labels)
{
    if (!text->open || text->created_ms == 0)
        return;
    add_name(text, name, "_created", labels);
    uvh_metrics_text_add(text, " %" PRId64 ".%03" PRId64 "\n", text->created_ms / MS_PER_SECOND,
                         text->created_ms % MS_PER_SECOND);
}

void uvh_metrics_text_gauge(struct uvh_metrics_text *text, const char *name, const char *labels,
                            uint64_t value)
{
    add_name(text, name, "", labels);
    uvh_metrics_text_add(text, " %" PRIu64 "\n", value);
}

void uvh_metrics_text_count(struct uvh_metrics_text *text, const char *name, const char *labels,
                            uint64_t value)
{
    add_name(text, name, "_total", labels);
    uvh_metrics_text_add(text, " %" PRIu64 "\n", value);
    add_created(text, name, labels);
}

void uvh_metrics_text_counter(struct uvh_metrics_text *text, const char *name, const char *help,
                              uint64_t value)
{
    uvh_metrics_text_begin(text, name, "counter", help);
    uvh_metrics_text_count(text, name, "", value);
}

void uvh_metrics_text_add_time(struct uvh_metrics_text *text, uint64_t microseconds)
{
    uvh_metrics_text_add(text, " %" PRIu64 ".%06" PRIu64 "\n", microseconds / US_PER_SECOND,
                         microseconds % US_PER_SECOND);
}

void uvh_metrics_text_count_time(struct uvh_metrics_text *text, const char *name,
                                 const char *labels, uint64_t microseconds)
{
    add_name(text, name, "_total", labels);
    uvh_metrics_text_add_time(text, microseconds);
    add_created(text, name, labels);
}

static void add_sum_and_count(struct uvh_metrics_text *text, const char *name, const char *labels,
                              const uvhttp_latency_t *latency)
{
    add_name(text, name, "_sum", labels);
    uvh_metrics_text_add_time(text, latency->sum_us);
    add_name(text, name, "_count", labels);
    uvh_metrics_text_add(text, " %" PRIu64 "\n", latency->count);
    add_created(text, name, labels);
}

void uvh_metrics_text_summary(struct uvh_metrics_text *text, const char *name, const char *labels,
                              const uvhttp_latency_t *latency)
{
    static const char *const quantiles[] = {"0.5", "0.9", "0.99", "0.999", "1"};
    const uint64_t values[] = {latency->p50_us, latency->p90_us, latency->p99_us, latency->p999_us,
                               latency->max_us};
    const char *comma = labels[0] != '\0' ? "," : "";
    for (unsigned i = 0; i < UVH_COUNT_OF(values); i++) {
        /* OpenMetrics, "Canonical Numbers": 1.0 */
        const char *end = text->open && i == UVH_COUNT_OF(values) - 1 ? ".0" : "";
        uvh_metrics_text_add(text, "%s{%s%squantile=\"%s%s\"}", name, labels, comma, quantiles[i],
                             end);
        uvh_metrics_text_add_time(text, values[i]);
    }
    add_sum_and_count(text, name, labels, latency);
}

static void end_bucket(struct uvh_metrics_text *text, uint64_t count,
                       const uvhttp_exemplar_t *exemplar)
{
    uvh_metrics_text_add(text, " %" PRIu64, count);
    if (!text->open || exemplar == NULL || exemplar->trace_id[0] == '\0') {
        uvh_metrics_text_add(text, "\n");
        return;
    }
    uvh_metrics_text_add(text, " # {");
    uvh_metrics_text_add_label(text, "trace_id", exemplar->trace_id, "}");
    uvh_metrics_text_add(text, " %" PRIu64 ".%06" PRIu64 " %" PRId64 ".%03" PRId64 "\n",
                         exemplar->duration_us / US_PER_SECOND,
                         exemplar->duration_us % US_PER_SECOND, exemplar->unix_ms / MS_PER_SECOND,
                         exemplar->unix_ms % MS_PER_SECOND);
}

/* Buckets can be summed over processes, percentiles cannot. */
void uvh_metrics_text_histogram(struct uvh_metrics_text *text, const char *name,
                                const uvhttp_latency_t *latency, const uvhttp_exemplar_t *exemplars)
{
    for (unsigned i = 0; i < UVHTTP_LATENCY_BOUNDS; i++) {
        uint64_t bound = (uint64_t)FIRST_BOUND_US << i;
        uvh_metrics_text_add(text, "%s_bucket{le=\"%" PRIu64 ".%06" PRIu64 "\"}", name,
                             bound / US_PER_SECOND, bound % US_PER_SECOND);
        end_bucket(text, latency->below[i], exemplars == NULL ? NULL : &exemplars[i]);
    }
    uvh_metrics_text_add(text, "%s_bucket{le=\"+Inf\"}", name);
    end_bucket(text, latency->count, exemplars == NULL ? NULL : &exemplars[UVHTTP_LATENCY_BOUNDS]);
    add_sum_and_count(text, name, "", latency);
}
