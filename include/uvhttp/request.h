/* The request: what the client asked for, as values.
 *
 * Always true: every string and slice a request gives is NUL-terminated except where stated,
 * belongs to the request, and lives until the exchange ends, that is until the response has been
 * written or aborted. None of the functions fails except where stated. All run on the thread of the
 * server's loop. Inside uvhttp_response_defer's work callback these may be called too, since they
 * take no memory: method, target, path, raw_path, query_string, param_path, header, field,
 * header_count, header_at, trailer, body, http_minor and user_data. */
#ifndef UVHTTP_REQUEST_H
#define UVHTTP_REQUEST_H

#include <uvhttp/field.h>
#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A request: one half of an exchange, and borrowed from it. */
typedef struct uvhttp_request uvhttp_request_t;
struct uvhttp_server; /* uvhttp_server_t of uvhttp/server.h */
struct uv_loop_s;

/* The method as a number (UVHTTP_METHOD_OTHER for an extension method) and as sent (RFC 9110
 * section 9). */
UVHTTP_EXPORT uvhttp_method_t uvhttp_request_method(const uvhttp_request_t *request);
UVHTTP_EXPORT const char *uvhttp_request_method_name(uvhttp_request_t *request);

/* The request target as sent (RFC 9112 section 3.2). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_target(uvhttp_request_t *request);

/* The path: percent-decoded once, dot segments removed (RFC 3986 section 5.2.4), always beginning
 * with '/' ("*" for OPTIONS *), without the query. An encoded slash (%2F) is left encoded, so that
 * it never becomes a separator, and so is the '%' of a text that would read as one: "%2F" is a
 * slash inside a segment, "%252F" the three characters "%2F". uvhttp_request_param decodes both.
 * Empty for CONNECT, which has no path. */
UVHTTP_EXPORT const char *uvhttp_request_path(uvhttp_request_t *request);
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_path_slice(uvhttp_request_t *request);

/* The path as sent, still encoded, without the query. Not NUL-terminated (the query follows it). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_raw_path(const uvhttp_request_t *request);

/* All that follows the first '?' of the target, as sent; empty when there is none. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_query_string(uvhttp_request_t *request);

/* The first query parameter of that name, decoded ('+' and %XX, after splitting); "" when it has no
 * value, NULL when it is absent or memory ran out. */
UVHTTP_EXPORT const char *uvhttp_request_query(uvhttp_request_t *request, const char *name);

/* The first field of that name of a form (application/x-www-form-urlencoded) that is the body of
 * this request, decoded as above; NULL also when the body is no such form. For all of them, in
 * order: uvhttp_form_next. For forms with files: uvhttp/multipart.h. */
UVHTTP_EXPORT const char *uvhttp_request_form(uvhttp_request_t *request, const char *name);

/* The first cookie of that name, as it was sent (quotes included); NULL when it is absent or memory
 * ran out. */
UVHTTP_EXPORT const char *uvhttp_request_cookie(uvhttp_request_t *request, const char *name);

/* The value of the route's ":name" or "*name" segment, decoded completely: "a%2Fb" comes out as
 * "a/b", so a '/' in the value of ":name" was sent encoded, and one of "*name" may have been. The
 * name "*" finds the wildcard whatever it is called. NULL when the route has no such parameter or
 * memory ran out. */
UVHTTP_EXPORT const char *uvhttp_request_param(uvhttp_request_t *request, const char *name);

/* The same as it stands in uvhttp_request_path, where every '/' separates: for what takes the value
 * apart as a path. Not NUL-terminated. `base` is NULL when the route has no such parameter. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_param_path(uvhttp_request_t *request, const char *name);

/* The first field of that name (case does not matter), or NULL. Optional white space around the
 * value is removed. */
UVHTTP_EXPORT const char *uvhttp_request_header(uvhttp_request_t *request, const char *name);

/* The same by known id, quicker; `base` is NULL when the field is absent. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_field(uvhttp_request_t *request, uvhttp_field_id_t id);

/* All fields in wire order: number, and the one at `index` (0-based). Both slices have base NULL
 * past the end. */
UVHTTP_EXPORT size_t uvhttp_request_header_count(const uvhttp_request_t *request);
UVHTTP_EXPORT void uvhttp_request_header_at(uvhttp_request_t *request, size_t index,
                                            uvhttp_slice_t *name, uvhttp_slice_t *value);

/* The first trailer field of that name (RFC 9110 section 6.5), or NULL. Trailers are never merged
 * into the headers. */
UVHTTP_EXPORT const char *uvhttp_request_trailer(uvhttp_request_t *request, const char *name);

/* The whole body, for a handler. Empty when there is none, for middleware (which runs when the head
 * has arrived), and for routes with UVHTTP_ROUTE_STREAM, which take it with uvhttp_request_on_body.
 * The handler runs once it has arrived completely. Not NUL-terminated: it may lie in the receive
 * buffer with the next request behind it. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_request_body(const uvhttp_request_t *request);

/* 1 for HTTP/1.1, 0 for HTTP/1.0 (the minor version of RFC 9112 section 2.3). */
UVHTTP_EXPORT int uvhttp_request_http_minor(const uvhttp_request_t *request);

/* The client's address as text without port ("127.0.0.1", "::1"; "unix:" for a client on a unix
 * socket); "" when the system does not know it any more. Behind proxies that are believed
 * (uvhttp_server_trust_proxies) the address of the client in front of them. */
UVHTTP_EXPORT const char *uvhttp_request_client_address(uvhttp_request_t *request);

/* ---- A body in pieces, for routes with UVHTTP_ROUTE_STREAM ---- */

/* The other half: uvhttp/response.h. */
typedef struct uvhttp_response uvhttp_response_t;

/* A piece of the body, which lives during the call only; `size` 0 says that the body is complete
 * (then trailers are there). Not called any more once the response is sent or the client has gone.
 * 0, or a negative result, which is answered as a handler's would be. */
typedef int (*uvhttp_body_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                              const char *data, size_t size, void *arg);

/* Lets the body of this request have at most that many bytes, where neither the route nor an
 * earlier call allows less: one that announces more is answered with 413 before it is read, one
 * that becomes larger at that moment. From middleware: once the handler runs the limit is settled.
 * Errors: UVHTTP_EINVAL (the handler runs already). */
UVHTTP_EXPORT int uvhttp_request_limit_body(uvhttp_request_t *request, uint64_t most);

/* Begins to take the body: from the handler, or later; not from middleware, which decides before
 * there is one. Until then the client is held back (and one that expects "100 Continue" does not
 * get it, nor does it when the answer has begun before: ask first). When the body is empty or has
 * come already, the last call may be made before this returns. Answering without having taken the
 * body closes the connection after the answer, since the rest is in the way of a next request.
 * Errors: UVHTTP_EINVAL (no function, the route takes its bodies whole, it was called before, or by
 * a middleware), UVHTTP_EANSWERED, UVHTTP_EGONE. */
UVHTTP_EXPORT int uvhttp_request_on_body(uvhttp_request_t *request, uvhttp_body_cb body, void *arg);

/* Stops taking the body, and goes on. While it is stopped nothing is read, so that the client's
 * sending comes to a halt and neither memory nor a timeout runs up. Both may be called twice, from
 * anywhere on the loop's thread, the body's callback too. */
UVHTTP_EXPORT void uvhttp_request_pause_body(uvhttp_request_t *request);
UVHTTP_EXPORT void uvhttp_request_resume_body(uvhttp_request_t *request);

/* The server, the number of the worker that has the request (uvhttp_server_post finds the way back
 * by it), and that worker's loop (for timers and the like, on this thread only; close them before
 * the server has stopped, since a worker's loop ends when nothing is left on it). */
UVHTTP_EXPORT struct uvhttp_server *uvhttp_request_server(const uvhttp_request_t *request);
UVHTTP_EXPORT size_t uvhttp_request_worker(const uvhttp_request_t *request);
UVHTTP_EXPORT struct uv_loop_s *uvhttp_request_loop(const uvhttp_request_t *request);

/* Whether its handler has a thread of its own (UVHTTP_ROUTE_BLOCKING): what is for the loop's
 * thread cannot be called then. For middleware and handlers that serve routes of both kinds;
 * middleware in front of such a handler runs on the loop and is told false. */
UVHTTP_EXPORT bool uvhttp_request_is_blocking(const uvhttp_request_t *request);

/* The response that answers this request. */
UVHTTP_EXPORT uvhttp_response_t *uvhttp_request_response(uvhttp_request_t *request);

/* A pointer that travels with the exchange under a key (any address of yours, of a static variable
 * for instance), so that several middlewares and handlers do not get in each other's way. `release`
 * (may be NULL) is called with it once when the exchange ends, in the opposite order of attaching,
 * or at once when this fails. A second call with a key replaces the first (and releases it).
 * Errors: UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_request_attach(uvhttp_request_t *request, const void *key, void *data,
                                        void (*release)(void *data));
/* What was attached under the key, or NULL. */
UVHTTP_EXPORT void *uvhttp_request_attached(const uvhttp_request_t *request, const void *key);

/* A pointer of your own that travels with the exchange, for middleware to hand something to
 * handlers. NULL at first. */
UVHTTP_EXPORT void uvhttp_request_set_user_data(uvhttp_request_t *request, void *data);
UVHTTP_EXPORT void *uvhttp_request_user_data(const uvhttp_request_t *request);

/* `size` bytes that live as long as the exchange, aligned for any type; NULL when memory ran out.
 * Never freed by you. Loop thread only. */
UVHTTP_EXPORT void *uvhttp_request_allocate(uvhttp_request_t *request, size_t size);

#ifdef __cplusplus
}
#endif

#endif
