/* Responds later, on a loop of the application's own. The handler starts a timer and returns, and
 * the timer callback responds. The loop serves other requests meanwhile. When the client
 * disconnects first, the abort callback closes the timer.
 *
 *     curl 'http://127.0.0.1:8080/wait?ms=1500'
 *
 * Usage: later [PORT] */
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <uv.h>
#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

struct Wait {
    uv_timer_t timer;
    uvhttp::Later later; /* false after the client has disconnected */

    void close()
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&timer),
                 [](uv_handle_t *handle) { delete static_cast<Wait *>(handle->data); });
    }
};

static void on_timer(uv_timer_t *timer)
{
    auto *wait = static_cast<Wait *>(timer->data);
    if (Result error = wait->later->sendText(200, "Thank you for waiting\n"))
        std::fprintf(stderr, "%s\n", error.text());
    wait->close();
}

static Result wait_and_respond(uv_loop_t *loop, Request req, Response res)
{
    const std::string ms(req.query("ms").value_or("1000"));
    const unsigned long length = std::strtoul(ms.c_str(), nullptr, 10);
    if (length > 60000)
        return res.sendText(400, "At most a minute, please\n");

    auto *wait = new Wait;
    uv_timer_init(loop, &wait->timer);
    wait->timer.data = wait;
    uv_timer_start(&wait->timer, on_timer, length, 0);
    /* Runs when the client has disconnected, or the server was stopped. */
    wait->later = res.later([wait] {
        std::puts("the client did not wait");
        std::fflush(stdout);
        wait->close();
    });
    return 0; /* the response follows later */
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    if (int error = uv_loop_init(&loop)) {
        std::fprintf(stderr, "%s\n", uv_strerror(error));
        return 1;
    }
    std::optional<uvhttp::Server> server(&loop);
    server->get("/wait",
                [&loop](Request req, Response res) { return wait_and_respond(&loop, req, res); });
    /* The last connection is closed. Destroying the server closes its handles: uv_run returns. */
    server->onStopped([&server] { server.reset(); });
    server->stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    const Result error = server->error();
    if (error) {
        std::fprintf(stderr, "%s\n", server->details().text);
        server.reset();
    } else {
        std::printf("listening on http://127.0.0.1:%d/\n", server->port());
        std::fflush(stdout);
    }
    uv_run(&loop, UV_RUN_DEFAULT); /* other handles of the application run here too */
    uv_loop_close(&loop);
    return error ? 1 : 0;
}
