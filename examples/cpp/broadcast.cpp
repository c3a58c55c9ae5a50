/* Server-sent events: whoever listens at /events hears what others say at /say.
 *
 *     curl -N http://127.0.0.1:8080/events
 *     curl -d 'hello, all' http://127.0.0.1:8080/say
 *     curl -d '' http://127.0.0.1:8080/end
 *
 * The first one prints events until the third one ends it.
 *
 * Usage: broadcast [PORT]
 */
#include <chrono>
#include <cstdio>
#include <list>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

int main(int argc, char **argv)
{
    std::list<uvhttp::Later> listeners;
    unsigned long count = 0;

    uvhttp::Server server;
    server.get("/events", [&listeners](Response res) {
        if (Result error = res.beginEvents())
            return error;
        listeners.push_back(res.later());
        return res.sendEvent({.data = "welcome", .retry = 1s});
    });
    server.post("/say", [&listeners, &count](Request req, Response res) {
        const std::string id = std::to_string(++count);
        listeners.remove_if([](auto &listener) { return !listener; }); /* they have left */
        /* one that does not read gets no more than write_backlog */
        for (auto &listener : listeners)
            (void)listener->sendEvent({.id = id, .event = "said", .data = req.body()});
        return res.sendText(200, "heard by " + std::to_string(listeners.size()) + "\n");
    });
    server.post("/end", [&listeners](Response res) {
        listeners.clear(); /* ends their streams */
        return res.sendStatus(204);
    });
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
