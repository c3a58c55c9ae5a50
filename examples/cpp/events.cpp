/* A clock for all connected browsers: a page, a stream of server-sent events, and a hub that sends
 * each event to all streams, on all workers. A browser that reconnects gets the times it missed.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -N --max-time 3 http://127.0.0.1:8080/clock
 *
 * Usage: events [PORT] */
#include <chrono>
#include <ctime>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

static Result page(Response res)
{
    return res.sendHtml(
        200,
        "<!doctype html><meta charset=utf-8><title>Clock</title><h1 id=time>...</h1>\n"
        "<script>new EventSource('/clock').onmessage = e => time.textContent = e.data</script>\n");
}

int main(int argc, char **argv)
{
    uvhttp::Config config;
    config->workers = uvhttp_core_count();
    const uvhttp::EventHub hub({.keep = 60});
    uvhttp::Server server(std::move(config));
    server.get("/", page);
    server.get("/clock", [&hub](Response res) {
        Result error = hub.subscribe(res);
        /* For this client only: the delay before its browser reconnects. */
        return error ? error : res.sendEvent({.retry = 2s});
    });
    /* On the first worker's thread, until the server stops. Publishing is possible on any. */
    server.every(1s, [&hub] {
        char text[32];
        const std::time_t now = std::time(nullptr);
        std::tm utc;
        const std::size_t length =
            std::strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&now, &utc));
        (void)hub.publish({.data = {text, length}});
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
