/* Size limits for a part of a server: how large the body of a request and that of a response may
 * be, below what server and routes allow.
 *
 *     uvhttp_size_limit_t *limit;
 *     char message[256];
 *     int err = uvhttp_size_limit_new(&limit, &(uvhttp_size_limit_config_t){.max_request_body =
 *     4096}, message, sizeof message);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_size_limit_handle_request, limit);
 *
 * A request that announces more is answered with 413 before its body is read; one that comes in
 * chunks, or to a route with UVHTTP_ROUTE_STREAM, is counted and answered with 413 when it becomes
 * larger. A response that would be larger is logged and becomes a 500, or, when it has begun
 * already without a length, ends with its connection. Both are done by uvhttp_request_limit_body
 * and uvhttp_response_limit_body, which a middleware of your own may call with limits that depend
 * on who asks. The head of a request has limits of its own (uvhttp_config_t). */
#ifndef UVHTTP_SIZE_LIMIT_H
#define UVHTTP_SIZE_LIMIT_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits that never change; from uvhttp_size_limit_new. */
typedef struct uvhttp_size_limit uvhttp_size_limit_t;

/* What uvhttp_size_limit_new is told. */
typedef struct uvhttp_size_limit_config {
    size_t max_request_body;             /* bytes; 0: not limited here */
    size_t max_response_body;            /* bytes; 0: not limited here */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the limit. */
} uvhttp_size_limit_config_t;

/* 0 and the limit in `*limit`, or with `*limit` NULL: UVHTTP_ECONFIG, when both are 0, with a
 * NUL-terminated message of at most `size` bytes (`message` may be NULL); UVHTTP_EINVAL (no
 * config); UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_size_limit_new(uvhttp_size_limit_t **limit,
                                        const uvhttp_size_limit_config_t *config, char *message,
                                        size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_size_limit_free(uvhttp_size_limit_t *limit);

/* A middleware: lets every request pass, with these limits. `limit` is the uvhttp_size_limit_t; any
 * number of servers, groups and routes may use one. Of several limits the smallest counts. */
UVHTTP_EXPORT int uvhttp_size_limit_handle_request(uvhttp_request_t *request,
                                                   uvhttp_response_t *response, void *limit);

#ifdef __cplusplus
}
#endif

#endif
