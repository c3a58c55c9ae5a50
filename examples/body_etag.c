/* Entity tags for generated responses. A client that has the same bytes already gets 304 without a
 * body.
 *
 *     curl -i http://127.0.0.1:8080/list
 *     curl -i -H 'If-None-Match: "0b117626a487f4ebffb7ed1aa327e09d"' http://127.0.0.1:8080/list
 *     curl -i http://127.0.0.1:8080/private
 *
 * Usage: body_etag [PORT] */
#include <stdlib.h>

#include <uvhttp.h>

/* A real application would query a database. */
static int list_items(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char json[512];
    int length = snprintf(json, sizeof json, "[");
    for (int i = 1; i <= 20; i++)
        length += snprintf(json + length, sizeof json - (size_t)length, "%s{\"id\":%d}",
                           i > 1 ? "," : "", i);
    snprintf(json + length, sizeof json - (size_t)length, "]\n");
    /* caches must revalidate each time */
    int err = uvhttp_response_set_header(res, "Cache-Control", "no-cache");
    return err != 0 ? err : uvhttp_response_send_json(res, 200, json);
}

/* A response that must not be stored gets no entity tag. */
static int send_private(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_set_header(res, "Cache-Control", "no-store");
    return err != 0 ? err : uvhttp_response_send_text(res, 200, "for your eyes only\n");
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_server_use(server, uvhttp_body_etag_handle_request, NULL);
    uvhttp_server_route(server, "GET", "/list", list_items, NULL);
    uvhttp_server_route(server, "GET", "/private", send_private, NULL);
    return uvhttp_server_main(server, "127.0.0.1", port);
}
