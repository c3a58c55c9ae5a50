/* Counters of exchanges by route, method and status class (config->route_stats).
 *
 * Invariants: their number is fixed by the routes, never by what clients send. A worker writes only
 * its own counters, which any thread may read. An exchange is counted when it has finished. */
#ifndef UVH_SERVER_ROUTE_STATS_H
#define UVH_SERVER_ROUTE_STATS_H

#include <uvhttp/response.h>

#include "server/generation.h"

struct uvh_route;

/* `route` NULL: none. When out of memory nothing is counted. */
void uvh_route_stats_count(struct uvh_use *use, const struct uvh_route *route,
                           uvhttp_method_t method, const uvhttp_outcome_t *outcome);

#endif
