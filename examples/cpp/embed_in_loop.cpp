/* Embeds a server in a program that has a libuv loop of its own. The same loop runs a timer that
 * counts the uptime, and a listener for another protocol that sends the uptime to each client. This
 * needs no threads and no locks.
 *
 *     curl http://127.0.0.1:8080/uptime
 *     curl telnet://127.0.0.1:8081 < /dev/null
 *
 * Usage: embed_in_loop [PORT [OTHER_PORT]] */
#include <cstdio>
#include <optional>
#include <string>

#include <uv.h>
#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;

struct Program {
    uv_loop_t loop;
    uv_timer_t second;
    uv_tcp_t listener;   /* the other protocol */
    unsigned uptime = 0; /* seconds */
    std::optional<uvhttp::Server> server;

    /* Closes all handles, so that uv_run returns. */
    void shut_down()
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&second), nullptr);
        uv_close(reinterpret_cast<uv_handle_t *>(&listener), nullptr);
        server.reset();
    }
};

static void on_second(uv_timer_t *timer)
{
    static_cast<Program *>(timer->data)->uptime++;
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status != 0)
        return;
    auto *client = new uv_tcp_t;
    auto *stream = reinterpret_cast<uv_stream_t *>(client);
    uv_tcp_init(listener->loop, client);
    if (uv_accept(listener, stream) == 0) {
        std::string text = std::to_string(static_cast<Program *>(listener->data)->uptime) + "\n";
        uv_buf_t buffer = uv_buf_init(text.data(), static_cast<unsigned>(text.size()));
        uv_try_write(stream, &buffer, 1);
    }
    uv_close(reinterpret_cast<uv_handle_t *>(client),
             [](uv_handle_t *handle) { delete reinterpret_cast<uv_tcp_t *>(handle); });
}

static int listen_for_clients(Program &program, int port)
{
    sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    int err = uv_tcp_bind(&program.listener, reinterpret_cast<sockaddr *>(&address), 0);
    auto *listener = reinterpret_cast<uv_stream_t *>(&program.listener);
    return err != 0 ? err : uv_listen(listener, 16, on_connection);
}

int main(int argc, char **argv)
{
    Program program;
    if (uv_loop_init(&program.loop) != 0)
        return 1;
    uv_timer_init(&program.loop, &program.second);
    uv_tcp_init(&program.loop, &program.listener);
    program.second.data = program.listener.data = &program;
    uv_timer_start(&program.second, on_second, 1000, 1000);

    uvhttp::Server &server = program.server.emplace(&program.loop);
    server.get("/uptime", [&program](Response res) {
        return res.sendText(200, "running for " + std::to_string(program.uptime) + " seconds\n");
    });
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    Result error = server.error();
    if (!error)
        error = listen_for_clients(program, argc > 2 ? std::stoi(argv[2]) : 8081);
    if (error) {
        std::fprintf(stderr, "%s\n", error.text());
        program.shut_down();
    } else {
        server.onStopped([&program] { program.shut_down(); });
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        std::fflush(stdout);
    }
    uv_run(&program.loop, UV_RUN_DEFAULT);
    uv_loop_close(&program.loop);
    return error ? 1 : 0;
}
