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

struct folder {
    const char *path;
    uvhttp_static_t *files; /* serves it */
};

/* Runs after the file is stored. Without this callback the response is 201 or 204. */
static int on_stored(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_upload_t *upload,
                     void *arg)
{
    const struct folder *folder = arg;
    char text[128];
    /* Else GET could get the old file, or 404, from the cache for up to a second. */
    uvhttp_static_invalidate(folder->files, uvhttp_request_param(req, "name"));
    snprintf(text, sizeof text, "%" PRIu64 " bytes %s\n", upload->size,
             upload->created ? "stored" : "replaced");
    int err = uvhttp_response_set_header(res, "Location", uvhttp_request_path(req));
    return err ? err : uvhttp_response_send_text(res, upload->created ? 201 : 200, text);
}

static int put(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_upload_options_t options = {.max_size = UINT64_C(10) << 30, .sync = true};
    struct folder *folder = arg;
    /* A name with a slash, or "..", gets 400. */
    return uvhttp_upload_to_file(req, folder->path, uvhttp_request_param(req, "name"), &options,
                                 on_stored, folder);
}

static int add_routes(uvhttp_server_t *server, struct folder *folder, uvhttp_error_t *error)
{
    const uvhttp_route_t route = {.method = "PUT",
                                  .pattern = "/files/:name",
                                  .handler = put,
                                  .arg = folder,
                                  .flags = UVHTTP_ROUTE_STREAM};
    const uvhttp_static_options_t options = {.root = folder->path};
    int err = uvhttp_static_new(&folder->files, &options, error);
    if (err == 0)
        err = uvhttp_static_mount_context(server, "/files/", folder->files, error);
    return err ? err : uvhttp_router_add(uvhttp_server_router(server), &route);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    struct folder folder = {.path = argc > 2 ? argv[2] : "."};
    uvhttp_error_t error = {.text = ""};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server, &folder, &error);
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
        fprintf(stderr, "%s\n", *error.text ? error.text : uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    uvhttp_static_free(folder.files);
    return err != 0;
}
