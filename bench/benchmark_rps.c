/* benchmark_rps [PORT]: answers "/" from memory (default port 18081, 0 takes a free one). What the library costs with the
 * least possible handler; `./dev bench quick` measures it. Says which build it is, because figures of any other than Release
 * mean nothing. */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

static const char body[] = "Hello, world\n";

static int answer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_static(response, 200, "text/plain", body, sizeof(body) - 1);
}

static void print_build(void)
{
    printf("benchmark_rps: uvhttp %s\n", uvhttp_build_info());
    if (strstr(uvhttp_build_info(), " Release") == NULL)
        fputs("benchmark_rps: WARNING: this is not a Release build; what is measured with it means nothing\n",
              stderr);
}

static int parse_port(const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);
    return end == text || *end != '\0' || port < 0 || port > 65535 ? -1 : (int)port;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? parse_port(argv[1]) : 18081;
    if (port < 0 || argc > 2) {
        fputs("usage: benchmark_rps [PORT]\n", stderr);
        return 2;
    }
    print_build();
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_server_route(server, "GET", "/", answer, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "benchmark_rps: port %d: %s\n", port, uvhttp_strerror(err));
    return err != 0;
}
