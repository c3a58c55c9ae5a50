/* A login with a signed cookie, which only this server can make. It is valid for an hour.
 *
 *     curl -i -c jar -d "user=ada" http://127.0.0.1:8080/login
 *     curl -i -b jar http://127.0.0.1:8080/
 *     curl -i -b "user=AAAAAAAAAAA" http://127.0.0.1:8080/
 *     curl -i -b jar -c jar -d "" http://127.0.0.1:8080/logout
 *
 * Usage: signed_cookie [PORT] */
#include <stdlib.h>

#include <uv.h>
#include <uvhttp.h>

static int show_user(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    uvhttp_slice_t user;
    char text[300];
    int err = uvhttp_request_signed_cookie(req, signer, "user", &user);
    if (err == UVHTTP_EEXPIRED)
        return uvhttp_response_send_text(res, 401, "you have been away for long: log in again\n");
    if (err == UVHTTP_ESIGNATURE)
        return uvhttp_response_send_text(res, 401, "log in first\n");
    if (err != 0)
        return err;
    snprintf(text, sizeof text, "hello, %.*s\n", UVHTTP_SLICE_ARGS(user));
    return uvhttp_response_send_text(res, 200, text);
}

static int set_user(uvhttp_response_t *res, uvhttp_cookie_signer_t *signer, const char *user,
                    int64_t seconds)
{
    /* With HTTPS also .secure = true, and a name that begins with "__Host-". */
    return uvhttp_response_set_signed_cookie(res, signer,
                                             &(uvhttp_cookie_t){.name = "user",
                                                                .value = user,
                                                                .path = "/",
                                                                .max_age = seconds,
                                                                .http_only = true,
                                                                .same_site = UVHTTP_SAME_SITE_LAX});
}

static int login(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    /* A real application checks a password, too. */
    const char *user = uvhttp_request_form(req, "user");
    if (user == NULL || user[0] == '\0')
        return uvhttp_response_send_status(res, 422);
    int err = set_user(res, signer, user, 3600);
    return err != 0 ? err : uvhttp_response_redirect(res, 303, "/");
}

static int logout(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    int err = set_user(res, signer, "", UVHTTP_COOKIE_DELETE);
    return err != 0 ? err : uvhttp_response_redirect(res, 303, "/");
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    char key[32];
    uvhttp_error_t error = {0};
    const uvhttp_cookie_signer_options_t keys = {UVHTTP_SIGNING_KEYS({key, sizeof key})};
    uvhttp_cookie_signer_t *signer = NULL;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    /* Read the key from a file if logins must survive a restart. */
    int err = uv_random(NULL, NULL, key, sizeof key, 0, NULL);
    if (err == 0)
        err = uvhttp_cookie_signer_new(&signer, &keys, &error);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/", show_user, signer);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/login", login, signer);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/logout", logout, signer);
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
    uvhttp_cookie_signer_free(signer);
    if (err)
        fprintf(stderr, "%s\n", error.code != 0 ? error.text : uvhttp_strerror(err));
    return err != 0;
}
