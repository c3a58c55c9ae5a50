/* Server-sent events: clients of /events receive what others post to /say.
 *
 *     curl -N http://127.0.0.1:8080/events
 *     curl -d 'hello, all' http://127.0.0.1:8080/say
 *     curl -d '' http://127.0.0.1:8080/end
 *
 * The first command prints events until the third one ends it.
 *
 * Usage: broadcast [PORT]
 */
#include <chrono>
#include <list>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

int main(int argc, char **argv)
{
    std::list<uvhttp::Later> clients;
    unsigned long count = 0;

    uvhttp::Server server;
    server.get("/events", [&clients](Response res) {
        if (Result error = res.beginEvents())
            return error;
        clients.push_back(res.later());
        return res.sendEvent({.data = "welcome", .retry = 1s});
    });
    server.post("/say", [&clients, &count](Request req, Response res) {
        const std::string id = std::to_string(++count);
        clients.remove_if([](auto &client) { return !client; }); /* they have disconnected */
        /* a client that does not read gets no more than write_backlog */
        for (auto &client : clients)
            client->sendEvent({.id = id, .event = "said", .data = req.body()});
        return res.sendText(200, "heard by " + std::to_string(clients.size()) + "\n");
    });
    server.post("/end", [&clients](Response res) {
        clients.clear(); /* ends their streams */
        return res.sendStatus(204);
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
