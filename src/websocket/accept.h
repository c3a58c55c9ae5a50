/* The server side of the opening handshake (RFC 6455 section 4.2): validates a request, negotiates,
 * and sets the response fields.
 *
 * Uses requests and responses by their public functions, and is independent of connections and
 * messages. A handshake over HTTP/2 (RFC 8441) has no key; the server presents its extended CONNECT
 * as a GET with Upgrade. Called on the request's thread. */
#ifndef UVH_WEBSOCKET_ACCEPT_H
#define UVH_WEBSOCKET_ACCEPT_H

#include <uvhttp/request.h>
#include <uvhttp/response.h>

#include "codec/websocket/extension.h"
#include "options/error.h"

/* Of an endpoint. Lists end with NULL. */
struct uvh_ws_accept_rules {
    const char *const *protocols; /* in order of preference; NULL: none is supported */
    bool protocol_required;
    const char *const *origins;                       /* allowed origins of browsers; NULL: all */
    const struct uvh_ws_deflate_preferences *deflate; /* NULL: no compression */
};

/* The result of the negotiation with one client. */
struct uvh_ws_accepted {
    const char *protocol; /* of rules->protocols, or "" */
    bool compressed;
    struct uvh_ws_deflate_terms terms; /* when compressed */
    size_t reserved;                   /* set by the caller: bytes reserved for windows */
};

enum { UVH_WS_REFUSAL_SIZE = 256 };

/* Why a request is refused. */
struct uvh_ws_refusal {
    int status; /* 400, 403, 405 or 426 */
    /* For the client: the value and how to fix it; one line, NUL-terminated. */
    char detail[UVH_WS_REFUSAL_SIZE];
};

/* Validates the rules when an endpoint is created. Returns 0, or UVHTTP_ECONFIG with a message: a
 * subprotocol that is no token or is listed twice, a required one without a list, an invalid
 * origin. */
int uvh_ws_accept_check_rules(const struct uvh_ws_accept_rules *rules, uvhttp_error_t *error);

/* Validates the whole request. Returns 0 with `*accepted` set, or UVHTTP_EINVAL with `*refusal`
 * set. */
int uvh_ws_accept_check(uvhttp_request_t *request, const struct uvh_ws_accept_rules *rules,
                        struct uvh_ws_accepted *accepted, struct uvh_ws_refusal *refusal);

/* Sets the fields of the 101: Sec-WebSocket-Accept, -Protocol and -Extensions. The latter two
 * contain the result of the negotiation; without one, values set earlier are removed. Requires a
 * request that passed the check. Returns 0, or an error of uvhttp_response_set_header. */
int uvh_ws_accept_fields(uvhttp_response_t *response, const struct uvh_ws_accepted *accepted);

/* Removes these fields: another response is sent. */
void uvh_ws_accept_take_back(uvhttp_response_t *response);

/* Sends the response to a refused request, with the fields its status requires: for 426 the
 * protocol and the version to retry with, for 405 the method. Returns the result of sending. */
int uvh_ws_accept_refuse(uvhttp_response_t *response, const struct uvh_ws_refusal *refusal);

#endif
