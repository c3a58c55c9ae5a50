/* Serves a directory with the usual protections for browsers: security headers and a request ID in
 * every response, a page for local addresses only, and an access log with the request IDs.
 *
 *     curl -i http://127.0.0.1:8080/style.css
 *     curl -i http://127.0.0.1:8080/nowhere
 *     curl -i http://127.0.0.1:8080/status
 *
 * Usage: careful_site [PORT [DIRECTORY [PREFIX]]] (PREFIX: addresses that may request /status,
 * default 127.0.0.0/8) */
#include <chrono>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

int main(int argc, char **argv)
{
    const uvhttp::RequestIds ids;
    const uvhttp::SecurityHeaders headers;
    const uvhttp::AddressRules local({{argc > 3 ? argv[3] : "127.0.0.0/8", true}});
    const uvhttp::AccessLog log(
        {.path = "-", .pattern = "{client} {status} {target} {request_id}", .flush = 100ms});

    uvhttp::Server server;
    server.use(ids).use(headers).onFinished(log);
    server.files("/", {.root = argc > 2 ? argv[2] : "examples/site"});
    server.group("").use(local).get("/status", [&server](Request req, Response res) {
        return res.sendText(200, std::to_string(server.stats().active_connections) +
                                     " connections, your request is " +
                                     std::string(req.id().value_or("")) + "\n");
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
