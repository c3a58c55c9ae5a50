/* benchmark_rps [--workers N] [--tls FILE] [PORT]: what the library costs with the least possible
 * handler (default port 18081, 0 takes a free one; HTTPS with a FILE that holds a certificate and
 * its key). `./dev bench` measures it.
 *
 *     GET  /      13 bytes from memory
 *     GET  /json  an object, written anew for each request
 *     POST /post  the body that came, up to 1 MB */
#include "start_line.h"

static const char text[] = "Hello, world\n";

static int send_text(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_static(response, 200, "text/plain", text, sizeof(text) - 1);
}

static int send_json(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    char json[64];
    snprintf(json, sizeof(json), "{\"message\":\"%.*s\"}", 12, text);
    return uvhttp_response_send_json(response, 200, json);
}

/* The body lives as long as the exchange. */
static void release_nothing(void *arg)
{
    (void)arg;
}

static int send_back(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t body = uvhttp_request_body(request);
    return uvhttp_response_send_borrowed(response, 200, "application/octet-stream", body.base,
                                         body.length, release_nothing, NULL);
}

static int add_routes(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/", send_text, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/json", send_json, NULL);
    return err != 0 ? err : uvhttp_server_route(server, "POST", "/post", send_back, NULL);
}

int main(int argc, char **argv)
{
    take_tls(&argc, argv);
    int workers = take_workers(&argc, argv);
    int port = argc > 1 ? parse_port(argv[1]) : 18081;
    if (port < 0 || workers < 0 || argc > 2) {
        fprintf(stderr,
                "benchmark_rps: %s\nusage: benchmark_rps [--workers N] [--tls FILE] [PORT]\n",
                argc > 2 ? "too many arguments"
                : workers < 0
                    ? "the number of workers is from 1 to 1024, or 0 or auto for one for each core"
                    : "the port is a number from 0 to 65535");
        return 2;
    }
    print_build("benchmark_rps");
    uvhttp_server_t *server = new_server_of(workers);
    return run_server("benchmark_rps", server, add_routes(server), port);
}
