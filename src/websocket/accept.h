/* The server's side of the opening handshake (RFC 6455 section 4.2): what a request has to be like,
 * what is agreed on, and the fields that say so.
 *
 * Knows requests and responses by their public functions, and nothing of connections and messages.
 * RFC 8441 (WebSocket over HTTP/2) does without the method, the upgrade and the key and keeps the
 * rest: its requests are looked at by a function that skips those and calls the same checks. Called
 * by websocket/endpoint.c, on the request's thread. */
#ifndef UVH_WEBSOCKET_ACCEPT_H
#define UVH_WEBSOCKET_ACCEPT_H

#include <uvhttp/request.h>
#include <uvhttp/response.h>

#include "codec/websocket/extension.h"
#include "options/option_text.h"

/* Of an endpoint. Lists end with NULL. */
struct uvh_ws_accept_rules {
    const char *const *protocols; /* the best first; NULL: none is spoken */
    bool protocol_required;
    const char *const *origins;                  /* whose browsers may come; NULL: all */
    const struct uvh_ws_deflate_wishes *deflate; /* NULL: no compression */
};

/* What was agreed on with one client. */
struct uvh_ws_accepted {
    const char *protocol; /* of rules->protocols, or "" */
    bool compressed;
    struct uvh_ws_deflate_terms terms; /* when compressed */
    size_t reserved;                   /* the caller's: of the budget, for the windows */
};

enum { UVH_WS_REFUSAL_SIZE = 256 };

/* Why a request is refused. */
struct uvh_ws_refusal {
    int status; /* 400, 403, 405 or 426 */
    char detail
        /* for who reads the answer: the value and the way out; one line, NUL-terminated */
        [UVH_WS_REFUSAL_SIZE];
};

/* Looks at whether the rules can be kept, when an endpoint is made. 0, or UVHTTP_ECONFIG with the
 * message written: a subprotocol that is no token or is there twice, one that is required of none,
 * an origin that is none. */
int uvh_ws_accept_check_rules(const struct uvh_ws_accept_rules *rules,
                              struct uvh_option_message message);

/* Looks at everything that may be refused. 0 with `*accepted` set, or UVHTTP_EINVAL with `*refusal`
 * set. */
int uvh_ws_accept_check(uvhttp_request_t *request, const struct uvh_ws_accept_rules *rules,
                        struct uvh_ws_accepted *accepted, struct uvh_ws_refusal *refusal);

/* Sets the fields of the 101: Sec-WebSocket-Accept, -Protocol and -Extensions. The two latter say
 * what was agreed on, so what somebody has set before is taken away when nothing was. For a request
 * that has passed the check. 0, or the errors of uvhttp_response_set_header. */
int uvh_ws_accept_fields(uvhttp_response_t *response, const struct uvh_ws_accepted *accepted);

/* Takes these fields away again: there is another answer. */
void uvh_ws_accept_take_back(uvhttp_response_t *response);

/* Answers a request that has not passed, with the fields that its status demands: for 426 the
 * protocol and the version to come back with, for 405 the method. Results of sending. */
int uvh_ws_accept_refuse(uvhttp_response_t *response, const struct uvh_ws_refusal *refusal);

#endif
