/* Step 4 of the tutorial: middleware before and after handlers, and errors. */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

/* Before the handler: lets a request pass, or responds with 401. */
static int require_key(uvhttp_request_t *req, uvhttp_response_t *res, void *key)
{
    const char *sent = uvhttp_request_header(req, "X-Api-Key");
    if (sent != NULL && uvhttp_equal_constant_time(sent, strlen(sent), key, strlen(key)))
        return UVHTTP_DECLINED;
    return uvhttp_response_send_status(res, 401);
}

/* After the handler: changes every response before it is sent. */
static int set_error_page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char page[200];
    int status = uvhttp_response_status(res);
    if (status < 400)
        return 0;
    int length = snprintf(page, sizeof page, "<h1>%d</h1><p>%s. Sorry.</p>\n", status,
                          uvhttp_status_text(status));
    int err = uvhttp_response_replace_body(res, page, (size_t)length);
    return err != 0 ? err : uvhttp_response_set_header(res, "Content-Type", "text/html");
}

static int add_error_pages(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_on_send(res, set_error_page, NULL);
    return err != 0 ? err : UVHTTP_DECLINED;
}

static int secret(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_text(res, 200, "the cake is in the cellar\n");
}

/* Returns an error that it cannot handle: the server logs it, and the client gets 500. */
static int fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_set_header(res, "X-Comment", "two\nlines"); /* UVHTTP_EHEADER */
}

static int add_routes(uvhttp_server_t *server)
{
    static char key[] = "open sesame";
    uvhttp_router_t *private;
    int err = uvhttp_server_use(server, add_error_pages, NULL);
    if (err == 0)
        err = uvhttp_router_group(uvhttp_server_router(server), "/private", &private);
    if (err == 0)
        err = uvhttp_router_use(private, require_key, key);
    if (err == 0)
        err = uvhttp_router_add_route(private, "/secret", secret);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/fail", fail, NULL);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
