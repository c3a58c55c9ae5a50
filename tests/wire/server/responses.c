/* Handlers of wire_server that respond at once: reports about the request, bodies of all kinds and
 * sizes, fields that may not be set, and handlers that fail. */
#include "wire_server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATTERN_SIZE = 64 * 1024 * 1024,
    PATTERN_PERIOD = 251, /* prime, so that a duplicated or lost chunk is detected */
    REPORT_SIZE = 64 * 1024
};

static size_t query_number(uvhttp_request_t *req, const char *name, size_t otherwise)
{
    const char *text = uvhttp_request_query(req, name);
    return text != NULL ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

static const unsigned char *pattern(void)
{
    if (app.pattern == NULL) {
        app.pattern = malloc(PATTERN_SIZE);
        if (app.pattern == NULL)
            return NULL;
        for (size_t i = 0; i < PATTERN_SIZE; i++)
            app.pattern[i] = (unsigned char)(i % PATTERN_PERIOD);
    }
    return app.pattern;
}

static void count_release(void *arg)
{
    (void)arg;
    app.releases++;
}

static void close_descriptor(void *arg)
{
    app.releases++;
    (void)close((int)(intptr_t)arg);
}

/* ---- plain responses ---- */

int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char text[] = "Hello, world\n";
    (void)req, (void)arg;
    return uvhttp_response_send_static(res, 200, "text/plain", text, sizeof text - 1);
}

/* Uses the loop for `ms` milliseconds. */
int spin(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t end = uv_hrtime() + strtoull(uvhttp_request_param(req, "ms"), NULL, 10) * 1000000;
    while (uv_hrtime() < end)
        ;
    return hello(req, res, arg);
}

int echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    (void)arg;
    return uvhttp_response_send(res, 200, "application/octet-stream", body.base, body.length);
}

/* Sends the length and an FNV-1a hash of the body. */
int digest(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    char text[64];
    (void)arg;
    (void)snprintf(text, sizeof text, "%zu %08" PRIx32 "\n", body.length,
                   fnv_add(FNV_OFFSET_BASIS, body.base, body.length));
    return uvhttp_response_send_text(res, 200, text);
}

int trailer(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *field = uvhttp_request_header(req, "X-Check");
    const char *after = uvhttp_request_trailer(req, "X-Check");
    char text[256];
    (void)arg;
    (void)snprintf(text, sizeof text, "header=%s trailer=%s body=%zu\n", field ? field : "-",
                   after ? after : "-", uvhttp_request_body(req).length);
    return uvhttp_response_send_text(res, 200, text);
}

static bool ends_in_nul(uvhttp_slice_t slice)
{
    return slice.base == NULL || slice.base[slice.length] == '\0';
}

/* Whether the slices of the request are NUL-terminated, as uvhttp/request.h guarantees for all but
 * body and raw path. */
static bool all_end_in_nul(uvhttp_request_t *req)
{
    bool good = ends_in_nul(uvhttp_request_target(req)) &&
                ends_in_nul(uvhttp_request_path_slice(req)) &&
                ends_in_nul(uvhttp_request_query_string(req));
    for (size_t i = 0; good && i < uvhttp_request_header_count(req); i++) {
        uvhttp_slice_t name, value;
        uvhttp_request_header_at(req, i, &name, &value);
        good = ends_in_nul(name) && ends_in_nul(value);
    }
    return good;
}

/* Everything in the request, one value per line. */
int inspect(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char *text = uvhttp_request_allocate(req, REPORT_SIZE);
    uvhttp_slice_t target = uvhttp_request_target(req);
    uvhttp_slice_t raw = uvhttp_request_raw_path(req);
    uvhttp_slice_t query = uvhttp_request_query_string(req);
    int used;
    (void)arg;
    if (text == NULL)
        return UVHTTP_ENOMEM;
    used = snprintf(
        text, REPORT_SIZE,
        "method=%s\ntarget=%.*s\npath=%s\nraw=%.*s\nquery=%.*s\nminor=%d\naddress=%s\nbody=%"
        "zu\nterminated=%s\n",
        uvhttp_request_method_name(req), UVHTTP_SLICE_ARGS(target), uvhttp_request_path(req),
        UVHTTP_SLICE_ARGS(raw), UVHTTP_SLICE_ARGS(query), uvhttp_request_http_minor(req),
        uvhttp_request_client_address(req), uvhttp_request_body(req).length,
        all_end_in_nul(req) ? "yes" : "no");
    for (size_t i = 0; i < uvhttp_request_header_count(req) && used < REPORT_SIZE; i++) {
        uvhttp_slice_t name, value;
        uvhttp_request_header_at(req, i, &name, &value);
        used += snprintf(text + used, (size_t)(REPORT_SIZE - used), "field %.*s: %.*s\n",
                         UVHTTP_SLICE_ARGS(name), UVHTTP_SLICE_ARGS(value));
    }
    return uvhttp_response_send_text(res, 200, text);
}

int by_method(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_set_header(res, "X-Route-Method", arg);
    if (err == 0)
        err = uvhttp_response_set_header(res, "X-Request-Method", uvhttp_request_method_name(req));
    return err != 0 ? err : uvhttp_response_send_text(res, 200, arg);
}

int any_method(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(res, 200, uvhttp_request_method_name(req));
}

/* The text in `arg`, then every parameter that a pattern has. */
int parameters(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char *const names[] = {"id", "post", "path", "*"};
    char text[2048];
    int used = snprintf(text, sizeof text, "%s", (const char *)arg);
    for (size_t i = 0; i < sizeof names / sizeof *names && used < (int)sizeof text; i++) {
        const char *value = uvhttp_request_param(req, names[i]);
        if (value == NULL)
            continue;
        used += snprintf(text + used, sizeof text - (size_t)used, " %s=[%s]", names[i], value);
    }
    return uvhttp_response_send_text(res, 200, text);
}

int query(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *a = uvhttp_request_query(req, "a");
    const char *b = uvhttp_request_query(req, "b");
    char text[2048];
    (void)arg;
    (void)snprintf(text, sizeof text, "a=%s b=%s", a ? a : "(none)", b ? b : "(none)");
    return uvhttp_response_send_text(res, 200, text);
}

/* ---- responses of a certain form ---- */

/* Sends from memory that is valid only during the call. */
static int send_and_spoil(uvhttp_response_t *res, const char *type, const unsigned char *bytes,
                          size_t size)
{
    unsigned char *copy = malloc(size + 1);
    int err;
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    memcpy(copy, bytes, size);
    err = uvhttp_response_send(res, 200, type, copy, size);
    memset(copy, 0xff, size);
    free(copy);
    return err;
}

int large(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char type[] = "application/octet-stream";
    const char *how = uvhttp_request_query(req, "how");
    size_t size = query_number(req, "size", 1000);
    const unsigned char *bytes = pattern();
    (void)arg;
    if (bytes == NULL)
        return UVHTTP_ENOMEM;
    if (size > PATTERN_SIZE)
        return UVHTTP_EINVAL;
    if (how != NULL && strcmp(how, "copy") == 0)
        return send_and_spoil(res, type, bytes, size);
    if (how != NULL && strcmp(how, "borrowed") == 0)
        return uvhttp_response_send_borrowed(res, 200, type, bytes, size, count_release, NULL);
    return uvhttp_response_send_static(res, 200, type, bytes, size);
}

int status(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_send_status(res, (int)strtol(uvhttp_request_param(req, "id"), NULL, 10));
}

/* Tries to set the field in the query and responds with the name of the result. */
int set_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *name = uvhttp_request_query(req, "name");
    const char *value = uvhttp_request_query(req, "value");
    int err = uvhttp_response_set_header(res, name ? name : "", value ? value : "");
    (void)arg;
    return uvhttp_response_send_text(res, 200, err == 0 ? "OK" : uvhttp_error_name(err));
}

int long_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    size_t size = query_number(req, "size", 20000);
    char *value = uvhttp_request_allocate(req, size + 1);
    int err;
    (void)arg;
    if (value == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < size; i++)
        value[i] = (char)('a' + i % 26);
    value[size] = '\0';
    err = uvhttp_response_set_header(res, "X-Long", value);
    return err != 0 ? err : uvhttp_response_send_text(res, 200, "long\n");
}

int cookies(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_add_header(res, "Set-Cookie", "a=1; Path=/");
    (void)req, (void)arg;
    if (err == 0)
        err = uvhttp_response_add_header(res, "Set-Cookie", "b=2; Path=/");
    if (err == 0)
        err = uvhttp_response_set_header(res, "X-Once", "first");
    if (err == 0)
        err = uvhttp_response_set_header(res, "x-once", "second");
    return err != 0 ? err : uvhttp_response_send_text(res, 200, "cookies\n");
}

int redirect(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_redirect(res, (int)query_number(req, "status", 302), "/hello");
}

int send_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *path = uvhttp_request_query(req, "path");
    int err = uvhttp_response_send_file(res, 200, path ? path : "");
    (void)arg;
    return err == 0 ? 0 : uvhttp_response_send_text(res, 404, uvhttp_error_name(err));
}

/* Sends a file with the length in the query, which may exceed the file. */
int send_descriptor(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *path = uvhttp_request_query(req, "path");
    int descriptor = open(path ? path : "", O_RDONLY | O_CLOEXEC);
    (void)arg;
    if (descriptor < 0)
        return uvhttp_response_send_status(res, 404);
    return uvhttp_response_send_descriptor(
        res, 200, "application/octet-stream", descriptor, query_number(req, "offset", 0),
        query_number(req, "size", 0), close_descriptor, (void *)(intptr_t)descriptor);
}

int close_after(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    uvhttp_response_close_after(res);
    return uvhttp_response_send_text(res, 200, "last\n");
}

/* ---- handlers that fail ---- */

int fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res;
    return *(const int *)arg;
}

int respond_twice(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_send_text(res, 200, "first\n");
    (void)req, (void)arg;
    app.last_error =
        uvhttp_response_send_borrowed(res, 200, NULL, "second\n", 7, count_release, NULL);
    return err;
}

int respond_and_fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    (void)uvhttp_response_send_text(res, 200, "answered\n");
    return UVHTTP_EINVAL;
}

int write_log(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *text = uvhttp_request_query(req, "text");
    (void)arg;
    uvhttp_response_log(res, UVHTTP_LOG_WARNING, "logged: %s", text ? text : "");
    return uvhttp_response_send_text(res, 200, "logged\n");
}

static void stop_from_thread(void *arg)
{
    (void)arg;
    uvhttp_server_stop(app.server);
}

/* Stops the server from a handler, or from another thread while a handler waits for it. */
int stop(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uv_thread_t thread;
    (void)arg;
    if (uvhttp_request_query(req, "thread") == NULL)
        uvhttp_server_stop(app.server);
    else if (uv_thread_create(&thread, stop_from_thread, NULL) != 0 || uv_thread_join(&thread) != 0)
        return UVHTTP_ENOMEM;
    return uvhttp_response_send_text(res, 200, "stopping\n");
}
