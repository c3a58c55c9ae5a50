/* overload_server [--guard 1] [--work N] [--workers N] [PORT]: a server whose handler computes, for
 * `./dev bench overload`. Default port: 18083; 0 selects a free one.
 *
 *     GET /    N thousand steps of a hash (default: 1000, about 1 ms), then 13 bytes
 *
 * With --guard 1 it has overload_guard with its defaults. */
#include "start_line.h"

static uint64_t steps = 1000 * 1000;

static int compute(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    volatile uint64_t seen;
    uint64_t hash = 14695981039346656037u;
    for (uint64_t i = 0; i < steps; i++)
        hash = (hash ^ (i & 255)) * 1099511628211u;
    seen = hash; /* so that the compiler keeps the loop */
    (void)seen;
    return send_text(request, response, arg);
}

int main(int argc, char **argv)
{
    int port;
    usage = "[--guard 1] [--work N] [--workers N] [PORT]";
    const char *guard = take_option("--guard", &argc, argv);
    const char *work = take_option("--work", &argc, argv);
    uvhttp_config_t *config = read_arguments(argc, argv, &port);
    if (work != NULL)
        steps = strtoull(work, NULL, 10) * 1000;
    config->overload_guard = guard != NULL && strcmp(guard, "0") != 0;
    uvhttp_server_t *server = new_server(config);
    uvhttp_server_route(server, "GET", "/", compute, NULL);
    return run_server(server, port);
}
