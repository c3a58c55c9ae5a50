/* Serves a directory beside other routes, with one mount. Conditional requests, ranges, media types
 * and caching are included.
 *
 *     curl -i http://127.0.0.1:8080/files/
 *     curl -i -r 0-99 http://127.0.0.1:8080/files/style.css
 *     curl http://127.0.0.1:8080/hello
 *
 * Usage: static_files [PORT [DIRECTORY]] */
#include <stdlib.h>

#include <uvhttp.h>

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_text(res, 200, "Hello from a handler\n");
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    const char *directory = argc > 2 ? argv[2] : "examples/site";

    uvhttp_error_t error = {.text = ""};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_static_mount(
        server, "/files/", &(uvhttp_static_options_t){.root = directory, .listing = true}, &error);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/hello", hello, NULL);
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
