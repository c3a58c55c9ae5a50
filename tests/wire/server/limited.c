/* Handlers of wire_server with rate-limited responses: below /limited, by the query's `rate` and
 * `burst`. */
#include "wire_server.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PERIOD = 251, CHUNK = 5000, PART = 1500 };

static uint64_t number_of(uvhttp_request_t *req, const char *name)
{
    const char *text = uvhttp_request_query(req, name);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

static int limit(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    int err = uvhttp_response_limit_rate(res, number_of(req, "rate"), number_of(req, "burst"));
    return err != 0 ? err : UVHTTP_DECLINED;
}

static void fill(char *out, size_t size, uint64_t offset)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (char)(unsigned char)((offset + i) % PERIOD);
}

static void close_file(void *arg)
{
    app.releases++;
    close((int)(intptr_t)arg);
}

static int limited_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    size_t size = (size_t)number_of(req, "size");
    int file = memfd_create("limited", MFD_CLOEXEC);
    char *bytes = malloc(size);
    (void)arg;
    if (bytes != NULL)
        fill(bytes, size, 0);
    bool written = file >= 0 && bytes != NULL && write(file, bytes, size) == (ssize_t)size;
    free(bytes);
    if (!written) {
        close(file);
        return UVHTTP_ENOMEM;
    }
    return uvhttp_response_send_descriptor(res, 200, "application/octet-stream", file, 0, size,
                                           close_file, (void *)(intptr_t)file);
}

/* Short chunks from memory, which an unlimited body collects in one buffer, and a file between
 * them. */
static int limited_parts(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static char bytes[PERIOD + PART];
    size_t size = (size_t)number_of(req, "size");
    size_t most = size / PART + 1;
    uvhttp_part_t *parts = calloc(most, sizeof *parts);
    int file = memfd_create("limited", MFD_CLOEXEC);
    (void)arg;
    fill(bytes, sizeof bytes, 0);
    if (parts == NULL || file < 0 || write(file, bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
        close(file);
        free(parts);
        return UVHTTP_ENOMEM;
    }
    for (size_t i = 0; i < most; i++) {
        size_t begin = i * PART;
        size_t length = size - begin < PART ? size - begin : PART;
        parts[i] = i % 8 == 4 ? (uvhttp_part_t){NULL, file, begin % PERIOD, length}
                              : (uvhttp_part_t){bytes + begin % PERIOD, -1, 0, length};
    }
    int err = uvhttp_response_send_parts(res, 200, "application/octet-stream", parts, most,
                                         close_file, (void *)(intptr_t)file);
    free(parts);
    return err;
}

/* On a thread of its own, which blocks while a chunk is delayed. */
static int limited_blocking(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t size = number_of(req, "size");
    char chunk[CHUNK];
    (void)arg;
    int err = uvhttp_response_limit_rate(res, number_of(req, "rate"), number_of(req, "burst"));
    if (err == 0)
        err = uvhttp_response_begin(res, 200, NULL, size);
    for (uint64_t sent = 0; err == 0 && sent < size; sent += CHUNK) {
        size_t length = size - sent < CHUNK ? (size_t)(size - sent) : CHUNK;
        fill(chunk, length, sent);
        err = uvhttp_response_write(res, chunk, length);
    }
    return err != 0 ? err : uvhttp_response_end(res);
}

/* The limit is removed before the end. */
static int limited_and_lifted(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_limit_rate(res, 0, 0);
    return err != 0 ? err : large(req, res, arg);
}

int add_limited(uvhttp_router_t *router)
{
    const uvhttp_route_t routes[] = {
        {.method = "GET", .pattern = "/large", .handler = large},
        {.method = "GET", .pattern = "/file", .handler = limited_file},
        {.method = "GET", .pattern = "/parts", .handler = limited_parts},
        {.method = "GET", .pattern = "/pieces-out", .handler = stream_out},
        {.method = "GET", .pattern = "/pulled", .handler = pulled},
        {.method = "GET", .pattern = "/lifted", .handler = limited_and_lifted},
    };
    uvhttp_router_t *group;
    int err = uvhttp_router_group(router, "/limited", &group);
    if (err == 0)
        err = uvhttp_router_use(group, limit, NULL);
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err = uvhttp_router_add(group, &routes[i]);
    if (err == 0)
        err = uvhttp_router_add(group, &(uvhttp_route_t){.method = "GET",
                                                         .pattern = "/lifted-blocking",
                                                         .handler = limited_and_lifted,
                                                         .flags = UVHTTP_ROUTE_BLOCKING});
    if (err == 0)
        err = uvhttp_router_add(router, &(uvhttp_route_t){.method = "GET",
                                                          .pattern = "/limited-blocking",
                                                          .handler = limited_blocking,
                                                          .flags = UVHTTP_ROUTE_BLOCKING});
    return err;
}
