/* Limits for clients. Below /api each address, or each API key that is sent, gets five requests per
 * minute, and all clients together get a thousand. Request bodies are limited to 1,000 bytes,
 * response bodies to 64 KiB.
 *
 *     curl -i http://127.0.0.1:8080/api/time
 *     curl -i -H "X-Api-Key: k1" http://127.0.0.1:8080/api/time
 *     curl -i -d "some text" http://127.0.0.1:8080/api/count
 *
 * Usage: limits [PORT] */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uvhttp.h>

static int show_time(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    snprintf(text, sizeof text, "%lld\n", (long long)time(NULL));
    return uvhttp_response_send_text(res, 200, text);
}

static int count_bytes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    snprintf(text, sizeof text, "%zu bytes\n", uvhttp_request_body(req).length);
    return uvhttp_response_send_text(res, 200, text);
}

/* Requests with an API key are counted per key, others per address. A real application verifies the
 * key first. */
static int get_key(uvhttp_request_t *req, uvhttp_slice_t *key, void *arg)
{
    const char *sent = uvhttp_request_header(req, "X-Api-Key");
    if (sent != NULL)
        *key = (uvhttp_slice_t){sent, strlen(sent)};
    return 0;
}

static uvhttp_rate_limit_t *each, *all;
static uvhttp_size_limit_t *sizes;

static int make_limits(void)
{
    uvhttp_error_t error = {0};
    const uvhttp_rate_limit_options_t for_each = {
        .requests = 5, .period_ms = 60000, .name = "each", .key = get_key};
    const uvhttp_rate_limit_options_t for_all = {
        .requests = 1000, .period_ms = 60000, .name = "all", .global = true};
    const uvhttp_size_limit_options_t bytes = {.max_request_body = 1000,
                                               .max_response_body = 65536};
    int err = uvhttp_rate_limit_new(&each, &for_each, &error);
    if (err == 0)
        err = uvhttp_rate_limit_new(&all, &for_all, &error);
    if (err == 0)
        err = uvhttp_size_limit_new(&sizes, &bytes, &error);
    if (err != 0)
        fprintf(stderr, "%s\n", error.text);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *api;
    int err = make_limits();
    if (err == 0)
        err = uvhttp_router_group(uvhttp_server_router(server), "/api", &api);
    if (err == 0)
        err = uvhttp_router_use(api, uvhttp_rate_limit_handle_request, all);
    if (err == 0)
        err = uvhttp_router_use(api, uvhttp_rate_limit_handle_request, each);
    if (err == 0)
        err = uvhttp_router_use(api, uvhttp_size_limit_handle_request, sizes);
    if (err == 0)
        err = uvhttp_router_add(
            api, &(uvhttp_route_t){.method = "GET", .pattern = "/time", .handler = show_time});
    if (err == 0)
        err = uvhttp_router_add(
            api, &(uvhttp_route_t){.method = "POST", .pattern = "/count", .handler = count_bytes});
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
    uvhttp_size_limit_free(sizes);
    uvhttp_rate_limit_free(all);
    uvhttp_rate_limit_free(each);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
