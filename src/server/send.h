/* The common path of all send functions: a response that is complete as a value, or whose head is,
 * is passed to the exchange's protocol. */
#ifndef UVH_SERVER_SEND_H
#define UVH_SERVER_SEND_H

#include "conn/output.h"
#include "server/exchange.h"

/* Runs the response's hooks and passes it on. On failure it is open as before, and the body's
 * release callback has run. */
int uvh_send(struct uvhttp_response *response, int status, const char *content_type,
             const struct uvh_body *body);

/* The entries of a body that is not empty, for the output: `single`, or an array in the arena for a
 * body in several parts. NULL when out of memory. Called by protocols. */
struct uvh_output_entry *uvh_send_entries(const struct uvh_body *body, struct uvh_arena *arena,
                                          struct uvh_output_entry *single);

/* Lets the application change an error response of the server, whose reason is set
 * (send_error.c). */
void uvh_send_error_form(struct uvh_exchange *exchange);

/* Runs the hooks from this one on (NULL: none) and passes the response on, or defers that. On
 * failure the caller restores the response. */
int uvh_send_from(struct uvhttp_response *response, struct uvh_send_hook *hook);

/* A hook has deferred the response: `next` follows it. With `err` the response is not sent. Returns
 * `err`. */
int uvh_send_suspend(struct uvhttp_response *response, struct uvh_send_hook *next, int err);

/* Passes a chunk (which may be empty) and then an event to the response's filters, and their output
 * to the protocol. The exchange must be referenced. Returns 0; UVHTTP_ELENGTH and UVHTTP_EFULL
 * (never at the end) with nothing taken; UVHTTP_EDISCONNECTED; other errors end the stream. */
int uvh_send_filtered(struct uvh_exchange *exchange, uvhttp_filter_event_t event,
                      uvhttp_slice_t chunk);

/* Sends a chunk that does not come from the handler at once, through the filters if any. Errors as
 * for a protocol's write. */
int uvh_send_beside(struct uvh_exchange *exchange, uvhttp_slice_t chunk);

/* True when the budget of this loop iteration is used up (write_budget.h), so that a write would
 * fail; uvh_exchange_drained is called in a later iteration. */
bool uvh_send_has_to_wait(struct uvh_exchange *exchange);

#endif
