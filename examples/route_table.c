/* A route table for several hosts: groups with a prefix and middleware of their own, a policy for
 * the slash at the end of a path, and a list of all routes, printed at start.
 *
 *     curl http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/api/v1/users/ada%2Flovelace
 *     curl -L http://127.0.0.1:8080/api/v1/users/ada/
 *     curl -H 'X-Api-Key: secret' -X DELETE http://127.0.0.1:8080/api/v1/users/ada
 *     curl -H 'Host: docs.example.com' http://127.0.0.1:8080/guide/first
 *
 * Usage: route_table [PORT] */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

#define TEXT_SIZE 512

static int show_home(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_text(res, 200, "Home\n");
}

/* "%2F" in the path is part of the parameter and is decoded to "/". */
static int show_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "User %s\n", uvhttp_request_param(req, "name"));
    return uvhttp_response_send_text(res, 200, text);
}

static int delete_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_status(res, 204);
}

static int show_page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "Page %s\n", uvhttp_request_param(req, "page"));
    return uvhttp_response_send_text(res, 200, text);
}

/* Runs before the routes of the group "/api/v1" only. */
static int add_version(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_set_header(res, "X-Api-Version", arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* Runs before one route only. */
static int require_key(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *key = uvhttp_request_header(req, "X-Api-Key");
    if (key == NULL || strcmp(key, arg) != 0)
        return uvhttp_response_send_text(res, 401, "This needs a key.\n");
    return UVHTTP_DECLINED;
}

static int print_route(const uvhttp_route_info_t *route, void *arg)
{
    printf("%-16s %-6s %s (middleware: %zu)\n",
           route->host == NULL ? "any other host" : route->host,
           route->method == NULL ? "any" : route->method, route->pattern, route->middleware_count);
    return 0;
}

/* A NULL router makes each call return UVHTTP_ENOMEM, so only the last result needs a check. */
static int add_routes(uvhttp_router_t *router)
{
    static char version[] = "1", key[] = "secret";
    uvhttp_router_t *api = NULL, *docs = NULL;
    int err = uvhttp_router_set_slash(router, UVHTTP_SLASH_REDIRECT);
    if (err == 0)
        err = uvhttp_router_add(
            router, &(uvhttp_route_t){.method = "GET", .pattern = "/", .handler = show_home});
    if (err == 0)
        err = uvhttp_router_group(router, "/api/v1", &api);
    if (err == 0)
        err = uvhttp_router_use(api, add_version, version);
    if (err == 0)
        err = uvhttp_router_add(
            api,
            &(uvhttp_route_t){.method = "GET", .pattern = "/users/:name", .handler = show_user});
    if (err == 0)
        err = uvhttp_router_add(api, &(uvhttp_route_t){.method = "DELETE",
                                                       .pattern = "/users/:name",
                                                       .handler = delete_user,
                                                       UVHTTP_MIDDLEWARE({require_key, key})});
    if (err == 0)
        err = uvhttp_router_host(router, "docs.example.com", &docs);
    return err != 0 ? err : uvhttp_router_add_route(docs, "/*page", show_page);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(uvhttp_server_router(server));
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        uvhttp_router_each(uvhttp_server_router(server), print_route, NULL);
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
