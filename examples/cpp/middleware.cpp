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
#include <chrono>
#include <cstdio>
#include <string>

#include <uv.h>
#include <uvhttp.hpp>
#include <uvhttp/secret.h>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using Clock = std::chrono::steady_clock;

/* Behind: onSend runs before any answer leaves, whoever made it. */
static Result take_time(Response res)
{
    Result error = res.onSend([begun = Clock::now()](Response out) {
        const std::chrono::duration<double, std::milli> taken = Clock::now() - begun;
        return out.setHeader("Server-Timing", "total;dur=" + std::to_string(taken.count()));
    });
    return error ? error : uvhttp::next;
}

/* Later: a middleware that keeps the response has not decided, and lets the request pass from a
 * callback. */
struct Pause {
    uv_timer_t timer;
    uvhttp::Later later;

    void close()
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&timer),
                 [](uv_handle_t *handle) { delete static_cast<Pause *>(handle->data); });
    }
};

static Result wait_a_moment(uv_loop_t *loop, Response res)
{
    auto *pause = new Pause;
    uv_timer_init(loop, &pause->timer);
    pause->timer.data = pause;
    pause->later = res.later([pause] { pause->close(); }); /* the client has left */
    auto let_pass = [](uv_timer_t *timer) {
        auto *self = static_cast<Pause *>(timer->data);
        (void)self->later.release().proceed();
        self->close();
    };
    return uv_timer_start(&pause->timer, let_pass, 50, 0);
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    auto hello = [](std::string text) {
        return [text](Response res) { return res.sendText(200, text); };
    };
    server.use(take_time);
    server.any("/", hello("hello, everybody\n"));

    /* Before: an answer ends the chain, and no body is asked for. */
    uvhttp::Router closed = server.group("/private");
    closed.use([token = std::string("Bearer secret")](Request req, Response res) {
        const std::string_view given = req.header("Authorization").value_or("");
        if (uvhttp_equal_constant_time(given.data(), given.size(), token.data(), token.size()))
            return uvhttp::next;
        Result error = res.setHeader("WWW-Authenticate", "Bearer");
        return error ? error : res.sendStatus(401);
    });
    closed.any("/", hello("hello, you\n"));

    uvhttp::Router slow = server.group("/slow");
    slow.use([loop = server.loop()](Response res) { return wait_a_moment(loop, res); });
    slow.any("/", hello("hello, at last\n"));
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (!server.error()) {
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s: %s\n", server.where(), error.text());
        return 1;
    }
}
