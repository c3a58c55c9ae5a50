/* WebSocket endpoints of wire_server. All echo messages. Those with a handler for whole messages
 * also run commands: a text that begins with a name in `commands`. /ws-state/... reports counters
 * of the endpoint /..., and what all endpoints share. */
#include "wire_server.h"

#include <uvhttp/websocket.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMAND_SIZE = 200,
    TEXT_SIZE = 2048,
    JSON_SIZE = 6 * 127 + 1, /* each byte of a reason may become \u0000 */
    BIG_SIZE = 32 * 1024 * 1024,
    NUMBER_DIGITS = 8, /* at the beginning of a message of "!flood" */
};

/* Of all endpoints together. */
static struct state {
    uint64_t opens, closes, drains, pings, pongs, admitted, released;
    unsigned code; /* of the last closed connection */
    char reason[128];
    char error[32];             /* name of the error of the last echo or command; "0": none */
    uvhttp_websocket_t *paused; /* until /ws/resume */
    /* the last one on which a command has sent several messages; NULL: it is closed */
    uvhttp_websocket_t *sending;
} state;

static void store_error(int err)
{
    (void)snprintf(state.error, sizeof state.error, "%s", err == 0 ? "0" : uvhttp_error_name(err));
}

__attribute__((format(printf, 2, 3))) static void send_line(uvhttp_websocket_t *ws,
                                                            const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)uvhttp_websocket_send_text(ws, text);
}

/* Writes a text of at most 127 bytes as the inside of a JSON string. */
static void escape_json(char out[JSON_SIZE], const char *text)
{
    size_t length = 0;
    for (; *text != '\0' && length + 7 <= JSON_SIZE; text++) {
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            length += (size_t)snprintf(out + length, 7, "\\u%04x", (unsigned char)*text);
        else
            out[length++] = *text;
    }
    out[length] = '\0';
}

/* ---- commands ---- */

/* "!close CODE[ REASON]" */
static void command_close(uvhttp_websocket_t *ws, const char *arguments)
{
    char *reason;
    unsigned code = (unsigned)strtoul(arguments, &reason, 10);
    store_error(uvhttp_websocket_close(ws, code, *reason == ' ' ? reason + 1 : NULL));
}

/* "!abort": closes the connection without a closing handshake. */
static void command_abort(uvhttp_websocket_t *ws, const char *arguments)
{
    (void)arguments;
    uvhttp_websocket_abort(ws);
}

/* "!ping DATA" */
static void command_ping(uvhttp_websocket_t *ws, const char *arguments)
{
    store_error(uvhttp_websocket_ping(ws, arguments, strlen(arguments)));
}

/* "!shared SIZE": a binary message of zeros that is prepared for many connections, sent to this
 * one. */
static void command_shared(uvhttp_websocket_t *ws, const char *arguments)
{
    size_t size = strtoul(arguments, NULL, 10);
    char *bytes = calloc(1, size);
    if (bytes == NULL)
        abort();
    uvhttp_websocket_message_t *message = uvhttp_websocket_message_new(
        uvhttp_websocket_endpoint_of(ws), UVHTTP_WEBSOCKET_BINARY, bytes, size);
    if (message != NULL)
        store_error(uvhttp_websocket_send_message(ws, message));
    uvhttp_websocket_message_unref(message);
    free(bytes);
}

/* "!bulk COUNT SIZE": binary messages of zeros, each sent as its only fragment, so that it is not
 * compressed, until one is rejected. */
static void command_bulk(uvhttp_websocket_t *ws, const char *arguments)
{
    char *rest;
    size_t count = strtoul(arguments, &rest, 10), size = strtoul(rest, NULL, 10);
    char *bytes = calloc(1, size);
    if (bytes == NULL)
        abort();
    for (int err = 0; count > 0 && err >= 0; count--)
        err = uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_BINARY, bytes, size, true);
    free(bytes);
}

/* "!flood COUNT SIZE": binary messages that begin with their number, sent whatever the results are,
 * while the connection is open. Results that ask the sender to pause are counted. */
static void command_flood(uvhttp_websocket_t *ws, const char *arguments)
{
    char *rest;
    size_t count = strtoul(arguments, &rest, 10), size = strtoul(rest, NULL, 10);
    char *bytes = malloc(size + NUMBER_DIGITS);
    if (bytes == NULL)
        abort();
    memset(bytes, 'x', size + NUMBER_DIGITS);
    state.sending = ws;
    for (size_t i = 0; i < count && state.sending != NULL; i++) {
        size_t rest_of_number = i;
        for (int digit = NUMBER_DIGITS - 1; digit >= 0; digit--, rest_of_number /= 10)
            bytes[digit] = (char)('0' + rest_of_number % 10);
        int err = uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, bytes, size);
        store_error(err);
        if (err == UVHTTP_QUEUED || err == UVHTTP_EFULL)
            app.rejected_writes++;
    }
    free(bytes);
}

/* "!prepared COUNT": a text that is prepared once and sent so many times. */
static void command_prepared(uvhttp_websocket_t *ws, const char *arguments)
{
    static const char text[] =
        "prepared once, prepared once, prepared once, prepared once, prepared once";
    uvhttp_websocket_message_t *message = uvhttp_websocket_message_new(
        uvhttp_websocket_endpoint_of(ws), UVHTTP_WEBSOCKET_TEXT, text, sizeof text - 1);
    size_t count = strtoul(arguments, NULL, 10);
    if (message == NULL)
        abort();
    state.sending = ws;
    for (size_t i = 0; i < count && state.sending != NULL; i++)
        store_error(uvhttp_websocket_send_message(ws, message));
    /* A reference of its own, as another user of the message would have. */
    uvhttp_websocket_message_ref(message);
    uvhttp_websocket_message_unref(message);
    uvhttp_websocket_message_unref(message);
}

/* "!pieces": a text in fragments with a ping between them. Before its end, another message, and a
 * fragment of another kind, are rejected. */
static void command_fragments(uvhttp_websocket_t *ws, const char *arguments)
{
    (void)arguments;
    (void)uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_TEXT, "one ", 4, false);
    store_error(uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_TEXT, "no", 2));
    if (uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_BINARY, "no", 2, false) !=
        UVHTTP_EINVAL)
        abort();
    (void)uvhttp_websocket_ping(ws, "between", 7);
    (void)uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_TEXT, "two ", 4, false);
    (void)uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_TEXT, "three", 5, true);
}

/* "!wrong": invalid calls. Sends the names of their errors. */
static void command_invalid_calls(uvhttp_websocket_t *ws, const char *arguments)
{
    char too_long[200];
    (void)arguments;
    memset(too_long, 'x', sizeof too_long);
    too_long[sizeof too_long - 1] = '\0';
    const int errors[] = {
        uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_TEXT, "\xc3(", 2), /* not UTF-8 */
        uvhttp_websocket_ping(ws, too_long, 126),                     /* at most 125 */
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_ABNORMAL, NULL),  /* never sent */
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NO_STATUS, NULL), /* never sent */
        uvhttp_websocket_close(ws, 2000, NULL),                       /* reserved */
        uvhttp_websocket_close(ws, 1000, too_long),                   /* at most 123 bytes */
        uvhttp_websocket_close(ws, 1000, "\xff"),                     /* not UTF-8 */
    };
    char names[TEXT_SIZE];
    size_t length = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, i == 0 ? "%s" : " %s",
                                   uvhttp_error_name(errors[i]));
    (void)uvhttp_websocket_send_text(ws, names);
}

/* "!facts": sends properties of the connection as JSON. */
static void command_facts(uvhttp_websocket_t *ws, const char *arguments)
{
    (void)arguments;
    char protocol[JSON_SIZE], data[JSON_SIZE];
    escape_json(protocol, uvhttp_websocket_protocol(ws));
    escape_json(data, uvhttp_websocket_data(ws) == NULL ? "" : uvhttp_websocket_data(ws));
    send_line(
        ws,
        "{\"protocol\":\"%s\",\"compressed\":%d,\"data\":\"%s\",\"pending\":%zu,\"worker\":%zu}",
        protocol, uvhttp_websocket_compressed(ws), data, uvhttp_websocket_pending(ws),
        uvhttp_websocket_worker(ws));
}

/* "!pause": pauses reading until /ws/resume. */
static void command_pause(uvhttp_websocket_t *ws, const char *arguments)
{
    (void)arguments;
    uvhttp_websocket_pause(ws);
    state.paused = ws;
}

/* "!end-then-send": sends a text and closes; then calls that must fail. */
static void command_close_and_send(uvhttp_websocket_t *ws, const char *arguments)
{
    (void)arguments;
    (void)uvhttp_websocket_send_text(ws, "before");
    (void)uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "twice");
    int again = uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "twice");
    int sent = uvhttp_websocket_send_text(ws, "after");
    store_error(again == sent ? sent : UVHTTP_EINVAL);
}

static const struct {
    const char *name;
    void (*run)(uvhttp_websocket_t *ws, const char *arguments);
} commands[] = {
    {"!close ", command_close},        {"!abort", command_abort},
    {"!ping ", command_ping},          {"!flood ", command_flood},
    {"!bulk ", command_bulk},          {"!shared ", command_shared},
    {"!prepared ", command_prepared},  {"!pieces", command_fragments},
    {"!wrong", command_invalid_calls}, {"!facts", command_facts},
    {"!pause", command_pause},         {"!end-then-send", command_close_and_send},
};

static bool run_command(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                        size_t size)
{
    char text[COMMAND_SIZE];
    if (kind != UVHTTP_WEBSOCKET_TEXT || size == 0 || data[0] != '!' || size >= sizeof text)
        return false;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        size_t length = strlen(commands[i].name);
        if (strncmp(text, commands[i].name, length) == 0) {
            commands[i].run(ws, text + length);
            return true;
        }
    }
    return false;
}

/* ---- events ---- */

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    state.opens++;
    if (uvhttp_websocket_server(ws) != app.server)
        abort();
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)arg;
    if (!run_command(ws, kind, data, size))
        store_error(uvhttp_websocket_send(ws, kind, data, size));
}

static void on_chunk(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                     size_t size, bool last, void *arg)
{
    (void)arg;
    store_error(uvhttp_websocket_send_fragment(ws, kind, data, size, last));
}

static void on_drain(uvhttp_websocket_t *ws, void *arg)
{
    (void)ws, (void)arg;
    state.drains++;
}

static void on_ping(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg)
{
    (void)ws, (void)data, (void)size, (void)arg;
    state.pings++;
}

static void on_pong(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg)
{
    (void)ws, (void)data, (void)size, (void)arg;
    state.pongs++;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)arg;
    if (uvhttp_websocket_send_text(ws, "too late") != UVHTTP_EDISCONNECTED)
        abort();
    state.closes++;
    state.code = code;
    (void)snprintf(state.reason, sizeof state.reason, "%s", reason);
    if (state.paused == ws)
        state.paused = NULL;
    if (state.sending == ws)
        state.sending = NULL;
}

/* Admits a request with X-User, whose value becomes the data of the connection. Some values fail:
 * "broken" and "crowded" with an error, "answered" after a response with 401. Any other value that
 * begins with "answered" returns 0 although there is a response. */
static int admit(uvhttp_request_t *req, void **data, void *arg)
{
    const char *user = uvhttp_request_header(req, "X-User");
    (void)arg;
    if (user == NULL)
        return UVHTTP_DECLINED;
    if (strcmp(user, "broken") == 0)
        return UVHTTP_EINVAL;
    if (strcmp(user, "crowded") == 0)
        return UVHTTP_ENOMEM;
    static const char answered[] = "answered";
    if (strncmp(user, answered, sizeof answered - 1) == 0) {
        (void)uvhttp_response_send_status(uvhttp_request_response(req), 401);
        return strcmp(user, answered) == 0 ? UVHTTP_DECLINED : 0;
    }
    *data = malloc(strlen(user) + 1);
    if (*data == NULL)
        return UVHTTP_ENOMEM;
    memcpy(*data, user, strlen(user) + 1);
    state.admitted++;
    return 0;
}

static void release_data(void *data)
{
    if (data == NULL)
        return;
    free(data);
    state.released++;
}

/* ---- reports ---- */

static int send_state(uvhttp_request_t *req, uvhttp_response_t *res, void *endpoint)
{
    char text[TEXT_SIZE], reason[JSON_SIZE];
    uvhttp_websocket_stats_t s;
    (void)req;
    uvhttp_websocket_read_stats(endpoint, &s);
    escape_json(reason, state.reason);
    (void)snprintf(
        text, sizeof text,
        "{\"opens\":%" PRIu64 ",\"closes\":%" PRIu64 ",\"drains\":%" PRIu64 ",\"pings\":%" PRIu64
        ",\"pongs\":%" PRIu64 ",\"admitted\":%" PRIu64 ",\"released\":%" PRIu64
        ",\"code\":%u,\"reason\":\"%s\",\"error\":\"%s\",\"connections\":%" PRIu64
        ",\"total_connections\":%" PRIu64 ",\"compressing\":%" PRIu64 ",\"dedicated\":%" PRIu64
        ",\"messages_received\":%" PRIu64 ",\"messages_sent\":%" PRIu64 ",\"dropped\":%" PRIu64
        ",\"memory\":%" PRIu64 "}\n",
        state.opens, state.closes, state.drains, state.pings, state.pongs, state.admitted,
        state.released, state.code, reason, state.error, s.connections, s.total_connections,
        s.compressing, s.dedicated, s.messages_received, s.messages_sent, s.dropped, s.memory);
    return uvhttp_response_send_json(res, 200, text);
}

static int resume(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    if (state.paused != NULL)
        uvhttp_websocket_resume(state.paused);
    state.paused = NULL;
    return uvhttp_response_send_text(res, 200, "resumed");
}

/* A handler that calls uvhttp_websocket_accept itself, with a response field and data. */
static int accept_explicitly(uvhttp_request_t *req, uvhttp_response_t *res, void *endpoint)
{
    static char data[] = "accepted";
    uvhttp_websocket_t *ws = NULL;
    (void)req;
    int err = uvhttp_response_set_header(res, "X-Greeting", "hello");
    if (err == 0)
        err = uvhttp_websocket_accept(endpoint, res, data, &ws);
    if (err == UVHTTP_EINVAL)
        return ws == NULL ? uvhttp_response_send_text(res, 400, "no handshake") : UVHTTP_EINVAL;
    if (err != 0)
        return err;
    send_line(ws, "welcome");
    return 0;
}

/* "?url=URL": connects as a client to another server, which sends the messages and commands then.
 * Responds with the error, or "0". */
static int connect_to(uvhttp_request_t *req, uvhttp_response_t *res, void *endpoint)
{
    uvhttp_error_t error;
    uvhttp_websocket_target_t target = {.url = uvhttp_request_query(req, "url")};
    int err = uvhttp_websocket_connect(endpoint, &target, NULL, NULL, &error);
    return uvhttp_response_send_text(res, 200, err == 0 ? "0" : error.text);
}

/* ---- the endpoints ---- */

static const char *const protocols[] = {"chat.v2", "chat.v1", NULL};
static const char *const origins[] = {"https://good.example", "http://127.0.0.1:1", NULL};

#define EVENTS                        \
    .events = {.open = on_open,       \
               .message = on_message, \
               .drain = on_drain,     \
               .ping = on_ping,       \
               .pong = on_pong,       \
               .close = on_close}
/* For the largest messages of all client libraries: gorilla/websocket sends them in frames of 4
 * KiB, and repetitive data expands a thousandfold. */
#define BIG_MESSAGES                                                          \
    .max_message_size = BIG_SIZE, .max_fragments = 100000, .max_ratio = 2000, \
    .max_queue_size = BIG_SIZE, .memory = 4UL * BIG_SIZE
/* Soon full, to test the policies for slow clients. */
#define SMALL_QUEUE \
    .high_watermark = 64 * 1024, .low_watermark = 16 * 1024, .max_queue_size = 256 * 1024

/* Each is an endpoint at its path. */
static const struct {
    const char *path;
    uvhttp_websocket_options_t options;
} endpoints[] = {
    {"/ws/echo", {EVENTS, BIG_MESSAGES}},
    {"/ws/echo-deflate", {EVENTS, BIG_MESSAGES, .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED}},
    {"/ws/echo-dedicated",
     {EVENTS, BIG_MESSAGES, .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED,
      .memory_per_connection = 1024 * 1024}},
    {"/ws/pieces",
     {.events = {.open = on_open, .chunk = on_chunk, .close = on_close},
      .max_message_size = 100000}},
    {"/ws/pieces-deflate",
     {.events = {.open = on_open, .chunk = on_chunk, .close = on_close},
      .max_message_size = 100000,
      .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED}},
    {"/ws/protocols", {EVENTS, .protocols = protocols}},
    {"/ws/protocol-required", {EVENTS, .protocols = protocols, .protocol_required = true}},
    {"/ws/origins", {EVENTS, .origins = origins}},
    {"/ws/admit", {EVENTS, .admit = admit, .release = release_data}},
    {"/ws/small", {EVENTS, .max_message_size = 1000, .max_frame_size = 600, .max_fragments = 4}},
    {"/ws/small-deflate",
     {EVENTS, .max_message_size = 100000, .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED}},
    {"/ws/ratio",
     {EVENTS, .max_message_size = BIG_SIZE, .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED}},
    {"/ws/budget", {EVENTS, .max_message_size = 100000, .memory = 100000}},
    {"/ws/rate", {EVENTS, .max_message_rate = 5}},
    {"/ws/defaults", {EVENTS}},
    {"/ws/pinging", {EVENTS, .ping_interval_ms = 1000}},
    {"/ws/idle", {EVENTS, .idle_timeout_ms = 1000}},
    /* A short timeout of the closing handshake, without a ping that fails first. */
    {"/ws/hurried", {EVENTS, .close_timeout_ms = 1000, .ping_interval_ms = UVHTTP_NEVER}},
    {"/ws/slow-close",
     {EVENTS, SMALL_QUEUE, .slow = UVHTTP_WEBSOCKET_SLOW_CLOSE, .close_timeout_ms = 1000}},
    {"/ws/slow-newest", {EVENTS, SMALL_QUEUE, .slow = UVHTTP_WEBSOCKET_SLOW_DROP_NEWEST}},
    {"/ws/many", {EVENTS, .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED}},
    {"/ws/few-windows",
     {EVENTS, .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED, .memory = 1024 * 1024}},
    {"/ws/slow-oldest", {EVENTS, SMALL_QUEUE, .slow = UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST}},
};

/* An endpoint has a route at its path, one at /ws-state for its counters, and one at /ws-connect
 * that connects it as a client; /ws/echo has one with a handler of its own, too. */
static int add_endpoint(uvhttp_server_t *server, const char *path,
                        const uvhttp_websocket_options_t *options)
{
    uvhttp_router_t *router = uvhttp_server_router(server);
    uvhttp_websocket_endpoint_t *endpoint;
    char other_path[64];
    uvhttp_error_t error;
    int err = uvhttp_websocket_endpoint_new(&endpoint, server, options, &error);
    if (err != 0) {
        (void)fprintf(stderr, "wire_server: %s: %s\n", path, error.text);
        return err;
    }
    (void)snprintf(other_path, sizeof other_path, "/ws-state%s", path);
    err = uvhttp_router_add(router, &(uvhttp_route_t){.method = "GET",
                                                      .pattern = path,
                                                      .handler = uvhttp_websocket_handle_request,
                                                      .arg = endpoint});
    if (err == 0)
        err = uvhttp_server_route(server, "GET", other_path, send_state, endpoint);
    (void)snprintf(other_path, sizeof other_path, "/ws-connect%s", path);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", other_path, connect_to, endpoint);
    if (err == 0 && strcmp(path, "/ws/echo") == 0)
        err = uvhttp_router_add(router, &(uvhttp_route_t){.method = "GET",
                                                          .pattern = "/ws/accept",
                                                          .handler = accept_explicitly,
                                                          .arg = endpoint,
                                                          .upgrade = "websocket"});
    return err;
}

int add_websockets(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/ws/resume", resume, NULL);
    for (size_t i = 0; err == 0 && i < sizeof endpoints / sizeof *endpoints; i++) {
        uvhttp_websocket_options_t options = endpoints[i].options;
        options.allocator = &counting_allocator;
        err = add_endpoint(server, endpoints[i].path, &options);
    }
    if (err == 0) /* the short form of a route, with default options */
        err = uvhttp_websocket_route(
            server, "/ws/rooms/:room",
            &(uvhttp_websocket_options_t){.events = {.message = on_message}}, NULL);
    return err;
}
