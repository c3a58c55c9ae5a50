/* benchmark_rps [--workers N] [--tls FILE] [PORT]: answers "/" from memory (default port 18081, 0
 * takes a free one), over HTTPS with a FILE that holds a certificate and its key. What the library
 * costs with the least possible handler; `./dev bench quick` and `./dev bench http` measure it. */
#include "start_line.h"

static const char body[] = "Hello, world\n";

static int answer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_static(response, 200, "text/plain", body, sizeof(body) - 1);
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
    int err = uvhttp_server_route(server, "GET", "/", answer, NULL);
    return run_server("benchmark_rps", server, err, port);
}
