/* A route table for several hosts: groups with a prefix and middleware of their own, a policy for
 * the slash at the end of a path, and a list of all routes, printed at start.
 *
 *     curl http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/api/v1/users/ada%2Flovelace
 *     curl -L http://127.0.0.1:8080/api/v1/users/ada/
 *     curl -H 'X-Api-Key: secret' -X DELETE http://127.0.0.1:8080/api/v1/users/ada
 *     curl -H 'Host: docs.example.com' http://127.0.0.1:8080/guide/first
 *
 * Usage: route_table [PORT] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

static void print_route(const uvhttp_route_info_t &route)
{
    std::printf(
        "%-16s %-6s %s (middleware: %zu)\n", route.host == nullptr ? "any other host" : route.host,
        route.method == nullptr ? "any" : route.method, route.pattern, route.middleware_count);
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.slash(UVHTTP_SLASH_REDIRECT);
    server.get("/", [](Response res) { return res.sendText(200, "Home\n"); });

    /* Runs before the routes of the group "/api/v1" only. */
    uvhttp::Router api = server.group("/api/v1");
    api.use([](Response res) {
        Result error = res.setHeader("X-Api-Version", "1");
        return error ? error : uvhttp::next;
    });
    /* "%2F" in the path is part of the parameter and is decoded to "/". */
    api.get("/users/:name", [](Request req, Response res) {
        return res.sendText(200, "User " + std::string(req.param("name")) + "\n");
    });
    /* A group without a prefix has middleware for its routes only. */
    api.group("")
        .use([](Request req, Response res) {
            return req.header("X-Api-Key") == "secret" ? uvhttp::next
                                                       : res.sendText(401, "This needs a key.\n");
        })
        .del("/users/:name", [](Response res) { return res.sendStatus(204); });

    server.host("docs.example.com").any("/*page", [](Request req, Response res) {
        return res.sendText(200, "Page " + std::string(req.param("page")) + "\n");
    });

    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (!server.error()) {
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        server.eachRoute(print_route);
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}
