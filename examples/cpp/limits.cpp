/* Limits for clients. Below /api each address, or each API key that is sent, gets five requests per
 * minute, and all clients together get a thousand. Request bodies are limited to 1,000 bytes,
 * response bodies to 64 KiB.
 *
 *     curl -i http://127.0.0.1:8080/api/time
 *     curl -i -H "X-Api-Key: k1" http://127.0.0.1:8080/api/time
 *     curl -i -d "some text" http://127.0.0.1:8080/api/count
 *
 * Usage: limits [PORT] */
#include <chrono>
#include <ctime>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

int main(int argc, char **argv)
{
    /* Requests with an API key are counted per key, others per address. A real application verifies
     * the key first. */
    uvhttp::RateLimit each({.requests = 5, .period = 1min, .name = "each"}, [](Request req) {
        return req.header("X-Api-Key").value_or(std::string_view());
    });
    uvhttp::RateLimit all({.requests = 1000, .period = 1min, .global = true, .name = "all"});
    uvhttp::SizeLimit sizes({.maxRequestBody = 1000, .maxResponseBody = 65536});

    uvhttp::Server server;
    uvhttp::Router api = server.group("/api");
    api.use(all).use(each).use(sizes);
    api.get("/time", [](Response res) {
        return res.sendText(200, std::to_string(std::time(nullptr)) + "\n");
    });
    api.post("/count", [](Request req, Response res) {
        return res.sendText(200, std::to_string(req.body().size()) + " bytes\n");
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
