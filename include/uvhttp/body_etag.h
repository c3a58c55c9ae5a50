/* Entity tags for answers that are made anew each time: a client that has the same bytes already is
 * answered with 304 and no body.
 *
 *     uvhttp_router_use(group, uvhttp_body_etag_handle_request, NULL);
 *
 * A 200 to GET or HEAD whose body is sent in one piece from memory gets a strong ETag (RFC 9110
 * section 8.8.3), a hash of its bytes, and If-Match and If-None-Match of the request are evaluated
 * with it (section 13): the answer may become 304 or 412. This saves the bytes on the wire, not the
 * work of making them. Left as they are: answers with an ETag of their own, with "Cache-Control:
 * no-store", in pieces, from files (uvhttp/static.h has tags of its own), larger than 16 MiB, and
 * those to HEAD without a body.
 *
 * The hash is 128 bits of XXH3: quick, and without equal values by chance, but not made to
 * withstand somebody who looks for two bodies with one hash. Whoever may do that can have
 * others keep what they have. The same bytes have the same tag on every machine. A middleware
 * that changes bodies (a compression) must be added behind this one: what was added last sees
 * an answer first. */
#ifndef UVHTTP_BODY_ETAG_H
#define UVHTTP_BODY_ETAG_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A middleware: lets every request pass, and looks at what is answered. `arg` is not used. Any
 * server, group or route. */
UVHTTP_EXPORT int uvhttp_body_etag_handle_request(uvhttp_request_t *request,
                                                  uvhttp_response_t *response, void *arg);

#ifdef __cplusplus
}
#endif

#endif
