/* The configuration of a server: a plain struct, every number of it in the limits table of docs/limits.md.
 *
 * Take the defaults with uvhttp_config_new, change what you need, hand it to uvhttp_server_new_with (which copies it), and
 * free it. A value out of range is refused when the server listens, with a message that names field, value and range. */
#ifndef UVHTTP_CONFIG_H
#define UVHTTP_CONFIG_H

#include <uvhttp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything that can be set about a server. Ranges and defaults: docs/limits.md. */
typedef struct uvhttp_config {
    /* Connections */
    size_t max_connections; /* open at once; one more gets 503 and is closed */
    size_t listen_backlog;  /* connections the system queues before accept */

    /* Times, in seconds */
    size_t keep_alive_timeout; /* idle before or between requests: closed */
    size_t header_timeout;     /* from the first byte of a head to its end: 408 */
    size_t body_timeout;       /* without progress while a body arrives: 408 */
    size_t write_timeout;      /* without progress while a response is sent: closed */
    size_t handler_timeout; /* from the whole request to the beginning of the response: 503; 0 = no limit */
    size_t linger_timeout;  /* for a client to notice a refusal before its connection is closed */
    size_t drain_timeout;   /* for open exchanges after uvhttp_server_stop: closed */

    /* What a request may measure */
    size_t max_target_size;     /* bytes of the request target: 414 */
    size_t max_header_size;     /* bytes of the whole head: 431 */
    size_t max_header_count;    /* fields: 431 */
    size_t max_body_size;       /* bytes of a buffered body: 413 */
    size_t max_trailer_size;    /* bytes of the trailer section: 431 */
    size_t max_chunk_extension; /* bytes of extensions of one chunk: 400 */

    /* Requests per connection before it is closed; 0 = no limit */
    size_t max_requests_per_connection;

    /* Handlers that block (UVHTTP_ROUTE_BLOCKING) */
    size_t blocking_threads; /* run at once */
    size_t blocking_queue;   /* wait for a thread: 503 */

    /* Memory */
    size_t write_backlog; /* bytes of a body in pieces that may wait to be sent: UVHTTP_EFULL */
    size_t buffer_size;   /* bytes of a receive or transmit buffer, shared between connections */

    /* Not numbers */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the server. */
    uvhttp_log_cb log;                   /* NULL: silent */
    void *log_arg;
} uvhttp_config_t;

/* A config with every default; NULL when memory ran out. Free it with uvhttp_config_free (NULL is fine). Any thread. */
UVHTTP_EXPORT uvhttp_config_t *uvhttp_config_new(void);
UVHTTP_EXPORT void uvhttp_config_free(uvhttp_config_t *config);

/* 0, or UVHTTP_ECONFIG with a NUL-terminated message of at most `size` bytes ("max_connections is 0; allowed are 1 to
 * 10000000 connections"). Any thread. */
UVHTTP_EXPORT int uvhttp_config_check(const uvhttp_config_t *config, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
