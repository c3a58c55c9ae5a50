/* The access log: one line per exchange, in Apache's formats, as JSON, or in a custom format.
 *
 * Lines are copied into a buffer; a thread of the log writes them, so a loop never waits for the
 * disk. If the buffer is full, lines are dropped and counted, and a line with their number is
 * written when there is space again. All values are escaped, so that no line end, quote or terminal
 * control sequence can be injected. One log may be shared by several servers and their workers.
 *
 *     uvhttp_access_log_new(&log, &(uvhttp_access_log_options_t){.path = "access.log"}, NULL);
 *     uvhttp_server_on_finished(server, uvhttp_access_log_finished, log); */
#ifndef UVHTTP_ACCESS_LOG_H
#define UVHTTP_ACCESS_LOG_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An access log with its buffer and thread; from uvhttp_access_log_new. */
typedef struct uvhttp_access_log uvhttp_access_log_t;

/* Format of a line. */
typedef enum uvhttp_access_format {
    /* The Common Log Format: client, "-", user, time, request line, status, bytes. */
    UVHTTP_ACCESS_COMMON = 0,
    /* The same with Referer and User-Agent: Apache's "combined". */
    UVHTTP_ACCESS_COMBINED,
    /* One JSON object per line: time, client, user, method, target, route, protocol, host, status,
     * bytes, duration_ms, referer, user_agent, request_id, aborted. Absent values are null.
     * Bytes that are not UTF-8 become U+FFFD. */
    UVHTTP_ACCESS_JSON
} uvhttp_access_format_t;

/* Options of uvhttp_access_log_new. All except the path may be zero. */
typedef struct uvhttp_access_log_options {
    /* A file to append to (created with mode 0640) or a FIFO; "-": standard output; "syslog:":
     * syslog, a message for each line; "journal:": systemd's journal. These two may be followed by
     * the path of the socket, if it is not /dev/log or /run/systemd/journal/socket. Required;
     * copied. */
    const char *path;
    uvhttp_access_format_t format;
    /* A custom format instead; NULL: `format`. Text with names in braces, "{{" for a brace.
     * `combined` is
     *
     *     {client} - {user} [{time}] "{request}" {status} {bytes} "{referer}" "{user_agent}"
     *
     * Names: {client} address, {user} authenticated user (uvhttp/auth.h), spaces escaped,
     * {method}, {target} as sent, {route} its pattern (uvhttp_request_route), {protocol}
     * "HTTP/1.1", {request} these three separated by spaces ("-" if the client sent none), {host},
     * {referer}, {user_agent}, {request_id} (uvhttp/request_id.h, else X-Request-Id of the
     * request), {trace_id} and {span_id} (uvhttp/trace.h), {status}, {bytes} sent, head and body,
     * {duration_ms} "1.234", {duration_us}, {aborted} 1 or 0, {time} "22/Nov/2026:03:04:05 +0100",
     * {time_iso} "2026-11-22T02:04:05.678Z", {unix_ms}. At least one is required. All times are
     * those of the complete request head. An empty value is "-". */
    const char *pattern;
    /* Bytes of queued lines, 65,536 to 1 GiB; twice that is allocated; 0: 262,144. */
    size_t buffer_size;
    /* One line for this many requests that get a status below 400; others all have one. 0 and 1:
     * all. */
    uint32_t sample;
    uint32_t flush_ms; /* milliseconds a line is buffered at most before it is written; 0: 1,000 */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the log. */
    /* Called on the log's thread when writing fails (once, not at every attempt), works again,
     * or lines are lost (at most every 10 seconds). NULL: none. */
    uvhttp_log_cb log;
    void *log_arg;
} uvhttp_access_log_options_t;

/* Values of a line. Slices may be empty and contain any bytes. */
typedef struct uvhttp_access_facts {
    uvhttp_slice_t client;
    uvhttp_slice_t user;
    uvhttp_slice_t method;
    uvhttp_slice_t target;
    uvhttp_slice_t route;
    uvhttp_slice_t host;
    uvhttp_slice_t referer;
    uvhttp_slice_t user_agent;
    uvhttp_slice_t request_id;
    uvhttp_slice_t trace_id, span_id;
    int http_minor; /* 0 or 1 */
    bool is_http2;  /* then http_minor has no meaning */
    uvhttp_outcome_t outcome;
} uvhttp_access_facts_t;

/* Opens a log. Any thread.
 * Returns 0 with the log in `*log`, or with `*log` NULL
 *   UVHTTP_EINVAL  no options or path; unknown format; a pattern without a name, with an unknown
 *                  name, an unclosed brace, more than 64 parts or 2,048 bytes of text; a
 *                  buffer_size out of range
 *   UVHTTP_ENOMEM  out of memory
 *   libuv          errors of opening (UV_EACCES, UV_ENOENT, ...) */
UVHTTP_EXPORT int uvhttp_access_log_new(uvhttp_access_log_t **log,
                                        const uvhttp_access_log_options_t *options,
                                        uvhttp_error_t *error);

/* Opens a log, has the server write it (uvhttp_server_on_finished), and leaves it to the server,
 * which frees it. Before the server listens. uvhttp_server_error describes an error: one of
 * uvhttp_access_log_new or uvhttp_server_own, or UVHTTP_ENOMEM if `server` is NULL. */
UVHTTP_EXPORT int uvhttp_access_log_use(uvhttp_server_t *server,
                                        const uvhttp_access_log_options_t *options);

/* Writes one line of at most 16,384 bytes; a value above 2,048 bytes after escaping is
 * truncated. Any thread. Never fails and never waits for I/O. */
UVHTTP_EXPORT void uvhttp_access_log_write(uvhttp_access_log_t *log,
                                           const uvhttp_access_facts_t *facts);

/* A uvhttp_finished_cb: writes the line of an exchange. `log` is the uvhttp_access_log_t. */
UVHTTP_EXPORT void uvhttp_access_log_finished(uvhttp_request_t *request,
                                              uvhttp_response_t *response,
                                              const uvhttp_outcome_t *outcome, void *log);

/* The request is in no access log of uvhttp_access_log_finished: for probes. In a handler or
 * middleware.
 * Returns 0, or
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_access_log_skip(uvhttp_request_t *request);

/* Reopens the path, after a tool has renamed the file: queued lines are written to the old file,
 * later ones to the new one. Asynchronous; if the path cannot be opened, the old file remains in
 * use and options.log is called. Does nothing for standard output and NULL. Any thread, but not
 * from a signal handler (the callback of uv_signal_t is none). */
UVHTTP_EXPORT void uvhttp_access_log_reopen(uvhttp_access_log_t *log);

/* Number of lines dropped so far; 0 for NULL. Any thread. */
UVHTTP_EXPORT uint64_t uvhttp_access_log_dropped(uvhttp_access_log_t *log);

/* Writes queued lines and frees the log, after the servers that use it were freed. If the target
 * accepts nothing for one second (a pipe without a reader) or fails (a full disk), the rest is
 * dropped and options.log is called. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_access_log_free(void *log);

#ifdef __cplusplus
}
#endif

#endif
