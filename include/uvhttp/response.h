/* The response.
 *
 * A handler sends exactly one response with a send function, immediately or later, with the status
 * and fields set before. The functions run on the thread of the handler: the loop thread or, for a
 * blocking handler (UVHTTP_ROUTE_BLOCKING), its own, which may call all but those for the loop
 * thread.
 *
 * Errors of all send functions and of functions that set something:
 *   UVHTTP_ERESPONDED     the response has already been sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected, or the server has ended the response
 *                         (timeout, stop)
 *   UVHTTP_ENOMEM         out of memory; a handler may return it (the client gets 503)
 *   UVHTTP_EHEADER        a field name is not a token, or a value contains a control character
 *                         other than tab (RFC 9110 section 5.5)
 *   UVHTTP_EINVAL         a status outside 200..599 (the server sends interim responses itself) */
#ifndef UVHTTP_RESPONSE_H
#define UVHTTP_RESPONSE_H

#include <uvhttp/cookie.h>
#include <uvhttp/request.h>
#include <uvhttp/sse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the status for send functions that get 0 as status. Default 200. */
UVHTTP_EXPORT int uvhttp_response_set_status(uvhttp_response_t *response, int status);

/* The status set or sent so far. */
UVHTTP_EXPORT int uvhttp_response_status(const uvhttp_response_t *response);

/* Checks a field as uvhttp_response_set_header does, without a response. Any thread.
 * Returns 0, or
 *   UVHTTP_EHEADER  the name is no token, the field belongs to the server, or the value has a
 *                   control character
 *   UVHTTP_EINVAL   no name or value */
UVHTTP_EXPORT int uvhttp_header_check(const char *name, const char *value);

/* Sets a field and replaces earlier ones of that name; or adds another field of that name
 * (Set-Cookie). Name and value are copied. Content-Length, Transfer-Encoding, Connection and
 * Date are set by the server: UVHTTP_EHEADER. */
UVHTTP_EXPORT int uvhttp_response_set_header(uvhttp_response_t *response, const char *name,
                                             const char *value);
UVHTTP_EXPORT int uvhttp_response_add_header(uvhttp_response_t *response, const char *name,
                                             const char *value);

/* Adds a Set-Cookie field (RFC 6265 section 4.1). UVHTTP_EHEADER also for a cookie that browsers
 * would ignore; uvhttp_cookie_write returns the reason. */
UVHTTP_EXPORT int uvhttp_response_set_cookie(uvhttp_response_t *response,
                                             const uvhttp_cookie_t *cookie);

/* Sends a response with a body. `content_type` may be NULL: no Content-Type unless one was set.
 * `send` copies the bytes during the call. `send_static` refers to them until they are written,
 * so they must outlive the server (literals, tables). For HEAD, 204, 205 and 304 only the head
 * is sent (RFC 9110 sections 9.3.2, 15.3.5, 15.3.6, 15.4.5). `data` NULL with a `size` above 0
 * is UVHTTP_EINVAL. */
UVHTTP_EXPORT int uvhttp_response_send(uvhttp_response_t *response, int status,
                                       const char *content_type, const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_response_send_static(uvhttp_response_t *response, int status,
                                              const char *content_type, const void *data,
                                              size_t size);

/* Sends a NUL-terminated string as text/plain, text/html or application/json, in UTF-8; copies
 * it. NULL is UVHTTP_EINVAL. With a length: uvhttp_response_send(response, status,
 * "application/json", json, length). */
UVHTTP_EXPORT int uvhttp_response_send_text(uvhttp_response_t *response, int status,
                                            const char *text);
UVHTTP_EXPORT int uvhttp_response_send_html(uvhttp_response_t *response, int status,
                                            const char *html);
UVHTTP_EXPORT int uvhttp_response_send_json(uvhttp_response_t *response, int status,
                                            const char *json);

/* Sends a status with a one-line text body ("404 Not Found"); no body for 204 and 304. */
UVHTTP_EXPORT int uvhttp_response_send_status(uvhttp_response_t *response, int status);

/* Sends an error with a reason for the client, printf-style, at most 511 bytes: the text "404 Not
 * Found", and the reason in the next line. An empty reason is the standard phrase.
 * uvhttp_server_on_error may change its form.
 *
 *     return uvhttp_response_send_error(res, 404, "there is no note %s",
 *                                       uvhttp_request_param(req, "id"));
 *
 * Returns 0, the errors of send, or
 *   UVHTTP_EINVAL  the status is not 400 to 599; no `format` */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
UVHTTP_EXPORT int
uvhttp_response_send_error(uvhttp_response_t *response, int status, const char *format, ...);

/* Sends 425 Too Early (RFC 8470 section 5.2), for a handler that refuses a request in early data
 * (uvhttp_request_is_early), such as an expensive GET or one that counts something. The client
 * retries after the handshake. Errors as for uvhttp_response_send_status. */
UVHTTP_EXPORT int uvhttp_response_send_too_early(uvhttp_response_t *response);

/* Sends 301, 302, 303, 307 or 308 with Location (RFC 9110 section 15.4). `location` is sent as
 * given. */
UVHTTP_EXPORT int uvhttp_response_redirect(uvhttp_response_t *response, int status,
                                           const char *location);

/* Options of uvhttp_response_send_file_with and uvhttp_static_send. Zeros are the defaults. Read
 * during the call only. */
typedef struct uvhttp_send_file_options {
    /* The media type; NULL: derived from the name. */
    const char *content_type;
    /* The client saves the file under this name, in UTF-8: Content-Disposition of a 200 and 206
     * (RFC 6266); NULL: no such field. */
    const char *download_name;
    /* The client shows the file if it can, and uses `download_name` when the user saves it. */
    bool show_inline;
} uvhttp_send_file_options_t;

/* Sends a file as static files are sent: with ETag, Last-Modified and Accept-Ranges, as 206 for a
 * Range, and as 304, 412 or 416 by the conditions of a GET or HEAD (RFC 9110 sections 13 and 14).
 * Other methods get the whole file. `options` may be NULL. `path` is any path of the file system:
 * check a name that comes from the client, or use uvhttp_static_send. The file is opened during the
 * call. After an error nothing was sent, so the handler can still respond. Also in a blocking
 * handler.
 *
 *     uvhttp_send_file_options_t options = {.download_name = "Report.pdf"};
 *     return uvhttp_response_send_file_with(res, "/srv/reports/2026.pdf", &options);
 *
 * Returns 0, the errors of send, or
 *   UVHTTP_ENOTREG  a directory or device
 *   libuv           errors of opening (UV_ENOENT, UV_EACCES, ...) */
UVHTTP_EXPORT int uvhttp_response_send_file_with(uvhttp_response_t *response, const char *path,
                                                 const uvhttp_send_file_options_t *options);

/* The same without options; with another status than 200, such as 404, always the whole file,
 * without ETag and Last-Modified. */
UVHTTP_EXPORT int uvhttp_response_send_file(uvhttp_response_t *response, int status,
                                            const char *path);

/* Called exactly once when the server no longer needs the data of a send function: after it was
 * written, aborted, or refused with an error. */
typedef void (*uvhttp_release_cb)(void *arg);

/* ---- Streamed response bodies ----
 * For a body that is produced while it is sent: begin, write as often as needed, end; immediately
 * or later, from any callback on the loop thread.
 *
 * Data that the socket does not accept is queued, up to `write_backlog`. Then write fails with
 * UVHTTP_EFULL until the client has read, and the on_drain callback runs. So a slow client needs no
 * more memory than that. For fairness to other clients, write also fails with UVHTTP_EFULL after 1
 * MiB in one loop iteration (128 KiB with filters; `write_backlog` if larger; a chunk counts at
 * least 64 bytes); on_drain runs in the next iteration. This does not apply to blocking handlers
 * and event streams.
 *
 * If a handler that has begun a response returns an error, or the body is too short, the
 * connection is closed, because the client could not detect it otherwise. Over HTTP/2, here and
 * below, its stream is reset instead (docs/http2.md). */

/* Body length unknown: sent with chunked coding (RFC 9112 section 7.1), until the connection closes
 * for HTTP/1.0, or without Content-Length over HTTP/2. */
#define UVHTTP_LENGTH_UNKNOWN UINT64_MAX

/* Sends status and fields; the body follows. `length` in bytes, or UVHTTP_LENGTH_UNKNOWN. Errors
 * as for send. */
UVHTTP_EXPORT int uvhttp_response_begin(uvhttp_response_t *response, int status,
                                        const char *content_type, uint64_t length);

/* Sends the next chunk, or queues a copy of the part that cannot be sent yet. A chunk is accepted
 * completely or not at all; at most 1 GiB. For HEAD, 204, 205 and 304 chunks are discarded:
 * a handler whose body is expensive checks uvhttp_request_method. For such a response a blocking
 * handler gets UVHTTP_EDISCONNECTED once the client has shut down its sending side, which may still
 * read; the response is complete.
 *
 * After UVHTTP_EDISCONNECTED, UVHTTP_ETOOLARGE and errors of filters the connection has ended.
 * Request and response are then invalid, except within a callback of the exchange.
 * Returns 0, the errors of send, or
 *   UVHTTP_EFULL       `write_backlog` bytes are queued, or the budget of this loop iteration is
 *                      used; nothing was accepted: write again after on_drain
 *   UVHTTP_ELENGTH     more than the announced length; nothing was accepted
 *   UVHTTP_ERESPONDED  not begun, or ended
 *   UVHTTP_ETOOLARGE   above the limit of uvhttp_response_limit_body
 *   UVHTTP_EINVAL      above 1 GiB */
UVHTTP_EXPORT int uvhttp_response_write(uvhttp_response_t *response, const void *data, size_t size);

/* Adds a trailer field (RFC 9110 section 6.5), before end. Only bodies of unknown length have
 * trailers (HTTP/1.1 and HTTP/2); otherwise it is dropped. Errors as for set_header; UVHTTP_EHEADER
 * also for fields that frame or route a message (Content-Length, Transfer-Encoding, Host, Trailer,
 * TE, ...), which are not allowed in trailers. */
UVHTTP_EXPORT int uvhttp_response_add_trailer(uvhttp_response_t *response, const char *name,
                                              const char *value);

/* Completes the body.
 * Returns 0, or
 *   UVHTTP_ELENGTH        shorter than announced; the connection is closed
 *   UVHTTP_ERESPONDED     not begun, or ended
 *   UVHTTP_EDISCONNECTED  the client has disconnected
 *   UVHTTP_ENOMEM         out of memory; the connection is closed */
UVHTTP_EXPORT int uvhttp_response_end(uvhttp_response_t *response);

/* Sets the callback that runs once after each UVHTTP_EFULL, in a later loop iteration, when all
 * queued data is sent. A second call replaces the first. A negative result closes the
 * connection, like that of a handler. */
typedef int (*uvhttp_drain_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_drain(uvhttp_response_t *response, uvhttp_drain_cb drain,
                                            void *arg);

/* Bytes queued and not yet passed to the system. */
UVHTTP_EXPORT size_t uvhttp_response_pending(const uvhttp_response_t *response);

/* Writes the next bytes of a body, at most `size`, to `buffer` and sets `*length`, which is 0
 * before the call.
 * Returns 0 if more bytes follow (`*length` must not be 0), or
 *   UVHTTP_END    the body ends after these bytes
 *   UVHTTP_AGAIN  no more data for now; called again after uvhttp_response_resume_pull
 *   negative      failure: the connection is closed, and a line is logged. A result that is not
 *                 allowed, and more than `size` bytes, are failures, too. */
typedef int (*uvhttp_pull_cb)(uvhttp_response_t *response, char *buffer, size_t size,
                              size_t *length, void *arg);

/* Sends a body that the server pulls when there is buffer space. `release` runs exactly once,
 * whatever the call returns, when `arg` is no longer needed. Errors as for begin. */
UVHTTP_EXPORT int uvhttp_response_send_pulled(uvhttp_response_t *response, int status,
                                              const char *content_type, uint64_t length,
                                              uvhttp_pull_cb pull, uvhttp_release_cb release,
                                              void *arg);

/* Calls `pull` again, after it has returned UVHTTP_AGAIN or during the call that will. Loop
 * thread. */
UVHTTP_EXPORT void uvhttp_response_resume_pull(uvhttp_response_t *response);

/* Begins a stream of server-sent events: 200 with text/event-stream and no-store. The request's
 * Last-Event-ID names the last event the client received. End it with uvhttp_response_end.
 *
 * After `event_heartbeat` seconds without data a comment is sent, which clients ignore. It keeps
 * the connection open in proxies and detects disconnected clients. Therefore only complete events
 * may be written. When the server stops, it completes the response, and `on_abort` runs. The same
 * happens for HEAD in the next loop iteration.
 * Returns 0, the errors of begin, or
 *   UVHTTP_ESTOPPED  the server is stopping (503 when a handler returns it) */
UVHTTP_EXPORT int uvhttp_response_begin_events(uvhttp_response_t *response);

/* Sends one event (uvhttp/sse.h); one with only an empty comment is a heartbeat. Errors as for
 * write, and UVHTTP_EINVAL for an id or type with a line end. */
UVHTTP_EXPORT int uvhttp_response_send_event(uvhttp_response_t *response,
                                             const uvhttp_sse_event_t *event);

/* Sends an interim response (RFC 8297): 103 with the fields set so far, which are sent again
 * with the final response. HTTP/1.0 clients get none (returns 0). Errors as for send, and
 * UVHTTP_EFULL when the client does not read. */
UVHTTP_EXPORT int uvhttp_response_send_early_hints(uvhttp_response_t *response);

/* ---- Response callbacks ---- */

/* Adds a callback that runs once just before the response is sent, by a handler, a middleware, or
 * the server (404, 413, 500, ...). For middleware that acts after the handler. It may read and
 * change status and fields, and read a body sent as a whole from memory. A request whose head is
 * rejected (400, 408, 414, 421, 425, 431, 501, 505) or that exceeds max_connections (503) runs no
 * middleware, so nothing can add a callback for these responses; uvhttp_server_on_finished runs.
 *
 * Callbacks run in reverse order of adding, so the first added runs last. A negative result makes
 * the send function fail with it. When a send function fails, changes to status and fields are
 * undone, and the callbacks run again for the response sent instead, including the server's own 500
 * or 503.
 * Returns 0, or
 *   UVHTTP_EINVAL  no function
 *   UVHTTP_ENOMEM  out of memory */
typedef int (*uvhttp_send_cb)(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_on_send(uvhttp_response_t *response, uvhttp_send_cb send,
                                          void *arg);

/* In a uvhttp_send_cb: the body if it is in memory, otherwise base NULL; and its length,
 * UVHTTP_LENGTH_UNKNOWN for a streamed body of unknown length. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_response_body(const uvhttp_response_t *response);
UVHTTP_EXPORT uint64_t uvhttp_response_body_length(const uvhttp_response_t *response);

/* In a uvhttp_send_cb and afterwards: true if the body is streamed (begin, send_pulled, events). */
UVHTTP_EXPORT bool uvhttp_response_is_streamed(const uvhttp_response_t *response);

/* In a uvhttp_send_cb: replaces the body by a copy of these bytes and releases the original.
 * Content-Type is not changed.
 * Returns 0, or
 *   UVHTTP_EINVAL  not in a uvhttp_send_cb, the body is streamed, or the 101 of an upgrade (whose
 *                  status cannot be changed either)
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_response_replace_body(uvhttp_response_t *response, const void *data,
                                               size_t size);

/* In a uvhttp_send_cb, for a body in memory: has `work(body, arg)` called on a thread of the heavy
 * lane, then `done(response, arg)` on the loop as a uvhttp_send_cb of the same response; then the
 * callbacks that were added earlier, and the response is sent. The send function returns 0 at once;
 * for the handler the response is sent, and errors from then on are logged and answered with 500.
 * For callbacks that need long for a large body, such as compression.
 *
 * `done` runs exactly once and may free `arg`, also after a disconnect;
 * uvhttp_response_replace_body then fails. The callback must not change the body after this call,
 * and returns 0.
 * Returns 0, or with neither function called
 *   UVHTTP_EINVAL  no function, not in a uvhttp_send_cb, no body in memory, called before for this
 *                  response by the same callback (also in its `done`), or on the thread of a
 *                  blocking handler
 *   UVHTTP_EFULL   config->heavy_queue jobs are pending
 *   UVHTTP_ENOMEM  out of memory */
typedef void (*uvhttp_body_work_cb)(uvhttp_slice_t body, void *arg);
typedef int (*uvhttp_done_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_defer_send(uvhttp_response_t *response, uvhttp_body_work_cb work,
                                             uvhttp_done_cb done, void *arg);

/* ---- Filters of streamed bodies ----
 * A filter receives each chunk that is written and appends its output, which is sent instead:
 * more, less, or nothing yet. For compression, a checksum in a trailer, a watermark. */
typedef enum uvhttp_filter_event {
    UVHTTP_FILTER_CHUNK = 0, /* `data` with at least one byte */
    UVHTTP_FILTER_FLUSH,     /* no data: send what the filter has buffered */
    UVHTTP_FILTER_END,       /* no data: the last call */
} uvhttp_filter_event_t;

/* Output of a filter. */
typedef struct uvhttp_filter_output uvhttp_filter_output_t;

/* Filters a chunk. Must not send, write or end; may add trailers (uvhttp_response_add_trailer).
 * A result other than 0 closes the connection, so that a partial body does not look complete.
 * Not called for HEAD and responses without a body. */
typedef int (*uvhttp_filter_cb)(uvhttp_response_t *response, uvhttp_filter_event_t event,
                                const void *data, size_t size, uvhttp_filter_output_t *output,
                                void *arg);

/* In a uvhttp_send_cb: passes the chunks of this body through `filter`, before filters added later.
 * The body length becomes unknown: it is sent with chunked coding and trailers. The announced
 * length is still checked. A chunk refused for lack of buffer space is not passed to filters.
 * `release` runs exactly once, whatever the call returns, when `arg` is no longer needed.
 * Returns 0, or
 *   UVHTTP_EINVAL  not in a uvhttp_send_cb, no function, or the body is not streamed
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_response_filter(uvhttp_response_t *response, uvhttp_filter_cb filter,
                                         uvhttp_release_cb release, void *arg);

/* In a filter: appends output bytes, which are copied.
 * Returns 0, or
 *   UVHTTP_EINVAL  no `data`
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_filter_output_append(uvhttp_filter_output_t *output, const void *data,
                                              size_t size);

/* Flushes the filters, so that the client can use every byte written so far. For a body with
 * pauses between chunks. Without filters nothing is buffered. Errors as for write; after
 * UVHTTP_EFULL flush again after on_drain. */
UVHTTP_EXPORT int uvhttp_response_flush(uvhttp_response_t *response);

/* Limits the response body to `most` bytes; of several limits the lowest applies. A send
 * function with a larger body fails with UVHTTP_ETOOLARGE (500 when a handler returns it). For a
 * body of unknown length the write that exceeds the limit fails and closes the connection, so
 * that the client does not take it for complete. The server's own error responses are not
 * limited. */
UVHTTP_EXPORT void uvhttp_response_limit_body(uvhttp_response_t *response, uint64_t most);

/* Limits the average rate of this response's body, from memory, from a file or streamed; 0 removes
 * the limit. `burst` bytes, and at least those of a quarter of a second, are sent immediately, so
 * that small responses are not delayed; then four portions per second. At most one second of unused
 * rate is carried over. write_timeout does not run while the rate limit delays the response. A
 * chunk is sent as a whole; the next one is refused (UVHTTP_EFULL, then on_drain) until the rate
 * allows it.
 *
 * Before the response is sent; a later call, also between chunks, changes the rate. A blocking
 * handler calls it before it begins the response. The head and data after an upgrade are not
 * limited.
 * Returns 0, or
 *   UVHTTP_ENOMEM  out of memory; nothing changed */
UVHTTP_EXPORT int uvhttp_response_limit_rate(uvhttp_response_t *response, uint64_t bytes_per_second,
                                             uint64_t burst);

/* The value of the first field of that name set so far, or NULL: those of
 * uvhttp_response_set_header and add_header, and Content-Type. */
UVHTTP_EXPORT const char *uvhttp_response_header(const uvhttp_response_t *response,
                                                 const char *name);
/* The same, then also prepared fields; base NULL without one. Not NUL-terminated; valid until
 * the fields change. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_response_header_slice(const uvhttp_response_t *response,
                                                          const char *name);

/* True if a list field contains a token, given in lower case ("Cache-Control", "no-transform");
 * comparison ignores case. Considers all field lines, set or prepared, as one list (RFC 9110
 * section 5.3). False if an argument is NULL. */
UVHTTP_EXPORT bool uvhttp_response_header_lists(const uvhttp_response_t *response, const char *name,
                                                const char *token);

/* Removes every set or added field of that name; prepared fields stay. Does nothing after the
 * response was sent. */
UVHTTP_EXPORT void uvhttp_response_remove_header(uvhttp_response_t *response, const char *name);

/* Continues after a middleware that returned 0 without a response because it needed time to decide.
 * The next middleware or the handler runs, possibly before this returns.
 * Returns 0, or
 *   UVHTTP_EINVAL         no middleware has delayed it
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
UVHTTP_EXPORT int uvhttp_response_proceed(uvhttp_response_t *response);

/* Like send_static, but the bytes must live only until `release` is called. `release` runs
 * exactly once, whatever the call returns, possibly before it returns. */
UVHTTP_EXPORT int uvhttp_response_send_borrowed(uvhttp_response_t *response, int status,
                                                const char *content_type, const void *data,
                                                size_t size, uvhttp_release_cb release, void *arg);

/* Sends `size` bytes of an open regular file from `offset` with sendfile; the file position does
 * not change. The caller keeps the descriptor and leaves it open until `release` is called,
 * which runs as for send_borrowed. If the file is shorter than `size`, the connection is closed
 * and a line is logged. */
UVHTTP_EXPORT int uvhttp_response_send_descriptor(uvhttp_response_t *response, int status,
                                                  const char *content_type, int descriptor,
                                                  uint64_t offset, uint64_t size,
                                                  uvhttp_release_cb release, void *arg);

/* A part of a body: memory if `descriptor` is negative, otherwise `size` bytes of an open
 * regular file from `offset`. */
typedef struct uvhttp_part {
    const void *data; /* memory of the part; may be NULL when `size` is 0 */
    int descriptor;
    uint64_t offset; /* bytes; ignored for memory */
    uint64_t size;   /* bytes */
} uvhttp_part_t;

/* Sends one body that consists of `count` parts in order; Content-Length is their sum. With no
 * parts the body is empty. For example a file between texts, several ranges of one file (RFC 9110
 * section 15.3.7.2), or an archive.
 *
 * The array is copied. Bytes and descriptors belong to the caller and must not change until
 * `release` is called, as for send_borrowed and send_descriptor. Returns 0, the errors of send, or
 *   UVHTTP_EINVAL  no array, memory without `data`, or a file end or sum above 2^63 - 1 */
UVHTTP_EXPORT int uvhttp_response_send_parts(uvhttp_response_t *response, int status,
                                             const char *content_type, const uvhttp_part_t *parts,
                                             size_t count, uvhttp_release_cb release, void *arg);
/* Sets the callback for a read error in the middle of the body, of send_descriptor or of a file
 * in send_parts; the connection is closed after it. `error` is UVHTTP_ETRUNCATED or a code of
 * libuv (UV_EIO, UV_ESTALE, ...); occasionally it is an error of the socket. For code that
 * caches the descriptor. Runs before `release`, on the loop thread, and must not send. Before
 * the response is sent. A second call replaces the first. */
typedef void (*uvhttp_read_error_cb)(int error, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_read_error(uvhttp_response_t *response,
                                                 uvhttp_read_error_cb failed, void *arg);

/* Fields encoded once and sent many times: the fastest way to send the same fields repeatedly. */
typedef struct uvhttp_prepared uvhttp_prepared_t;

/* Creates and frees a set of prepared fields. `allocator` NULL means the built-in one. Returns NULL
 * when out of memory; free(NULL) does nothing. All uvhttp_prepared_* functions: any thread, one
 * at a time per object. */
UVHTTP_EXPORT uvhttp_prepared_t *uvhttp_prepared_new(const uvhttp_allocator_t *allocator);
UVHTTP_EXPORT void uvhttp_prepared_free(void *prepared);

/* Adds a field; rules and errors as for uvhttp_response_add_header. */
UVHTTP_EXPORT int uvhttp_prepared_add(uvhttp_prepared_t *prepared, const char *name,
                                      const char *value);

/* Adds all fields of another set, except those named `except` (NULL: all). `from` is only read.
 * Returns 0, or
 *   UVHTTP_ENOMEM  out of memory; nothing was added */
UVHTTP_EXPORT int uvhttp_prepared_add_all(uvhttp_prepared_t *prepared,
                                          const uvhttp_prepared_t *from, const char *except);

/* Declares that these bytes belong to the prepared fields and do not change while `prepared` lives.
 * They are not copied. The response cache may then store a 200 response that consists of exactly
 * these bytes, `prepared` and no other fields, while it is requested often. It is sent by one
 * sendfile without a copy per client (config->response_cache_memory; Linux 6.5 or later; bodies of
 * 4 to 60 KiB). Clients get the same bytes in either case. A second call replaces the first; `data`
 * NULL removes it. Threads as for uvhttp_prepared_add. */
UVHTTP_EXPORT void uvhttp_prepared_set_body(uvhttp_prepared_t *prepared, const void *data,
                                            size_t size);

/* The same for `size` bytes of an open regular file from `offset`, sent by
 * uvhttp_response_send_descriptor with the same descriptor, offset and size. The caller keeps
 * the descriptor open while `prepared` lives. If the file is written nevertheless, clients may
 * get the old bytes for up to one second. This and uvhttp_prepared_set_body replace each other;
 * a negative `descriptor` removes both. Threads as for uvhttp_prepared_add. */
UVHTTP_EXPORT void uvhttp_prepared_set_descriptor(uvhttp_prepared_t *prepared, int descriptor,
                                                  uint64_t offset, size_t size);

/* Adds prepared fields to the response, after the fields set individually. They are copied when
 * the response is sent, so `prepared` must live until the send function returns. One set per
 * response: a second call replaces the first. A Content-Type in it overrides any other. */
UVHTTP_EXPORT void uvhttp_response_use_prepared(uvhttp_response_t *response,
                                                const uvhttp_prepared_t *prepared);

/* Closes the connection after this response ("Connection: close", RFC 9112 section 9.6). After a
 * streamed body has begun, the connection is closed without that field. Over HTTP/2 the client is
 * asked to open no further requests on it (GOAWAY). */
UVHTTP_EXPORT void uvhttp_response_close_after(uvhttp_response_t *response);

/* True until a send function has succeeded or the client has disconnected. */
UVHTTP_EXPORT bool uvhttp_response_open(const uvhttp_response_t *response);

/* Sets the abort callback, for a handler that responds later: it returns 0 without a response and
 * keeps `response`. `response` is valid until it is sent or the abort callback has run. The
 * callback runs exactly once if the client disconnects or the server stops before the response is
 * sent; `response` is invalid after it. Always set one when responding later. A second call
 * replaces the first.
 *
 * A client that only shuts down its sending side still gets its response. A client that has
 * closed looks the same until data is sent or the TCP keep-alive probes fail (about two
 * minutes); a reset is detected immediately. uvhttp_response_on_peer_end reports both. */
typedef void (*uvhttp_abort_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_abort(uvhttp_response_t *response, uvhttp_abort_cb abort,
                                            void *arg);

/* Sets the callback that runs once, in a later loop iteration, when the client has shut down its
 * sending side before the response is complete. Most such clients have closed the connection. If it
 * returns 0, the response is sent as before, and a client that waits gets it. UVHTTP_EDISCONNECTED
 * closes the connection and runs the abort callback. Other negative results are handled like those
 * of a handler. Loop thread. A second call replaces the first; NULL removes it.
 * Returns 0, or
 *   UVHTTP_EINVAL         a blocking handler: see uvhttp_response_peer_ended
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected, or the server has ended the response */
typedef int (*uvhttp_peer_end_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_on_peer_end(uvhttp_response_t *response, uvhttp_peer_end_cb ended,
                                              void *arg);

/* True once the client has shut down its sending side, see uvhttp_response_on_peer_end. For a
 * blocking handler that checks whether its work is still needed, and for handlers on the loop.
 * The handler's thread. */
UVHTTP_EXPORT bool uvhttp_response_peer_ended(const uvhttp_response_t *response);

/* Runs `work(arg)` on a thread of the server's quick lane, then `done(response, arg)` on the loop.
 * For short work that may block: a stat, a read, a fast query. Loop thread only; not in a blocking
 * handler.
 *
 * The exchange lives until `done` has returned, even after a disconnect; sending then fails with
 * UVHTTP_EDISCONNECTED (check uvhttp_response_open). So `done` runs exactly once and may free
 * `arg`. A streamed body may use it too, from uvhttp_response_begin to uvhttp_response_end, and in
 * a uvhttp_pull_cb that returns UVHTTP_AGAIN. A result of `done` other than 0 is a failure: 503 for
 * UVHTTP_ENOMEM, UVHTTP_EFULL and UVHTTP_ESTOPPED, otherwise 500; a response that has begun ends
 * with its connection.
 * Returns 0, or with neither function called
 *   UVHTTP_EINVAL         no function, or called from a blocking handler
 *   UVHTTP_ENOMEM         out of memory
 *   UVHTTP_EFULL          config->quick_queue jobs are pending; a handler that returns this sends
 *                         503 with "Retry-After: 1". Only for the first job of a response in a
 *                         lane, before its streamed body has begun; later jobs are always accepted.
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
typedef void (*uvhttp_work_cb)(void *arg);
UVHTTP_EXPORT int uvhttp_response_defer(uvhttp_response_t *response, uvhttp_work_cb work,
                                        uvhttp_done_cb done, void *arg);

/* The same in the heavy lane (config->heavy_threads, config->heavy_queue), for long work:
 * compression, password hashing, large files. It is queued with other work of this kind and
 * never delays the quick lane. While it is queued or runs, config->handler_timeout does not apply.
 * Returns 0, or the errors of uvhttp_response_defer. */
UVHTTP_EXPORT int uvhttp_response_defer_heavy(uvhttp_response_t *response, uvhttp_work_cb work,
                                              uvhttp_done_cb done, void *arg);

/* Responds as if the handler had returned this error: 503 for UVHTTP_ENOMEM, UVHTTP_ESTOPPED and
 * UVHTTP_EFULL (with "Retry-After: 1"), otherwise 500, with a line in the log. A response that has
 * begun ends with its connection. For code that responds later and fails. Loop thread.
 * Returns 0, or without effect
 *   UVHTTP_EINVAL         `error` is not negative, or called from a blocking handler or a
 *                         uvhttp_send_cb (which returns its error instead)
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected */
UVHTTP_EXPORT int uvhttp_response_fail(uvhttp_response_t *response, int error);

/* Runs `work(arg)` as a job that releases resources of the exchange: closes or removes files. It
 * runs in the heavy lane if the response has had a job there, otherwise in the quick lane; queue
 * limits do not apply. Does nothing without `work`.
 *
 * Loop thread, or a blocking handler, where it runs immediately. Allowed in every state of the
 * response: after it was sent, in the abort callback, and in the `release` of
 * uvhttp_request_attach. Exchange and server live until it has run; there is no completion
 * callback. When out of memory it runs immediately, on the loop. */
UVHTTP_EXPORT void uvhttp_response_clean_up(uvhttp_response_t *response, uvhttp_work_cb work,
                                            void *arg);

/* The request of this response. */
UVHTTP_EXPORT uvhttp_request_t *uvhttp_response_request(uvhttp_response_t *response);

/* The standard reason phrase ("Not Found"), "" for an unknown status. Any thread. */
UVHTTP_EXPORT const char *uvhttp_status_text(int status);

/* Writes to the server's log (uvhttp_config_t.log); printf-style. Control characters are
 * escaped; lines above 1,000 bytes are truncated. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
UVHTTP_EXPORT void
uvhttp_response_log(uvhttp_response_t *response, uvhttp_log_level_t level, const char *format, ...);

/* The same at level UVHTTP_LOG_ERROR, for the reason of an error that the caller returns next: the
 * server then does not log that error itself. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
UVHTTP_EXPORT void
uvhttp_response_log_failure(uvhttp_response_t *response, const char *format, ...);

/* The loop time in milliseconds: monotonic, no system call, constant during one loop iteration. */
UVHTTP_EXPORT uint64_t uvhttp_response_now(const uvhttp_response_t *response);

/* nginx's log status for a client that disconnected before a response was sent; not an HTTP
 * status. */
#define UVHTTP_STATUS_CLIENT_CLOSED_REQUEST 499

/* Result of an exchange. */
typedef struct uvhttp_outcome {
    int status; /* of the response, or UVHTTP_STATUS_CLIENT_CLOSED_REQUEST */
    /* Head and body of this response; for an aborted response including data still queued. */
    uint64_t bytes_sent;
    uint64_t duration_us;
    bool aborted;    /* the client disconnected before the end */
    int64_t unix_ms; /* when the head had arrived, in milliseconds since 1970-01-01 00:00 UTC */
} uvhttp_outcome_t;

/* Called once at the end of each exchange: its last byte was passed to the system or is queued,
 * or the client has disconnected. Request and response are valid, but nothing can be sent. Of
 * the response's fields only those set individually are available. A request rejected for
 * malformed bytes has no fields, and method and target only if the request line is valid; a
 * target that is too long is cut. See uvhttp_server_on_finished. */
typedef void (*uvhttp_finished_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                   const uvhttp_outcome_t *outcome, void *arg);

#ifdef __cplusplus
}
#endif

#endif
