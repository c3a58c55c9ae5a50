/* uvhttp: an embeddable server of HTTP/1.1 and HTTP/2 on libuv.
 *
 * A complete program:
 *
 *     #include <uvhttp.h>
 *
 *     static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     {
 *         (void)req, (void)arg;
 *         return uvhttp_response_send_text(res, 200, "Hello, world\n");
 *     }
 *
 *     int main(void)
 *     {
 *         uvhttp_server_t *server = uvhttp_server_new(NULL);
 *         int err = uvhttp_server_route(server, "GET", "/", hello, NULL);
 *         if (err == 0) err = uvhttp_server_listen(server, "127.0.0.1", 8080);
 *         if (err == 0) err = uvhttp_server_run(server);
 *         if (err) fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
 *         uvhttp_server_free(server);
 *         return err != 0;
 *     }
 *
 * Not included: a client, a proxy, a template engine, a database. No thread is started per
 * connection.
 *
 * NULL: arguments of callbacks (request, response, stream, WebSocket connection, filter output) are
 * never NULL, and must not be NULL when passed to a function, unless stated. Every other pointer
 * may be NULL. An optional one then takes its default, or is not set. A required one is rejected:
 * UVHTTP_EINVAL; or NULL, 0 or false from a function without a code; a function without a result
 * does nothing. A server, router, static context, hub, topics, WebSocket endpoint or prepared
 * fields that are NULL because their creation failed give UVHTTP_ENOMEM (or NULL or 0), so that
 * only the last of several calls needs a check. docs/errors.md has a table.
 *
 * Headers: server.h (server lifecycle), router.h (patterns), request.h, response.h, config.h
 * (limits), error.h. Bodies: upload.h and form_data.h (file uploads), file.h, multipart.h (form
 * parser), event_hub.h and sse.h (server-sent events), stream.h (upgrades), static.h (directories),
 * cookie.h, signed_cookie.h, negotiate.h, text.h (encoders, media types), template.h. WebSocket:
 * websocket.h (server and client connections), topics.h (publish and subscribe). Middleware:
 * cors.h, auth.h, passwords.h, secret.h, address_rules.h, rate_limit.h, size_limit.h,
 * request_id.h, security_headers.h, body_etag.h, compress.h. TLS: tls.h, and tls_client.h for
 * clients. Monitoring: health.h, metrics.h, status_page.h, access_log.h, trace.h. The parser
 * without libuv: parser.h. */
#ifndef UVHTTP_H
#define UVHTTP_H

#include <stdio.h>

#include <uvhttp/access_log.h>
#include <uvhttp/address_rules.h>
#include <uvhttp/auth.h>
#include <uvhttp/body_etag.h>
#include <uvhttp/compress.h>
#include <uvhttp/config.h>
#include <uvhttp/cookie.h>
#include <uvhttp/cors.h>
#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/event_hub.h>
#include <uvhttp/file.h>
#include <uvhttp/form_data.h>
#include <uvhttp/health.h>
#include <uvhttp/metrics.h>
#include <uvhttp/multipart.h>
#include <uvhttp/negotiate.h>
#include <uvhttp/passwords.h>
#include <uvhttp/rate_limit.h>
#include <uvhttp/request.h>
#include <uvhttp/request_id.h>
#include <uvhttp/response.h>
#include <uvhttp/router.h>
#include <uvhttp/secret.h>
#include <uvhttp/security_headers.h>
#include <uvhttp/server.h>
#include <uvhttp/signed_cookie.h>
#include <uvhttp/size_limit.h>
#include <uvhttp/sse.h>
#include <uvhttp/static.h>
#include <uvhttp/status_page.h>
#include <uvhttp/stream.h>
#include <uvhttp/template.h>
#include <uvhttp/text.h>
#include <uvhttp/tls.h>
#include <uvhttp/tls_client.h>
#include <uvhttp/topics.h>
#include <uvhttp/trace.h>
#include <uvhttp/types.h>
#include <uvhttp/upload.h>
#include <uvhttp/websocket.h>

#endif
