/* Request bodies: POST one and get it back. A body above the limit of the route gets 413, and the
 * configuration limits what connections may use.
 *
 *     curl -d 'some text' http://127.0.0.1:8080/echo
 *     curl --data-binary @picture.png -H 'Content-Type: image/png' -o back.png \
 *         http://127.0.0.1:8080/echo
 *
 * Usage: echo [PORT] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    uvhttp::Config config;
    config->max_connections = 100;
    config->keep_alive_timeout = 10; /* seconds */
    config->body_timeout = 5;
    config.onLog([](uvhttp_log_level_t level, std::string_view message) {
        if (level <= UVHTTP_LOG_WARNING)
            std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    });
    uvhttp::Server server(std::move(config));

    /* Runs after the whole body has arrived. */
    auto echo = [](Request req, Response res) {
        return res.send(200, req.header("Content-Type").value_or("application/octet-stream"),
                        req.body());
    };
    server.post("/echo", echo, {.maxBody = 1024 * 1024});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
