/* Responds later, on a loop of the application's own. The handler starts a timer and returns, and
 * the timer callback responds. The loop serves other requests meanwhile. When the client
 * disconnects first, the abort callback closes the timer.
 *
 *     curl 'http://127.0.0.1:8080/wait?ms=1500'
 *
 * Usage: later [PORT] */
#include <stdlib.h>

#include <uv.h>
#include <uvhttp.h>

#define WAIT_MAX 60000 /* milliseconds */

struct wait {
    uv_timer_t timer;
    uvhttp_response_t *response;
};

static void free_wait(uv_handle_t *timer)
{
    free(timer->data);
}

static void on_timer(uv_timer_t *timer)
{
    struct wait *wait = timer->data;
    int err = uvhttp_response_send_text(wait->response, 200, "Thank you for waiting\n");
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    uv_close((uv_handle_t *)timer, free_wait);
}

/* The client has disconnected, or the server was stopped: `response` is invalid after this call. */
static void on_abort(uvhttp_response_t *response, void *arg)
{
    struct wait *wait = arg;
    puts("the client did not wait");
    fflush(stdout);
    uv_close((uv_handle_t *)&wait->timer, free_wait);
}

static int wait_and_respond(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uv_loop_t *loop = arg;
    const char *ms = uvhttp_request_query(req, "ms");
    unsigned long length = ms == NULL ? 1000 : strtoul(ms, NULL, 10);
    if (length > WAIT_MAX)
        return uvhttp_response_send_text(res, 400, "At most a minute, please\n");

    struct wait *wait = malloc(sizeof(*wait));
    if (wait == NULL)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    wait->response = res;
    uv_timer_init(loop, &wait->timer);
    wait->timer.data = wait;
    uv_timer_start(&wait->timer, on_timer, length, 0);
    uvhttp_response_on_abort(res, on_abort, wait);
    return 0; /* the response follows later */
}

/* The last connection is closed. Freeing the server closes its handles, so that uv_run returns. */
static void on_stopped(uvhttp_server_t *server, void *arg)
{
    uvhttp_server_free(server);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uv_loop_t loop;
    int err = uv_loop_init(&loop);
    if (err) {
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
        return 1;
    }
    uvhttp_server_t *server = uvhttp_server_new(&loop);
    err = uvhttp_server_route(server, "GET", "/wait", wait_and_respond, &loop);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvhttp_server_on_stopped(server, on_stopped, NULL);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
    } else {
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
        uvhttp_server_free(server);
    }
    uv_run(&loop, UV_RUN_DEFAULT); /* other handles of the application run here too */
    uv_loop_close(&loop);
    return err != 0;
}
