/* Short and delayed writes: the server's socket takes a few kilobytes at a time and the client
 * reads small amounts. Every byte arrives once and in order, and a borrowed body is released
 * exactly once, when the server does not need it any more. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { SIZE = 200000, SEND_BUFFER = 4096, RECEIVE_BUFFER = 4096, FILE_OFFSET = 12345 };

static unsigned char bytes[SIZE];
static char path[64];
static struct stage stage;
static struct raw_client client;

struct borrowed {
    unsigned char *data;
    size_t size;
    int descriptor; /* -1: none */
    int released;
};
static struct borrowed borrowed;

/* ---- handlers ---- */

static int send_static_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_static(response, 200, NULL, bytes, SIZE);
}

/* The memory is overwritten as soon as the call returns. */
static int send_copied_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    unsigned char *copy = malloc(SIZE);
    assert_non_null(copy);
    memcpy(copy, bytes, SIZE);
    int err = uvhttp_response_send(response, 200, NULL, copy, SIZE);
    memset(copy, 0xee, SIZE);
    free(copy);
    return err;
}

static int send_whole_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_file(response, 200, path);
}

static void close_descriptor(void *arg)
{
    close((int)(intptr_t)arg);
}

static int send_part_of_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(lseek(descriptor, 77, SEEK_SET), 77); /* must be ignored */
    return uvhttp_response_send_descriptor(response, 200, NULL, descriptor, FILE_OFFSET,
                                           SIZE - FILE_OFFSET, close_descriptor,
                                           (void *)(intptr_t)descriptor);
}

/* Overwrites the bytes, so that the client notices if they are sent afterwards. */
static void release_borrowed(void *arg)
{
    assert_ptr_equal(arg, &borrowed);
    borrowed.released++;
    memset(borrowed.data, 0xee, borrowed.size);
    if (borrowed.descriptor >= 0)
        close(borrowed.descriptor);
    borrowed.descriptor = -1;
}

/* All of `bytes`, alternately from memory and from the file: short and empty parts before, between
 * and after long ones and files, and more at once than a buffer holds. The array is overwritten as
 * soon as the call returns. With "?more" the last part exceeds the file by one byte. */
static int send_many_parts(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const struct {
        bool from_file;
        uint64_t size;
    } chunks[] = {
        {false, 100}, {false, 1},   {true, 1},  {false, 4096}, {true, 0},    {false, 4097},
        {true, 5000}, {true, 5000}, {false, 0}, {false, 7},    {true, 9000}, {false, 7000},
    };
    uvhttp_part_t parts[UVH_COUNT_OF(chunks) + 40];
    size_t count = 0;
    uint64_t offset = 0;
    const char *status = uvhttp_request_query(request, "status");
    (void)arg;
    memcpy(borrowed.data, bytes, SIZE);
    borrowed.size = SIZE;
    borrowed.descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(borrowed.descriptor >= 0);
    for (; count < UVH_COUNT_OF(parts) - 1; count++) {
        /* 39 short ones follow, and one with the rest */
        bool in_table = count < UVH_COUNT_OF(chunks);
        bool from_file = in_table ? chunks[count].from_file : count % 13 == 0;
        parts[count] =
            (uvhttp_part_t){.size = in_table ? chunks[count].size : 2500, .descriptor = -1};
        if (from_file) {
            parts[count].descriptor = borrowed.descriptor;
            parts[count].offset = offset;
        } else {
            parts[count].data = parts[count].size == 0 ? NULL : borrowed.data + offset;
        }
        offset += parts[count].size;
    }
    bool more = uvhttp_request_query(request, "more") != NULL;
    parts[count++] = (uvhttp_part_t){.descriptor = borrowed.descriptor,
                                     .offset = offset,
                                     .size = SIZE - offset + (more ? 1 : 0)};
    int err =
        uvhttp_response_send_parts(response, status == NULL ? 200 : (int)strtol(status, NULL, 10),
                                   NULL, parts, count, release_borrowed, &borrowed);
    memset(parts, 0xee, sizeof(parts));
    if (err == 0)
        return 0;
    assert_int_equal(borrowed.released, 1);
    return uvhttp_response_send_text(response, 200, uvhttp_error_name(err));
}

static int replace(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    assert_true(uvhttp_response_body_length(response) == SIZE);
    assert_null(uvhttp_response_body(response).base);
    return uvhttp_response_replace_body(response, "instead", 7);
}

static int replace_parts(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_on_send(response, replace, NULL);
    return err != 0 ? err : send_many_parts(request, response, arg);
}

static int limit_parts(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *max = uvhttp_request_query(request, "most");
    uvhttp_response_limit_body(response, strtoull(max, NULL, 10));
    return send_many_parts(request, response, arg);
}

static int send_borrowed_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const char *size = uvhttp_request_query(request, "size");
    const char *status = uvhttp_request_query(request, "status");
    borrowed.size = size == NULL ? SIZE : strtoul(size, NULL, 10);
    memcpy(borrowed.data, bytes, SIZE);
    int err = uvhttp_response_send_borrowed(
        response, status == NULL ? 200 : (int)strtol(status, NULL, 10), NULL, borrowed.data,
        borrowed.size, release_borrowed, &borrowed);
    if (err == 0)
        return 0;
    assert_int_equal(borrowed.released, 1);
    assert_true(uvhttp_response_open(response));
    return uvhttp_response_send_text(response, 200, uvhttp_error_name(err));
}

static int send_invalid_parts(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char byte = 'x';
    static const struct {
        uvhttp_part_t part;
        size_t count;
    } invalid[] = {
        {{.data = NULL, .descriptor = -1, .size = 1}, 1},
        {{.data = &byte, .descriptor = -1, .size = UINT64_MAX}, 1},
        {{.descriptor = 0, .offset = INT64_MAX, .size = 1}, 1},
        {{.descriptor = 0, .offset = UINT64_MAX, .size = 0}, 1},
        {{.data = &byte, .descriptor = -1, .size = 1}, SIZE_MAX},
        {{.data = &byte, .descriptor = -1, .size = 1}, SIZE_MAX / 8},
    };
    (void)request;
    (void)arg;
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        borrowed.released = 0;
        borrowed.size = 0;
        assert_int_equal(uvhttp_response_send_parts(response, 200, NULL, &invalid[i].part,
                                                    invalid[i].count, release_borrowed, &borrowed),
                         UVHTTP_EINVAL);
        assert_int_equal(borrowed.released, 1);
    }
    uvhttp_part_t two[2] = {{.descriptor = 0, .size = INT64_MAX},
                            {.data = &byte, .descriptor = -1, .size = 1}};
    assert_int_equal(uvhttp_response_send_parts(response, 200, NULL, two, 2, NULL, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_parts(response, 200, NULL, NULL, 1, NULL, NULL),
                     UVHTTP_EINVAL);
    assert_true(uvhttp_response_open(response));
    return uvhttp_response_send_parts(response, 200, "text/plain", NULL, 0, NULL, NULL);
}

static int send_small(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "small");
}

/* ---- a server with short writes ---- */

static void begin(int receive_buffer)
{
    static const struct {
        const char *pattern;
        uvhttp_handler_cb handler;
    } routes[] = {
        {"/static", send_static_bytes},     {"/copied", send_copied_bytes},
        {"/file", send_whole_file},         {"/part", send_part_of_file},
        {"/borrowed", send_borrowed_bytes}, {"/small", send_small},
        {"/parts", send_many_parts},        {"/replaced", replace_parts},
        {"/limited", limit_parts},          {"/refused", send_invalid_parts},
    };
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(
            uvhttp_server_route(stage.server, NULL, routes[i].pattern, routes[i].handler, NULL), 0);
    const uvhttp_route_t blocked = {
        .pattern = "/blocked", .handler = send_many_parts, .flags = UVHTTP_ROUTE_BLOCKING};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &blocked), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SEND_BUFFER);
    borrowed.released = 0;
    borrowed.descriptor = -1;
    raw_client_connect(&client, uvhttp_server_port(stage.server), receive_buffer);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(const char *method, const char *target)
{
    char request[256];
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n\r\n", method, target);
    raw_client_send_text(&client, request);
}

/* Checks the response of a target. */
static void assert_body(const char *target, const struct raw_response *response)
{
    assert_int_equal(response->status, 200);
    if (strcmp(target, "/small") == 0) {
        assert_int_equal(response->body_length, 5);
        assert_memory_equal(response->body, "small", 5);
        return;
    }
    size_t offset = strcmp(target, "/part") == 0 ? FILE_OFFSET : 0;
    assert_int_equal(response->body_length, SIZE - offset);
    assert_memory_equal(response->body, bytes + offset, SIZE - offset);
}

/* Requests all targets at once and reads at most `max` bytes at a time. */
static void request_and_check(const char *const *targets, size_t count, int receive_buffer,
                              size_t max)
{
    begin(receive_buffer);
    for (size_t i = 0; i < count; i++)
        send_request("GET", targets[i]);
    assert_int_equal(stage_drive_responses(&stage, &client, max, count), count);
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        struct raw_response response;
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_body(targets[i], &response);
    }
    assert_int_equal(offset, client.received);
    assert_false(client.ended);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_true(stats->bytes_sent == client.received);
    assert_true(stats->aborted_exchanges == 0);
    assert_true(stats->responses_2xx == count);
    end();
}

static void each_kind_of_body_is_complete(void **state)
{
    (void)state;
    static const char *const targets[] = {"/static",   "/copied", "/file",  "/part",
                                          "/borrowed", "/small",  "/parts", "/blocked"};
    static const size_t chunks[] = {700, 5000, SIZE};
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        for (size_t k = 0; k < UVH_COUNT_OF(chunks); k++)
            request_and_check(&targets[i], 1, k == 0 ? RECEIVE_BUFFER : 0, chunks[k]);
    }
}

static void small_responses_read_bytewise_are_complete(void **state)
{
    (void)state;
    const char *targets[16];
    for (size_t i = 0; i < 16; i++)
        targets[i] = "/small";
    request_and_check(targets, 16, RECEIVE_BUFFER, 1);
    request_and_check(targets, 16, 0, 7);
}

static void pipelined_responses_keep_order(void **state)
{
    (void)state;
    static const char *const targets[] = {"/small", "/small", "/static", "/small",  "/file",
                                          "/part",  "/small", "/small",  "/copied", "/borrowed",
                                          "/small", "/file",  "/copied", "/parts",  "/small",
                                          "/parts", "/parts", "/small"};
    request_and_check(targets, UVH_COUNT_OF(targets), 0, 3000);
    request_and_check(targets, UVH_COUNT_OF(targets), 0, SIZE);
    request_and_check(targets, 5, RECEIVE_BUFFER, 900);
}

static void many_small_responses_on_full_socket_complete(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    const char *targets[MANY];
    for (size_t i = 0; i < MANY; i++)
        targets[i] = "/small";
    request_and_check(targets, MANY, RECEIVE_BUFFER, 5000);
}

/* ---- borrowed bodies ---- */

static void borrowed_body_released_after_send(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 4097,
                                   SIZE}; /* copied after the head, or sent without a copy */
    for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
        char target[64];
        snprintf(target, sizeof(target), "/borrowed?size=%zu", sizes[i]);
        begin(RECEIVE_BUFFER);
        send_request("GET", target);
        while (borrowed.released == 0 && !client.ended) {
            raw_client_step(&client, 2000);
            stage_wait(&stage);
            /* After the release the kernel has all bytes. */
            if (borrowed.released != 0)
                assert_true(sizes[i] <= 4096 ||
                            uvhttp_server_stats(stage.server)->bytes_sent > sizes[i]);
        }
        assert_int_equal(stage_drive_responses(&stage, &client, 2000, 1), 1);
        struct raw_response response;
        size_t offset = 0;
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_int_equal(response.body_length, sizes[i]);
        assert_memory_equal(response.body, bytes, sizes[i]);
        end();
        assert_int_equal(borrowed.released, 1);
    }
}

static bool body_has_begun(void *arg)
{
    (void)arg;
    return client.received > 1000;
}

static bool is_released(void *arg)
{
    (void)arg;
    return borrowed.released > 0;
}

static const char *const borrowing_targets[] = {"/borrowed", "/parts"};

static void borrowed_body_released_on_disconnect(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        begin(RECEIVE_BUFFER);
        send_request("GET", borrowing_targets[i / 2]);
        stage_drive(&stage, &client, 600, body_has_begun, NULL);
        assert_int_equal(borrowed.released, 0);
        raw_client_close(&client, i % 2 == 1);
        stage_drive(&stage, &client, 600, is_released, NULL);
        assert_true(uvhttp_server_stats(stage.server)->aborted_exchanges == 1);
        end();
        assert_int_equal(borrowed.released, 1);
    }
}

static void borrowed_body_released_on_server_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(borrowing_targets); i++) {
        begin(RECEIVE_BUFFER);
        send_request("GET", borrowing_targets[i]);
        stage_drive(&stage, &client, 600, body_has_begun, NULL);
        assert_int_equal(borrowed.released, 0);
        uvhttp_server_free(stage.server);
        stage.server = NULL;
        assert_int_equal(borrowed.released, 1);
        end();
        assert_int_equal(borrowed.released, 1);
    }
}

static void unsent_borrowed_body_released_immediately(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
        const char *length, *body;
    } cases[] = {
        {"HEAD", "/borrowed", 200, "200000", ""},
        {"GET", "/borrowed?status=204", 204, NULL, ""},
        {"GET", "/borrowed?status=304", 304, NULL, ""},
        {"GET", "/borrowed?status=99", 200, "13", "UVHTTP_EINVAL"},
        {"HEAD", "/parts", 200, "200000", ""},
        {"GET", "/parts?status=204", 204, NULL, ""},
        {"GET", "/parts?status=205", 205, "0", ""},
        {"GET", "/parts?status=304", 304, NULL, ""},
        {"GET", "/parts?status=99", 200, "13", "UVHTTP_EINVAL"},
        {"GET", "/limited?most=199999", 200, "16", "UVHTTP_ETOOLARGE"},
        {"GET", "/replaced", 200, "7", "instead"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        char length[32];
        struct raw_response response;
        size_t offset = 0;
        begin(0);
        send_request(cases[i].method, cases[i].target);
        stage_drive(&stage, &client, 1000, is_released, NULL);
        stage_iterations(&stage, 5);
        raw_client_step(&client, 10000);
        assert_int_equal(borrowed.released, 1);
        assert_true(raw_client_response(&client, &offset, cases[i].body[0] == '\0', &response));
        assert_int_equal(response.status, cases[i].status);
        assert_int_equal(raw_response_field(&response, "Content-Length", length, sizeof(length)),
                         cases[i].length != NULL);
        if (cases[i].length != NULL)
            assert_string_equal(length, cases[i].length);
        assert_int_equal(client.received - response.head_length, strlen(cases[i].body));
        assert_memory_equal(response.body, cases[i].body, strlen(cases[i].body));
        end();
        assert_int_equal(borrowed.released, 1);
    }
}

/* ---- files ---- */

static void write_file(size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void truncated_file_closes_connection(void **state)
{
    (void)state;
    begin(RECEIVE_BUFFER);
    send_request("GET", "/file");
    stage_drive(&stage, &client, 600, body_has_begun, NULL);
    assert_int_equal(truncate(path, 50000), 0);
    stage_drive_to_end(&stage, &client, 5000);
    write_file(SIZE);
    const char *body = memmem(client.data, client.received, "\r\n\r\n", 4);
    assert_non_null(body);
    body += 4;
    size_t length = (size_t)(client.data + client.received - body);
    assert_true(length <= 50000);
    assert_memory_equal(body, bytes, length);
    assert_int_equal(stage.errors_logged, 1);
    assert_non_null(strstr(stage.last_error, uvhttp_strerror(UVHTTP_ETRUNCATED)));
    end();
}

static void truncated_part_closes_connection(void **state)
{
    (void)state;
    begin(0);
    send_request("GET", "/parts?more");
    stage_drive_to_end(&stage, &client, 5000);
    const char *body = memmem(client.data, client.received, "\r\n\r\n", 4);
    assert_non_null(body);
    size_t length = (size_t)(client.data + client.received - body) - 4;
    assert_int_equal(length, SIZE); /* one byte less than Content-Length */
    assert_memory_equal(body + 4, bytes, SIZE);
    assert_int_equal(borrowed.released, 1);
    assert_int_equal(stage.errors_logged, 1);
    assert_non_null(strstr(stage.last_error, uvhttp_strerror(UVHTTP_ETRUNCATED)));
    end();
}

/* ---- parts ---- */

static void invalid_parts_get_einval(void **state)
{
    (void)state;
    struct raw_response response;
    size_t offset = 0;
    begin(0);
    send_request("GET", "/refused");
    assert_int_equal(stage_drive_responses(&stage, &client, 10000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_length, 0);
    end();
}

/* ---- the last response ---- */

/* The server closes the connection after a response, while the client has sent another request.
 * Closing with unread input would reset the connection and lose the end of the response (RFC 9112
 * section 9.6). */
static void assert_last_response_arrives(size_t max_requests, bool stop)
{
    stage_begin(&stage);
    stage.config->max_requests_per_connection = max_requests;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/static", send_static_bytes, NULL),
                     0);
    stage_listen(&stage);
    /* the end of the response is in this buffer when the server closes */
    stage_shrink_send_buffer(&stage, 32768);
    raw_client_connect(&client, uvhttp_server_port(stage.server), RECEIVE_BUFFER);
    send_request("GET", "/static");
    stage_drive(&stage, &client, 600, body_has_begun, NULL);
    send_request("GET", "/static");
    raw_client_step(&client, 0);
    if (stop)
        uvhttp_server_stop(stage.server);
    stage_drive_to_end(&stage, &client, 2000);
    struct raw_response response;
    size_t offset = 0;
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_body("/static", &response);
    if (stop) { /* the requests received before the end are served, too */
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_body("/static", &response);
    }
    assert_int_equal(client.received, offset);
    end();
}

static void last_response_complete_with_unread_requests(void **state)
{
    (void)state;
    assert_last_response_arrives(1, false);
}

static void last_response_complete_during_stop(void **state)
{
    (void)state;
    assert_last_response_arrives(0, true);
}

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 131 + i / 251);
    borrowed.data = malloc(SIZE);
    snprintf(path, sizeof(path), "/tmp/uvhttp-write-XXXXXX");
    int descriptor = mkstemp(path);
    if (descriptor < 0 || borrowed.data == NULL)
        return -1;
    close(descriptor);
    write_file(SIZE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(borrowed.data);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_body_is_complete),
        cmocka_unit_test(small_responses_read_bytewise_are_complete),
        cmocka_unit_test(pipelined_responses_keep_order),
        cmocka_unit_test(many_small_responses_on_full_socket_complete),
        cmocka_unit_test(borrowed_body_released_after_send),
        cmocka_unit_test(borrowed_body_released_on_disconnect),
        cmocka_unit_test(borrowed_body_released_on_server_free),
        cmocka_unit_test(unsent_borrowed_body_released_immediately),
        cmocka_unit_test(truncated_file_closes_connection),
        cmocka_unit_test(truncated_part_closes_connection),
        cmocka_unit_test(invalid_parts_get_einval),
        cmocka_unit_test(last_response_complete_with_unread_requests),
        cmocka_unit_test(last_response_complete_during_stop),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
