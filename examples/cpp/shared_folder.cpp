/* A shared directory. All clients may read, and those with the password may upload, by PUT or with
 * a form.
 *
 *     curl -u ann:secret -T FILE http://127.0.0.1:8080/
 *     curl -u ann:secret -F file=@FILE http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/FILE
 *     curl -u ann:secret -T FILE -H 'If-Match: "another state of it"' http://127.0.0.1:8080/FILE
 *
 * Usage: shared_folder [PORT [DIRECTORY]]; default: the current directory. */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    static constexpr uvhttp_auth_user_t users[] = {{"ann", "secret"}};
    const uvhttp::Auth auth({.realm = "uploads", .users = users});
    uvhttp::Server server;
    /* GET and HEAD pass. Other methods require the password. A client without it is refused before
     * it sends a body. */
    server.use([&auth](Request req, Response res) {
        if (req.method() == UVHTTP_METHOD_GET || req.method() == UVHTTP_METHOD_HEAD)
            return uvhttp::next;
        return auth.handle(req, res);
    });
    server.files("/", {.root = argc > 2 ? argv[2] : ".",
                       .listing = true,
                       .uploads = true,
                       .uploadOverwrite = true,
                       .uploadMaxSize = std::size_t{10} << 30});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
