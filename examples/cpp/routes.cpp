/* Routes: parameters, wildcards, several methods for one path, query parameters, and a middleware
 * that refuses requests.
 *
 *     curl http://127.0.0.1:8080/users/42
 *     curl -X DELETE http://127.0.0.1:8080/users/42
 *     curl http://127.0.0.1:8080/docs/guide/first%20steps
 *     curl 'http://127.0.0.1:8080/search?q=fast+server&page=2'
 *     curl -H 'X-Api-Key: secret' http://127.0.0.1:8080/admin/stats
 *
 * Usage: routes [PORT] */
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    uvhttp::Server server;
    const std::string key = "secret";

    /* Runs before every route. The chain continues only when it returns `next`, so no handler runs
     * after a refusal. */
    server.use([&key](Request req, Response res) {
        if (!req.path().starts_with("/admin/") || req.header("X-Api-Key") == key)
            return uvhttp::next;
        return res.sendText(401, "This needs a key.\n");
    });
    server.get("/users/:id", [](Request req, Response res) {
        return res.sendText(200, "User " + std::string(req.param("id")) + "\n");
    });
    server.del("/users/:id", [](Response res) { return res.sendStatus(204); });
    /* "*page" matches the rest of the path, slashes included. */
    server.get("/docs/*page", [](Request req, Response res) {
        return res.sendText(200, "Page '" + std::string(req.param("page")) + "'\n");
    });
    server.get("/search", [](Request req, Response res) {
        auto words = req.query("q");
        if (!words)
            return res.sendText(400, "q is missing: /search?q=WORDS\n");
        const std::string page(req.query("page").value_or("1"));
        return res.sendText(200, "Searching '" + std::string(*words) + "', page " + page + "\n");
    });
    server.get("/admin/stats", [&server](Response res) {
        const uvhttp::Stats &stats = server.stats();
        return res.sendJson(200, "{\"connections\":" + std::to_string(stats.active_connections) +
                                     ",\"requests\":" + std::to_string(stats.total_requests) +
                                     "}\n");
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
