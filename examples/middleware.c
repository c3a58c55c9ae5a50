/* Middleware: before a handler, behind it, and one that takes its time. A token is asked for below
 * /private; every answer says how long it took, errors too; and a slow check lets requests pass
 * after a moment.
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

/* ---- behind: on_send runs before any answer leaves, whoever made it ---- */

static int add_time(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    snprintf(text, sizeof text, "total;dur=%.3f", (double)(uv_hrtime() - *(uint64_t *)arg) / 1e6);
    return uvhttp_response_set_header(res, "Server-Timing", text);
}

static int take_time(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t *begun = uvhttp_request_allocate(req, sizeof *begun);
    if (begun == NULL)
        return UVHTTP_ENOMEM;
    *begun = uv_hrtime();
    int err = uvhttp_response_on_send(res, add_time, begun);
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* ---- before: an answer ends the chain, and no body is asked for ---- */

static int ask_for_token(uvhttp_request_t *req, uvhttp_response_t *res, void *token)
{
    const char *given = uvhttp_request_header(req, "Authorization");
    const char *sent = given != NULL && strncmp(given, "Bearer ", 7) == 0 ? given + 7 : "";
    if (uvhttp_equal_constant_time(sent, strlen(sent), token, strlen(token)))
        return UVHTTP_DECLINED;
    int err = uvhttp_response_set_header(res, "WWW-Authenticate", "Bearer");
    return err != 0 ? err : uvhttp_response_send_status(res, 401);
}

/* ---- later: returns 0 without an answer, and lets the request pass from a callback ---- */

static void timer_closed(uv_handle_t *timer)
{
    free(timer);
}

static void let_pass(uv_timer_t *timer)
{
    uvhttp_response_t *res = timer->data;
    uv_close((uv_handle_t *)timer, timer_closed);
    uvhttp_response_on_abort(res, NULL, NULL);
    uvhttp_response_proceed(res);
}

static void client_left(uvhttp_response_t *res, void *timer)
{
    uv_close(timer, timer_closed);
}

static int wait_a_moment(uvhttp_request_t *req, uvhttp_response_t *res, void *loop)
{
    uv_timer_t *timer = malloc(sizeof *timer);
    if (timer == NULL)
        return UVHTTP_ENOMEM;
    uv_timer_init(loop, timer);
    timer->data = res;
    uvhttp_response_on_abort(res, client_left, timer);
    return uv_timer_start(timer, let_pass, 50, 0);
}

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *text)
{
    return uvhttp_response_send_text(res, 200, text);
}

static int add_routes(uvhttp_server_t *server)
{
    static char token[] = "secret", open[] = "hello, everybody\n", closed[] = "hello, you\n",
                slow[] = "hello, at last\n";
    uvhttp_router_t *root = uvhttp_server_router(server), *below;
    int err = uvhttp_router_use(root, take_time, NULL);
    if (err == 0)
        err = uvhttp_router_add(root,
                                &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = open});
    if (err == 0)
        err = uvhttp_router_group(root, "/private", &below);
    if (err == 0)
        err = uvhttp_router_use(below, ask_for_token, token);
    if (err == 0)
        err = uvhttp_router_add(below,
                                &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = closed});
    if (err == 0)
        err = uvhttp_router_group(root, "/slow", &below);
    if (err == 0)
        err = uvhttp_router_use(below, wait_a_moment, uvhttp_server_loop(server));
    if (err == 0)
        err = uvhttp_router_add(below,
                                &(uvhttp_route_t){.pattern = "/", .handler = hello, .arg = slow});
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = server == NULL ? UVHTTP_ENOMEM : add_routes(server);
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
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
