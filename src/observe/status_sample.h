/* The counters of a server at one moment, and the rates between two moments.
 *
 * status.c takes the samples; status_page.c and status_json.c write them. */
#ifndef UVH_OBSERVE_STATUS_SAMPLE_H
#define UVH_OBSERVE_STATUS_SAMPLE_H

#include <uvhttp/server.h>

#include "platform/process.h"

enum {
    UVH_STATUS_ROUTES = 10, /* methods of routes with the most requests */
    UVH_STATUS_NAME_SIZE = 128,
    UVH_STATUS_HISTORY = 60, /* values of a graph */
};

/* One method of a route. */
struct uvh_status_route {
    const char *method;              /* static */
    char host[UVH_STATUS_NAME_SIZE]; /* "": the server itself; both may be cut */
    char route[UVH_STATUS_NAME_SIZE];
    uint64_t id; /* a hash of method, host and route before they are cut */
    uint64_t count;
    uint64_t duration_us;
    uint64_t client_errors;
    uint64_t server_errors;
};

struct uvh_status_worker {
    size_t connections;
    uint64_t requests;
    uint64_t busy_us;
    uint64_t time_us;
    uvhttp_latency_t delay;
};

struct uvh_status_sample {
    uint64_t at_us; /* by a monotonic clock; 0: an empty sample, before all others */
    int64_t unix_ms;
    uvhttp_stats_t stats;
    uvhttp_latency_counts_t latency;
    struct uvh_process_figures process;
    size_t route_count;
    struct uvh_status_route routes[UVH_STATUS_ROUTES];
    size_t worker_count;
    struct uvh_status_worker workers[];
};

/* The lines of the graphs. */
enum uvh_status_line {
    UVH_STATUS_REQUESTS = 0, /* thousandths a second */
    UVH_STATUS_LATENCY,      /* the 99th percentile, microseconds */
    UVH_STATUS_CONNECTIONS,
    UVH_STATUS_BUSY,     /* thousandths of the time */
    UVH_STATUS_RECEIVED, /* thousandths of a byte a second */
    UVH_STATUS_SENT,
    UVH_STATUS_LINES
};

struct uvh_status_history {
    size_t count;
    uint64_t values[UVH_STATUS_LINES][UVH_STATUS_HISTORY]; /* oldest first */
};

/* What is shown. */
struct uvh_status_view {
    const struct uvh_status_sample *before, *after;
    const struct uvh_status_history *history;
};

size_t uvh_status_sample_size(size_t workers);

/* Fills a sample of that many workers; memory of uvh_status_sample_size. */
void uvh_status_sample_take(struct uvh_status_sample *sample, uvhttp_server_t *server,
                            size_t workers);

/* Length of the interval. The first one begins when the server began to listen. */
uint64_t uvh_status_interval_us(const struct uvh_status_view *view);

/* The growth of a counter, in thousandths a second. */
uint64_t uvh_status_rate(const struct uvh_status_view *view, uint64_t before, uint64_t after);

/* Of the exchanges that ended in the interval. */
void uvh_status_latency(const struct uvh_status_view *view, uvhttp_latency_t *latency);

/* Thousandths; 0 if `whole` is 0. */
uint64_t uvh_status_share(uint64_t part, uint64_t whole);

/* The counters of a worker when the interval began. */
const struct uvh_status_worker *uvh_status_worker_before(const struct uvh_status_view *view,
                                                         size_t index);
/* Its share of the interval that its loop worked, in thousandths. */
uint64_t uvh_status_worker_busy(const struct uvh_status_view *view, size_t index);
/* A bound above the longest iteration of its loop in the interval, in microseconds: a power of two
 * times 64, at most 268 s, which longer ones have, too. 0: there was no iteration. */
uint64_t uvh_status_worker_delay(const struct uvh_status_view *view, size_t index);

/* Requests of a route before the interval. If that is unknown, because other routes had more, it is
 * all of them, so its rate is 0. */
uint64_t uvh_status_route_before(const struct uvh_status_view *view,
                                 const struct uvh_status_route *route);

/* The share of their time that the loops of all workers together worked, in thousandths. */
uint64_t uvh_status_busy(const struct uvh_status_view *view);

/* Appends the values of the view. */
void uvh_status_history_add(struct uvh_status_history *history, const struct uvh_status_view *view);

#endif
