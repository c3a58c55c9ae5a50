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
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

/* The state of a lookup. It and the token live as long as the request. */
struct lookup {
    const char *token;
    bool is_write;
    const char *user; /* the result; NULL: unknown token */
    bool may_write;
};

/* Runs on the thread pool, so it may block. A real application would query a database. */
static void look_up(void *arg)
{
    static const struct {
        const char *token, *user;
        bool may_write;
    } known[] = {{"reader-7f3a", "the reader", false}, {"writer-c2d9", "the writer", true}};
    struct lookup *lookup = arg;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *token = known[i].token;
        if (uvhttp_equal_constant_time(lookup->token, strlen(lookup->token), token,
                                       strlen(token))) {
            lookup->user = known[i].user;
            lookup->may_write = known[i].may_write;
        }
    }
}

static int on_lookup(uvhttp_response_t *res, void *arg)
{
    struct lookup *lookup = arg;
    if (!uvhttp_response_open(res)) /* the client has disconnected */
        return 0;
    if (lookup->user == NULL)
        return uvhttp_auth_decide(res, UVHTTP_AUTH_REFUSE);
    if (lookup->is_write && !lookup->may_write)
        return uvhttp_auth_decide(res, UVHTTP_AUTH_FORBID);
    int err = uvhttp_auth_set_user(uvhttp_response_request(res), lookup->user);
    return err != 0 ? err : uvhttp_auth_decide(res, UVHTTP_AUTH_ACCEPT);
}

static int check(uvhttp_request_t *req, uvhttp_response_t *res,
                 const uvhttp_credentials_t *credentials, void *arg)
{
    struct lookup *lookup = uvhttp_request_allocate(req, sizeof *lookup);
    if (lookup == NULL)
        return UVHTTP_ENOMEM;
    *lookup = (struct lookup){.token = credentials->token,
                              .is_write = uvhttp_request_method(req) == UVHTTP_METHOD_DELETE};
    int err = uvhttp_response_defer(res, look_up, on_lookup, lookup);
    return err != 0 ? err : UVHTTP_AUTH_LATER;
}

static int show_notes(uvhttp_request_t *req, uvhttp_response_t *res, void *action)
{
    char text[128];
    snprintf(text, sizeof text, "%s by %s\n", (const char *)action, uvhttp_auth_user(req));
    return uvhttp_response_send_text(res, 200, text);
}

int main(int argc, char **argv)
{
    static char read[] = "read", deleted[] = "deleted";
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_auth_t *auth;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_auth_new(
        &auth, &(uvhttp_auth_options_t){.check_bearer = check, .scope = "write"}, NULL);
    if (err == 0)
        err = uvhttp_server_use(server, uvhttp_auth_handle_request, auth);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/notes", show_notes, read);
    if (err == 0)
        err = uvhttp_server_route(server, "DELETE", "/notes", show_notes, deleted);
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
    uvhttp_auth_free(auth);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
