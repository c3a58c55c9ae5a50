/* The overload guard of a worker (overload.h), connected to its loop and its requests.
 *
 * A shed request gets its response before middleware and handler, so that it costs little. Called
 * on the worker's thread. */
#ifndef UVH_SERVER_SHED_H
#define UVH_SERVER_SHED_H

#include "server/exchange.h"

/* Sets worker->overload and measures the loop from now on. The loop must be set up. */
void uvh_shed_begin(struct uvh_worker *worker);

/* With worker->overload: decides on a request whose route is known. True if it got a 503; the
 * exchange may be invalid then. */
bool uvh_shed_request(struct uvh_exchange *exchange);

#endif
