/* Routes: parameters, wildcards, several methods for one path, query parameters, and a middleware
 * that refuses requests.
 *
 *     curl http://127.0.0.1:8080/users/42
 *     curl -X DELETE http://127.0.0.1:8080/users/42
 *     curl http://127.0.0.1:8080/docs/guide/first%20steps
 *     curl 'http://127.0.0.1:8080/search?q=fast+server&page=2'
 *     curl -H 'X-Api-Key: secret' http://127.0.0.1:8080/admin/stats
 *
 * Usage: routes [PORT] */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

#define TEXT_SIZE 512

/* Runs before every route. The chain continues only when it returns UVHTTP_DECLINED, so no handler
 * runs after a refusal. */
static int require_key(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *expected = arg;
    if (strncmp(uvhttp_request_path(req), "/admin/", 7) != 0)
        return UVHTTP_DECLINED;
    const char *key = uvhttp_request_header(req, "X-Api-Key");
    if (key == NULL || strcmp(key, expected) != 0)
        return uvhttp_response_send_text(res, 401, "This needs a key.\n");
    return UVHTTP_DECLINED;
}

static int show_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "User %s\n", uvhttp_request_param(req, "id"));
    return uvhttp_response_send_text(res, 200, text);
}

static int delete_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_status(res, 204);
}

/* "*page" matches the rest of the path, slashes included. */
static int show_page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "Page '%s'\n", uvhttp_request_param(req, "page"));
    return uvhttp_response_send_text(res, 200, text);
}

static int search(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *words = uvhttp_request_query(req, "q");
    const char *page = uvhttp_request_query(req, "page");
    if (words == NULL)
        return uvhttp_response_send_text(res, 400, "q is missing: /search?q=WORDS\n");
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "Searching '%s', page %s\n", words, page == NULL ? "1" : page);
    return uvhttp_response_send_text(res, 200, text);
}

static int show_stats(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_stats_t *stats = uvhttp_server_stats(arg);
    char text[TEXT_SIZE];
    snprintf(text, sizeof(text), "{\"connections\":%zu,\"requests\":%" PRIu64 "}\n",
             stats->active_connections, stats->total_requests);
    return uvhttp_response_send_json(res, 200, text);
}

static void add_routes(uvhttp_server_t *server)
{
    static char key[] = "secret";
    uvhttp_server_use(server, require_key, key);
    uvhttp_server_route(server, "GET", "/users/:id", show_user, NULL);
    uvhttp_server_route(server, "DELETE", "/users/:id", delete_user, NULL);
    uvhttp_server_route(server, "GET", "/docs/*page", show_page, NULL);
    uvhttp_server_route(server, "GET", "/search", search, NULL);
    uvhttp_server_route(server, "GET", "/admin/stats", show_stats, server);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    add_routes(server);
    return uvhttp_server_main(server, "127.0.0.1", port);
}
