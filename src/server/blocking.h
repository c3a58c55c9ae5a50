/* Handlers that may block (UVHTTP_ROUTE_BLOCKING): they run on a thread of the server's pool, and
 * the loop goes on meanwhile.
 *
 * Such a handler never touches its exchange. It gets a copy of the request and a response of its
 * own, a second exchange with memory of its own, whose protocol hands what is sent over to the
 * loop. So a client may go, a timeout may strike and the server may stop while it runs: it is told
 * by the next call, and what it still does reaches nobody. */
#ifndef UVH_SERVER_BLOCKING_H
#define UVH_SERVER_BLOCKING_H

#include "server/exchange.h"

/* Has the route's handler run. Holds the exchange until it has. 0; an error when it could not be
 * started. */
int uvh_blocking_start(struct uvh_exchange *exchange);

/* True when a handler that blocks has this exchange. */
bool uvh_blocking_is(const struct uvh_exchange *exchange);

#endif
