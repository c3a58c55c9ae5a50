/* Handlers that may block (UVHTTP_ROUTE_BLOCKING) run on a thread of the server's pool, so that the
 * loop continues.
 *
 * Such a handler never accesses its exchange. It gets a copy of the request, and a proxy exchange
 * with its own response and memory, whose protocol passes output to the loop. The client may
 * disconnect, a timeout may expire and the server may stop while it runs: its next call then
 * returns an error, and further output is discarded. */
#ifndef UVH_SERVER_BLOCKING_H
#define UVH_SERVER_BLOCKING_H

#include "server/exchange.h"

/* Queues the route's handler on the pool, and references the exchange until it has returned.
 * Returns 0, or an error when it could not be queued. */
int uvh_blocking_start(struct uvh_exchange *exchange);

/* True for the proxy exchange of a blocking handler. */
bool uvh_blocking_is(const struct uvh_exchange *exchange);

#endif
