/* Entity tags for dynamic responses: a client that already has the same bytes gets 304 without a
 * body.
 *
 *     uvhttp_router_use(group, uvhttp_body_etag_handle_request, NULL);
 *
 * A 200 to GET or HEAD with a body sent as a whole from memory gets a strong ETag (RFC 9110 section
 * 8.8.3), a hash of its bytes. If-Match and If-None-Match are evaluated with it (section 13): the
 * response may become 304 or 412. This saves transfer, not the generation of the body. An ETag and
 * Last-Modified of the handler are kept, and the conditions evaluated with them. A handler that
 * knows its tag before it makes the body calls uvhttp_request_precondition. Unchanged are responses
 * with "Cache-Control: no-store" and no ETag, streamed, from files (uvhttp/static.h has its own
 * tags), above 16 MiB without an ETag, and those to HEAD without a body.
 *
 * The hash is 128-bit XXH3: fast, without accidental collisions, but not collision-resistant
 * against an attacker. An attacker who can create two bodies with one hash can make clients keep
 * an outdated body. The same bytes have the same tag on every machine. Add a middleware that
 * changes bodies (compression) after this one: the last one added runs first on a response. */
#ifndef UVHTTP_BODY_ETAG_H
#define UVHTTP_BODY_ETAG_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A middleware: passes every request and handles its response. `arg` is not used. For any
 * server, group or route. */
UVHTTP_EXPORT int uvhttp_body_etag_handle_request(uvhttp_request_t *request,
                                                  uvhttp_response_t *response, void *arg);

#ifdef __cplusplus
}
#endif

#endif
