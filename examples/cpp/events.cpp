/* A clock for all connected browsers: a page, a stream of server-sent events, and a hub that sends
 * each event to all streams.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -N --max-time 3 http://127.0.0.1:8080/clock
 *
 * Usage: events [PORT] */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include <uv.h>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

static uvhttp::EventHub hub;
static std::optional<uvhttp::Server> server;
static uv_timer_t timer;
static uv_signal_t interrupted, terminated; /* Ctrl-C, kill */

static Result page(Response res)
{
    return res.sendHtml(
        200,
        "<!doctype html><meta charset=utf-8><title>Clock</title><h1 id=time>...</h1>\n"
        "<script>new EventSource('/clock').onmessage = e => time.textContent = e.data</script>\n");
}

static Result subscribe(Response res)
{
    Result error = hub.subscribe(res);
    /* The first event, for this client only: the delay before its browser reconnects. */
    return error ? error : res.sendEvent({.retry = 2s});
}

static void tick(uv_timer_t *)
{
    static unsigned number;
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::tm utc;
    const std::size_t length = std::strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&now, &utc));
    hub.publish({.id = std::to_string(++number), .data = {text, length}});
}

/* Stopping the server ends the streams. The hub ends here because its timer is closed. */
static void stop(uv_signal_t *, int)
{
    hub.end();
    server->stop();
    uv_close(reinterpret_cast<uv_handle_t *>(&timer), nullptr);
    uv_close(reinterpret_cast<uv_handle_t *>(&interrupted), nullptr);
    uv_close(reinterpret_cast<uv_handle_t *>(&terminated), nullptr);
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    if (uv_loop_init(&loop) != 0)
        return 1;
    server.emplace(&loop);
    server->get("/", page).get("/clock", subscribe);
    server->listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    const Result error = server->error();
    if (!error) {
        uv_timer_init(&loop, &timer);
        uv_timer_start(&timer, tick, 0, 1000);
        uv_signal_init(&loop, &interrupted);
        uv_signal_start(&interrupted, stop, SIGINT);
        uv_signal_init(&loop, &terminated);
        uv_signal_start(&terminated, stop, SIGTERM);
        std::printf("listening on http://127.0.0.1:%d/\n", server->port());
        std::fflush(stdout);
        uv_run(&loop, UV_RUN_DEFAULT);
    } else {
        std::fprintf(stderr, "%s\n", server->details().text);
    }
    server.reset();
    uv_run(&loop, UV_RUN_DEFAULT); /* closes the handles of the server */
    uv_loop_close(&loop);
    return error ? 1 : 0;
}
