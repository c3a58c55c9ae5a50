/* Serves on a Unix socket, for programs on the same machine, with file permissions instead of a
 * public port. When systemd starts it with a socket unit, it uses that socket. Each connection
 * counts its requests.
 *
 *     curl --unix-socket /tmp/uvhttp.sock http://localhost/
 *
 * Usage: unix_socket [PATH] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

/* The counter is attached to the connection and lives as long as it does. */
static Result count_requests(Request req, Response res)
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
    config->log = uvhttp_log_to_stderr; /* logs why listening fails */
    config->log_level = UVHTTP_LOG_WARNING;
    uvhttp::Server server(std::move(config)); /* its destructor removes the socket file */
    server.get("/", count_requests);
    const bool inherited = server.listenInherited() > 0;
    if (!inherited)
        server.listenUnix(path, 0660); /* access for user and group */
    server.stopOnSignals();
    if (!server.error()) {
        std::printf("listening on %s\n", inherited ? "the socket it was started with" : path);
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}
