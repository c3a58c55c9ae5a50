/* CORS: pages of two other origins may use this API from a browser, with cookies. Pages of all
 * other origins may not.
 *
 *     curl -i -H "Origin: https://app.example.com" http://127.0.0.1:8080/api/count
 *     curl -i -X OPTIONS -H "Origin: https://app.example.com" \
 *         -H "Access-Control-Request-Method: PUT" http://127.0.0.1:8080/api/count
 *     curl -i -X PUT -d 41 -H "Origin: https://preview.example.org" http://127.0.0.1:8080/api/count
 *     curl -i -H "Origin: https://evil.example.net" http://127.0.0.1:8080/api/count
 *     curl -i -X OPTIONS -H "Origin: https://evil.example.net" \
 *         -H "Access-Control-Request-Method: PUT" http://127.0.0.1:8080/api/count
 *
 * Usage: cors [PORT [ORIGINS]] (ORIGINS: a list) */
#include <cstdlib>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    const uvhttp::Cors cors(
        {.origins = argc > 2 ? argv[2] : "https://app.example.com https://*.example.org",
         .credentials = true,
         .methods = "GET, PUT",
         .headers = "Content-Type",
         .maxAge = 600});
    long count = 0;
    auto show = [&count](Response res) { return res.sendText(200, std::to_string(count) + "\n"); };

    /* CORS applies below /api only. The middleware of the group also responds to preflight requests
     * for its routes. */
    uvhttp::Server server;
    uvhttp::Router api = server.group("/api").use(cors).get("/count", show);
    api.put("/count", [&count, show](Request req, Response res) {
        count = std::strtol(std::string(req.body()).c_str(), nullptr, 10);
        return show(res);
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
