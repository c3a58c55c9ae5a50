/* The smallest server: one route, one response.
 *
 *     curl -i http://127.0.0.1:8080/
 */
#include <cstdio>

#include <uvhttp.hpp>

int main()
{
    uvhttp::Server server;
    server.get("/", [](uvhttp::Response res) { return res.sendText(200, "Hello, world\n"); });
    server.listen("127.0.0.1", 8080);
    if (uvhttp::Result error = server.run()) { /* reports the first error of all calls above */
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}
