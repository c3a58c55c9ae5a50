/* Basic authentication: a public page, a page for users with a known password, and an access log on
 * standard output with the user names.
 *
 *     curl -i http://127.0.0.1:8080/
 *     curl -i http://127.0.0.1:8080/private
 *     curl -i -u "ada:engine no. 1" http://127.0.0.1:8080/private
 *     curl -i -u ada:guess http://127.0.0.1:8080/private
 *
 * Usage: passwords [PORT] (open /private in a browser to see its password dialog) */
#include <stdlib.h>

#include <uvhttp.h>

/* A real application does not have passwords in its source. For hashed ones use
 * uvhttp/passwords.h. */
static const uvhttp_auth_options_t staff = {
    .realm = "the engine room",
    UVHTTP_AUTH_USERS({"ada", "engine no. 1"}, {"grace", "nanoseconds"})};

static int show_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *user = uvhttp_auth_user(req);
    char text[128];
    snprintf(text, sizeof text, "Hello, %s\n", user != NULL ? user : "guest");
    return uvhttp_response_send_text(res, 200, text);
}

static int add_routes(uvhttp_server_t *server, uvhttp_auth_t *auth)
{
    int err = uvhttp_server_route(server, "GET", "/", show_user, NULL);
    if (err == 0)
        err = uvhttp_router_add(
            uvhttp_server_router(server),
            &(uvhttp_route_t){.method = "GET",
                              .pattern = "/private",
                              .handler = show_user,
                              UVHTTP_MIDDLEWARE({uvhttp_auth_handle_request, auth})});
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_auth_t *auth = NULL;
    uvhttp_access_log_t *log = NULL;
    uvhttp_error_t error = {0};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_auth_new(&auth, &staff, &error);
    if (err == 0)
        err = add_routes(server, auth);
    if (err == 0)
        err = uvhttp_access_log_new(
            &log, &(uvhttp_access_log_options_t){.path = "-", .flush_ms = 100}, NULL);
    if (err == 0)
        uvhttp_server_on_finished(server, uvhttp_access_log_finished, log);
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
    uvhttp_access_log_free(log);
    uvhttp_auth_free(auth);
    if (err)
        fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : uvhttp_strerror(err));
    return err != 0;
}
