/* benchmark_unified [--workers N] [PORT]: one server with all kinds of responses. Default port:
 * 18081; 0 selects a free one. 1,000 more routes make the router work as in a large application.
 *
 *     GET  /               13 bytes from memory
 *     GET  /json           an object, generated for each request
 *     GET  /small          1 KB from memory
 *     GET  /medium         10 KB from memory
 *     GET  /large          100 KB from memory
 *     POST /post           the request body, up to 1 MB
 *     GET  /users/:id      the id
 *     GET  /stream         1 MB from a descriptor, streamed without being whole in memory
 *     GET  /api/vA/rB, /api/vA/rB/:id, /api/vA/rB/:id/history, /api/vA/rB/search
 *                          A from 0 to 9, B from 0 to 24: 1,000 routes, with the response of "/" */
#include <sys/mman.h>
#include <unistd.h>

#include "start_line.h"

enum { STREAM_SIZE = 1024 * 1024, VERSIONS = 10, RESOURCES = 25, SUFFIXES = 4 };

/* The text, repeated. */
static char bytes[STREAM_SIZE];

static int send_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    const size_t *size = arg;
    return uvhttp_response_send_static(response, 200, "text/plain", bytes, *size);
}

static int send_user(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200, uvhttp_request_param(request, "id"));
}

static int send_stream(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    const int *descriptor = arg;
    return uvhttp_response_send_descriptor(response, 200, "application/octet-stream", *descriptor,
                                           0, STREAM_SIZE, release_nothing, NULL);
}

static void add_more_routes(uvhttp_server_t *server)
{
    static const char *const suffixes[] = {"", "/:id", "/:id/history", "/search"};
    char pattern[64];
    for (int i = 0; i < VERSIONS * RESOURCES * SUFFIXES; i++) {
        snprintf(pattern, sizeof(pattern), "/api/v%d/r%d%s", i / SUFFIXES / RESOURCES,
                 i / SUFFIXES % RESOURCES, suffixes[i % SUFFIXES]);
        uvhttp_server_route(server, "GET", pattern, send_text, NULL);
    }
}

int main(int argc, char **argv)
{
    static size_t small = 1024, medium = 10 * 1024, large = 100 * 1024;
    int port, descriptor = memfd_create("stream", MFD_CLOEXEC);
    for (size_t i = 0; i < STREAM_SIZE; i++)
        bytes[i] = hello[i % (sizeof(hello) - 1)];
    if (descriptor < 0 || write(descriptor, bytes, STREAM_SIZE) != STREAM_SIZE)
        err(1, "no memory for /stream");
    uvhttp_server_t *server = new_server(read_arguments(argc, argv, &port));
    add_plain_routes(server);
    uvhttp_server_route(server, "GET", "/small", send_bytes, &small);
    uvhttp_server_route(server, "GET", "/medium", send_bytes, &medium);
    uvhttp_server_route(server, "GET", "/large", send_bytes, &large);
    uvhttp_server_route(server, "GET", "/users/:id", send_user, NULL);
    uvhttp_server_route(server, "GET", "/stream", send_stream, &descriptor);
    add_more_routes(server);
    return run_server(server, port);
}
