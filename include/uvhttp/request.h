/* The request: accessors for what the client sent.
 *
 * Strings and slices belong to the request and are NUL-terminated except where stated. They live
 * until the exchange ends, when the response is written or aborted. Functions do not fail except
 * where stated. They run on the thread of the handler: the loop thread or, for a blocking handler
 * (UVHTTP_ROUTE_BLOCKING), its own, which may call all but those for the loop thread. The work
 * callback of uvhttp_response_defer may also call these, because they do not allocate: method,
 * target, path, raw_path, query_string, param_path, header, field, header_count, header_at,
 * trailer, body, http_minor and user_data. */
#ifndef UVHTTP_REQUEST_H
#define UVHTTP_REQUEST_H

#include <uvhttp/field.h>
#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A request of an exchange, which owns it. */
typedef struct uvhttp_request uvhttp_request_t;
struct uvhttp_server; /* uvhttp_server_t of uvhttp/server.h */
struct uv_loop_s;

/* The method as a number (UVHTTP_METHOD_OTHER for an extension method), and as sent (RFC 9110
 * section 9). */
UVHTTP_EXPORT uvhttp_method_t uvhttp_request_method(const uvhttp_request_t *request);
UVHTTP_EXPORT const char *uvhttp_request_method_name(uvhttp_request_t *request);

/* The request target as sent (RFC 9112 section 3.2). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_target(uvhttp_request_t *request);

/* The path without the query: percent-decoded once, dot segments removed (RFC 3986 section 5.2.4;
 * a path that leads above the root was refused with 400). It always begins with '/', except "*" for
 * OPTIONS * and "" for CONNECT, which has no path.
 *
 * An encoded slash (%2F) stays encoded, so that it does not become a separator. So does the '%'
 * of a text that would otherwise read as one: "%2F" is a slash within a segment, "%252F" the
 * three characters "%2F". uvhttp_request_param decodes both. */
UVHTTP_EXPORT const char *uvhttp_request_path(uvhttp_request_t *request);
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_path_slice(uvhttp_request_t *request);

/* The path as sent, still encoded, without the query. Not NUL-terminated (the query follows it). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_raw_path(const uvhttp_request_t *request);

/* The target after the first '?', as sent; empty without one. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_query_string(uvhttp_request_t *request);

/* The first query parameter of that name, decoded ('+' and %XX, after splitting); "" without a
 * value. NULL when absent or out of memory. */
UVHTTP_EXPORT const char *uvhttp_request_query(uvhttp_request_t *request, const char *name);

/* The first field of that name in a form body (application/x-www-form-urlencoded), decoded as
 * above. NULL also when the body is not such a form. To iterate over all fields:
 * uvhttp_form_next. Forms with files: uvhttp/multipart.h. */
UVHTTP_EXPORT const char *uvhttp_request_form(uvhttp_request_t *request, const char *name);

/* The first cookie of that name, as sent (including quotes). NULL when absent or out of memory. */
UVHTTP_EXPORT const char *uvhttp_request_cookie(uvhttp_request_t *request, const char *name);

/* The value of the route's ":name" or "*name" parameter, decoded completely: "a%2Fb" becomes
 * "a/b". A '/' in the value of ":name" was therefore sent encoded, and one in "*name" may have
 * been. The name "*" finds the wildcard, whatever its name. NULL when the route has no such
 * parameter or out of memory. */
UVHTTP_EXPORT const char *uvhttp_request_param(uvhttp_request_t *request, const char *name);

/* The same parameters and fields as a decimal number from `min` to `max` (uvhttp_number_parse). One
 * that is absent leaves `*number` unchanged, so set it to the default before.
 *
 *     int64_t limit = 20;
 *     if (uvhttp_request_query_number(req, "limit", 1, 100, &limit) != 0)
 *         return uvhttp_response_send_error(res, 422, "limit is not a number from 1 to 100");
 *
 * Returns 0, or with `*number` unchanged
 *   UVHTTP_EINVAL  it is no such number; no `name` or `number` */
UVHTTP_EXPORT int uvhttp_request_query_number(uvhttp_request_t *request, const char *name,
                                              int64_t min, int64_t max, int64_t *number);
UVHTTP_EXPORT int uvhttp_request_form_number(uvhttp_request_t *request, const char *name,
                                             int64_t min, int64_t max, int64_t *number);
UVHTTP_EXPORT int uvhttp_request_param_number(uvhttp_request_t *request, const char *name,
                                              int64_t min, int64_t max, int64_t *number);

/* The pattern of the route that the router has found, with the prefixes of its groups
 * ("/notes/:id"); for a CORS preflight without a route of its own, that of the request it
 * announces. NULL without a route, and for a request that was rejected before routing. For logs and
 * metrics: unlike paths, patterns are few. It lives as long as the server. Any thread. */
UVHTTP_EXPORT const char *uvhttp_request_route(const uvhttp_request_t *request);

/* The parameter as in uvhttp_request_path, where every '/' is a separator; for code that splits
 * the value as a path. Not NUL-terminated. `base` is NULL when the route has no such parameter. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_param_path(uvhttp_request_t *request, const char *name);

/* The first field of that name (case-insensitive), or NULL. Optional white space around the
 * value is removed. */
UVHTTP_EXPORT const char *uvhttp_request_header(uvhttp_request_t *request, const char *name);

/* The first field of a known id; faster than by name. `base` is NULL when the field is absent. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_field(uvhttp_request_t *request, uvhttp_field_id_t id);

/* The number of fields, and the field at `index` (0-based), in wire order. Both slices have base
 * NULL past the end. */
UVHTTP_EXPORT size_t uvhttp_request_header_count(const uvhttp_request_t *request);
UVHTTP_EXPORT void uvhttp_request_header_at(uvhttp_request_t *request, size_t index,
                                            uvhttp_slice_t *name, uvhttp_slice_t *value);

/* The first trailer field of that name (RFC 9110 section 6.5), or NULL. Trailers are never merged
 * into the headers. */
UVHTTP_EXPORT const char *uvhttp_request_trailer(uvhttp_request_t *request, const char *name);

/* The same for trailer fields as uvhttp_request_header_count and uvhttp_request_header_at; they
 * are known at the end of the body. */
UVHTTP_EXPORT size_t uvhttp_request_trailer_count(const uvhttp_request_t *request);
UVHTTP_EXPORT void uvhttp_request_trailer_at(uvhttp_request_t *request, size_t index,
                                             uvhttp_slice_t *name, uvhttp_slice_t *value);

/* What a client may compare a representation with (RFC 9110 section 8.8). */
typedef struct uvhttp_validators {
    const char *etag; /* as sent: "\"v17\"", or "W/\"v17\"" for a weak one; NULL: none */
    int64_t modified; /* seconds since 1970; 0: unknown */
} uvhttp_validators_t;

/* Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC
 * 9110 section 13.2.2. Call it before a change, and before making a body that need not be sent.
 * `current` describes the representation that the request is for; NULL: there is none, for example
 * before PUT creates it. For a 304 set ETag, Cache-Control and Vary before it is sent, as for the
 * 200.
 *
 *     int status = uvhttp_request_precondition(req, &(uvhttp_validators_t){.etag = "\"v17\""});
 *     if (status != 0)
 *         return status < 0 ? status : uvhttp_response_send_status(res, status);
 *
 * Returns 0 to proceed, the status to send (304 or 412), or
 *   UVHTTP_EINVAL  the tag is not quoted, or has characters that are not allowed in one
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_request_precondition(uvhttp_request_t *request,
                                              const uvhttp_validators_t *current);

/* The complete body, for a handler, which runs once the body has arrived. Empty without a body,
 * in middleware (which runs when the head has arrived), and for routes with UVHTTP_ROUTE_STREAM,
 * which use uvhttp_request_on_body. Not NUL-terminated: it may point into the receive buffer,
 * with the next request following. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_body(const uvhttp_request_t *request);

/* The same body as a NUL-terminated string in valid UTF-8, for parsers of text. It is copied once,
 * and lives as long as the exchange. "" without a body. NULL if the body contains a NUL or is not
 * UTF-8, or when out of memory.
 *
 *     const char *text = uvhttp_request_body_text(req);
 *     if (text == NULL)
 *         return uvhttp_response_send_status(res, 400); */
UVHTTP_EXPORT const char *uvhttp_request_body_text(uvhttp_request_t *request);

/* "HTTP/2.0", "HTTP/1.1" or "HTTP/1.0"; static. */
UVHTTP_EXPORT const char *uvhttp_request_protocol(const uvhttp_request_t *request);

/* 0 for HTTP/1.0, else 1 (the minor version of RFC 9112 section 2.3): HTTP/2 has everything that
 * HTTP/1.1 has. */
UVHTTP_EXPORT int uvhttp_request_http_minor(const uvhttp_request_t *request);

/* The client's address as text without port ("127.0.0.1", "::1"; "unix:" for a Unix socket); ""
 * when the system no longer knows it. With trusted proxies (uvhttp_server_trust_proxies) it is
 * the address of the client before them. */
UVHTTP_EXPORT const char *uvhttp_request_client_address(uvhttp_request_t *request);

/* ---- Streamed request bodies, for routes with UVHTTP_ROUTE_STREAM ---- */

/* The response of an exchange: uvhttp/response.h. */
typedef struct uvhttp_response uvhttp_response_t;

/* Receives a chunk of the body, valid during the call only. `size` 0 means that the body is
 * complete; trailers are then available. Not called after the response is sent or the client has
 * disconnected. Returns 0, or a negative error, handled like that of a handler. */
typedef int (*uvhttp_body_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                              const char *data, size_t size, void *arg);

/* Limits the body of this request to `most` bytes, unless the route or an earlier call has a lower
 * limit. For middleware. A request with a larger Content-Length gets 413 before its body is read; a
 * chunked one gets 413 when it exceeds the limit.
 * Returns 0, or
 *   UVHTTP_EINVAL  the handler runs already */
UVHTTP_EXPORT int uvhttp_request_limit_body(uvhttp_request_t *request, uint64_t most);

/* Starts to read the body. Loop thread: from the handler or later; not from middleware, which runs
 * before the body. Until then nothing is read. A client that expects "100 Continue" does not get it
 * before this call, nor if the response has begun before it.
 *
 * For an empty or complete body the last call of `body` may happen before this function returns.
 * After a response sent without reading the body, up to 64 KiB of it are discarded; a larger or
 * chunked body closes the connection.
 * Returns 0, or
 *   UVHTTP_EINVAL         no function, the route buffers bodies, called before, or called by
 *                         middleware
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
UVHTTP_EXPORT int uvhttp_request_on_body(uvhttp_request_t *request, uvhttp_body_cb body, void *arg);

/* Pauses and resumes reading of the body. While paused nothing is read: flow control stops the
 * client, and body_timeout does not run. Loop thread, also from the body callback. Repeated
 * calls are allowed. */
UVHTTP_EXPORT void uvhttp_request_pause_body(uvhttp_request_t *request);
UVHTTP_EXPORT void uvhttp_request_resume_body(uvhttp_request_t *request);

/* The server, the number of the worker that serves the request (for uvhttp_server_post), and
 * that worker's loop. Handles on this loop may be used on its thread only. Close them before
 * the server has stopped, since a worker's loop ends only when it has no active handles. */
UVHTTP_EXPORT struct uvhttp_server *uvhttp_request_server(const uvhttp_request_t *request);
UVHTTP_EXPORT size_t uvhttp_request_worker(const uvhttp_request_t *request);
UVHTTP_EXPORT struct uv_loop_s *uvhttp_request_loop(const uvhttp_request_t *request);

/* True if the handler runs on a thread of its own (UVHTTP_ROUTE_BLOCKING) and must not call
 * functions of the loop thread. For middleware and handlers shared between both kinds of route.
 * Middleware before such a handler runs on the loop and gets false. */
UVHTTP_EXPORT bool uvhttp_request_is_blocking(const uvhttp_request_t *request);

/* The response to this request. */
UVHTTP_EXPORT uvhttp_response_t *uvhttp_request_response(uvhttp_request_t *request);

enum { UVHTTP_EXEMPLAR_SIZE = 64 }; /* with the NUL */

/* Makes the request an exemplar of the latency in the metrics (uvhttp_server_read_exemplars) when
 * it has finished, with the id of its trace, which is copied: for a program with tracing of its
 * own. uvhttp_request_trace does this for each trace that is sampled. Before the exchange has
 * finished, also in uvhttp_server_on_finished. The metrics write it like the value of a label
 * (uvhttp_metrics_escape).
 * Returns 0, or
 *   UVHTTP_EINVAL  no id, or one that is empty or has more than 63 bytes
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_request_set_exemplar(uvhttp_request_t *request, const char *trace_id);

/* Attaches a pointer to the exchange under a key (any unique address, for example of a static
 * variable), so that several middlewares and handlers do not conflict. `release` (may be NULL) is
 * called once with it when the exchange ends, in reverse order of attaching, or immediately if this
 * fails. A second call with a key replaces and releases the first.
 * Returns 0, or
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_request_attach(uvhttp_request_t *request, const void *key, void *data,
                                        void (*release)(void *data));
/* The pointer attached under the key, or NULL. */
UVHTTP_EXPORT void *uvhttp_request_attached(const uvhttp_request_t *request, const void *key);

/* A pointer stored with the exchange, for middleware to pass data to handlers. Initially NULL. */
UVHTTP_EXPORT void uvhttp_request_set_user_data(uvhttp_request_t *request, void *data);
UVHTTP_EXPORT void *uvhttp_request_user_data(const uvhttp_request_t *request);

/* Allocates `size` bytes that live as long as the exchange, aligned for any type; never free
 * them. NULL when out of memory. */
UVHTTP_EXPORT void *uvhttp_request_allocate(uvhttp_request_t *request, size_t size);

#ifdef __cplusplus
}
#endif

#endif
