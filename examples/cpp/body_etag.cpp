/* Entity tags for generated responses. A client that has the same bytes already gets 304 without a
 * body.
 *
 *     curl -i http://127.0.0.1:8080/list
 *     curl -i -H 'If-None-Match: "0b117626a487f4ebffb7ed1aa327e09d"' http://127.0.0.1:8080/list
 *     curl -i http://127.0.0.1:8080/private
 *
 * Usage: body_etag [PORT] */
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.use(uvhttp::bodyEtags());
    /* A real application would query a database. */
    server.get("/list", [](Response res) {
        std::string json = "[{\"id\":1}";
        for (int i = 2; i <= 20; i++)
            json += ",{\"id\":" + std::to_string(i) + "}";
        /* caches must revalidate each time */
        Result error = res.setHeader("Cache-Control", "no-cache");
        return error ? error : res.sendJson(200, json + "]\n");
    });
    /* A response that must not be stored gets no entity tag. */
    server.get("/private", [](Response res) {
        Result error = res.setHeader("Cache-Control", "no-store");
        return error ? error : res.sendText(200, "for your eyes only\n");
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
