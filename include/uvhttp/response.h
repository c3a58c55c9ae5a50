/* The response: what the server answers.
 *
 * A handler answers with exactly one of the send functions, now or later. What was set before
 * (status, fields) goes out with it. All functions run on the thread of the server's loop.
 *
 * Errors shared by every send function, and by those that set something:
 *   UVHTTP_EANSWERED  the response was sent already; nothing is sent a second time
 *   UVHTTP_EGONE      the client has gone, or the server has ended the response (a timeout, its
 *                     stop)
 *   UVHTTP_ENOMEM     out of memory; a handler may just return it (the client gets 503)
 *   UVHTTP_EHEADER    a field name is no token, or a value holds a control character but tab (RFC
 *                     9110 section 5.5)
 *   UVHTTP_EINVAL     a status outside 200..599 (interim answers are sent by the server itself) */
#ifndef UVHTTP_RESPONSE_H
#define UVHTTP_RESPONSE_H

#include <uvhttp/cookie.h>
#include <uvhttp/request.h>
#include <uvhttp/sse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the status for uvhttp_response_send_* calls that are given 0 as status. Default 200. */
UVHTTP_EXPORT int uvhttp_response_set_status(uvhttp_response_t *response, int status);

/* The status set or sent so far. */
UVHTTP_EXPORT int uvhttp_response_status(const uvhttp_response_t *response);

/* Sets a field, replacing earlier ones of that name; or adds one more of that name (Set-Cookie).
 * Name and value are copied. Content-Length, Transfer-Encoding, Connection and Date belong to the
 * server: UVHTTP_EHEADER. */
UVHTTP_EXPORT int uvhttp_response_set_header(uvhttp_response_t *response, const char *name,
                                             const char *value);
UVHTTP_EXPORT int uvhttp_response_add_header(uvhttp_response_t *response, const char *name,
                                             const char *value);

/* Adds a Set-Cookie field (RFC 6265 section 4.1). UVHTTP_EHEADER also for a cookie that browsers
 * would ignore: uvhttp_cookie_write says why. */
UVHTTP_EXPORT int uvhttp_response_set_cookie(uvhttp_response_t *response,
                                             const uvhttp_cookie_t *cookie);

/* Sends a body. `content_type` may be NULL (no Content-Type unless one was set). `send` copies the
 * bytes during the call; `send_static` refers to them until they have been written, so they must
 * outlive the server (literals, tables). For HEAD, 204, 205 and 304 the fields go out and the body
 * does not (RFC 9110 section 9.3.2, 15.3.5, 15.4.5). NULL where there are to be bytes or a text is
 * UVHTTP_EINVAL. */
UVHTTP_EXPORT int uvhttp_response_send(uvhttp_response_t *response, int status,
                                       const char *content_type, const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_response_send_static(uvhttp_response_t *response, int status,
                                              const char *content_type, const void *data,
                                              size_t size);

/* Sends a NUL-terminated text as text/plain, HTML or JSON, in UTF-8; copies it. */
UVHTTP_EXPORT int uvhttp_response_send_text(uvhttp_response_t *response, int status,
                                            const char *text);
UVHTTP_EXPORT int uvhttp_response_send_html(uvhttp_response_t *response, int status,
                                            const char *html);
UVHTTP_EXPORT int uvhttp_response_send_json(uvhttp_response_t *response, int status,
                                            const char *json);

/* Sends a status with a one-line text body that names it ("404 Not Found"); none for 204 and
 * 304. */
UVHTTP_EXPORT int uvhttp_response_send_status(uvhttp_response_t *response, int status);

/* Sends 425 Too Early (RFC 8470 section 5.2): for a handler that does not want to do what an early
 * request asks for (uvhttp_request_is_early), such as a GET that is expensive or counts something.
 * The client asks again after the handshake. Errors as those of uvhttp_response_send_status. */
UVHTTP_EXPORT int uvhttp_response_send_too_early(uvhttp_response_t *response);

/* Sends 301, 302, 303, 307 or 308 with Location (RFC 9110 section 15.4). `location` is sent as
 * given. */
UVHTTP_EXPORT int uvhttp_response_redirect(uvhttp_response_t *response, int status,
                                           const char *location);

/* Sends a file of the file system. Opening happens in the call; the type comes from the name. More
 * errors: libuv's for opening (UV_ENOENT, UV_EACCES, ...), UVHTTP_ENOTREG for a folder or device.
 * Nothing was sent then, so the handler can still answer. For whole folders, conditional requests
 * and ranges use uvhttp/static.h. */
UVHTTP_EXPORT int uvhttp_response_send_file(uvhttp_response_t *response, int status,
                                            const char *path);

/* Called exactly once when the server no longer needs what a send function referred to: written
 * completely, aborted, or refused with an error. */
typedef void (*uvhttp_release_cb)(void *arg);

/* ---- A body in pieces ----
 *
 * For a body that is made while it is sent: begin, write as often as needed, end; now or later,
 * from any callback on the loop's thread. What the socket does not take at once is kept, up to the
 * limit `write_backlog`; then write refuses with UVHTTP_EFULL until the client has read on
 * (on_drain tells), so a slow client costs no more memory than that. A client that reads as fast as
 * the body is written must not hold up the others: after 1 MiB in one loop iteration (of a body
 * that filters change 128 KiB; `write_backlog` if that is more; each piece counts as 64 bytes at
 * least) write says UVHTTP_EFULL as well, and on_drain tells in the next iteration. This does not
 * concern handlers that block and streams of events. A handler that has begun and returns an error,
 * and one whose body turns out too short, end the connection, since the client could not know
 * otherwise. */

/* The body's length is not known: it goes out in chunks (RFC 9112 section 7.1), to a client of
 * HTTP/1.0 up to the connection's end. */
#define UVHTTP_LENGTH_UNKNOWN UINT64_MAX

/* Sends status and fields; the body follows. `length` in bytes, or UVHTTP_LENGTH_UNKNOWN. Errors as
 * for send. */
UVHTTP_EXPORT int uvhttp_response_begin(uvhttp_response_t *response, int status,
                                        const char *content_type, uint64_t length);

/* Sends the next piece, or keeps a copy of what cannot leave yet. More errors: UVHTTP_EFULL
 * (`write_backlog` is pending, or the budget of this loop iteration is spent; nothing was taken:
 * write it again when it has drained), UVHTTP_ELENGTH (more than the announced length; nothing was
 * taken), UVHTTP_EANSWERED (not begun, or ended). With UVHTTP_EGONE, UVHTTP_ETOOLARGE
 * (uvhttp_response_limit_body) and the errors of filters the connection has ended, and unless this
 * is called in a callback of the exchange, request and response are no more. A piece is taken as a
 * whole; larger ones than 1 GiB give UVHTTP_EINVAL. For HEAD, 204, 205 and 304 pieces are thrown
 * away. */
UVHTTP_EXPORT int uvhttp_response_write(uvhttp_response_t *response, const void *data, size_t size);

/* Sends a field behind the body (RFC 9110 section 6.5), to be set before end. Only a body in chunks
 * can carry it; otherwise it is dropped.
 * Errors as for set_header; UVHTTP_EHEADER also for fields that frame or route a message
 * (Content-Length, Transfer-Encoding, Host, Trailer, TE, ...), which are not allowed there. */
UVHTTP_EXPORT int uvhttp_response_add_trailer(uvhttp_response_t *response, const char *name,
                                              const char *value);

/* The body is complete. Errors: UVHTTP_ELENGTH (shorter than announced: the connection is closed),
 * UVHTTP_EANSWERED, UVHTTP_EGONE, UVHTTP_ENOMEM (the connection is closed). */
UVHTTP_EXPORT int uvhttp_response_end(uvhttp_response_t *response);

/* Called once after each UVHTTP_EFULL, when everything taken before has left, and in a later loop
 * iteration. At most one; a second call replaces the first. A negative result ends the connection,
 * as a handler's would. */
typedef int (*uvhttp_drain_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_drain(uvhttp_response_t *response, uvhttp_drain_cb drain,
                                            void *arg);

/* Bytes taken and not given to the system yet. */
UVHTTP_EXPORT size_t uvhttp_response_pending(const uvhttp_response_t *response);

/* The same turned round: the server asks for the next bytes whenever there is room for them. `pull`
 * writes at most `size` bytes to `buffer`, their number to `*length`, and returns 0; with 0 bytes
 * the body has ended; UVHTTP_EFULL says that there are none yet: uvhttp_response_resume_pull asks
 * again. A negative result ends the connection. `release` runs exactly once, whatever the call
 * returns, when `arg` is not needed any more. Errors as for begin. */
typedef int (*uvhttp_pull_cb)(uvhttp_response_t *response, char *buffer, size_t size,
                              size_t *length, void *arg);
UVHTTP_EXPORT int uvhttp_response_send_pulled(uvhttp_response_t *response, int status,
                                              const char *content_type, uint64_t length,
                                              uvhttp_pull_cb pull, uvhttp_release_cb release,
                                              void *arg);
UVHTTP_EXPORT void uvhttp_response_resume_pull(uvhttp_response_t *response);

/* Begins a stream of server-sent events: 200 with text/event-stream, which nobody may store. What
 * the client saw last stands in the request's Last-Event-ID. While nothing is sent for
 * `event_heartbeat` seconds, a comment goes out, which clients ignore: proxies keep the connection,
 * and a client that has gone is noticed. So what is sent behind it has to be whole events. A server
 * that stops ends the stream: the client gets a complete response, and `on_abort` runs. Behind HEAD
 * the same happens in the next loop iteration. Errors as for begin, and UVHTTP_ESTOPPED when the
 * server stops already (503, when a handler returns it). */
UVHTTP_EXPORT int uvhttp_response_begin_events(uvhttp_response_t *response);

/* Sends one event behind it (uvhttp/sse.h says what it may hold: one with nothing but an empty
 * comment is a heartbeat). Errors as for write, and UVHTTP_EINVAL for an id or type with a line
 * end. uvhttp_response_end ends the stream. */
UVHTTP_EXPORT int uvhttp_response_send_event(uvhttp_response_t *response,
                                             const uvhttp_sse_event_t *event);

/* Sends an interim answer before the final one (RFC 8297): 103 with the fields set so far, which
 * stay set and go out again with the final answer. Clients of HTTP/1.0 are sent none (0 is
 * returned). Errors as for send, and UVHTTP_EFULL when the client reads nothing. */
UVHTTP_EXPORT int uvhttp_response_send_early_hints(uvhttp_response_t *response);

/* ---- What others see of it ---- */

/* Called once for the response just before it leaves, whoever sends it: a handler, a middleware, or
 * the server (404, 413, 500, ...), if it was set until then. Status and fields may be read and
 * changed; of a body that is sent in one piece from memory the bytes can be seen. For middleware
 * that works behind the handler. Called in the opposite order of setting, so that what was set
 * first has the last word. A negative result makes the sending call fail with it. When a sending
 * call fails, what they have done to status and fields is undone, and they are called for the
 * answer that is sent instead, also the server's own 500 or 503. Errors: UVHTTP_EINVAL (no
 * function), UVHTTP_ENOMEM. */
typedef int (*uvhttp_send_cb)(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_on_send(uvhttp_response_t *response, uvhttp_send_cb send,
                                          void *arg);

/* In a uvhttp_send_cb: the body if it lies in memory, base NULL if it does not; and its length,
 * UVHTTP_LENGTH_UNKNOWN for one in pieces of unknown length. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_response_body(const uvhttp_response_t *response);
UVHTTP_EXPORT uint64_t uvhttp_response_body_length(const uvhttp_response_t *response);

/* The body comes in pieces (begin, send_pulled, events): true in a uvhttp_send_cb and behind it. */
UVHTTP_EXPORT bool uvhttp_response_in_pieces(const uvhttp_response_t *response);

/* In a uvhttp_send_cb: has these bytes sent instead of the body, which is released; they are
 * copied. Content-Type stays what it is until it is changed. Errors: UVHTTP_EINVAL (anywhere else,
 * the body comes in pieces, or this is the 101 of an upgrade, whose status stays as well),
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_response_replace_body(uvhttp_response_t *response, const void *data,
                                               size_t size);

/* ---- Changing a body in pieces ----
 *
 * A filter sees each piece that is written, and what it appends to its output goes out instead:
 * more, less, or nothing for now. For a compression, a checksum in a trailer, a watermark. */
typedef enum uvhttp_filter_event {
    UVHTTP_FILTER_PIECE = 0, /* `data`, at least one byte */
    UVHTTP_FILTER_FLUSH,     /* no data: what was kept is to leave now */
    UVHTTP_FILTER_END,       /* no data: the last call */
} uvhttp_filter_event_t;

/* Where a filter's bytes go. */
typedef struct uvhttp_filter_output uvhttp_filter_output_t;

/* Must not send, write or end; fields behind the body (uvhttp_response_add_trailer) it may add. A
 * result other than 0 ends the connection, since half a body must not look like a whole one. Not
 * called for HEAD and answers without a body. */
typedef int (*uvhttp_filter_cb)(uvhttp_response_t *response, uvhttp_filter_event_t event,
                                const void *data, size_t size, uvhttp_filter_output_t *output,
                                void *arg);

/* In a uvhttp_send_cb: has the pieces of this body pass through `filter`, before those that are set
 * later. The body's length becomes unknown, so it goes out in chunks, with trailers; that it has
 * the length which was announced is still looked after. Back-pressure stays as it is: while there
 * is no room, a piece is refused and no filter has seen it. `release` runs exactly once whatever
 * the call returns, when `arg` is not needed any more. Errors: UVHTTP_EINVAL (anywhere else, no
 * function, or the body does not come in pieces), UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_response_filter(uvhttp_response_t *response, uvhttp_filter_cb filter,
                                         uvhttp_release_cb release, void *arg);

/* In a filter: bytes that go on, copied. Errors: UVHTTP_EINVAL (no `data`), UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_filter_output_append(uvhttp_filter_output_t *output, const void *data,
                                              size_t size);

/* Behind write: what filters have kept of the body so far leaves now; the client can use every byte
 * that was written. For whoever waits between two pieces. Without filters nothing is kept. Errors
 * as for write; UVHTTP_EFULL: flush again when it has drained. */
UVHTTP_EXPORT int uvhttp_response_flush(uvhttp_response_t *response);

/* Lets the body of this response have at most that many bytes; of several limits the smallest
 * counts. A sending call that would begin a larger one fails with UVHTTP_ETOOLARGE, which is
 * answered with 500 when the handler returns it; so does the write that makes a body of unknown
 * length larger, which also ends the connection, since the client must not take it for the whole.
 * What the server itself answers for a handler that failed is not limited. */
UVHTTP_EXPORT void uvhttp_response_limit_body(uvhttp_response_t *response, uint64_t most);

/* Lets the body of this response leave at no more than `bytes_per_second` on average, whether it
 * lies in memory, in a file or comes in pieces; 0 lifts the limit. At once leave `burst` bytes, and
 * at least a quarter of a second's worth, so that small answers do not wait; then four portions a
 * second. What a slow client did not take is made up for during one second at most. write_timeout
 * does not run while the rate is what the response waits for. Pieces leave as a whole, and the next
 * one is refused (UVHTTP_EFULL, then on_drain) until it has been paid for. To be called before the
 * response is sent; again, also between pieces, it changes the rate. A handler that blocks calls it
 * before it begins. The head is not counted, nor is what an upgraded connection sends. 0, or
 * UVHTTP_ENOMEM with nothing changed. */
UVHTTP_EXPORT int uvhttp_response_limit_rate(uvhttp_response_t *response, uint64_t bytes_per_second,
                                             uint64_t burst);

/* The value of a field set so far (the first of that name), or NULL; of fields set by
 * uvhttp_response_set_header and add_header, and Content-Type. */
UVHTTP_EXPORT const char *uvhttp_response_header(const uvhttp_response_t *response,
                                                 const char *name);
/* The same, of prepared fields too, behind the others; base NULL when there is none. Not
 * NUL-terminated; lives until the fields are changed. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_response_header_slice(const uvhttp_response_t *response,
                                                          const char *name);

/* Whether a field that is a list has a token, given in small letters ("Cache-Control",
 * "no-transform"), in whatever case and in any of its lines, set or prepared: several lines are one
 * list (RFC 9110 section 5.3). False where a name is NULL. */
UVHTTP_EXPORT bool uvhttp_response_header_lists(const uvhttp_response_t *response, const char *name,
                                                const char *token);

/* Takes away every field of that name that was set or added; prepared ones stay. Does nothing once
 * the response was sent. */
UVHTTP_EXPORT void uvhttp_response_remove_header(uvhttp_response_t *response, const char *name);

/* Goes on behind a middleware that answered neither with UVHTTP_DECLINED nor with a response but
 * returned 0: it needed time to decide. The next middleware or the handler runs, possibly before
 * this returns. Errors: UVHTTP_EINVAL (no middleware holds it), UVHTTP_EANSWERED, UVHTTP_EGONE. */
UVHTTP_EXPORT int uvhttp_response_proceed(uvhttp_response_t *response);

/* Like send_static, but the bytes have to live only until `release` is called. `release` runs
 * exactly once whatever the call returns, possibly before it returns. */
UVHTTP_EXPORT int uvhttp_response_send_borrowed(uvhttp_response_t *response, int status,
                                                const char *content_type, const void *data,
                                                size_t size, uvhttp_release_cb release, void *arg);

/* Sends `size` bytes of an open regular file from `offset` by sendfile (never changing its file
 * position). The descriptor stays yours and open until `release` is called; same rule as
 * send_borrowed. If the file turns out to be shorter than promised the connection is closed and a
 * line is logged. */
UVHTTP_EXPORT int uvhttp_response_send_descriptor(uvhttp_response_t *response, int status,
                                                  const char *content_type, int descriptor,
                                                  uint64_t offset, uint64_t size,
                                                  uvhttp_release_cb release, void *arg);

/* A part of a body: memory when `descriptor` is negative, else that many bytes of an open regular
 * file from `offset`. */
typedef struct uvhttp_part {
    const void *data; /* of a part in memory; may be NULL when `size` is 0 */
    int descriptor;
    uint64_t offset; /* bytes into the file; of no meaning for memory */
    uint64_t size;   /* bytes */
} uvhttp_part_t;

/* Sends one body that is made of `count` parts, one behind the other; Content-Length is their sum.
 * The array is copied during the call, what it refers to (bytes and descriptors) stays yours and
 * has to stay as it is until `release` is called; same rule as send_borrowed, and for files as
 * send_descriptor. With no parts the body is empty. More errors: UVHTTP_EINVAL (no array, memory
 * without `data`, a file's end or a sum beyond 2^63 - 1). For a file between texts, several pieces
 * of one file (RFC 9110 section 15.3.7.2), or headers and contents of an archive. */
UVHTTP_EXPORT int uvhttp_response_send_parts(uvhttp_response_t *response, int status,
                                             const char *content_type, const uvhttp_part_t *parts,
                                             size_t count, uvhttp_release_cb release, void *arg);
/* Called when the bytes of send_descriptor or of a file in send_parts cannot be read any more, in
 * the middle of the body, before the connection is closed for it: `error` is UVHTTP_ETRUNCATED or
 * libuv's code (UV_EIO, UV_ESTALE, ...). For whoever keeps the descriptor to send it again. Now and
 * then the error is the socket's. Runs before `release`, on the loop's thread, and may not send. At
 * most one; a second call replaces the first. To be set before the response is sent. */
typedef void (*uvhttp_read_error_cb)(int error, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_read_error(uvhttp_response_t *response,
                                                 uvhttp_read_error_cb failed, void *arg);

/* Fields encoded once and sent many times: the quickest way to send the same fields again and
 * again. */
typedef struct uvhttp_prepared uvhttp_prepared_t;

/* These four: any thread, one at a time for one object. NULL when memory ran out. `allocator` NULL
 * means the system's. Freed with uvhttp_prepared_free (NULL is fine). */
UVHTTP_EXPORT uvhttp_prepared_t *uvhttp_prepared_new(const uvhttp_allocator_t *allocator);
UVHTTP_EXPORT void uvhttp_prepared_free(uvhttp_prepared_t *prepared);

/* Adds a field; rules and errors as for uvhttp_response_add_header. */
UVHTTP_EXPORT int uvhttp_prepared_add(uvhttp_prepared_t *prepared, const char *name,
                                      const char *value);

/* Adds all fields of another set, but those named `except` (NULL: all). `from` is only read. 0, or
 * UVHTTP_ENOMEM with nothing added. */
UVHTTP_EXPORT int uvhttp_prepared_add_all(uvhttp_prepared_t *prepared,
                                          const uvhttp_prepared_t *from, const char *except);

/* Promises that these bytes do not change as long as `prepared` lives, and go with its fields. They
 * are not copied. A response of 200 that sends exactly them with `prepared` and without other
 * fields may then be kept whole while it is asked for often, and leave by one sendfile, without
 * being copied for each client (config->standing_memory; Linux 6.5 and later; for bodies of 4 to 60
 * KiB). Clients get the same bytes either way. A second call replaces the first; `data` NULL takes
 * it back. Thread: as uvhttp_prepared_add. */
UVHTTP_EXPORT void uvhttp_prepared_set_body(uvhttp_prepared_t *prepared, const void *data,
                                            size_t size);

/* The same of `size` bytes of an open regular file from `offset`, sent by
 * uvhttp_response_send_descriptor with the same three. The descriptor stays yours and open as long
 * as `prepared` lives. Should the file be written to all the same, clients get the old bytes for up
 * to a second. This promise and that of uvhttp_prepared_set_body replace one another; a negative
 * `descriptor` takes them back. Thread: as uvhttp_prepared_add. */
UVHTTP_EXPORT void uvhttp_prepared_set_descriptor(uvhttp_prepared_t *prepared, int descriptor,
                                                  uint64_t offset, size_t size);

/* Sends these fields with the response, after those set one by one. They are copied when the
 * response is sent, so `prepared` has to live until the send function returns. One set per
 * response: a second call replaces the first. A Content-Type among them wins over those set or
 * given otherwise. */
UVHTTP_EXPORT void uvhttp_response_use_prepared(uvhttp_response_t *response,
                                                const uvhttp_prepared_t *prepared);

/* Closes the connection after this response ("Connection: close", RFC 9112 section 9.6). Once its
 * body in pieces has begun the client is not told beforehand any more, but the connection is closed
 * all the same. */
UVHTTP_EXPORT void uvhttp_response_close_after(uvhttp_response_t *response);

/* True until a send function was called successfully or the client has gone. */
UVHTTP_EXPORT bool uvhttp_response_open(const uvhttp_response_t *response);

/* Answering later: return 0 from the handler without having sent anything and keep `response`. It
 * stays valid until it has been sent, or until the abort callback has run, which happens exactly
 * once if the client goes away or the server stops first; then the response is gone and must not be
 * touched any more. Without an abort callback you cannot know, so set one whenever you answer
 * later. At most one; a second call replaces the first. Not called once the response is sent. A
 * client that only ends its sending side still gets its answer, and one that has closed looks the
 * same until something is sent to it or the system's probes (about two minutes of silence) find
 * out; a reset is noticed at once. uvhttp_response_on_peer_end tells of both. */
typedef void (*uvhttp_abort_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT void uvhttp_response_on_abort(uvhttp_response_t *response, uvhttp_abort_cb abort,
                                            void *arg);

/* The client has ended its sending side while the response is not complete: called once, in a loop
 * iteration after this call. Most clients that do so have closed the connection and take nothing
 * more. With 0 the response is sent later as before, and a client that waits for it gets it;
 * UVHTTP_EGONE closes the connection, and the abort callback is called; other negative results are
 * as a handler's. At most one; a second call replaces the first, and NULL takes it back. The loop's
 * thread.
 * Returns 0, or
 *   UVHTTP_EINVAL     a blocking handler: see uvhttp_response_peer_ended
 *   UVHTTP_EANSWERED  the response was sent
 *   UVHTTP_EGONE      the client has gone, or the server has ended the response */
typedef int (*uvhttp_peer_end_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_on_peer_end(uvhttp_response_t *response, uvhttp_peer_end_cb ended,
                                              void *arg);

/* True once the client has ended its sending side, with all that uvhttp_response_on_peer_end says
 * of it. For a blocking handler, which asks now and then whether its work is still wanted; a
 * handler on the loop may ask, too. The handler's thread. */
UVHTTP_EXPORT bool uvhttp_response_peer_ended(const uvhttp_response_t *response);

/* Runs `work(arg)` on a thread of the server's quick lane, then `done(response, arg)` on the
 * loop. For short work that may block: a look at a file, a read, a query that is answered at
 * once. The loop's thread; not in a handler that blocks. The exchange lives until `done` has
 * returned, even if the client has gone meanwhile; then sending gives UVHTTP_EGONE
 * (uvhttp_response_open tells). So `done` runs exactly once and is the place to free what `arg`
 * owns. A body in pieces may be made that way, too: from uvhttp_response_begin to
 * uvhttp_response_end, and in a uvhttp_pull_cb that then says UVHTTP_EFULL. Any result of `done`
 * but 0 is a failure: 503 for UVHTTP_ENOMEM and UVHTTP_EFULL, else 500; of a response that has
 * begun the connection ends.
 * Returns 0, or, with neither function called,
 * UVHTTP_EINVAL: no function, or a handler that blocks calls.
 * UVHTTP_ENOMEM: memory ran out.
 * UVHTTP_EFULL: config->quick_queue jobs are pending. A handler that returns this answers 503
 *   with "Retry-After: 1". Only for the first job of a response in a lane, and only before its
 *   body in pieces has begun: later ones are always taken.
 * UVHTTP_EANSWERED: the response was sent.
 * UVHTTP_EGONE: the client has gone. */
typedef void (*uvhttp_work_cb)(void *arg);
typedef int (*uvhttp_done_cb)(uvhttp_response_t *response, void *arg);
UVHTTP_EXPORT int uvhttp_response_defer(uvhttp_response_t *response, uvhttp_work_cb work,
                                        uvhttp_done_cb done, void *arg);

/* The same in the heavy lane (config->heavy_threads, config->heavy_queue), for work that takes
 * long: compression, hashing of passwords, large files. It waits for other work of this kind, and
 * never delays the quick lane.
 * Returns 0, or the errors of uvhttp_response_defer. */
UVHTTP_EXPORT int uvhttp_response_defer_heavy(uvhttp_response_t *response, uvhttp_work_cb work,
                                              uvhttp_done_cb done, void *arg);

/* Answers as if the handler had just returned this error: 503 for UVHTTP_ENOMEM, UVHTTP_ESTOPPED
 * and UVHTTP_EFULL (with "Retry-After: 1"), otherwise 500, with a line in the log; a response that
 * was begun ends with its connection. For whoever answers later and cannot. Errors: UVHTTP_EINVAL
 * (`error` is not negative, or a handler that blocks calls, or a uvhttp_send_cb, which returns its
 * error instead), UVHTTP_EANSWERED, UVHTTP_EGONE; then nothing has happened. The loop's thread. */
UVHTTP_EXPORT int uvhttp_response_fail(uvhttp_response_t *response, int error);

/* Runs `work(arg)` as a job to put something away that the exchange leaves behind: files to close
 * or to remove. It runs in the heavy lane if the response has had a job there, else in the quick
 * one, and no limit of a queue refuses it. The loop's thread, and in a handler that blocks, where
 * it runs at once. Unlike uvhttp_response_defer it may be called as long as the response is
 * there, whatever has become of it: after the response was sent, in the abort callback, and in
 * the `release` of uvhttp_request_attach. Exchange and server live until it has run, and nobody
 * is notified. When memory runs out it runs at once, on the loop. Does nothing without `work`. */
UVHTTP_EXPORT void uvhttp_response_clean_up(uvhttp_response_t *response, uvhttp_work_cb work,
                                            void *arg);

/* The request this response answers, and the server both belong to. */
UVHTTP_EXPORT uvhttp_request_t *uvhttp_response_request(uvhttp_response_t *response);

/* The standard reason phrase ("Not Found"), "" for a status without one. Any thread. */
UVHTTP_EXPORT const char *uvhttp_status_text(int status);

/* Writes to the server's log (uvhttp_config_t.log) at that level; printf-style. Control characters
 * are escaped; lines longer than 1,000 bytes are cut. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
UVHTTP_EXPORT void
uvhttp_response_log(uvhttp_response_t *response, uvhttp_log_level_t level, const char *format, ...);

/* Milliseconds of the loop's coarse clock: monotonic, no system call, the same value during one
 * loop turn. */
UVHTTP_EXPORT uint64_t uvhttp_response_now(const uvhttp_response_t *response);

/* No status of HTTP's, but what logs have for a client that had gone before anything was sent,
 * since nginx. */
#define UVHTTP_STATUS_CLIENT_GONE 499

/* How an exchange has ended. */
typedef struct uvhttp_outcome {
    int status; /* the response's, or CLIENT_GONE */
    uint64_t
        /* head and body of this response; of an aborted one what still waited counts as well */
        bytes_sent;
    uint64_t duration_us;
    bool aborted;    /* the client had gone before the end */
    int64_t unix_ms; /* when the head had arrived, in milliseconds since 1970-01-01 00:00 UTC */
} uvhttp_outcome_t;

/* Called once for each exchange when it is over: its last byte was handed to the system or waits to
 * be, or the client has gone. Request and response are still there, and nothing can be sent any
 * more; of the response's fields those that were set one by one. A request that was refused because
 * of its bytes has neither method nor target nor fields. See uvhttp_server_on_finished. */
typedef void (*uvhttp_finished_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                   const uvhttp_outcome_t *outcome, void *arg);

#ifdef __cplusplus
}
#endif

#endif
