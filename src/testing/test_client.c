/* One request over a socket pair, driven by the server's own loop, see uvhttp/test.h.
 *
 * Received bytes are collected in one buffer: the head, the decoded body, and bytes of a chunked
 * body that are not decoded yet. A response is that buffer, with a NUL after head and body. */
#include <uvhttp/test.h>

#include <string.h>

#include <uv.h>

#include <uvhttp/embedding.h>
#include <uvhttp/parser.h>
#include <uvhttp/writer.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "platform/socket.h"

enum {
    LINES_SIZE = 256, /* of a request line and fields, besides the caller's texts */
    RECEIVE_SIZE = 65536,
    FIELDS = 256,
    HEAD_SIZE = 1 << 20,
    EXTENSION_SIZE = 4096,
    TIMEOUT_MS = 120000, /* above the default of handler_timeout, whose 503 is a response */
};

/* The result; `view` is the public part. */
struct response {
    uvhttp_test_response_t view;
    uvhttp_head_t head;
    uvhttp_field_t fields[FIELDS];
    char *data;   /* what was received */
    char *values; /* a copy of the head, with a NUL after each value */
};

enum state { HEAD, BODY, CHUNKS, TRAILERS, COMPLETE, FAILED };

struct client {
    uv_poll_t poll;
    uv_timer_t timer;
    int open_handles;
    int socket;
    uvhttp_slice_t out[2]; /* head and body of the request, what is left of them */
    enum state state;
    int error; /* when FAILED */
    uvhttp_method_t method;
    size_t stop_after;
    uvhttp_framing_t framing;
    uvhttp_chunked_t decoder;
    struct response *response;
    size_t length, capacity; /* of response->data */
    size_t body_end;         /* of the decoded body */
};

static const uvhttp_allocator_t *memory(void)
{
    return uvh_alloc_default();
}

static void fail(struct client *client, int error)
{
    client->state = FAILED;
    client->error = error;
}

/* ---- the request ---- */

static bool has_header(const uvhttp_test_request_t *request, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < request->header_count; i++) {
        const char *line = request->headers[i];
        size_t at = 0;
        while (at < length && (line[at] | 0x20) == name[at])
            at++;
        if (at == length && line[at] == ':')
            return true;
    }
    return false;
}

static bool write_header(uvhttp_writer_t *writer, const char *line)
{
    const char *colon = strchr(line, ':');
    if (colon == NULL)
        return false;
    return uvhttp_writer_field_slice(writer, (uvhttp_slice_t){line, (size_t)(colon - line)},
                                     uvh_slice(colon + 1));
}

static bool is_valid(const uvhttp_test_request_t *request)
{
    if ((request->headers == NULL) != (request->header_count == 0) ||
        (request->body == NULL && request->body_size > 0))
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        if (request->headers[i] == NULL)
            return false;
    }
    return true;
}

/* The head of the request in allocated memory. Returns 0 or an error. */
static int write_request(const uvhttp_test_request_t *request, const char *method,
                         uvhttp_slice_t *out)
{
    const char *target = request->target != NULL ? request->target : "/";
    size_t size = LINES_SIZE + strlen(method) + strlen(target);
    for (size_t i = 0; i < request->header_count; i++)
        size += strlen(request->headers[i]) + LINES_SIZE;
    char *text = uvh_alloc(memory(), size);
    if (text == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, text, size);
    bool good = uvhttp_writer_request_line(&writer, method, target);
    if (!has_header(request, "host"))
        good = good && uvhttp_writer_field(&writer, "Host", "test");
    if (request->body != NULL && !has_header(request, "content-length"))
        good = good && uvhttp_writer_field_number(&writer, "Content-Length", request->body_size);
    for (size_t i = 0; i < request->header_count; i++)
        good = good && write_header(&writer, request->headers[i]);
    good = good && uvhttp_writer_end(&writer);
    *out = (uvhttp_slice_t){text, writer.length};
    return good ? 0 : UVHTTP_EINVAL;
}

/* ---- the response ---- */

/* Decodes in place, so that the body is contiguous; what is left belongs to the trailers. */
static void take_chunks(struct client *client)
{
    size_t consumed, body;
    char *data = client->response->data + client->body_end;
    uvhttp_parse_result_t result = uvhttp_chunked_decode_in_place(
        &client->decoder, data, client->length - client->body_end, &consumed, &body);
    size_t left = client->length - client->body_end - consumed;
    client->body_end += body;
    if (result == UVHTTP_PARSE_BAD)
        fail(client, UVHTTP_EDISCONNECTED);
    else if (result == UVHTTP_PARSE_DONE)
        client->state = TRAILERS;
    memmove(data + body, data + consumed, left);
    client->length = client->body_end + left;
}

static void take_trailers(struct client *client)
{
    uvhttp_head_t trailers;
    uvhttp_head_init(&trailers, NULL, 0);
    uvhttp_parse_result_t result =
        uvhttp_trailers_parse(&trailers, client->response->data + client->body_end,
                              client->length - client->body_end, NULL);
    if (result == UVHTTP_PARSE_DONE)
        client->state = COMPLETE;
    else if (result == UVHTTP_PARSE_BAD)
        fail(client, UVHTTP_EDISCONNECTED);
}

/* The head is complete. An interim response is dropped (RFC 9110 section 15.2). */
static void begin_body(struct client *client)
{
    struct response *response = client->response;
    uvhttp_head_t *head = &response->head;
    bool interim = head->status < 200 && head->status != 101;
    if (interim) {
        client->length -= head->size;
        memmove(response->data, response->data + head->size, client->length);
        uvhttp_head_init(head, response->fields, FIELDS);
        return;
    }
    if (uvhttp_response_framing(head, client->method, &client->framing) != UVHTTP_REASON_NONE) {
        fail(client, UVHTTP_EDISCONNECTED);
        return;
    }
    client->body_end = head->size;
    client->state = client->framing.body == UVHTTP_BODY_CHUNKED ? CHUNKS
                    : client->framing.body == UVHTTP_BODY_NONE  ? COMPLETE
                                                                : BODY;
    uvhttp_chunked_init(&client->decoder, EXTENSION_SIZE);
}

static void take_head(struct client *client)
{
    static const uvhttp_head_limits_t limits = {.max_size = HEAD_SIZE, .max_fields = FIELDS};
    struct response *response = client->response;
    while (client->state == HEAD) {
        switch (
            uvhttp_response_head_parse(&response->head, response->data, client->length, &limits)) {
        case UVHTTP_PARSE_DONE:
            begin_body(client);
            break;
        case UVHTTP_PARSE_MORE:
            return;
        default:
            fail(client, UVHTTP_EDISCONNECTED);
        }
    }
}

/* Interprets what was received. */
static void take(struct client *client)
{
    size_t head_size;
    if (client->state == HEAD)
        take_head(client);
    head_size = client->response->head.size;
    if (client->state == BODY) {
        client->body_end = client->length;
        if (client->framing.body == UVHTTP_BODY_LENGTH &&
            client->length - head_size >= client->framing.content_length) {
            client->body_end = head_size + (size_t)client->framing.content_length;
            client->state = COMPLETE;
        }
    }
    if (client->state == CHUNKS)
        take_chunks(client);
    if (client->state == TRAILERS)
        take_trailers(client);
    bool begun = client->state == BODY || client->state == CHUNKS;
    if (begun && client->stop_after > 0 && client->body_end - head_size >= client->stop_after)
        client->state = COMPLETE;
}

static bool reserve(struct client *client)
{
    struct response *response = client->response;
    if (client->capacity - client->length > RECEIVE_SIZE)
        return true;
    size_t capacity = client->capacity * 2 + 2 * RECEIVE_SIZE;
    char *grown = uvh_realloc(memory(), response->data, capacity);
    if (grown == NULL)
        return false;
    response->data = grown;
    client->capacity = capacity;
    return true;
}

/* The server has closed the connection. */
static void take_end(struct client *client)
{
    if (client->state == BODY && client->framing.body == UVHTTP_BODY_UNTIL_CLOSE)
        client->state = COMPLETE;
    else
        fail(client, UVHTTP_EDISCONNECTED);
}

static void receive(struct client *client)
{
    while (client->state < COMPLETE) {
        if (!reserve(client)) {
            fail(client, UVHTTP_ENOMEM);
            return;
        }
        ssize_t got = uvh_socket_receive(client->socket, client->response->data + client->length,
                                         RECEIVE_SIZE);
        if (got == UV_EAGAIN)
            return;
        if (got <= 0) {
            take_end(client);
            return;
        }
        client->length += (size_t)got;
        take(client);
    }
}

/* ---- the connection ---- */

/* A request that the server does not read to its end may still get a response. */
static void send_request(struct client *client)
{
    uvhttp_slice_t *out = client->out;
    while (out[0].length + out[1].length > 0) {
        ssize_t sent = uvh_socket_send(client->socket, out, UVH_COUNT_OF(client->out), false);
        if (sent == UV_EAGAIN)
            return;
        if (sent < 0) {
            out[0].length = out[1].length = 0;
            return;
        }
        for (size_t i = 0; i < UVH_COUNT_OF(client->out); i++) {
            size_t part = (size_t)sent < out[i].length ? (size_t)sent : out[i].length;
            out[i].base += part;
            out[i].length -= part;
            sent -= (ssize_t)part;
        }
    }
}

static void on_poll(uv_poll_t *poll, int status, int events);

static int watch(struct client *client)
{
    bool sends = client->out[0].length + client->out[1].length > 0;
    return uv_poll_start(&client->poll, UV_READABLE | (sends ? UV_WRITABLE : 0), on_poll);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct client *client = UVH_CONTAINER_OF(poll, struct client, poll);
    (void)status, (void)events;
    send_request(client);
    receive(client);
    if (client->state < COMPLETE)
        (void)watch(client); /* cannot fail: the events are valid */
}

static void on_timeout(uv_timer_t *timer)
{
    struct client *client = UVH_CONTAINER_OF(timer, struct client, timer);
    if (client->state < COMPLETE)
        fail(client, UV_ETIMEDOUT);
}

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    client->open_handles--;
}

static void close_handle(struct client *client, uv_handle_t *handle)
{
    handle->data = client;
    client->open_handles++;
    uv_close(handle, on_closed);
}

/* Runs the loop until there is a response or an error, which is returned. */
static int wait_for_response(struct client *client, uv_loop_t *loop, uint32_t timeout_ms)
{
    uv_timer_init(loop, &client->timer);
    uv_update_time(loop);
    if (timeout_ms != UVHTTP_NEVER)
        uv_timer_start(&client->timer, on_timeout, timeout_ms == 0 ? TIMEOUT_MS : timeout_ms, 0);
    (void)watch(client);
    while (client->state < COMPLETE)
        uv_run(loop, UV_RUN_ONCE);
    close_handle(client, (uv_handle_t *)&client->poll);
    close_handle(client, (uv_handle_t *)&client->timer);
    while (client->open_handles > 0)
        uv_run(loop, UV_RUN_NOWAIT);
    return client->state == FAILED ? client->error : 0;
}

static int run(struct client *client, uvhttp_server_t *server, uint32_t timeout_ms)
{
    uv_os_sock_t pair[2];
    uv_loop_t *loop = uvhttp_server_loop(server);
    int err = uv_socketpair(SOCK_STREAM, 0, pair, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE);
    if (err != 0)
        return err;
    client->socket = pair[0];
    err = uvhttp_server_adopt(server, pair[1]);
    if (err != 0)
        uvh_socket_close(pair[1]);
    if (err == 0)
        err = uv_poll_init(loop, &client->poll, client->socket);
    if (err == 0)
        err = wait_for_response(client, loop, timeout_ms);
    uvh_socket_close(client->socket);
    if (err == 0 || err == UV_ETIMEDOUT)
        uv_run(loop, UV_RUN_NOWAIT); /* the server sees the end of the connection */
    return err;
}

/* ---- public ---- */

/* Fills the public part. The bytes after the head belong to the body, so the head is a copy. */
static int finish(struct client *client)
{
    struct response *response = client->response;
    size_t size = response->head.size;
    response->values = uvh_alloc(memory(), 2 * (size + 1));
    if (response->values == NULL)
        return UVHTTP_ENOMEM;
    char *head = response->values + size + 1;
    memcpy(response->values, response->data, size);
    memcpy(head, response->data, size);
    head[size] = '\0';
    for (size_t i = 0; i < response->head.field_count; i++) {
        const uvhttp_field_t *field = &response->head.fields[i];
        response->values[field->value_offset + field->value_length] = '\0';
    }
    response->head.base = response->data;
    response->data[client->body_end] = '\0';
    response->view = (uvhttp_test_response_t){.status = response->head.status,
                                              .head = head,
                                              .body = response->data + size,
                                              .body_size = client->body_end - size};
    return 0;
}

int uvhttp_test_request(uvhttp_server_t *server, const uvhttp_test_request_t *request,
                        uvhttp_test_response_t **out)
{
    if (out != NULL)
        *out = NULL;
    if (server == NULL)
        return UVHTTP_ENOMEM;
    if (request == NULL || out == NULL || !is_valid(request))
        return UVHTTP_EINVAL;
    const char *method = request->method != NULL ? request->method
                         : request->body != NULL ? "POST"
                                                 : "GET";
    struct response *response = uvh_alloc_zero(memory(), sizeof(*response));
    if (response == NULL)
        return UVHTTP_ENOMEM;
    struct client client = {.response = response,
                            .method = strcmp(method, "HEAD") == 0 ? UVHTTP_METHOD_HEAD
                                                                  : UVHTTP_METHOD_OTHER,
                            .stop_after = request->stop_after,
                            .out = {{NULL, 0}, {request->body, request->body_size}}};
    uvhttp_head_init(&response->head, response->fields, FIELDS);
    int err = write_request(request, method, &client.out[0]);
    char *head = (char *)(uintptr_t)client.out[0].base;
    if (err == 0)
        err = run(&client, server, request->timeout_ms);
    if (err == 0)
        err = finish(&client);
    uvh_free(memory(), head);
    if (err == 0)
        *out = &response->view;
    else
        uvhttp_test_response_free(&response->view);
    return err;
}

const char *uvhttp_test_response_header(const uvhttp_test_response_t *view, const char *name)
{
    const struct response *response = (const struct response *)(const void *)view;
    if (view == NULL || name == NULL)
        return NULL;
    const uvhttp_field_t *field = uvhttp_head_find_name(&response->head, name, strlen(name));
    return field == NULL ? NULL : response->values + field->value_offset;
}

void uvhttp_test_response_free(uvhttp_test_response_t *view)
{
    struct response *response = (struct response *)(void *)view;
    if (response == NULL)
        return;
    uvh_free(memory(), response->data);
    uvh_free(memory(), response->values);
    uvh_free(memory(), response);
}
