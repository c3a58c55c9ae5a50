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

enum {
    SMALL_SIZE = 1024,
    MEDIUM_SIZE = 10 * 1024,
    LARGE_SIZE = 100 * 1024,
    STREAM_SIZE = 1024 * 1024,
    VERSIONS = 10,
    RESOURCES = 25
};

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

/* Returns an unnamed file with the bytes, or -1 with errno. */
static int open_stream(void)
{
    int descriptor = memfd_create("stream", MFD_CLOEXEC);
    if (descriptor >= 0 && write(descriptor, bytes, STREAM_SIZE) != STREAM_SIZE) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

static int add_named_routes(uvhttp_server_t *server, int *descriptor)
{
    static size_t sizes[] = {SMALL_SIZE, MEDIUM_SIZE, LARGE_SIZE};
    const struct {
        const char *method, *pattern;
        uvhttp_handler_cb handler;
        void *arg;
    } routes[] = {
        {"GET", "/small", send_bytes, &sizes[0]},    {"GET", "/medium", send_bytes, &sizes[1]},
        {"GET", "/large", send_bytes, &sizes[2]},    {"GET", "/users/:id", send_user, NULL},
        {"GET", "/stream", send_stream, descriptor},
    };
    int err = add_plain_routes(server);
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]) && err == 0; i++)
        err = uvhttp_server_route(server, routes[i].method, routes[i].pattern, routes[i].handler,
                                  routes[i].arg);
    return err;
}

static int add_more_routes(uvhttp_server_t *server)
{
    static const char *const suffixes[] = {"", "/:id", "/:id/history", "/search"};
    char pattern[64];
    int err = 0;
    for (int version = 0; version < VERSIONS; version++)
        for (int resource = 0; resource < RESOURCES; resource++)
            for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && err == 0; i++) {
                snprintf(pattern, sizeof(pattern), "/api/v%d/r%d%s", version, resource,
                         suffixes[i]);
                err = uvhttp_server_route(server, "GET", pattern, send_text, NULL);
            }
    return err;
}

int main(int argc, char **argv)
{
    int workers, port;
    if (!read_arguments("benchmark_unified", "", argc, argv, &workers, &port))
        return 2;
    print_build("benchmark_unified");
    for (size_t i = 0; i < STREAM_SIZE; i++)
        bytes[i] = hello[i % (sizeof(hello) - 1)];
    int descriptor = open_stream();
    if (descriptor < 0) {
        perror("benchmark_unified: no memory for /stream");
        return 1;
    }
    uvhttp_server_t *server = new_server(workers, 0);
    int err = add_named_routes(server, &descriptor);
    if (err == 0)
        err = add_more_routes(server);
    err = run_server("benchmark_unified", server, err, port);
    close(descriptor);
    return err;
}
