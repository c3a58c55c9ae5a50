/* Step 2 of the tutorial: routes, their parameters, and methods. */
#include <stdlib.h>

#include <uvhttp.h>

static int show_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[300];
    snprintf(text, sizeof text, "the file %.200s\n", uvhttp_request_param(req, "name"));
    return uvhttp_response_send_text(res, 200, text);
}

static int delete_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_status(res, 204);
}

static int show_help(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[300];
    const char *topic = uvhttp_request_param(req, "topic");
    snprintf(text, sizeof text, "help for %.200s\n", topic[0] != '\0' ? topic : "beginners");
    return uvhttp_response_send_text(res, 200, text);
}

static int add_routes(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/files/:name", show_file, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "DELETE", "/files/:name", delete_file, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/help/*topic", show_help, NULL);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server);
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
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
