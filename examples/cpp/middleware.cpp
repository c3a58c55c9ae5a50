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
#include <chrono>
#include <string>

#include <uv.h>
#include <uvhttp.hpp>
#include <uvhttp/secret.h>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using Clock = std::chrono::steady_clock;

/* After: onSend runs before any response is sent, errors included. */
static Result measure_time(Response res)
{
    Result error = res.onSend([start = Clock::now()](Response out) {
        const std::chrono::duration<double, std::milli> taken = Clock::now() - start;
        return out.setHeader("Server-Timing", "total;dur=" + std::to_string(taken.count()));
    });
    return error ? error : uvhttp::next;
}

/* Later: a middleware that keeps the response decides in a callback, which lets the request
 * proceed. */
struct Delay {
    uv_timer_t timer;
    uvhttp::Later later;

    void close()
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&timer),
                 [](uv_handle_t *handle) { delete static_cast<Delay *>(handle->data); });
    }
};

static Result delay(uv_loop_t *loop, Response res)
{
    auto *waiting = new Delay;
    uv_timer_init(loop, &waiting->timer);
    waiting->timer.data = waiting;
    waiting->later = res.later([waiting] { waiting->close(); }); /* the client has disconnected */
    auto proceed_later = [](uv_timer_t *timer) {
        auto *self = static_cast<Delay *>(timer->data);
        self->later.release().proceed();
        self->close();
    };
    return uv_timer_start(&waiting->timer, proceed_later, 50, 0);
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    auto hello = [](std::string text) {
        return [text](Response res) { return res.sendText(200, text); };
    };
    server.use(measure_time);
    server.any("/", hello("hello, everybody\n"));

    /* Before: a response ends the chain, and no handler runs. */
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
    slow.use([loop = server.loop()](Response res) { return delay(loop, res); });
    slow.any("/", hello("hello, at last\n"));
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
