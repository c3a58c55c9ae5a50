/* Writes metrics in the Prometheus text format (version 0.0.4) or in OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/).
 *
 * Names are those of metric families: a counter gets "_total" here. `labels` is what is between the
 * braces, "" for none; values are escaped. Always true: the text is counted whole, and as much as
 * fits is written, NUL-terminated. */
#ifndef UVH_OBSERVE_METRICS_TEXT_H
#define UVH_OBSERVE_METRICS_TEXT_H

#include <uvhttp/server.h>

struct uvh_metrics_text {
    char *out;
    size_t size;
    size_t length;
    bool open;          /* OpenMetrics */
    int64_t created_ms; /* start of the counters, for OpenMetrics; 0: unknown */
};

/* `out` NULL: only counts. */
void uvh_metrics_text_init(struct uvh_metrics_text *text, char *out, size_t size);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void uvh_metrics_text_add(struct uvh_metrics_text *text, const char *format, ...);

/* NAME="VALUE", escaped, and `after`. */
void uvh_metrics_text_add_label(struct uvh_metrics_text *text, const char *name, const char *value,
                                const char *after);

/* The lines before the samples of a family. */
void uvh_metrics_text_begin(struct uvh_metrics_text *text, const char *name, const char *type,
                            const char *help);

/* One sample of a family. */
void uvh_metrics_text_gauge(struct uvh_metrics_text *text, const char *name, const char *labels,
                            uint64_t value);
void uvh_metrics_text_count(struct uvh_metrics_text *text, const char *name, const char *labels,
                            uint64_t value);
void uvh_metrics_text_count_time(struct uvh_metrics_text *text, const char *name,
                                 const char *labels, uint64_t microseconds);
void uvh_metrics_text_summary(struct uvh_metrics_text *text, const char *name, const char *labels,
                              const uvhttp_latency_t *latency);

/* `exemplars`: of each range, for OpenMetrics; NULL: none. */
void uvh_metrics_text_histogram(struct uvh_metrics_text *text, const char *name,
                                const uvhttp_latency_t *latency,
                                const uvhttp_exemplar_t *exemplars);

/* A family with one sample without labels. */
void uvh_metrics_text_counter(struct uvh_metrics_text *text, const char *name, const char *help,
                              uint64_t value);

/* A sample whose value is a time, without the name before it. */
void uvh_metrics_text_add_time(struct uvh_metrics_text *text, uint64_t microseconds);

#endif
