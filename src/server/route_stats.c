/* A dense table per worker, created with its first exchange: rows for routes, one more for requests
 * without a route, and one for the routes beyond the limit. */
#include "server/route_stats.h"

#include "base/alloc.h"
#include "base/counter.h"
#include "codec/http1/method.h"
#include "route/router.h"
#include "server/server.h"

enum { CLASS_COUNT = 5 }; /* 1xx to 5xx */

struct cell {
    _Atomic uint64_t count;
    _Atomic uint64_t microseconds;
};

struct uvh_route_stats {
    size_t separate; /* routes with rows of their own, before those of UNMATCHED and OTHERS */
    struct cell rows[][UVHTTP_METHOD_COUNT][CLASS_COUNT];
};

enum { UNMATCHED = 0, OTHERS, EXTRA_ROWS };

static size_t separate_routes(const struct uvh_generation *generation)
{
    size_t count = uvh_router_count(generation->router);
    size_t most = generation->server->config.route_stats;
    return count < most ? count : most;
}

static struct uvh_route_stats *open_table(struct uvh_use *use)
{
    size_t separate = separate_routes(use->generation);
    struct uvh_route_stats *stats =
        uvh_alloc_zero(use->generation->server->allocator,
                       sizeof(*stats) + (separate + EXTRA_ROWS) * sizeof(*stats->rows));
    if (stats != NULL)
        stats->separate = separate;
    atomic_store_explicit(&use->route_stats, stats, memory_order_release);
    return stats;
}

void uvh_route_stats_count(struct uvh_use *use, const struct uvh_route *route,
                           uvhttp_method_t method, const uvhttp_outcome_t *outcome)
{
    struct uvh_route_stats *stats = atomic_load_explicit(&use->route_stats, memory_order_relaxed);
    if (stats == NULL && (stats = open_table(use)) == NULL)
        return;
    size_t row = stats->separate + UNMATCHED;
    if (route != NULL)
        row = route->index < stats->separate ? route->index : stats->separate + OTHERS;
    struct cell *cell = &stats->rows[row][method][outcome->status / 100 - 1];
    uvh_counter_add(&cell->count, 1);
    uvh_counter_add(&cell->microseconds, outcome->duration_us);
}

/* Adds the workers' counters of one cell. */
static void add_cells(const struct uvh_generation *generation, size_t row, size_t method,
                      size_t class, uvhttp_route_stats_t *sum)
{
    for (size_t i = 0; i < generation->server->config.workers; i++) {
        struct uvh_route_stats *stats =
            atomic_load_explicit(&generation->uses[i].route_stats, memory_order_acquire);
        if (stats == NULL)
            continue;
        sum->count += uvh_counter_read(&stats->rows[row][method][class].count);
        sum->duration_us += uvh_counter_read(&stats->rows[row][method][class].microseconds);
    }
}

static int each_of_row(const struct uvh_generation *generation, size_t row,
                       const uvhttp_route_stats_t *labels, uvhttp_route_stats_cb each, void *arg)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < UVHTTP_METHOD_COUNT * CLASS_COUNT; i++) {
        uvhttp_method_t method = (uvhttp_method_t)(i / CLASS_COUNT);
        uvhttp_route_stats_t sum = *labels;
        sum.method = method == UVHTTP_METHOD_OTHER ? "other" : uvh_method_name(method);
        sum.status_class = (int)(i % CLASS_COUNT) + 1;
        add_cells(generation, row, method, i % CLASS_COUNT, &sum);
        if (sum.count > 0)
            result = each(&sum, arg);
    }
    return result;
}

static int each_row(const struct uvh_generation *generation, uvhttp_route_stats_cb each, void *arg)
{
    static const char *const names[EXTRA_ROWS] = {"unmatched", "others"};
    size_t separate = separate_routes(generation);
    const struct uvh_route *route = uvh_router_first(generation->router);
    int result = 0;
    for (size_t row = 0; result == 0 && row < separate; row++, route = route->next_added)
        result = each_of_row(
            generation, row,
            &(uvhttp_route_stats_t){.route = route->pattern, .host = uvh_router_host(route)}, each,
            arg);
    for (size_t i = 0; result == 0 && i < EXTRA_ROWS; i++)
        result = each_of_row(generation, separate + i, &(uvhttp_route_stats_t){.route = names[i]},
                             each, arg);
    return result;
}

int uvhttp_server_each_route_stats(uvhttp_server_t *view, uvhttp_route_stats_cb each, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (each == NULL)
        return UVHTTP_EINVAL;
    if (uvh_server_workers(server) == NULL || server->config.route_stats == 0)
        return 0;
    struct uvh_generation *generation = uvh_generation_hold(server);
    int result = each_row(generation, each, arg);
    uvh_generation_drop(generation);
    return result;
}
