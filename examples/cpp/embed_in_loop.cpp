/* A server as a part of a program that has a loop of its own: beside a timer that counts the time
 * and a listener for another protocol, here one that tells everybody who connects how long the
 * program has been running. Nothing of it needs a thread or a lock.
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
    uv_tcp_t teller;     /* the other protocol */
    unsigned uptime = 0; /* seconds */
    std::optional<uvhttp::Server> server;

    /* Nothing is left on the loop then, so it ends. */
    void leave()
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&second), nullptr);
        uv_close(reinterpret_cast<uv_handle_t *>(&teller), nullptr);
        server.reset();
    }
};

static void on_second(uv_timer_t *timer)
{
    static_cast<Program *>(timer->data)->uptime++;
}

static void on_caller(uv_stream_t *teller, int status)
{
    if (status != 0)
        return;
    auto *caller = new uv_tcp_t;
    auto *stream = reinterpret_cast<uv_stream_t *>(caller);
    uv_tcp_init(teller->loop, caller);
    if (uv_accept(teller, stream) == 0) {
        std::string text = std::to_string(static_cast<Program *>(teller->data)->uptime) + "\n";
        uv_buf_t buffer = uv_buf_init(text.data(), static_cast<unsigned>(text.size()));
        uv_try_write(stream, &buffer, 1);
    }
    uv_close(reinterpret_cast<uv_handle_t *>(caller),
             [](uv_handle_t *handle) { delete reinterpret_cast<uv_tcp_t *>(handle); });
}

static int listen_for_callers(Program &program, int port)
{
    sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    int err = uv_tcp_bind(&program.teller, reinterpret_cast<sockaddr *>(&address), 0);
    return err != 0 ? err
                    : uv_listen(reinterpret_cast<uv_stream_t *>(&program.teller), 16, on_caller);
}

int main(int argc, char **argv)
{
    Program program;
    if (uv_loop_init(&program.loop) != 0)
        return 1;
    uv_timer_init(&program.loop, &program.second);
    uv_tcp_init(&program.loop, &program.teller);
    program.second.data = program.teller.data = &program;
    uv_timer_start(&program.second, on_second, 1000, 1000);

    uvhttp::Server &server = program.server.emplace(&program.loop);
    server.get("/uptime", [&program](Response res) {
        return res.sendText(200, "running for " + std::to_string(program.uptime) + " seconds\n");
    });
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    Result error = server.error();
    if (!error)
        error = listen_for_callers(program, argc > 2 ? std::stoi(argv[2]) : 8081);
    if (error) {
        std::fprintf(stderr, "%s\n", error.text());
        program.leave();
    } else {
        server.onStopped([&program] { program.leave(); });
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        std::fflush(stdout);
    }
    uv_run(&program.loop, UV_RUN_DEFAULT);
    uv_loop_close(&program.loop);
    return error ? 1 : 0;
}
