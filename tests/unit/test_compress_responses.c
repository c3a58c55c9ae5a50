/* Compressed responses of a server: which responses are compressed, their fields, that the body can
 * be decoded, also if it is sent in small parts; user filters; and every allocation failing in
 * turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>

#include "base/compiler.h"
#include "codec/fields/coding.h"
#include "support/stage.h"

#if UVHTTP_TESTS_COMPRESSION

#include "support/undo_coding.h"

enum { MOST = 4 << 20, CHUNKS = 40, CHUNK = 1000, LARGE_CHUNK = 100000 };

static struct stage stage;
static struct raw_client client;
static struct raw_response reply;
static uvhttp_compress_t *compression;
static uvhttp_prepared_t *prepared;
static size_t offset;
static int released, filtered, refused, drained;
static char text[MOST]; /* responses are prefixes of it */

static void count_release(void *arg)
{
    (void)arg;
    released++;
}

/* Doubles every byte, and counts them in a trailer. */
static int double_bytes(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                        size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)arg;
    filtered += (int)size;
    if (event == UVHTTP_FILTER_END)
        return uvhttp_response_add_trailer(response, "X-Filtered", "yes");
    for (size_t i = 0; i < size; i++) {
        char two[2] = {((const char *)data)[i], ((const char *)data)[i]};
        int err = uvhttp_filter_output_append(output, two, 2);
        if (err != 0)
            return err;
    }
    return 0;
}

static int set_doubling(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    assert_true(uvhttp_response_is_streamed(response));
    return uvhttp_response_filter(response, double_bytes, count_release, arg);
}

struct source {
    size_t left;
    size_t sent;
    size_t chunk;
};

static int write_all(uvhttp_response_t *response, void *arg)
{
    struct source *source = arg;
    while (source->left > 0) {
        size_t size = source->left < source->chunk ? source->left : source->chunk;
        int err = uvhttp_response_write(response, text + source->sent, size);
        if (err == UVHTTP_EFULL) {
            refused++;
            return 0;
        }
        if (err != 0)
            return err;
        source->sent += size;
        source->left -= size;
    }
    return uvhttp_response_end(response);
}

static int on_drain(uvhttp_response_t *response, void *arg)
{
    drained++;
    return write_all(response, arg);
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    struct source *source = arg;
    (void)response;
    *length = source->left < size ? source->left : size;
    memcpy(buffer, text + source->sent, *length);
    source->sent += *length;
    source->left -= *length;
    return source->left == 0 ? UVHTTP_END : 0;
}

static int send_in_chunks(uvhttp_request_t *request, uvhttp_response_t *response, size_t size,
                          size_t chunk, uint64_t length)
{
    struct source *source = uvhttp_request_allocate(request, sizeof(*source));
    if (source == NULL)
        return UVHTTP_ENOMEM;
    *source = (struct source){size, 0, chunk};
    uvhttp_response_on_drain(response, on_drain, source);
    int err = uvhttp_response_add_trailer(response, "X-Behind", "there");
    if (err == 0)
        err = uvhttp_response_begin(response, 200, "text/plain", length);
    return err != 0 ? err : write_all(response, source);
}

static int send_pulled(uvhttp_request_t *request, uvhttp_response_t *response)
{
    struct source *source = uvhttp_request_allocate(request, sizeof(*source));
    if (source == NULL)
        return UVHTTP_ENOMEM;
    *source = (struct source){CHUNKS * CHUNK, 0, 0};
    return uvhttp_response_send_pulled(response, 200, "text/plain", CHUNKS * CHUNK, pull,
                                       count_release, source);
}

/* Sets fields from "name=value" of the query. */
static int set_queried_fields(uvhttp_request_t *request, uvhttp_response_t *response)
{
    static const char *const names[] = {
        "ETag",          "Vary",          "Cache-Control", "Content-Encoding",
        "Content-Range", "Accept-Ranges", "Repr-Digest"};
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        const char *value = uvhttp_request_query(request, names[i]);
        int err = value == NULL ? 0 : uvhttp_response_set_header(response, names[i], value);
        if (err != 0)
            return err;
    }
    const char *line = uvhttp_request_query(request, "Vary-too");
    return line == NULL ? 0 : uvhttp_response_add_header(response, "Vary", line);
}

static int respond_by_path(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *how = uvhttp_request_path(request) + 1;
    const char *type = uvhttp_request_query(request, "type");
    const char *number = uvhttp_request_query(request, "size");
    const char *status = uvhttp_request_query(request, "status");
    size_t size = number == NULL ? 5000 : (size_t)strtoul(number, NULL, 10);
    (void)arg;
    int err = set_queried_fields(request, response);
    if (err != 0)
        return err;
    if (strcmp(how, "prepared") == 0)
        uvhttp_response_use_prepared(response, prepared);
    if (strcmp(how, "untouched") == 0) {
        uvhttp_response_set_header(response, "Cache-Control", "private");
        uvhttp_response_add_header(response, "Cache-Control", "max-age=5, No-Transform");
    }
    if (strcmp(how, "pieces") == 0)
        return send_in_chunks(request, response, CHUNKS * CHUNK, CHUNK, UVHTTP_LENGTH_UNKNOWN);
    if (strcmp(how, "known") == 0)
        return send_in_chunks(request, response, CHUNKS * CHUNK, CHUNK, CHUNKS * CHUNK);
    if (strcmp(how, "large") == 0)
        return send_in_chunks(request, response, sizeof(text), LARGE_CHUNK, sizeof(text));
    if (strcmp(how, "short") == 0)
        return send_in_chunks(request, response, CHUNKS * CHUNK, CHUNK, CHUNKS * CHUNK + 1);
    if (strcmp(how, "long") == 0)
        return send_in_chunks(request, response, CHUNKS * CHUNK, CHUNK, CHUNKS * CHUNK - 1);
    if (strcmp(how, "empty") == 0)
        return send_in_chunks(request, response, 0, CHUNK, UVHTTP_LENGTH_UNKNOWN);
    if (strcmp(how, "pulled") == 0)
        return send_pulled(request, response);
    if (strcmp(how, "file") == 0)
        return uvhttp_response_send_file(response, 200,
                                         UVHTTP_TESTS_DIR "/unit/test_compress_responses.c");
    if (strcmp(how, "twice") == 0) {
        err = uvhttp_response_on_send(response, set_doubling, NULL);
        return err != 0 ? err : send_in_chunks(request, response, 2000, 100, 2000);
    }
    if (strcmp(how, "doubled") == 0) {
        err = uvhttp_response_on_send(response, set_doubling, NULL);
        return err != 0 ? err : send_in_chunks(request, response, 3, 1, 3);
    }
    return uvhttp_response_send(response, status == NULL ? 200 : (int)strtol(status, NULL, 10),
                                type == NULL ? "application/json" : type, text, size);
}

/* The response of /events or /slow. */
static uvhttp_response_t *events;

static int send_event(const char *data)
{
    return uvhttp_response_send_event(events, &(uvhttp_sse_event_t){.data = {data, strlen(data)}});
}

static int begin_events(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    events = response;
    int err = uvhttp_response_begin_events(response);
    return err != 0 ? err : send_event("one");
}

static int begin_slow(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    events = response;
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_response_write(response, "first", 5);
}

/* For a handler on another thread, which continues once the client has the flushed data. */
static uv_sem_t data_received;

static int block(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    if (err == 0)
        err = uvhttp_response_write(response, "first", 5);
    if (err == 0)
        err = uvhttp_response_flush(response);
    uv_sem_wait(&data_received);
    if (err == 0)
        err = uvhttp_response_write(response, "second", 6);
    return err != 0 ? err : uvhttp_response_end(response);
}

/* Buffers all data until a flush or the end. */
static int buffer_bytes(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                        size_t size, uvhttp_filter_output_t *output, void *arg)
{
    static char buffered[100];
    static size_t buffered_size;
    (void)response;
    (void)arg;
    if (event == UVHTTP_FILTER_CHUNK) {
        assert_true(size <= sizeof(buffered) - buffered_size);
        memcpy(buffered + buffered_size, data, size);
        buffered_size += size;
        return 0;
    }
    int err = uvhttp_filter_output_append(output, buffered, buffered_size);
    buffered_size = 0;
    return err;
}

static int set_buffering(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    return uvhttp_response_filter(response, buffer_bytes, count_release, arg);
}

static int block_with_filter(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_on_send(response, set_buffering, NULL);
    return err != 0 ? err : block(request, response, arg);
}

static int add_blocking_routes(void)
{
    uvhttp_router_t *router = uvhttp_server_router(stage.server);
    int err = uvhttp_router_add(router, &(uvhttp_route_t){.pattern = "/blocking",
                                                          .handler = block,
                                                          .flags = UVHTTP_ROUTE_BLOCKING});
    if (err != 0)
        return err;
    return uvhttp_router_add(router, &(uvhttp_route_t){.pattern = "/blocking-with-filter",
                                                       .handler = block_with_filter,
                                                       .flags = UVHTTP_ROUTE_BLOCKING});
}

/* False if memory ran out. */
static bool begin_site(const uvhttp_compress_options_t *config)
{
    stage.config->event_heartbeat = 1;
    if (stage_new_server(&stage) == NULL || add_blocking_routes() != 0 ||
        uvhttp_compress_new(&compression, config, NULL) != 0 ||
        uvhttp_server_use(stage.server, uvhttp_compress_handle_request, compression) != 0 ||
        uvhttp_server_route(stage.server, NULL, "/events", begin_events, NULL) != 0 ||
        uvhttp_server_route(stage.server, NULL, "/slow", begin_slow, NULL) != 0 ||
        uvhttp_server_route(stage.server, NULL, "/:how", respond_by_path, NULL) != 0)
        return false;
    offset = 0;
    released = filtered = refused = drained = 0;
    return true;
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = "{\"name\": \"value\", \"more\": [1, 2, 3]}, \n"[(i + i / 1000) % 38];
    prepared = uvhttp_prepared_new(NULL);
    assert_int_equal(uvhttp_prepared_add(prepared, "ETag", "\"prepared\""), 0);
    stage_begin(&stage);
    assert_true(begin_site(NULL));
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_compress_free(compression);
    uvhttp_prepared_free(prepared);
    compression = NULL;
    return 0;
}

static int send_request(const char *method, const char *target, const char *accept)
{
    char request[512];
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n", method, target,
             accept == NULL ? "X-None: " : "Accept-Encoding: ", accept == NULL ? "" : accept);
    raw_client_send_text(&client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(&client, 1 << 20);
        if (raw_client_response(&client, &offset, strcmp(method, "HEAD") == 0, &reply))
            return reply.status;
        stage_iterate(&stage);
    }
    fail_msg("no response to %s", target);
    return 0;
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&reply, name, value, sizeof(value)) ? value : NULL;
}

static void assert_field(const char *name, const char *value)
{
    const char *found = field(name);
    if ((found == NULL) != (value == NULL) || (value != NULL && strcmp(found, value) != 0))
        fail_msg("%s: %s instead of %s", name, found == NULL ? "(none)" : found,
                 value == NULL ? "(none)" : value);
}

static void assert_coded(const char *name, size_t size)
{
    static char out[MOST + 1];
    assert_field("Content-Encoding", name);
    int coding = uvh_coding_find((uvhttp_slice_t){name, strlen(name)});
    assert_true(reply.body_length < size || size < 100);
    assert_int_equal(
        undo_coding((enum uvh_coding)coding, reply.body, reply.body_length, out, sizeof(out), true),
        size);
    assert_memory_equal(out, text, size);
}

static void assert_plain(size_t size)
{
    assert_field("Content-Encoding", NULL);
    assert_int_equal(reply.body_length, size);
    assert_memory_equal(reply.body, text, size);
}

static void every_coding_works_for_every_send(void **state)
{
    static const struct {
        const char *target;
        size_t size;
    } sends[] = {
        {"/once", 5000},
        {"/once?size=1000000", 1000000},
        {"/pieces", CHUNKS * CHUNK},
        {"/known", CHUNKS * CHUNK},
        {"/pulled", CHUNKS * CHUNK},
        {"/empty", 0},
        {"/large", MOST},
    };
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    for (size_t w = 0; w < UVH_COUNT_OF(sends); w++) {
        for (size_t n = 0; n < UVH_COUNT_OF(names); n++) {
            assert_int_equal(send_request("GET", sends[w].target, names[n]), 200);
            assert_coded(names[n], sends[w].size);
            assert_field("Vary", "Accept-Encoding");
            bool once = strstr(sends[w].target, "once") != NULL;
            assert_true((field("Content-Length") != NULL) == once);
            assert_true((field("Transfer-Encoding") != NULL) == !once);
        }
        assert_int_equal(send_request("GET", sends[w].target, NULL), 200);
        assert_plain(sends[w].size);
        assert_field("Vary", "Accept-Encoding"); /* a compressed response was possible */
    }
    assert_int_equal(released, 4); /* those of /pulled */
}

static void ineligible_responses_are_not_compressed(void **state)
{
    static const struct {
        const char *target;
        const char *vary;
    } rows[] = {
        {"/once?size=1023", NULL}, /* too small */
        {"/once?type=image/png", NULL},
        {"/once?type=application/zip", NULL},
        {"/untouched", NULL},
        {"/once?Content-Encoding=x", NULL},
        {"/once?Accept-Ranges=bytes", NULL},
        {"/once?Repr-Digest=x", NULL},
        {"/once?Cache-Control=max-age%3D1,%20No-Transform", NULL},
        {"/once?status=206&Content-Range=bytes%200-4999/5000", NULL},
        {"/once?status=200&Content-Range=bytes%200-4999/5000", NULL},
        {"/prepared", NULL},
        {"/once?status=204", NULL},
        {"/once?status=205", NULL},
        /* as for the 200 */
        {"/once?status=304", "Accept-Encoding"},
        {"/once?status=304&Content-Encoding=br", NULL},
        {"/file", NULL},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        send_request("GET", rows[i].target, "gzip, br, zstd");
        const char *coding = field("Content-Encoding");
        if (coding != NULL && strstr(rows[i].target, "Content-Encoding") == NULL)
            fail_msg("%s: %s", rows[i].target, coding);
        assert_field("Vary", rows[i].vary);
    }
    send_request("GET", "/once", "identity");
    assert_plain(5000);
    send_request("GET", "/once", "gzip;q=0, br;q=0, *;q=0");
    assert_plain(5000);
}

static void etag_and_vary_are_adapted(void **state)
{
    (void)state;
    send_request("GET", "/once?ETag=%22a%22&Vary=Accept", "gzip");
    assert_coded("gzip", 5000);
    assert_field("ETag", "W/\"a\"");
    assert_non_null(strstr(reply.head, "Vary: Accept\r\n"));
    assert_non_null(strstr(reply.head, "Vary: Accept-Encoding\r\n"));
    send_request("GET", "/once?ETag=W/%22a%22&Vary=origin,%20accept-ENCODING", "gzip");
    assert_field("ETag", "W/\"a\"");
    assert_field("Vary", "origin, accept-ENCODING");
    /* all lines count */
    send_request("GET", "/once?ETag=%22a%22&Vary=Accept&Vary-too=Accept-Encoding", "gzip");
    const char *vary_line = strstr(reply.head, "Vary: Accept-Encoding\r\n");
    assert_non_null(vary_line);
    assert_null(strstr(vary_line + 1, "Vary:"));
    send_request("GET", "/once?ETag=%22a%22&Vary=*", NULL);
    assert_field("ETag", "\"a\"");
    assert_field("Vary", "*");
    send_request("GET", "/pieces?ETag=%22a%22", "br");
    assert_field("ETag", "W/\"a\"");
    assert_coded("br", CHUNKS * CHUNK);
    send_request("GET", "/once?type=Text/HTML;%20charset=utf-8", "br");
    assert_coded("br", 5000);
    send_request("GET", "/once?type=application/problem%2BJSON&status=404", "zstd");
    assert_coded("zstd", 5000);
}

/* RFC 9110 section 15.4.5: the tag of the 200, which the client has stored. */
static void etag_of_304_is_weak_for_a_stored_compressed_response(void **state)
{
    static const struct {
        const char *fields, *tag;
    } rows[] = {
        {"gzip\r\nIf-None-Match: W/\"a\"", "W/\"a\""},
        {"gzip\r\nIf-None-Match: \"a\"", "\"a\""}, /* was below min_size */
        {"gzip\r\nIf-None-Match: *", "\"a\""},
        {"gzip\r\nIf-None-Match: \"b\", W/\"a\"", "W/\"a\""},
        {"gzip\r\nIf-None-Match: \"b\"\r\nIf-None-Match: W/\"a\"", "W/\"a\""},
        {"gzip\r\nIf-None-Match: W/\"ab\", \"a\"", "\"a\""},
        {"gzip", "\"a\""},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        assert_int_equal(send_request("GET", "/once?status=304&ETag=%22a%22", rows[i].fields), 304);
        assert_field("ETag", rows[i].tag);
        assert_field("Vary", "Accept-Encoding");
    }
    send_request("GET", "/once?status=304&ETag=W/%22a%22", "gzip\r\nIf-None-Match: W/\"a\"");
    assert_field("ETag", "W/\"a\"");
    send_request("GET", "/once?status=304", "gzip\r\nIf-None-Match: W/\"a\"");
    assert_field("ETag", NULL);
}

static void head_response_has_fields_of_get(void **state)
{
    (void)state;
    char length[32];
    send_request("GET", "/once", "gzip");
    snprintf(length, sizeof(length), "%zu", reply.body_length);
    send_request("HEAD", "/once", "gzip");
    assert_field("Content-Length", length);
    assert_field("Content-Encoding", "gzip");
    send_request("HEAD", "/once?size=0", "gzip"); /* the handler sets no Content-Length */
    assert_field("Content-Encoding", NULL);
    assert_field("Vary", "Accept-Encoding");
    send_request("HEAD", "/known", "gzip");
    assert_field("Content-Encoding", "gzip");
    assert_field("Content-Length", NULL);
    send_request("HEAD", "/pulled", "gzip");
    assert_field("Content-Encoding", "gzip");
    send_request("GET", "/once", "gzip"); /* no body followed the response to HEAD */
    assert_coded("gzip", 5000);
}

/* Runs the loop until the received chunks decode to `expected`. */
static void await_plain(const char *expected)
{
    char out[4096];
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        if (!raw_client_step(&client, 1 << 20))
            stage_wait(&stage);
        char coded[4096];
        size_t length = 0;
        const char *at =
            client.received > 0 ? memmem(client.data, client.received, "\r\n\r\n", 4) : NULL;
        const char *end = client.data + client.received;
        while (at != NULL && (at = memmem(at, (size_t)(end - at), "\r\n", 2)) != NULL &&
               end - at > 4) {
            char *rest;
            if (at[2] == '\r') /* the empty line after the head */
                at += 2;
            size_t size = (size_t)strtoul(at + 2, &rest, 16);
            if (rest + 2 + size + 2 > end)
                break;
            memcpy(coded + length, rest + 2, size);
            length += size;
            at = rest + 2 + size;
        }
        size_t produced =
            length == 0 ? 0 : undo_coding(UVH_CODING_GZIP, coded, length, out, sizeof(out), false);
        if (produced == strlen(expected) && memcmp(out, expected, produced) == 0)
            return;
    }
    fail_msg("'%s' was not received", expected);
}

static void events_are_flushed_at_once(void **state)
{
    (void)state;
    raw_client_send_text(&client,
                         "GET /events HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    await_plain("data: one\n\n");
    assert_int_equal(send_event("two"), 0);
    await_plain("data: one\n\ndata: two\n\n");
    assert_int_equal(uvhttp_response_end(events), 0);
}

static void flush_sends_written_data(void **state)
{
    (void)state;
    raw_client_send_text(&client, "GET /slow HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        stage_iterate(&stage);
        raw_client_step(&client, 1 << 20);
    }
    assert_int_equal(uvhttp_response_flush(events), 0);
    await_plain("first");
    assert_int_equal(uvhttp_response_flush(events), 0);
    assert_int_equal(uvhttp_response_write(events, "second", 6), 0);
    assert_int_equal(uvhttp_response_flush(events), 0);
    await_plain("firstsecond");
    assert_int_equal(uvhttp_response_end(events), 0);
}

static void check_flush_in_blocking_handler(const char *path)
{
    char request[200];
    char out[100];
    assert_int_equal(uv_sem_init(&data_received, 0), 0);
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", path);
    raw_client_send_text(&client, request);
    await_plain("first");
    uv_sem_post(&data_received);
    for (int iteration = 0;
         iteration < STAGE_MAX_ITERATIONS && !raw_client_response(&client, &offset, false, &reply);
         iteration++) {
        raw_client_step(&client, 1 << 20);
        stage_wait(&stage);
    }
    assert_int_equal(
        undo_coding(UVH_CODING_GZIP, reply.body, reply.body_length, out, sizeof(out), true), 11);
    assert_memory_equal(out, "firstsecond", 11);
    uv_sem_destroy(&data_received);
}

static void blocking_handler_can_flush(void **state)
{
    (void)state;
    check_flush_in_blocking_handler("/blocking");
}

/* The handler's filter runs on its thread, that of the middleware after it on the loop's thread. */
static void blocking_handler_flushes_own_filter(void **state)
{
    (void)state;
    check_flush_in_blocking_handler("/blocking-with-filter");
}

/* The server makes the heartbeat, which is also part of the compressed body. */
static void event_heartbeat_is_compressed(void **state)
{
    (void)state;
    raw_client_send_text(&client,
                         "GET /events HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    await_plain("data: one\n\n");
    await_plain("data: one\n\n:\n\n");
    assert_int_equal(uvhttp_response_end(events), 0);
}

static void client_disconnect_ends_compression(void **state)
{
    (void)state;
    raw_client_send_text(&client, "GET /events HTTP/1.1\r\nHost: h\r\nAccept-Encoding: br\r\n\r\n");
    for (int i = 0; i < 5; i++)
        stage_iterate(&stage);
    raw_client_close(&client, true);
    for (int i = 0; i < 5; i++)
        stage_iterate(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("GET", "/known", "br");
    assert_coded("br", CHUNKS * CHUNK);
}

static void wrong_announced_length_closes_connection(void **state)
{
    static const char *const targets[] = {"/short", "/long"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        char request[128];
        snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", targets[i]);
        raw_client_send_text(&client, request);
        stage_drive_to_end(&stage, &client, 1 << 20);
        /* no regular end of the body */
        assert_null(memmem(client.data, client.received, "\r\n0\r\n", 5));
        assert_string_equal(stage.last_error[0] != '\0' ? "logged" : "", "logged");
        raw_client_close(&client, false);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        stage.last_error[0] = '\0';
    }
}

/* A client that does not read: chunks are refused as a whole, none is lost, and data that has
 * passed filters is never refused. */
static void write_backlog_refuses_whole_chunks(void **state)
{
    (void)state;
    static char noise[MOST];
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)((i * 2654435761u) >> 13 ^ (i >> 3));
    memcpy(text, noise, sizeof(text)); /* incompressible data */
    stage_shrink_send_buffer(&stage, 4096);
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 4096);
    assert_int_equal(send_request("GET", "/large", "gzip"), 200);
    assert_coded("gzip", sizeof(text));
    assert_true(refused > 0);
    assert_int_equal(refused, drained);
}

static void user_filter_runs_before_compression(void **state)
{
    (void)state;
    memcpy(text, "abc", 3);
    send_request("GET", "/doubled", NULL);
    assert_int_equal(reply.body_length, 6);
    assert_memory_equal(reply.body, "aabbcc", 6);
    assert_non_null(
        memmem(client.data, client.received, "X-Behind: there\r\nX-Filtered: yes\r\n", 34));
    assert_int_equal(filtered, 3);
    assert_int_equal(released, 1);
    send_request("HEAD", "/doubled", NULL);
    assert_int_equal(filtered, 3);
    assert_int_equal(released, 2);
    /* Filters run in reverse order: the compression gets the output of a filter set later. */
    static char plain[5000];
    send_request("GET", "/twice", "gzip");
    assert_int_equal(released, 3);
    assert_field("Content-Encoding", "gzip");
    assert_int_equal(
        undo_coding(UVH_CODING_GZIP, reply.body, reply.body_length, plain, sizeof(plain), true),
        4000);
    for (size_t i = 0; i < 4000; i++)
        assert_int_equal(plain[i], text[i / 2]);
}

static void options_are_checked(void **state)
{
    static const struct {
        uvhttp_compress_options_t config;
        const char *message;
    } rows[] = {
        {{.gzip_level = 10}, "gzip_level is 10; allowed are 0 to 9, and -1 for the best"},
        {{.zstd_level = -2}, "zstd_level is -2; allowed are 0 to 22, and -1 for the best"},
        {{.brotli_level = 12}, "brotli_level is 12; allowed are 0 to 11, and -1 for the best"},
        {{.codings = 1}, "codings is 1; allowed is a sum of values of uvhttp_coding_t"},
        {{.min_size = SIZE_MAX},
         "min_size is 18446744073709551615; allowed are 0 to 1073741824 bytes"},
        {{.types = "text/html, text"},
         "types is \"text\"; allowed are media types (type/subtype), type/*, +suffix and */*"},
        {{.types = "te*t/html"},
         "types is \"te*t/html\"; allowed are media types (type/subtype), type/*, +suffix and */*"},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        uvhttp_error_t error;
        uvhttp_compress_t *produced;
        assert_int_equal(uvhttp_compress_new(&produced, &rows[i].config, &error), UVHTTP_ECONFIG);
        assert_null(produced);
        assert_string_equal(error.text, rows[i].message);
        assert_int_equal(uvhttp_compress_new(&produced, &rows[i].config, NULL), UVHTTP_ECONFIG);
    }
    uvhttp_compress_free(NULL);
}

static void options_are_applied(void **state)
{
    (void)state;
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_compress_free(compression);
    stage_begin(&stage);
    assert_true(
        begin_site(&(uvhttp_compress_options_t){.min_size = 1,
                                                .max_size = 4000,
                                                .types = "image/*, +json text/css",
                                                .codings = UVHTTP_CODING_GZIP | UVHTTP_CODING_ZSTD,
                                                .zstd_level = UVHTTP_COMPRESS_BEST}));
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("GET", "/once?size=200&type=image/x-any", "gzip, br, zstd");
    assert_coded("zstd", 200);
    send_request("GET", "/once?size=4000&type=text/css", "gzip, br");
    assert_coded("gzip", 4000);
    send_request("GET", "/once?size=4000&type=a/b%2Bjson", "br");
    assert_plain(4000);
    send_request("GET", "/once?size=4001&type=text/css", "gzip");
    assert_plain(4001);
    send_request("GET", "/once?size=4000", "gzip"); /* application/json is not in the list */
    assert_plain(4000);
    send_request("GET", "/once?size=1&type=text/css", "gzip"); /* not smaller */
    assert_plain(1);
    assert_field("Vary", "Accept-Encoding");
}

static void compress_bytes_and_suits_file_work(void **state)
{
    (void)state;
    void *out;
    size_t size;
    struct fault_heap heap;
    fault_heap_init(&heap);
    assert_int_equal(uvhttp_compress_bytes(&heap.allocator, UVHTTP_CODING_BROTLI,
                                           UVHTTP_COMPRESS_BEST, text, 5000, 4999, &out, &size),
                     0);
    static char plain[6000];
    assert_int_equal(undo_coding(UVH_CODING_BROTLI, out, size, plain, sizeof(plain), true), 5000);
    assert_memory_equal(plain, text, 5000);
    uvhttp_compress_release(&heap.allocator, out);
    assert_int_equal(heap.live, 0);
    assert_int_equal(
        uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 1, text, 5000, 20, &out, &size),
        UVHTTP_ETOOLARGE);
    assert_null(out);
    assert_int_equal(
        uvhttp_compress_bytes(NULL, (uvhttp_coding_t)6, 1, text, 5000, 5000, &out, &size),
        UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 10, text, 5000, 5000, &out, &size),
        UVHTTP_EINVAL);
    uvhttp_compress_release(NULL, NULL);
    assert_true(uvhttp_compress_suits_file("a/b.css"));
    assert_true(uvhttp_compress_suits_file("data.JSON"));
    assert_true(uvhttp_compress_suits_file("mark.svg"));
    assert_false(uvhttp_compress_suits_file("a.png"));
    assert_false(uvhttp_compress_suits_file("a.css.gz"));
    assert_false(uvhttp_compress_suits_file("css"));
}

/* On any failure the client gets the response, compressed or not, an error, or an incomplete body;
 * nothing leaks. */
static void every_failed_allocation_is_handled(void **state)
{
    static const char *const targets[] = {"/once", "/known", "/events"};
    (void)state;
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_compress_free(compression);
    for (size_t t = 0; t < UVH_COUNT_OF(targets); t++) {
        for (int coding = UVH_CODING_GZIP; coding < UVH_CODING_COUNT; coding++) {
            bool failed = true;
            for (size_t n = 1; failed; n++) {
                assert_true(n < 500);
                stage_begin(&stage);
                uvhttp_compress_options_t config = {.allocator = &stage.heap.allocator};
                assert_true(begin_site(&config));
                stage_listen(&stage);
                raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
                fault_heap_arm(&stage.heap, n, n % 2 == 0);
                char request[128];
                snprintf(request, sizeof(request),
                         "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: "
                         "%s\r\n\r\n",
                         targets[t], uvh_coding_name((enum uvh_coding)coding));
                raw_client_send_text(&client, request);
                events = NULL;
                if (t == 2) {
                    for (int i = 0; i < 10; i++) {
                        raw_client_step(&client, 1 << 20);
                        stage_iterate(&stage);
                    }
                    failed = stage.heap.failures > 0;
                } else {
                    stage_drive_to_end(&stage, &client, 1 << 20);
                    failed = stage.heap.failures > 0;
                    if (!failed) {
                        assert_true(raw_client_response(&client, &offset, false, &reply));
                        assert_coded(uvh_coding_name((enum uvh_coding)coding),
                                     t == 0 ? 5000 : CHUNKS * CHUNK);
                    }
                }
                fault_heap_arm(&stage.heap, 0, false);
                raw_client_close(&client, true);
                for (int i = 0; i < 5; i++)
                    stage_iterate(&stage);
                uvhttp_server_free(stage.server);
                stage.server = NULL;
                uvhttp_compress_free(compression);
                compression = NULL;
                stage_end(&stage);
            }
        }
    }
    uvhttp_prepared_free(prepared); /* for tear_down */
    set_up(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_coding_works_for_every_send),
        TEST(ineligible_responses_are_not_compressed),
        TEST(etag_and_vary_are_adapted),
        TEST(etag_of_304_is_weak_for_a_stored_compressed_response),
        TEST(head_response_has_fields_of_get),
        TEST(events_are_flushed_at_once),
        TEST(flush_sends_written_data),
        TEST(blocking_handler_can_flush),
        TEST(blocking_handler_flushes_own_filter),
        TEST(event_heartbeat_is_compressed),
        TEST(client_disconnect_ends_compression),
        TEST(wrong_announced_length_closes_connection),
        TEST(write_backlog_refuses_whole_chunks),
        TEST(user_filter_runs_before_compression),
        cmocka_unit_test(options_are_checked),
        TEST(options_are_applied),
        TEST(compress_bytes_and_suits_file_work),
        TEST(every_failed_allocation_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void functions_fail_without_compression(void **state)
{
    (void)state;
    uvhttp_compress_t *compression;
    void *out;
    size_t size;
    assert_int_equal(uvhttp_compress_new(&compression, NULL, NULL), UVHTTP_ENOTSUP);
    assert_null(compression);
    assert_int_equal(uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 0, "a", 1, 100, &out, &size),
                     UVHTTP_ENOTSUP);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_fail_without_compression)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
