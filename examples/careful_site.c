/* Serves a directory with the usual protections for browsers: security headers and a request ID in
 * every response, a page for local addresses only, and an access log with the request IDs.
 *
 *     curl -i http://127.0.0.1:8080/style.css
 *     curl -i http://127.0.0.1:8080/nowhere
 *     curl -i http://127.0.0.1:8080/status
 *
 * Usage: careful_site [PORT [DIRECTORY [PREFIX]]] (PREFIX: addresses that may request /status,
 * default 127.0.0.0/8) */
#include <stdlib.h>

#include <uvhttp.h>

/* Objects to free after the server; NULL: not created yet. */
static struct {
    uvhttp_request_ids_t *ids;
    uvhttp_security_headers_t *headers;
    uvhttp_address_rules_t *rules;
    uvhttp_access_log_t *log;
} site;

static uvhttp_error_t error; /* details of a refused option */

static int show_status(uvhttp_request_t *req, uvhttp_response_t *res, void *server)
{
    char text[128];
    const uvhttp_stats_t *stats = uvhttp_server_stats(server);
    snprintf(text, sizeof text, "%zu connections, your request is %s\n", stats->active_connections,
             uvhttp_request_id(req));
    return uvhttp_response_send_text(res, 200, text);
}

static int create_objects(const char *prefix)
{
    uvhttp_address_rules_options_t rules = {UVHTTP_ADDRESS_RULES({prefix, true})};
    uvhttp_access_log_options_t log = {
        .path = "-", .pattern = "{client} {status} {target} {request_id}", .flush_ms = 100};
    int err = uvhttp_request_ids_new(&site.ids, NULL, &error);
    if (err == 0)
        err = uvhttp_security_headers_new(&site.headers, NULL, &error);
    if (err == 0)
        err = uvhttp_address_rules_new(&site.rules, &rules, &error);
    return err != 0 ? err : uvhttp_access_log_new(&site.log, &log, &error);
}

static int add_routes(uvhttp_server_t *server, const char *directory)
{
    int err = uvhttp_server_use(server, uvhttp_request_ids_handle_request, site.ids);
    if (err == 0)
        err = uvhttp_server_use(server, uvhttp_security_headers_handle_request, site.headers);
    if (err == 0)
        err =
            uvhttp_static_mount(server, "/", &(uvhttp_static_options_t){.root = directory}, &error);
    if (err == 0)
        err = uvhttp_router_add(
            uvhttp_server_router(server),
            &(uvhttp_route_t){
                .method = "GET",
                .pattern = "/status",
                .handler = show_status,
                .arg = server,
                UVHTTP_MIDDLEWARE({uvhttp_address_rules_handle_request, site.rules})});
    uvhttp_server_on_finished(server, uvhttp_access_log_finished, site.log);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    const char *directory = argc > 2 ? argv[2] : "examples/site";
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = create_objects(argc > 3 ? argv[3] : "127.0.0.0/8");
    if (err == 0)
        err = add_routes(server, directory);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    uvhttp_access_log_free(site.log);
    uvhttp_address_rules_free(site.rules);
    uvhttp_security_headers_free(site.headers);
    uvhttp_request_ids_free(site.ids);
    if (err)
        fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : uvhttp_strerror(err));
    return err != 0;
}
