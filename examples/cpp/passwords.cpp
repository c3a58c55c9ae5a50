/* Basic authentication: a public page, a page for users with a known password, and an access log on
 * standard output with the user names.
 *
 *     curl -i http://127.0.0.1:8080/
 *     curl -i http://127.0.0.1:8080/private
 *     curl -i -u "ada:engine no. 1" http://127.0.0.1:8080/private
 *     curl -i -u ada:guess http://127.0.0.1:8080/private
 *
 * Usage: passwords [PORT] (open /private in a browser to see its password dialog) */
#include <chrono>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

static Result show_user(Request req, Response res)
{
    return res.sendText(200, "Hello, " + std::string(req.user().value_or("guest")) + "\n");
}

int main(int argc, char **argv)
{
    /* A real application does not have passwords in its source. For hashed ones use
     * uvhttp::Passwords. */
    static constexpr uvhttp_auth_user_t users[] = {{"ada", "engine no. 1"},
                                                   {"grace", "nanoseconds"}};
    const uvhttp::Auth auth({.realm = "the engine room", .users = users});
    const uvhttp::AccessLog log({.path = "-", .flush = 100ms});
    uvhttp::Server server;
    server.get("/", show_user).onFinished(log);
    server.group("").use(auth).get("/private", show_user);
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
