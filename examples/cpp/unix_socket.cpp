/* Serving on a unix socket: for programs on the same machine, with the permissions of a file
 * instead of a port that anybody may connect to. When it is started by systemd with a socket unit,
 * it takes that socket instead. Connections remember how often they were used.
 *
 *     curl --unix-socket /tmp/uvhttp.sock http://localhost/
 *
 * Usage: unix_socket [PATH] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

/* The number of requests on this connection lives as long as the connection does. */
static Result count(Request req, Response res)
{
    auto *requests = req.attachedToConnection<unsigned>();
    if (requests == nullptr)
        requests = req.attachToConnection<unsigned>(0U);
    if (requests == nullptr)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    std::string text = "Hello, ";
    text.append(req.clientAddress())
        .append(" connection ")
        .append(std::to_string(req.connectionId()));
    return res.sendText(200,
                        text.append(", request ").append(std::to_string(++*requests)).append("\n"));
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/tmp/uvhttp.sock";
    uvhttp::Config config;
    config->log = uvhttp_log_to_stderr; /* says why listening fails */
    config->log_level = UVHTTP_LOG_WARNING;
    uvhttp::Server server(std::move(config)); /* removes the file in the end */
    server.get("/", count);
    const bool inherited = server.listenInherited() > 0;
    if (!inherited)
        server.listenUnix(path, 0660); /* this user and group */
    server.stopOnSignals();
    if (!server.error()) {
        std::printf("listening on %s\n", inherited ? "the socket it was started with" : path);
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s: %s\n", server.where(), error.text());
        return 1;
    }
}
