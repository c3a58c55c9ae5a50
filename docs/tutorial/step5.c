/* Step 5 of the tutorial: a directory of files, and routes. Usage: step5 [PORT [DIRECTORY]] */
#include <stdlib.h>
#include <time.h>

#include <uvhttp.h>

static int tell_time(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    int err = uvhttp_response_set_header(res, "Cache-Control", "no-store");
    snprintf(text, sizeof text, "%lld\n", (long long)time(NULL));
    return err != 0 ? err : uvhttp_response_send_text(res, 200, text);
}

static int add_routes(uvhttp_server_t *server, const char *directory, uvhttp_error_t *error)
{
    const uvhttp_static_options_t config = {.root = directory, .listing = true};
    int err = uvhttp_server_route(server, "GET", "/api/time", tell_time, NULL);
    return err != 0 ? err : uvhttp_static_mount(server, "/", &config, error);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_error_t error = {.text = ""};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server, argc > 2 ? argv[2] : "site", &error);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", *error.text ? error.text : uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
