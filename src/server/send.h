/* What all sending comes down to: a response that is complete as a value, or whose head is, handed to the exchange's protocol. */
#ifndef UVH_SERVER_SEND_H
#define UVH_SERVER_SEND_H

#include "server/exchange.h"

/* Shows the response to its hooks and hands it over. On failure it is open as before, and the body's release callback has run. */
int uvh_send(struct uvhttp_response *response, int status, const char *content_type,
             const struct uvh_body *body);

#endif
