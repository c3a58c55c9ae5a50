/* What all sending comes down to: a response that is complete as a value, or whose head is, handed
 * to the exchange's protocol. */
#ifndef UVH_SERVER_SEND_H
#define UVH_SERVER_SEND_H

#include "server/exchange.h"

/* Shows the response to its hooks and hands it over. On failure it is open as before, and the
 * body's release callback has run. */
int uvh_send(struct uvhttp_response *response, int status, const char *content_type,
             const struct uvh_body *body);

/* Gives a piece (which may be empty) and then an event to the filters of a response that has some,
 * and what they make of it to the protocol; the exchange is held. 0; UVHTTP_ELENGTH and
 * UVHTTP_EFULL (never at the end) with nothing taken; UVHTTP_EGONE; other errors end the stream. */
int uvh_send_filtered(struct uvh_exchange *exchange, uvhttp_filter_event_t event,
                      uvhttp_slice_t piece);

/* A piece that is not the handler's, which leaves at once: through the filters where there are
 * some. Errors as for a protocol's write. */
int uvh_send_beside(struct uvh_exchange *exchange, uvhttp_slice_t piece);

/* True when the budget of this loop iteration is spent (write_budget.h), so that a write would be
 * refused: uvh_exchange_drained is called in a later one. */
bool uvh_send_has_to_wait(struct uvh_exchange *exchange);

#endif
