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
#include <stdlib.h>

#include <uvhttp.h>

static int show_client(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[512];
    snprintf(text, sizeof(text), "client %s by way of %s\nthis page is %s://%s%s\n",
             uvhttp_request_client_address(req), uvhttp_request_peer_address(req),
             uvhttp_request_scheme(req), uvhttp_request_host(req), uvhttp_request_path(req));
    return uvhttp_response_send_text(res, 200, text);
}

int main(int argc, char **argv)
{
    static const char *const defaults[] = {"127.0.0.1", "::1", "unix"};
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    const char *const *proxies = argc > 2 ? (const char *const *)argv + 2 : defaults;
    size_t count = argc > 2 ? (size_t)argc - 2 : sizeof(defaults) / sizeof(defaults[0]);

    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_server_trust_proxies(server, proxies, count, UVHTTP_FORWARDING_X);
    uvhttp_server_route(server, "GET", "/*", show_client, NULL);
    return uvhttp_server_main(server, "127.0.0.1", port);
}
