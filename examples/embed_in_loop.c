/* A server as a part of a program that has a loop of its own: beside a timer that counts the time
 * and a listener for another protocol, here one that tells everybody who connects how long the
 * program has been running. Nothing of it needs a thread or a lock.
 *
 *     curl http://127.0.0.1:8080/uptime
 *     curl telnet://127.0.0.1:8081 < /dev/null
 *
 * Usage: embed_in_loop [PORT [OTHER_PORT]] */
#include <stdlib.h>

#include <uv.h>
#include <uvhttp.h>

struct program {
    uv_loop_t loop;
    uv_timer_t second;
    uv_tcp_t teller; /* the other protocol */
    unsigned uptime; /* seconds */
};

/* The program is the server's data, so handlers find it without a global variable. */
static int uptime(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const struct program *program = uvhttp_server_data(uvhttp_request_server(req));
    char text[64];
    snprintf(text, sizeof(text), "running for %u seconds\n", program->uptime);
    return uvhttp_response_send_text(res, 200, text);
}

static void on_second(uv_timer_t *timer)
{
    struct program *program = timer->data;
    program->uptime++;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void on_caller(uv_stream_t *teller, int status)
{
    const struct program *program = teller->data;
    uv_tcp_t *caller = status == 0 ? malloc(sizeof(*caller)) : NULL;
    char text[32];
    if (caller == NULL)
        return;
    uv_tcp_init(teller->loop, caller);
    if (uv_accept(teller, (uv_stream_t *)caller) == 0) {
        int length = snprintf(text, sizeof(text), "%u\n", program->uptime);
        uv_buf_t buffer = uv_buf_init(text, (unsigned)length);
        uv_try_write((uv_stream_t *)caller, &buffer, 1);
    }
    uv_close((uv_handle_t *)caller, free_handle);
}

/* Nothing is left on the loop then, so it ends. */
static void leave(uvhttp_server_t *server, void *arg)
{
    struct program *program = arg;
    uv_close((uv_handle_t *)&program->second, NULL);
    uv_close((uv_handle_t *)&program->teller, NULL);
    uvhttp_server_free(server);
}

static int listen_for_callers(struct program *program, int port)
{
    struct sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    int err = uv_tcp_bind(&program->teller, (struct sockaddr *)&address, 0);
    return err != 0 ? err : uv_listen((uv_stream_t *)&program->teller, 16, on_caller);
}

int main(int argc, char **argv)
{
    static struct program program;
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    int other_port = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8081;
    if (uv_loop_init(&program.loop) != 0)
        return 1;
    uv_timer_init(&program.loop, &program.second);
    uv_tcp_init(&program.loop, &program.teller);
    program.second.data = program.teller.data = &program;
    uv_timer_start(&program.second, on_second, 1000, 1000);

    uvhttp_server_t *server = uvhttp_server_new(&program.loop);
    uvhttp_server_set_data(server, &program);
    int err = uvhttp_server_route(server, "GET", "/uptime", uptime, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = listen_for_callers(&program, other_port);
    if (err == 0) {
        uvhttp_server_on_stopped(server, leave, &program);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
    } else {
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
        leave(server, &program);
    }
    uv_run(&program.loop, UV_RUN_DEFAULT);
    uv_loop_close(&program.loop);
    return err != 0;
}
