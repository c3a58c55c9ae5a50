/* Middleware before and after a handler, and one that decides later. /private requires a token.
 * Every response has its duration in Server-Timing, errors included. /slow delays requests without
 * blocking the loop.
 *
 *     curl -i http://127.0.0.1:8080/
 *     curl -i http://127.0.0.1:8080/private/
 *     curl -i -H "Authorization: Bearer secret" http://127.0.0.1:8080/private/
 *     curl -i http://127.0.0.1:8080/slow/
 *
 * Usage: middleware [PORT] */
#include <stdlib.h>
#include <string.h>

#include <uv.h>
#include <uvhttp.h>

/* ---- after: on_send runs before any response is sent, errors included ---- */

static int add_timing(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    snprintf(text, sizeof text, "total;dur=%.3f", (double)(uv_hrtime() - *(uint64_t *)arg) / 1e6);
    return uvhttp_response_set_header(res, "Server-Timing", text);
}

static int measure_time(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t *start = uvhttp_request_allocate(req, sizeof *start);
    if (start == NULL)
        return UVHTTP_ENOMEM;
    *start = uv_hrtime();
    int err = uvhttp_response_on_send(res, add_timing, start);
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* ---- before: a response ends the chain, and no handler runs ---- */

static int require_token(uvhttp_request_t *req, uvhttp_response_t *res, void *token)
{
    const char *given = uvhttp_request_header(req, "Authorization");
    const char *token_sent = given != NULL && strncmp(given, "Bearer ", 7) == 0 ? given + 7 : "";
    if (uvhttp_equal_constant_time(token_sent, strlen(token_sent), token, strlen(token)))
        return UVHTTP_DECLINED;
    int err = uvhttp_response_set_header(res, "WWW-Authenticate", "Bearer");
    return err != 0 ? err : uvhttp_response_send_status(res, 401);
}

/* ---- later: returns 0 without a response, and a callback lets the request proceed ---- */

static void free_timer(uv_handle_t *timer)
{
    free(timer);
}

static void proceed(uv_timer_t *timer)
{
    uvhttp_response_t *res = timer->data;
    uv_close((uv_handle_t *)timer, free_timer);
    uvhttp_response_on_abort(res, NULL, NULL);
    uvhttp_response_proceed(res);
}

static void on_abort(uvhttp_response_t *res, void *timer)
{
    uv_close(timer, free_timer);
}

static int delay(uvhttp_request_t *req, uvhttp_response_t *res, void *loop)
{
    uv_timer_t *timer = malloc(sizeof *timer);
    if (timer == NULL)
        return UVHTTP_ENOMEM;
    uv_timer_init(loop, timer);
    timer->data = res;
    uvhttp_response_on_abort(res, on_abort, timer);
    return uv_timer_start(timer, proceed, 50, 0);
}

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *text)
{
    return uvhttp_response_send_text(res, 200, text);
}

static void add_routes(uvhttp_server_t *server)
{
    static char token[] = "secret", open[] = "hello, everybody\n", closed[] = "hello, you\n",
                slow[] = "hello, at last\n";
    uvhttp_router_t *root = uvhttp_server_router(server), *group = NULL;
    uvhttp_router_use(root, measure_time, NULL);
    uvhttp_router_add(root, &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = open});
    uvhttp_router_group(root, "/private", &group);
    uvhttp_router_use(group, require_token, token);
    uvhttp_router_add(group, &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = closed});
    uvhttp_router_group(root, "/slow", &group);
    uvhttp_router_use(group, delay, uvhttp_server_loop(server));
    uvhttp_router_add(group, &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = slow});
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    add_routes(server);
    return uvhttp_server_main(server, "127.0.0.1", port);
}
