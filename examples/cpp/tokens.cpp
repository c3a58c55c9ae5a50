/* Bearer tokens. A function of the application checks them on the thread pool, because a lookup may
 * block. GET needs a known token, DELETE one that may write.
 *
 *     curl -i http://127.0.0.1:8080/notes
 *     curl -i -H "Authorization: Bearer reader-7f3a" http://127.0.0.1:8080/notes
 *     curl -i -X DELETE -H "Authorization: Bearer reader-7f3a" http://127.0.0.1:8080/notes
 *     curl -i -X DELETE -H "Authorization: Bearer writer-c2d9" http://127.0.0.1:8080/notes
 *     curl -i -H "Authorization: Bearer expired" http://127.0.0.1:8080/notes
 *
 * Usage: tokens [PORT] */
#include <string>

#include <uvhttp.hpp>
#include <uvhttp/secret.h>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

struct Client {
    std::string_view token, name;
    bool mayWrite;
};

/* Runs on the thread pool, so it may block. A real application would query a database. */
static const Client *find(std::string_view token)
{
    static constexpr Client known[] = {{"reader-7f3a", "the reader", false},
                                       {"writer-c2d9", "the writer", true}};
    const Client *found = nullptr;
    for (const Client &client : known)
        if (uvhttp_equal_constant_time(token.data(), token.size(), client.token.data(),
                                       client.token.size()))
            found = &client;
    return found;
}

static Result check(Response res, std::string_view token)
{
    /* the token lives as long as the request */
    Result error = res.defer([token] { return find(token); },
                             [](Response later, const Client *client) -> Result {
                                 const Request req = later.request();
                                 if (!later.isOpen()) /* the client has disconnected */
                                     return 0;
                                 if (client == nullptr)
                                     return later.decideAuth(UVHTTP_AUTH_REFUSE);
                                 if (req.method() == UVHTTP_METHOD_DELETE && !client->mayWrite)
                                     return later.decideAuth(UVHTTP_AUTH_FORBID);
                                 if (Result failure = req.setUser(client->name))
                                     return failure;
                                 return later.decideAuth(UVHTTP_AUTH_ACCEPT);
                             });
    return error ? error : UVHTTP_AUTH_LATER;
}

static auto show_notes(std::string action)
{
    return [action](Request req, Response res) {
        return res.sendText(200, action + " by " + std::string(req.user().value_or("")) + "\n");
    };
}

int main(int argc, char **argv)
{
    const uvhttp::Auth auth({.scope = "write"}, uvhttp::Bearer{check});
    uvhttp::Server server;
    server.use(auth).get("/notes", show_notes("read")).del("/notes", show_notes("deleted"));
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
