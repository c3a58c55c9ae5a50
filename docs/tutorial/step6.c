/* Step 6 of the tutorial: streamed uploads. Usage: step6 [PORT [DIRECTORY]] */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

static uvhttp_static_t *files; /* serves the directory */

struct upload {
    FILE *file;
    uint64_t size;
    char part[600], path[600]; /* names before and after completion */
};

/* Called when the exchange ends, complete or not. */
static void end_upload(void *data)
{
    struct upload *upload = data;
    if (upload->file != NULL) {
        fclose(upload->file);
        remove(upload->part);
    }
    free(upload);
}

static int store(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                 void *arg)
{
    struct upload *upload = arg;
    char text[64];
    if (size > 0) {
        upload->size += size;
        return fwrite(data, 1, size, upload->file) == size ? 0
                                                           : uvhttp_response_send_status(res, 507);
    }
    bool complete = fclose(upload->file) == 0 && rename(upload->part, upload->path) == 0;
    upload->file = NULL;
    if (!complete) {
        remove(upload->part);
        return uvhttp_response_send_status(res, 507);
    }
    uvhttp_static_invalidate(files, uvhttp_request_param(req, "name"));
    snprintf(text, sizeof text, "stored %llu bytes\n", (unsigned long long)upload->size);
    return uvhttp_response_send_text(res, 201, text);
}

/* True for a name of one file in the directory that is not hidden. Never use a client's name as a
 * path without such a check. */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 200 && name[0] != '.' && strcspn(name, "/\\\r\n") == length;
}

static int upload(uvhttp_request_t *req, uvhttp_response_t *res, void *directory)
{
    static const char key;
    static unsigned number;
    const char *name = uvhttp_request_param(req, "name");
    if (name == NULL)
        return UVHTTP_ENOMEM;
    if (!is_name(name))
        return uvhttp_response_send_status(res, 400);
    struct upload *upload = calloc(1, sizeof *upload);
    int err = upload == NULL ? UVHTTP_ENOMEM : uvhttp_request_attach(req, &key, upload, end_upload);
    if (err != 0)
        return err;
    snprintf(upload->part, sizeof upload->part, "%.300s/.%u.part", (char *)directory, number++);
    snprintf(upload->path, sizeof upload->path, "%.300s/%s", (char *)directory, name);
    upload->file = fopen(upload->part, "wb");
    if (upload->file == NULL)
        return uvhttp_response_send_status(res, 500);
    return uvhttp_request_on_body(req, store, upload);
}

static int add_routes(uvhttp_server_t *server, char *directory, uvhttp_error_t *error)
{
    const uvhttp_route_t route = {.method = "PUT",
                                  .pattern = "/files/:name",
                                  .handler = upload,
                                  .arg = directory,
                                  .flags = UVHTTP_ROUTE_STREAM,
                                  .max_body_size = 100 * 1024 * 1024};
    const uvhttp_static_options_t config = {.root = directory, .listing = true};
    int err = uvhttp_router_add(uvhttp_server_router(server), &route);
    if (err == 0)
        err = uvhttp_static_new(&files, &config, error);
    if (err == 0)
        err = uvhttp_server_own(server, uvhttp_static_free, files);
    return err != 0 ? err : uvhttp_static_mount_context(server, "/files/", files, error);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_error_t error = {.text = ""};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server, argc > 2 ? argv[2] : "files", &error);
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
    return err != 0;
}
