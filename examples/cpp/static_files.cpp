/* Serves a directory beside other routes, with one mount. Conditional requests, ranges, media types
 * and caching are included.
 *
 *     curl -i http://127.0.0.1:8080/files/
 *     curl -i -r 0-99 http://127.0.0.1:8080/files/style.css
 *     curl http://127.0.0.1:8080/hello
 *
 * Usage: static_files [PORT [DIRECTORY]] */
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.files("/files/", {.root = argc > 2 ? argv[2] : "examples/site", .listing = true});
    server.get("/hello", [](Response res) { return res.sendText(200, "Hello from a handler\n"); });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
