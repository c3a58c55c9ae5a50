/* Handlers that return the error of each function they call, as user code does. */
#include "support/fault_site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fault_site fault_site;

static void path_of(const char *file, char path[96])
{
    snprintf(path, 96, "%s/%s", fault_site.directory, file);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int send_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = 0;
    for (int i = 0; i < 30 && err == 0; i++) {
        char value[64];
        snprintf(value, sizeof(value), "c%d=%040d; Path=/", i, i);
        err = uvhttp_response_add_header(response, "Set-Cookie", value);
    }
    if (err == 0)
        err = uvhttp_response_set_header(response, "Cache-Control", "no-store");
    if (err == 0) {
        err = uvhttp_response_send_json(response, 201, "{}");
        if (err == UVHTTP_ENOMEM) /* the failed call sent and changed nothing */
            assert_true(uvhttp_response_open(response) && uvhttp_response_status(response) == 200);
    }
    return err;
}

/* Calls the request functions that allocate: method name, parameters, query, trailer, body, client
 * address. */
static int describe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const char *id = uvhttp_request_param(request, "id");
    const char *rest = uvhttp_request_param(request, "rest");
    const char *query = uvhttp_request_query(request, "q");
    const char *sum = uvhttp_request_trailer(request, "x-sum");
    char *text = uvhttp_request_allocate(request, 5000);
    const char *address = uvhttp_request_client_address(request);
    if (id == NULL || rest == NULL || query == NULL || text == NULL || address[0] == '\0')
        return UVHTTP_ENOMEM;
    uvhttp_slice_t body = uvhttp_request_body(request);
    snprintf(text, 5000, "%s %s %s %s %zu %zu %s %s", uvhttp_request_method_name(request), id, rest,
             query, uvhttp_request_header_count(request), body.length, sum == NULL ? "-" : sum,
             address);
    return uvhttp_response_send_text(response, 200, text);
}

static int echo(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t body = uvhttp_request_body(request);
    return uvhttp_response_send(response, 200, "application/octet-stream", body.base, body.length);
}

static int send_large(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, NULL, fault_site.large, FAULT_SITE_LARGE);
}

static int send_large_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    char path[96];
    path_of("large.bin", path);
    return uvhttp_response_send_file(response, 200, path);
}

static int redirect(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_redirect(response, 308, "/elsewhere");
}

static int fail_with_einval(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return UVHTTP_EINVAL;
}

static void work(void *arg)
{
    (void)arg;
    fault_site.works++;
}

static int work_done(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    fault_site.jobs_done++;
    return uvhttp_response_send_text(response, 200, "worked");
}

static int deferred(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_defer(response, work, work_done, NULL);
}

static void on_abort(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_response_send_text(response, 200, "too late"), UVHTTP_EDISCONNECTED);
    fault_site.aborts++;
}

static int never_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    fault_site.pending++;
    uvhttp_response_on_abort(response, on_abort, NULL);
    return 0;
}

/* Writes `large` until the backlog is full. */
static int write_chunks(uvhttp_response_t *response, void *arg)
{
    size_t *sent = arg;
    while (*sent < FAULT_SITE_LARGE) {
        int err = uvhttp_response_write(response, fault_site.large + *sent, 32768);
        if (err != 0)
            return err == UVHTTP_EFULL ? 0 : err;
        *sent += 32768;
    }
    return uvhttp_response_end(response);
}

static int add_seen_header(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_set_header(response, "X-Seen", "yes");
}

static int send_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    size_t *sent = uvhttp_request_allocate(request, sizeof(*sent));
    if (sent == NULL)
        return UVHTTP_ENOMEM;
    *sent = 0;
    uvhttp_response_on_drain(response, write_chunks, sent);
    int err = uvhttp_response_on_send(response, add_seen_header, NULL);
    if (err == 0)
        err = uvhttp_response_send_early_hints(response);
    if (err == 0)
        err = uvhttp_response_add_trailer(response, "X-Sum", "42");
    if (err == 0)
        err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : write_chunks(response, sent);
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    size_t *sent = arg;
    (void)response;
    *length = size < FAULT_SITE_LARGE - *sent ? size : FAULT_SITE_LARGE - *sent;
    memcpy(buffer, fault_site.large + *sent, *length);
    *sent += *length;
    return *sent == FAULT_SITE_LARGE ? UVHTTP_END : 0;
}

static void free_pulled(void *arg)
{
    free(arg);
    fault_site.owned--;
}

static int send_pulled(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    size_t *sent = calloc(1, sizeof(*sent));
    fault_site.owned++;
    return uvhttp_response_send_pulled(response, 200, NULL, FAULT_SITE_LARGE, pull, free_pulled,
                                       sent);
}

static int echo_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    (void)request;
    (void)arg;
    return size == 0 ? uvhttp_response_end(response) : uvhttp_response_write(response, data, size);
}

static void release_attached(void *data)
{
    (void)data;
    fault_site.owned--;
}

static int echo_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    (void)arg;
    fault_site.owned++;
    int err = uvhttp_request_attach(request, &key, response, release_attached);
    if (err == 0)
        err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_request_on_body(request, echo_chunk, NULL);
}

static void echo_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)arg;
    if (size == 0)
        uvhttp_stream_end(stream);
    else if (uvhttp_stream_write(stream, data, size) == UVHTTP_ENOMEM)
        uvhttp_stream_close(stream);
}

static void stream_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream;
    (void)arg;
    fault_site.owned--;
}

static int upgrade(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = echo_data, .closed = stream_closed};
    uvhttp_stream_t *stream;
    (void)request;
    (void)arg;
    int err = uvhttp_response_upgrade(response, "echo", &events, NULL, &stream);
    if (err == 0)
        fault_site.owned++;
    return err;
}

/* This handler and the next one run on a thread of the pool. */
static int block(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    (void)arg;
    const char *rest = uvhttp_request_param(request, "*");
    if (rest == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_request_attach(request, &key, response, NULL);
    if (err == 0)
        err = uvhttp_response_set_header(response, "X-Rest", rest);
    return err != 0 ? err : uvhttp_response_send_text(response, 200, "blocked");
}

static int block_and_send_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_add_trailer(response, "X-Sum", "42");
    if (err == 0)
        err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    for (size_t sent = 0; err == 0 && sent < FAULT_SITE_LARGE;) {
        size_t size = FAULT_SITE_LARGE - sent < 5000 ? FAULT_SITE_LARGE - sent : 5000;
        err = uvhttp_response_write(response, fault_site.large + sent, size);
        sent += size;
    }
    return err != 0 ? err : uvhttp_response_end(response);
}

static int decline(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_request_set_user_data(request, response);
    return UVHTTP_DECLINED;
}

static void count_release(void *arg)
{
    (void)arg;
    fault_site.owned--;
}

static int write_file(const char *name, const void *data, size_t size)
{
    char path[96];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return -1;
    bool written = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && written ? 0 : -1;
}

int fault_site_prepare(void)
{
    for (size_t i = 0; i < FAULT_SITE_LARGE; i++)
        fault_site.large[i] = (char)(i * 31 + i / 4096);
    snprintf(fault_site.directory, sizeof(fault_site.directory), "/tmp/uvhttp-faults-XXXXXX");
    if (mkdtemp(fault_site.directory) == NULL || write_file("small.txt", "small", 5) != 0)
        return -1;
    return write_file("large.bin", fault_site.large, FAULT_SITE_LARGE);
}

int fault_site_clean(void)
{
    char path[96];
    path_of("small.txt", path);
    unlink(path);
    path_of("large.bin", path);
    unlink(path);
    return rmdir(fault_site.directory);
}

/* The server owns a limit once uvhttp_server_own succeeds. On failure the limit is freed here. */
static int own(uvhttp_server_t *server, uvhttp_release_cb release, void *object)
{
    int err = uvhttp_server_own(server, release, object);
    if (err != 0)
        release(object);
    return err;
}

/* The group "/limited": three requests a day, bodies of at most 64 bytes in both directions, and
 * entity tags. */
static int add_limited(uvhttp_server_t *server, const uvhttp_allocator_t *allocator)
{
    uvhttp_rate_limit_t *rate;
    uvhttp_size_limit_t *size;
    uvhttp_router_t *group;
    const uvhttp_rate_limit_options_t rates = {
        .requests = 3, .period_ms = 86400000, .max_clients = 4, .allocator = allocator};
    const uvhttp_size_limit_options_t sizes = {
        .max_request_body = 64, .max_response_body = 64, .allocator = allocator};
    int err = uvhttp_rate_limit_new(&rate, &rates, NULL);
    if (err == 0)
        err = own(server, uvhttp_rate_limit_free, rate);
    if (err == 0)
        err = uvhttp_size_limit_new(&size, &sizes, NULL);
    if (err == 0)
        err = own(server, uvhttp_size_limit_free, size);
    if (err == 0)
        err = uvhttp_router_group(uvhttp_server_router(server), "/limited", &group);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_rate_limit_handle_request, rate);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_size_limit_handle_request, size);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_body_etag_handle_request, NULL);
    if (err == 0)
        err = uvhttp_router_add(group, &(uvhttp_route_t){.pattern = "/hello", .handler = hello});
    if (err == 0)
        err = uvhttp_router_add(group,
                                &(uvhttp_route_t){.pattern = "/pieces", .handler = send_chunks});
    return err;
}

int fault_site_build(uvhttp_server_t *server, const uvhttp_allocator_t *allocator)
{
    static const struct {
        const char *method, *pattern;
        uvhttp_handler_cb handler;
        unsigned flags;
    } routes[] = {
        {"GET", "/", hello, 0},
        {"GET", "/fields", send_fields, 0},
        {NULL, "/d/:id/*rest", describe, 0},
        {"POST", "/echo", echo, 0},
        {"GET", "/large", send_large, 0},
        {"GET", "/file", send_large_file, 0},
        {"GET", "/redirect", redirect, 0},
        {"GET", "/einval", fail_with_einval, 0},
        {"GET", "/deferred", deferred, 0},
        {"GET", "/never", never_respond, 0},
        {"PURGE", "/", hello, 0},
        {"GET", "/pieces", send_chunks, 0},
        {"GET", "/pulled", send_pulled, 0},
        {"POST", "/echo-pieces", echo_chunks, UVHTTP_ROUTE_STREAM},
        {"GET", "/stream", upgrade, 0},
        {"GET", "/block/*", block, UVHTTP_ROUTE_BLOCKING},
        {"GET", "/block-pieces", block_and_send_chunks, UVHTTP_ROUTE_BLOCKING},
    };
    int err = 0;
    fault_site.works = fault_site.jobs_done = fault_site.pending = fault_site.aborts =
        fault_site.owned = 0;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]) && err == 0; i++)
        err = uvhttp_router_add(uvhttp_server_router(server),
                                &(uvhttp_route_t){.method = routes[i].method,
                                                  .pattern = routes[i].pattern,
                                                  .handler = routes[i].handler,
                                                  .flags = routes[i].flags});
    if (err == 0)
        err = uvhttp_server_use(server, decline, NULL);
    if (err == 0)
        err = uvhttp_server_use(server, decline, NULL);
    if (err == 0) {
        err = uvhttp_server_own(server, count_release, NULL);
        fault_site.owned += err == 0;
    }
    if (err == 0)
        err = add_limited(server, allocator);
    uvhttp_static_options_t files = {.root = fault_site.directory,
                                     .listing = true,
                                     .archive = true,
                                     .allocator = allocator,
                                     .memory_file_size = 4096};
    if (err == 0)
        err = uvhttp_static_mount(server, "/static/", &files, NULL);
    if (err == 0)
        err = uvhttp_server_route_status(server, "/status");
    return err;
}
