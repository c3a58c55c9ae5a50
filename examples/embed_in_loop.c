/* Embeds a server in a program that has a libuv loop of its own. The same loop runs a timer that
 * counts the uptime, and a listener for another protocol that sends the uptime to each client. This
 * needs no threads and no locks.
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
    uv_tcp_t listener; /* the other protocol */
    unsigned uptime;   /* seconds */
};

/* The program is the user data of the server, so handlers need no global variable. */
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

static void on_connection(uv_stream_t *listener, int status)
{
    const struct program *program = listener->data;
    uv_tcp_t *client = status == 0 ? malloc(sizeof(*client)) : NULL;
    char text[32];
    if (client == NULL)
        return;
    uv_tcp_init(listener->loop, client);
    if (uv_accept(listener, (uv_stream_t *)client) == 0) {
        int length = snprintf(text, sizeof(text), "%u\n", program->uptime);
        uv_buf_t buffer = uv_buf_init(text, (unsigned)length);
        uv_try_write((uv_stream_t *)client, &buffer, 1);
    }
    uv_close((uv_handle_t *)client, free_handle);
}

/* Closes all handles, so that uv_run returns. */
static void shut_down(uvhttp_server_t *server, void *arg)
{
    struct program *program = arg;
    uv_close((uv_handle_t *)&program->second, NULL);
    uv_close((uv_handle_t *)&program->listener, NULL);
    uvhttp_server_free(server);
}

static int listen_for_clients(struct program *program, int port)
{
    struct sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    int err = uv_tcp_bind(&program->listener, (struct sockaddr *)&address, 0);
    return err != 0 ? err : uv_listen((uv_stream_t *)&program->listener, 16, on_connection);
}

int main(int argc, char **argv)
{
    static struct program program;
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    int other_port = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8081;
    if (uv_loop_init(&program.loop) != 0)
        return 1;
    uv_timer_init(&program.loop, &program.second);
    uv_tcp_init(&program.loop, &program.listener);
    program.second.data = program.listener.data = &program;
    uv_timer_start(&program.second, on_second, 1000, 1000);

    uvhttp_server_t *server = uvhttp_server_new(&program.loop);
    uvhttp_server_set_data(server, &program);
    int err = uvhttp_server_route(server, "GET", "/uptime", uptime, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = listen_for_clients(&program, other_port);
    if (err == 0) {
        uvhttp_server_on_stopped(server, shut_down, &program);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
    } else {
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
        shut_down(server, &program);
    }
    uv_run(&program.loop, UV_RUN_DEFAULT);
    uv_loop_close(&program.loop);
    return err != 0;
}
