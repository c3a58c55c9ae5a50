/* A shared directory. All clients may read, and those with the password may upload, by PUT or with
 * a form.
 *
 *     curl -u ann:secret -T FILE http://127.0.0.1:8080/
 *     curl -u ann:secret -F file=@FILE http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/FILE
 *     curl -u ann:secret -T FILE -H 'If-Match: "another state of it"' http://127.0.0.1:8080/FILE
 *
 * Usage: shared_folder [PORT [DIRECTORY]]; default: the current directory. */
#include <stdlib.h>

#include <uvhttp.h>

/* GET and HEAD pass. Other methods require the password. A client without it is refused before it
 * sends a body. */
static int protect(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_method_t method = uvhttp_request_method(req);
    if (method == UVHTTP_METHOD_GET || method == UVHTTP_METHOD_HEAD)
        return UVHTTP_DECLINED;
    return uvhttp_auth_handle_request(req, res, arg);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_static_options_t files = {.root = argc > 2 ? argv[2] : ".",
                                     .listing = true,
                                     .uploads = true,
                                     .upload_overwrite = true,
                                     .upload_max_size = (size_t)10 << 30};
    uvhttp_error_t error = {0};
    uvhttp_auth_t *auth = NULL;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_auth_new(
        &auth, &(uvhttp_auth_options_t){.realm = "uploads", UVHTTP_AUTH_USERS({"ann", "secret"})},
        &error);
    if (err == 0)
        err = uvhttp_server_use(server, protect, auth);
    if (err == 0)
        err = uvhttp_static_mount(server, "/", &files, &error);
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
        fprintf(stderr, "%s\n", error.text[0] ? error.text : uvhttp_strerror(err));
    return err != 0;
}
