/* Handlers of wire_server for upgraded connections: an echo with back-pressure, and one that sends
 * a last message. */
#include "wire_server.h"

#include <stdlib.h>
#include <string.h>

struct echo {
    uvhttp_stream_t *stream;
    char *rejected; /* rejected data, until the stream has drained */
    size_t rejected_size;
    bool ended; /* by the client */
    int ticks;  /* still to be sent */
};

static void send_echo(struct echo *echo, const char *data, size_t size)
{
    int err = uvhttp_stream_write(echo->stream, data, size);
    if (err != UVHTTP_EFULL)
        return;
    app.rejected_writes++;
    uvhttp_stream_pause(echo->stream);
    echo->rejected = malloc(size);
    if (echo->rejected == NULL)
        abort();
    memcpy(echo->rejected, data, size);
    echo->rejected_size = size;
}

/* "<0>", "<1>", ... in one write; one buffer more is too many. */
static void write_areas(uvhttp_stream_t *stream)
{
    uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS + 1];
    char texts[UVHTTP_STREAM_MAX_AREAS + 1][8];
    for (int i = 0; i <= UVHTTP_STREAM_MAX_AREAS; i++)
        areas[i] =
            (uvhttp_slice_t){texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "<%d>", i)};
    app.last_error = uvhttp_stream_write_areas(stream, areas, UVHTTP_STREAM_MAX_AREAS + 1);
    if (uvhttp_stream_write_areas(stream, areas, UVHTTP_STREAM_MAX_AREAS) != 0)
        abort();
}

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    struct echo *echo = arg;
    if (size == 0) {
        echo->ended = true;
        if (echo->rejected == NULL)
            uvhttp_stream_end(stream);
    } else if (size >= 5 && memcmp(data, "close", 5) == 0) {
        uvhttp_stream_close(stream);
    } else if (size >= 3 && memcmp(data, "end", 3) == 0) {
        (void)uvhttp_stream_write(stream, "bye", 3);
        uvhttp_stream_end(stream);
        app.last_error = uvhttp_stream_write(stream, "more", 4);
    } else if (size >= 5 && memcmp(data, "timer", 5) == 0) {
        echo->ticks = 3;
        app.last_error = uvhttp_stream_set_timer(stream, 10);
    } else if (size >= 5 && memcmp(data, "areas", 5) == 0) {
        write_areas(stream);
    } else {
        send_echo(echo, data, size);
    }
}

static void on_timer(uvhttp_stream_t *stream, void *arg)
{
    struct echo *echo = arg;
    if (uvhttp_stream_write(stream, "tick", 4) != 0)
        abort();
    if (--echo->ticks > 0 && uvhttp_stream_set_timer(stream, 10) != 0)
        abort();
}

static void on_drain(uvhttp_stream_t *stream, void *arg)
{
    struct echo *echo = arg;
    if (uvhttp_stream_pending(stream) != 0)
        abort();
    if (uvhttp_stream_write(stream, echo->rejected, echo->rejected_size) != 0)
        abort();
    free(echo->rejected);
    echo->rejected = NULL;
    uvhttp_stream_resume(stream);
    if (echo->ended)
        uvhttp_stream_end(stream);
}

static void on_stopping(uvhttp_stream_t *stream, void *arg)
{
    (void)arg;
    (void)uvhttp_stream_write(stream, "goodbye", 7);
    uvhttp_stream_end(stream);
}

static void on_closed(uvhttp_stream_t *stream, void *arg)
{
    struct echo *echo = arg;
    if (uvhttp_stream_write(stream, "x", 1) != UVHTTP_EDISCONNECTED)
        abort();
    app.streams_closed++;
    free(echo->rejected);
    free(echo);
}

static int echo_stream(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_stream_events_t events = {.data = on_data,
                                     .drain = on_drain,
                                     .stopping = arg == NULL ? NULL : on_stopping,
                                     .timer = on_timer,
                                     .closed = on_closed};
    const char *backlog = uvhttp_request_query(req, "backlog");
    struct echo *echo = calloc(1, sizeof *echo);
    if (echo == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_response_upgrade(res, "Echo/1", &events, echo, &echo->stream);
    if (err != 0) {
        free(echo);
        return err;
    }
    if (backlog != NULL)
        uvhttp_stream_set_backlog(echo->stream, (size_t)strtoull(backlog, NULL, 10));
    if (uvhttp_request_query(req, "greet") != NULL)
        err = uvhttp_stream_write(echo->stream, "hello", 5);
    return err;
}

/* Calls that must fail. Responds with the names of the errors. */
static int upgrade_wrongly(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed},
                           deaf = {.closed = on_closed};
    uvhttp_stream_t *stream;
    char text[128];
    (void)req, (void)arg;
    int other = uvhttp_response_upgrade(res, "other", &events, NULL, &stream);
    int mute = uvhttp_response_upgrade(res, "Echo/1", &deaf, NULL, &stream);
    (void)snprintf(text, sizeof text, "%s %s %d", uvhttp_error_name(other), uvhttp_error_name(mute),
                   stream == NULL);
    return uvhttp_response_send_text(res, 200, text);
}

/* A stream that another request writes to. */
static uvhttp_stream_t *late;

static void ignore_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)stream, (void)data, (void)size, (void)arg;
}

static void late_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream, (void)arg;
    late = NULL;
}

static int late_stream(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = ignore_data, .closed = late_closed};
    (void)req, (void)arg;
    return uvhttp_response_upgrade(res, "Echo/1", &events, NULL, &late);
}

/* Responds with the result of the write, and whether the stream exists afterwards. */
static int late_write(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char bytes[100000];
    char text[64];
    (void)req, (void)arg;
    const char *name = uvhttp_error_name(uvhttp_stream_write(late, bytes, sizeof bytes));
    (void)snprintf(text, sizeof text, "%s %d", name, late != NULL);
    return uvhttp_response_send_text(res, 200, text);
}

int add_streams(uvhttp_router_t *router)
{
    static char polite[] = "polite";
    static const uvhttp_route_t routes[] = {
        {.method = "GET", .pattern = "/echo-stream", .handler = echo_stream, .upgrade = "Echo/1"},
        {.method = "POST", .pattern = "/echo-stream", .handler = echo_stream, .upgrade = "Echo/1"},
        {.method = "GET",
         .pattern = "/polite-stream",
         .handler = echo_stream,
         .arg = polite,
         .upgrade = "Echo/1"},
        {.method = "POST",
         .pattern = "/unread-stream",
         .handler = echo_stream,
         .flags = UVHTTP_ROUTE_STREAM},
        {.method = "GET", .pattern = "/upgrade-wrongly", .handler = upgrade_wrongly},
        {.method = "GET", .pattern = "/late-stream", .handler = late_stream, .upgrade = "Echo/1"},
        {.method = "GET", .pattern = "/late-write", .handler = late_write},
    };
    int err = 0;
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err = uvhttp_router_add(router, &routes[i]);
    return err;
}
