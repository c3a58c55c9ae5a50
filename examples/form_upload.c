/* A form with file uploads. Small files are in memory, large ones in hidden files until the handler
 * keeps them.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -F "title=A trip" -F "photo=@FILE" http://127.0.0.1:8080/photos
 *
 * Usage: form_upload [PORT [DIRECTORY]]; default: the current directory. */
#include <inttypes.h>
#include <stdlib.h>

#include <uvhttp.h>

static int page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_html(
        res, 200,
        "<!doctype html><meta charset=utf-8><title>Photos</title>\n"
        "<form action=/photos method=post enctype=multipart/form-data>\n"
        "<p><label>Title <input name=title></label>\n"
        "<p><input type=file name=photo multiple>\n"
        "<p><button>Send</button></form>\n");
}

/* Runs after all parts have arrived. Files that are not kept are removed after the response. */
static int on_form(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_form_data_t *form,
                   void *arg)
{
    const uvhttp_form_part_t *title = uvhttp_form_data_part(form, "title");
    char path[4096], text[4096];
    int length = snprintf(text, sizeof text, "%.100s\n",
                          title != NULL && title->data != NULL ? title->data : "without a title");
    for (const uvhttp_form_part_t *part = form->parts; part != NULL; part = part->next) {
        if (part->filename == NULL || part->filename[0] == '\0' || length > 3500)
            continue; /* another field, or no file was chosen */
        snprintf(path, sizeof path, "%s/%s", (char *)arg, part->filename);
        int err = uvhttp_form_part_keep(part, path); /* never replaces a file */
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s, %" PRIu64 " bytes: %s\n",
                     part->filename, part->size, err ? uvhttp_strerror(err) : "kept");
    }
    return uvhttp_response_send_text(res, 200, text);
}

static int post(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_form_options_t options = {.directory = arg,
                                           .memory_part_size = 16384,
                                           .max_parts = 20,
                                           .max_size = UINT64_C(1) << 30};
    return uvhttp_form_data_read(req, &options, on_form, arg);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    char current[] = ".";
    char *directory = argc > 2 ? argv[2] : current;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_server_route(server, "GET", "/", page, NULL);
    uvhttp_router_add(uvhttp_server_router(server),
                      &(uvhttp_route_t){.method = "POST",
                                        .pattern = "/photos",
                                        .handler = post,
                                        .arg = directory,
                                        .flags = UVHTTP_ROUTE_STREAM});
    return uvhttp_server_main(server, "127.0.0.1", port);
}
