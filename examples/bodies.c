/* Streamed bodies. One handler generates a download while it is sent, one processes an upload while
 * it arrives, and one does both at once. No body is in memory as a whole, however slow the client
 * is.
 *
 *     curl "http://127.0.0.1:8080/count?to=5"
 *     curl -T FILE http://127.0.0.1:8080/sum
 *     curl --data-binary hello http://127.0.0.1:8080/upper
 *
 * Usage: bodies [PORT] */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include <uvhttp.h>

/* ---- download: the server pulls the next lines when the socket is writable ---- */

struct count {
    unsigned long next, last;
};

static int pull_lines(uvhttp_response_t *res, char *buffer, size_t size, size_t *length, void *arg)
{
    struct count *count = arg;
    while (count->next <= count->last && size - *length >= 24)
        *length += (size_t)snprintf(buffer + *length, 24, "%lu\n", count->next++);
    return count->next > count->last ? UVHTTP_END : 0;
}

static int count_lines(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct count *count = uvhttp_request_allocate(req, sizeof *count);
    const char *to = uvhttp_request_query(req, "to");
    if (count == NULL)
        return UVHTTP_ENOMEM;
    *count = (struct count){1, to == NULL ? 10 : strtoul(to, NULL, 10)};
    return uvhttp_response_send_pulled(res, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN, pull_lines,
                                       NULL, count);
}

/* ---- upload: the callback gets each chunk as it arrives; a size of 0 is the end ---- */

struct sum {
    uint64_t bytes, total;
};

static int add_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                     void *arg)
{
    struct sum *sum = arg;
    char text[64];
    for (size_t i = 0; i < size; i++)
        sum->total += (unsigned char)data[i];
    sum->bytes += size;
    if (size > 0)
        return 0;
    snprintf(text, sizeof text, "%" PRIu64 " bytes, sum %" PRIu64 "\n", sum->bytes, sum->total);
    return uvhttp_response_send_text(res, 200, text);
}

static int sum_bytes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct sum *sum = uvhttp_request_allocate(req, sizeof *sum);
    if (sum == NULL)
        return UVHTTP_ENOMEM;
    *sum = (struct sum){0, 0};
    return uvhttp_request_on_body(req, add_chunk, sum);
}

/* ---- both: a response that is not writable pauses the request body ---- */

struct chunk {
    char *text;
    size_t size;
    bool last;
};

static int send_chunk(uvhttp_response_t *res, void *arg)
{
    struct chunk *chunk = arg;
    int err = uvhttp_response_write(res, chunk->text, chunk->size);
    if (err == UVHTTP_EFULL) { /* called again by on_drain */
        uvhttp_request_pause_body(uvhttp_response_request(res));
        return 0;
    }
    chunk->size = 0;
    uvhttp_request_resume_body(uvhttp_response_request(res));
    return err != 0 || !chunk->last ? err : uvhttp_response_end(res);
}

static int receive_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data,
                         size_t size, void *arg)
{
    struct chunk *chunk = arg;
    chunk->last = size == 0;
    if (chunk->last && chunk->size > 0)
        return 0;
    char *text = size == 0 ? chunk->text : realloc(chunk->text, size);
    if (text == NULL && size > 0)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)toupper((unsigned char)data[i]);
    chunk->text = text;
    chunk->size = size;
    return send_chunk(res, chunk);
}

static void free_chunk(void *arg)
{
    free(((struct chunk *)arg)->text);
    free(arg);
}

static int convert(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char key;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    int err = chunk == NULL ? UVHTTP_ENOMEM : uvhttp_request_attach(req, &key, chunk, free_chunk);
    if (err == 0)
        err = uvhttp_response_begin(res, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    if (err)
        return err;
    uvhttp_response_on_drain(res, send_chunk, chunk);
    return uvhttp_request_on_body(req, receive_chunk, chunk);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    const uvhttp_route_t routes[] = {
        {.method = "GET", .pattern = "/count", .handler = count_lines},
        {.method = "PUT", .pattern = "/sum", .handler = sum_bytes, .flags = UVHTTP_ROUTE_STREAM},
        {.method = "POST", .pattern = "/upper", .handler = convert, .flags = UVHTTP_ROUTE_STREAM},
    };
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        uvhttp_router_add(uvhttp_server_router(server), &routes[i]);
    return uvhttp_server_main(server, "127.0.0.1", port);
}
