/* Compressed responses: a JSON document, a table that is streamed line by line, and server-sent
 * events, each with the content coding that the client prefers.
 *
 *     curl -sS --compressed -D - http://127.0.0.1:8080/items
 *     curl -sS --compressed -H "Accept-Encoding: gzip" http://127.0.0.1:8080/table
 *     curl -sS --compressed -N http://127.0.0.1:8080/numbers
 *
 * Usage: compressed [PORT] */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>

static int send_items(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static char json[64 * 200];
    size_t length = 0;
    for (int i = 0; i < 200; i++)
        length +=
            (size_t)snprintf(json + length, sizeof json - length,
                             "%s{\"id\": %d, \"name\": \"item %d\"}", i == 0 ? "[" : ",\n ", i, i);
    length += (size_t)snprintf(json + length, sizeof json - length, "]\n");
    /* sent as W/"items-1" when the response is compressed */
    int err = uvhttp_response_set_header(res, "ETag", "\"items-1\"");
    return err ? err : uvhttp_response_send(res, 200, "application/json", json, length);
}

/* The compressor collects data until sending it is efficient. uvhttp_response_flush sends the
 * collected data at once. */
static int send_table(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char line[64];
    int err = uvhttp_response_begin(res, 200, "text/csv", UVHTTP_LENGTH_UNKNOWN);
    for (int i = 1; i <= 1000 && err == 0; i++) {
        int length = snprintf(line, sizeof line, "%d,%d,%d\n", i, i * i, i * i * i);
        err = uvhttp_response_write(res, line, (size_t)length);
    }
    return err ? err : uvhttp_response_end(res);
}

/* Each event is sent at once. */
static int send_numbers(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    int err = uvhttp_response_begin_events(res);
    for (int i = 1; i <= 3 && err == 0; i++) {
        snprintf(text, sizeof text, "number %d", i);
        err = uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.data = {text, strlen(text)}});
    }
    return err ? err : uvhttp_response_end(res);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_compress_t *compress;
    uvhttp_error_t error = {0};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_compress_new(&compress, &(uvhttp_compress_options_t){.min_size = 512}, &error);
    if (err == 0)
        err = uvhttp_server_use(server, uvhttp_compress_handle_request, compress);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/items", send_items, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/table", send_table, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/numbers", send_numbers, NULL);
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
    uvhttp_compress_free(compress);
    if (err)
        fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : uvhttp_strerror(err));
    return err != 0;
}
