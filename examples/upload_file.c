/* Uploads of any size to files, written while they arrive, on other threads than the loop's. A file
 * gets its name only when it is complete.
 *
 *     curl -T FILE http://127.0.0.1:8080/files/
 *     curl http://127.0.0.1:8080/files/FILE
 *
 * Usage: upload_file [PORT [DIRECTORY]]; default: the current directory. */
#include <inttypes.h>
#include <stdlib.h>

#include <uvhttp.h>

/* Runs after the file is stored. Without this callback the response is 201 or 204. */
static int on_stored(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_upload_t *upload,
                     void *arg)
{
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 " bytes %s\n", upload->size,
             upload->created ? "stored" : "replaced");
    int err = uvhttp_response_set_header(res, "Location", uvhttp_request_path(req));
    return err ? err : uvhttp_response_send_text(res, upload->created ? 201 : 200, text);
}

static int put(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_upload_options_t options = {.max_size = UINT64_C(10) << 30, .sync = true};
    /* A name with a slash, or "..", gets 400. */
    return uvhttp_upload_to_file(req, arg, uvhttp_request_param(req, "name"), &options, on_stored,
                                 NULL);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    char current[] = ".";
    char *directory = argc > 2 ? argv[2] : current;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_router_add(uvhttp_server_router(server),
                                &(uvhttp_route_t){.method = "PUT",
                                                  .pattern = "/files/:name",
                                                  .handler = put,
                                                  .arg = directory,
                                                  .flags = UVHTTP_ROUTE_STREAM});
    if (err == 0)
        err = uvhttp_static_mount(server, "/files/", &(uvhttp_static_options_t){.root = directory},
                                  NULL);
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
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
