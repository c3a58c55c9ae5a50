/* Request bodies: POST one and get it back. A body above the limit of the route gets 413, and the
 * configuration limits what connections may use.
 *
 *     curl -d 'some text' http://127.0.0.1:8080/echo
 *     curl --data-binary @picture.png -H 'Content-Type: image/png' -o back.png \
 *         http://127.0.0.1:8080/echo
 *
 * Usage: echo [PORT] */
#include <stdlib.h>

#include <uvhttp.h>

#define BODY_LIMIT ((size_t)1024 * 1024)

/* Runs after the whole body has arrived. */
static int echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    const char *type = uvhttp_request_header(req, "Content-Type");
    return uvhttp_response_send(res, 200, type == NULL ? "application/octet-stream" : type,
                                body.base, body.length);
}

static void print_log(uvhttp_log_level_t level, const char *message, void *arg)
{
    if (level <= UVHTTP_LOG_WARNING)
        fprintf(stderr, "%s\n", message);
}

static uvhttp_server_t *new_server(void)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return NULL;
    config->max_connections = 100;
    config->keep_alive_timeout = 10; /* seconds */
    config->body_timeout = 5;
    config->log = print_log;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config); /* the server has copied it */
    return server;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = new_server();
    if (server == NULL) {
        fputs("out of memory\n", stderr);
        return 1;
    }
    uvhttp_router_add(uvhttp_server_router(server), &(uvhttp_route_t){.method = "POST",
                                                                      .pattern = "/echo",
                                                                      .handler = echo,
                                                                      .max_body_size = BODY_LIMIT});
    return uvhttp_server_main(server, "127.0.0.1", port);
}
