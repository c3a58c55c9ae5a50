/* Behind a reverse proxy that terminates TLS. The server trusts forwarding fields only from the
 * addresses of known proxies. The response shows what an application needs: the address of the
 * client, and the public URL of the page.
 *
 *     curl -H 'X-Forwarded-For: 192.0.2.1' -H 'X-Forwarded-Proto: https' \
 *         -H 'X-Forwarded-Host: www.example.com' http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/
 *
 * For nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; and the same for
 * X-Forwarded-Proto $scheme and X-Forwarded-Host $host.
 *
 * Usage: behind_proxy [PORT [PROXY...]] */
#include <span>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

int main(int argc, char **argv)
{
    uvhttp::Server server;
    if (argc > 2)
        server.trustProxies(std::span(argv + 2, argv + argc));
    else
        server.trustProxies({"127.0.0.1", "::1", "unix"});
    server.get("/*", [](Request req, Response res) {
        std::string text = "client ";
        text.append(req.clientAddress()).append(" by way of ").append(req.peerAddress());
        text.append("\nthis page is ").append(req.scheme()).append("://").append(req.host());
        return res.sendText(200, text.append(req.path()).append("\n"));
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
