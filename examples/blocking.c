/* Handlers that block run on threads of their own, chosen by a route flag. The loop serves other
 * requests meanwhile. One handler computes for long, one writes a report as fast as its client
 * reads.
 *
 *     curl 'http://127.0.0.1:8080/primes?below=2000000'
 *     curl -s 'http://127.0.0.1:8080/report?lines=3'
 *
 * Usage: blocking [PORT] */
#include <stdlib.h>

#include <uvhttp.h>

static unsigned long read_number(uvhttp_request_t *req, const char *name, unsigned long maximum)
{
    const char *text = uvhttp_request_query(req, name);
    unsigned long value = text == NULL ? 0 : strtoul(text, NULL, 10);
    return value < maximum ? value : maximum;
}

static int count_primes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    unsigned long below = read_number(req, "below", 50000000), count = 0;
    char text[64];
    (void)arg;
    for (unsigned long i = 2; i < below; i++) {
        unsigned long divisor = 2;
        while (divisor * divisor <= i && i % divisor != 0)
            divisor++;
        count += divisor * divisor > i;
        if (count % 4096 == 0 && !uvhttp_response_open(res))
            return UVHTTP_EDISCONNECTED; /* the client has disconnected */
    }
    snprintf(text, sizeof(text), "%lu primes below %lu\n", count, below);
    return uvhttp_response_send_text(res, 200, text);
}

static int write_report(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    unsigned long lines = read_number(req, "lines", 100000000);
    char line[64];
    (void)arg;
    int err = uvhttp_response_begin(res, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    for (unsigned long i = 1; err == 0 && i <= lines; i++) {
        int length = snprintf(line, sizeof(line), "line %lu\n", i);
        err = uvhttp_response_write(res, line, (size_t)length); /* waits until the client reads */
    }
    return err != 0 ? err : uvhttp_response_end(res);
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server);
    uvhttp_route_t primes = {.method = "GET",
                             .pattern = "/primes",
                             .handler = count_primes,
                             .flags = UVHTTP_ROUTE_BLOCKING,
                             .handler_timeout = 30};
    uvhttp_route_t report = {.method = "GET",
                             .pattern = "/report",
                             .handler = write_report,
                             .flags = UVHTTP_ROUTE_BLOCKING};
    uvhttp_router_add(router, &primes);
    uvhttp_router_add(router, &report);
    return uvhttp_server_main(server, "127.0.0.1",
                              argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080);
}
