/* The access log: a line for each exchange, in Apache's formats, as JSON, or as you like it.
 *
 * Lines are copied into a buffer of the log; a thread of the log writes them. A loop never waits
 * for the disk: when the buffer is full, lines are dropped and counted, and a line that says how
 * many stands in their place as soon as there is room. Every value is escaped, so that nobody can
 * put a line end, a quote or a terminal's control sequence into the log. One log may serve several
 * servers and their workers.
 *
 *     uvhttp_access_log_open(&log, &(uvhttp_access_log_config_t){.path = "access.log"});
 *
 * and pass uvhttp_access_log_finished with `log` as what runs when an exchange is finished. */
#ifndef UVHTTP_ACCESS_LOG_H
#define UVHTTP_ACCESS_LOG_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An access log, with its buffer and its thread; from uvhttp_access_log_open. */
typedef struct uvhttp_access_log uvhttp_access_log_t;

/* How a line is written. */
typedef enum uvhttp_access_format {
    /* The Common Log Format: client, "-", user, time, request line, status, bytes. */
    UVHTTP_ACCESS_COMMON = 0,
    /* That, and Referer and User-Agent: Apache's "combined". */
    UVHTTP_ACCESS_COMBINED,
    /* One JSON object a line: time, client, user, method, target, protocol, host, status, bytes,
     * duration_ms, referer, user_agent, request_id, aborted. What is absent is null. Bytes that are
     * no UTF-8 become U+FFFD. */
    UVHTTP_ACCESS_JSON
} uvhttp_access_format_t;

/* What uvhttp_access_log_open is told. All but the path may be zero. */
typedef struct uvhttp_access_log_config {
    const char *
        /* a file to append to (created with mode 0640) or a FIFO; "-": standard output. Required;
         * copied. */
        path;
    uvhttp_access_format_t format;
    /* A format of your own instead; NULL: `format`. Text with names in braces, "{{" for a brace.
     * `combined` is
     *     {client} - {user} [{time}] "{request}" {status} {bytes} "{referer}" "{user_agent}"
     * Names: {client} address, {user} who was let in (uvhttp/auth.h), spaces escaped, {method},
     * {target} as sent, {protocol} "HTTP/1.1", {request} these three with spaces between ("-" when
     * the client sent none), {host}, {referer}, {user_agent}, {request_id} (uvhttp/request_id.h,
     * else X-Request-Id of the request), {status}, {bytes} sent, head and body, {duration_ms}
     * "1.234", {duration_us}, {aborted} 1 or 0, {time} "22/Nov/2026:03:04:05 +0100", {time_iso}
     * "2026-11-22T02:04:05.678Z", {unix_ms}. All times are those at which the head had arrived. An
     * empty value is "-". */
    const char *pattern;
    size_t
        /* bytes of lines that wait to be written, 65,536 to 1 GiB; twice that is allocated; 0:
         * 262,144 */
        buffer_size;
    size_t flush_ms; /* milliseconds a line may wait for others before it is written; 0: 1,000 */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the log. */
    /* Told on the log's thread that writing fails (once, not at every try), works again, or that
     * lines are lost. NULL: nobody. */
    uvhttp_log_cb log;
    void *log_arg;
} uvhttp_access_log_config_t;

/* What a line is made of. Slices may be empty and hold any bytes. */
typedef struct uvhttp_access_facts {
    uvhttp_slice_t client;
    uvhttp_slice_t user;
    uvhttp_slice_t method;
    uvhttp_slice_t target;
    uvhttp_slice_t host;
    uvhttp_slice_t referer;
    uvhttp_slice_t user_agent;
    uvhttp_slice_t request_id;
    int http_minor; /* 0 or 1 */
    uvhttp_outcome_t outcome;
} uvhttp_access_facts_t;

/* Opens a log. 0 and the log in `*log`, or with `*log` NULL: UVHTTP_EINVAL (no config or path; a
 * format that does not exist; a pattern with an unknown name, an open brace, more than 64 parts or
 * 2,048 bytes of text; a buffer_size out of range), UVHTTP_ENOMEM, libuv's for opening (UV_EACCES,
 * UV_ENOENT, ...). Any thread. */
UVHTTP_EXPORT int uvhttp_access_log_open(uvhttp_access_log_t **log,
                                         const uvhttp_access_log_config_t *config);

/* Writes one line, at most 16,384 bytes: of a value that is longer than 2,048 bytes when escaped,
 * only the beginning stands there. Any thread. Never fails and never waits for input or output. */
UVHTTP_EXPORT void uvhttp_access_log_write(uvhttp_access_log_t *log,
                                           const uvhttp_access_facts_t *facts);

/* A uvhttp_finished_cb: takes the facts from the exchange and writes the line. `log` is the
 * uvhttp_access_log_t. */
UVHTTP_EXPORT void uvhttp_access_log_finished(uvhttp_request_t *request,
                                              uvhttp_response_t *response,
                                              const uvhttp_outcome_t *outcome, void *log);

/* Opens the path again, after a tool has renamed the file: lines of the moment go to the old file,
 * the following ones to the new one. Returns before that has happened; when the path cannot be
 * opened the old file stays in use and config.log is told. Does nothing with standard output. Any
 * thread, but not from a signal's handler (uv_signal_t's callback is none). NULL is fine. */
UVHTTP_EXPORT void uvhttp_access_log_reopen(uvhttp_access_log_t *log);

/* How many lines were dropped so far. Any thread. 0 for NULL. */
UVHTTP_EXPORT uint64_t uvhttp_access_log_dropped(uvhttp_access_log_t *log);

/* Writes what is waiting and frees the log. When the target takes nothing for a second (a pipe that
 * nobody reads) or fails (a full disk), the rest is given up and config.log is told. After the
 * servers that use it were freed. NULL is fine. */
UVHTTP_EXPORT void uvhttp_access_log_close(uvhttp_access_log_t *log);

#ifdef __cplusplus
}
#endif

#endif
