/* CORS: pages of two other origins may use this API from a browser, with cookies. Pages of all
 * other origins may not.
 *
 *     curl -i -H "Origin: https://app.example.com" http://127.0.0.1:8080/api/count
 *     curl -i -X OPTIONS -H "Origin: https://app.example.com" \
 *         -H "Access-Control-Request-Method: PUT" http://127.0.0.1:8080/api/count
 *     curl -i -X PUT -d 41 -H "Origin: https://preview.example.org" http://127.0.0.1:8080/api/count
 *     curl -i -H "Origin: https://evil.example.net" http://127.0.0.1:8080/api/count
 *     curl -i -X OPTIONS -H "Origin: https://evil.example.net" \
 *         -H "Access-Control-Request-Method: PUT" http://127.0.0.1:8080/api/count
 *
 * Usage: cors [PORT [ORIGINS]] (ORIGINS: a list) */
#include <stdlib.h>

#include <uvhttp.h>

static long count;

static int get_count(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    snprintf(text, sizeof text, "%ld\n", count);
    return uvhttp_response_send_text(res, 200, text);
}

static int put_count(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[16];
    uvhttp_slice_t body = uvhttp_request_body(req);
    snprintf(text, sizeof text, "%.*s", UVHTTP_SLICE_ARGS(body));
    count = strtol(text, NULL, 10);
    return get_count(req, res, arg);
}

/* CORS applies below /api only. The middleware of the group also responds to preflight requests for
 * its routes. */
static int add_routes(uvhttp_server_t *server, uvhttp_cors_t *cors)
{
    uvhttp_router_t *api;
    int err = uvhttp_router_group(uvhttp_server_router(server), "/api", &api);
    if (err == 0)
        err = uvhttp_router_use(api, uvhttp_cors_handle_request, cors);
    if (err == 0)
        err = uvhttp_router_add(
            api, &(uvhttp_route_t){.method = "GET", .pattern = "/count", .handler = get_count});
    if (err == 0)
        err = uvhttp_router_add(
            api, &(uvhttp_route_t){.method = "PUT", .pattern = "/count", .handler = put_count});
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_cors_options_t config = {
        .origins = argc > 2 ? argv[2] : "https://app.example.com https://*.example.org",
        .methods = "GET, PUT",
        .headers = "Content-Type",
        .credentials = true,
        .max_age = 600};
    uvhttp_cors_t *cors;
    uvhttp_error_t error = {0};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_cors_new(&cors, &config, &error);
    if (err == 0)
        err = add_routes(server, cors);
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
    uvhttp_cors_free(cors);
    if (err)
        fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : uvhttp_strerror(err));
    return err != 0;
}
