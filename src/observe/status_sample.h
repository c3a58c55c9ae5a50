/* The counters of a server at one moment, and the rates between two moments.
 *
 * status.c takes the samples; status_page.c and status_json.c write them. */
#ifndef UVH_OBSERVE_STATUS_SAMPLE_H
#define UVH_OBSERVE_STATUS_SAMPLE_H

#include <uvhttp/server.h>

#include "platform/process.h"

enum {
    UVH_STATUS_ROUTES = 10, /* with the most requests */
    UVH_STATUS_NAME_SIZE = 128,
    UVH_STATUS_HISTORY = 60, /* values of a graph */
};

struct uvh_status_route {
    char host[UVH_STATUS_NAME_SIZE]; /* "": the server itself; both may be cut */
    char route[UVH_STATUS_NAME_SIZE];
    uint64_t id; /* a hash of both as a whole */
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

/* Of the worker with that index, in the interval: its counters at the beginning; thousandths of the
 * time in which its loop worked; a bound that no loop iteration has reached, in microseconds, 0
 * without one. */
const struct uvh_status_worker *uvh_status_worker_before(const struct uvh_status_view *view,
                                                         size_t index);
uint64_t uvh_status_worker_busy(const struct uvh_status_view *view, size_t index);
uint64_t uvh_status_worker_delay(const struct uvh_status_view *view, size_t index);

/* Requests of a route before the interval; all of them if that is unknown, because other routes had
 * more. */
uint64_t uvh_status_route_before(const struct uvh_status_view *view,
                                 const struct uvh_status_route *route);

/* Thousandths of the time in which all loops worked. */
uint64_t uvh_status_busy(const struct uvh_status_view *view);

/* Appends the values of the view. */
void uvh_status_history_add(struct uvh_status_history *history, const struct uvh_status_view *view);

#endif
