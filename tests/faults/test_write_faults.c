/* Sending that is cut off and delayed: the server's socket takes a few kilobytes at a time and the client reads in small pieces, yet
 * every byte arrives once and in order, and a borrowed body is given back exactly once, when nothing of it is needed any more. */
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

/* What lies behind the copy is spoiled as soon as the call returns. */
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
    assert_int_equal(lseek(descriptor, 77, SEEK_SET), 77); /* of no meaning */
    return uvhttp_response_send_descriptor(response, 200, NULL, descriptor, FILE_OFFSET, SIZE - FILE_OFFSET,
                                           close_descriptor, (void *)(intptr_t)descriptor);
}

/* Gives the bytes back by spoiling them: whatever is still sent from them afterwards is seen by the client. */
static void release_borrowed(void *arg)
{
    assert_ptr_equal(arg, &borrowed);
    borrowed.released++;
    memset(borrowed.data, 0xee, borrowed.size);
}

static int send_borrowed_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const char *size = uvhttp_request_query(request, "size");
    const char *status = uvhttp_request_query(request, "status");
    borrowed.size = size == NULL ? SIZE : strtoul(size, NULL, 10);
    memcpy(borrowed.data, bytes, SIZE);
    int err = uvhttp_response_send_borrowed(response, status == NULL ? 200 : (int)strtol(status, NULL, 10),
                                            NULL, borrowed.data, borrowed.size, release_borrowed, &borrowed);
    if (err == 0)
        return 0;
    assert_int_equal(borrowed.released, 1);
    assert_true(uvhttp_response_open(response));
    return uvhttp_response_send_text(response, 200, uvhttp_error_name(err));
}

static int send_small(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "small");
}

/* ---- a server that is cut off ---- */

static void begin(int receive_buffer)
{
    static const struct {
        const char *pattern;
        uvhttp_handler_cb handler;
    } routes[] = {
        {"/static",   send_static_bytes  },
        {"/copied",   send_copied_bytes  },
        {"/file",     send_whole_file    },
        {"/part",     send_part_of_file  },
        {"/borrowed", send_borrowed_bytes},
        {"/small",    send_small         },
    };
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_server_route(stage.server, NULL, routes[i].pattern, routes[i].handler, NULL),
                         0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SEND_BUFFER);
    borrowed.released = 0;
    raw_client_connect(&client, uvhttp_server_port(stage.server), receive_buffer);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void ask(const char *method, const char *target)
{
    char request[256];
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n\r\n", method, target);
    raw_client_send_text(&client, request);
}

/* What each target has to be answered with. */
static void assert_body(const char *target, const struct raw_answer *answer)
{
    assert_int_equal(answer->status, 200);
    if (strcmp(target, "/small") == 0) {
        assert_int_equal(answer->body_length, 5);
        assert_memory_equal(answer->body, "small", 5);
        return;
    }
    size_t offset = strcmp(target, "/part") == 0 ? FILE_OFFSET : 0;
    assert_int_equal(answer->body_length, SIZE - offset);
    assert_memory_equal(answer->body, bytes + offset, SIZE - offset);
}

/* Asks for all targets at once and reads `most` bytes at a time. */
static void exchange(const char *const *targets, size_t count, int receive_buffer, size_t most)
{
    begin(receive_buffer);
    for (size_t i = 0; i < count; i++)
        ask("GET", targets[i]);
    assert_int_equal(stage_drive_answers(&stage, &client, most, count), count);
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        struct raw_answer answer;
        assert_true(raw_client_answer(&client, &offset, false, &answer));
        assert_body(targets[i], &answer);
    }
    assert_int_equal(offset, client.received);
    assert_false(client.ended);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_true(stats->bytes_sent == client.received);
    assert_true(stats->aborted_exchanges == 0);
    assert_true(stats->responses_2xx == count);
    end();
}

static void every_kind_of_body_arrives_whole(void **state)
{
    (void)state;
    static const char *const targets[] = {"/static", "/copied", "/file", "/part", "/borrowed", "/small"};
    static const size_t pieces[] = {700, 5000, SIZE};
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        for (size_t k = 0; k < UVH_COUNT_OF(pieces); k++)
            exchange(&targets[i], 1, k == 0 ? RECEIVE_BUFFER : 0, pieces[k]);
    }
}

static void small_answers_read_byte_by_byte(void **state)
{
    (void)state;
    const char *targets[16];
    for (size_t i = 0; i < 16; i++)
        targets[i] = "/small";
    exchange(targets, 16, RECEIVE_BUFFER, 1);
    exchange(targets, 16, 0, 7);
}

static void pipelined_answers_of_all_kinds_keep_their_order(void **state)
{
    (void)state;
    static const char *const targets[] = {"/small", "/small", "/static", "/small",  "/file",
                                          "/part",  "/small", "/small",  "/copied", "/borrowed",
                                          "/small", "/file",  "/copied", "/small"};
    exchange(targets, UVH_COUNT_OF(targets), 0, 3000);
    exchange(targets, UVH_COUNT_OF(targets), 0, SIZE);
    exchange(targets, 5, RECEIVE_BUFFER, 900);
}

static void so_many_small_answers_that_they_fill_socket_and_buffer(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    const char *targets[MANY];
    for (size_t i = 0; i < MANY; i++)
        targets[i] = "/small";
    exchange(targets, MANY, RECEIVE_BUFFER, 5000);
}

/* ---- borrowed bodies ---- */

static void a_borrowed_body_is_given_back_once_it_is_out(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 4097,
                                   SIZE}; /* copied beside the head, and sent from where it lies */
    for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
        char target[64];
        snprintf(target, sizeof(target), "/borrowed?size=%zu", sizes[i]);
        begin(RECEIVE_BUFFER);
        ask("GET", target);
        while (borrowed.released == 0 && !client.ended) {
            raw_client_step(&client, 2000);
            stage_wait(&stage);
            /* Given back means that the system has it all. */
            if (borrowed.released != 0)
                assert_true(sizes[i] <= 4096 || uvhttp_server_stats(stage.server)->bytes_sent > sizes[i]);
        }
        assert_int_equal(stage_drive_answers(&stage, &client, 2000, 1), 1);
        struct raw_answer answer;
        size_t offset = 0;
        assert_true(raw_client_answer(&client, &offset, false, &answer));
        assert_int_equal(answer.body_length, sizes[i]);
        assert_memory_equal(answer.body, bytes, sizes[i]);
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

static void a_borrowed_body_is_given_back_once_when_the_client_vanishes(void **state)
{
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        begin(RECEIVE_BUFFER);
        ask("GET", "/borrowed");
        stage_drive(&stage, &client, 600, body_has_begun, NULL);
        assert_int_equal(borrowed.released, 0);
        raw_client_close(&client, reset == 1);
        stage_drive(&stage, &client, 600, is_released, NULL);
        assert_true(uvhttp_server_stats(stage.server)->aborted_exchanges == 1);
        end();
        assert_int_equal(borrowed.released, 1);
    }
}

static void a_borrowed_body_is_given_back_once_when_the_server_is_freed(void **state)
{
    (void)state;
    begin(RECEIVE_BUFFER);
    ask("GET", "/borrowed");
    stage_drive(&stage, &client, 600, body_has_begun, NULL);
    assert_int_equal(borrowed.released, 0);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    assert_int_equal(borrowed.released, 1);
    end();
    assert_int_equal(borrowed.released, 1);
}

static void a_borrowed_body_nobody_wants_is_given_back_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
        const char *length, *body;
    } cases[] = {
        {"HEAD", "/borrowed",            200, "200000", ""             },
        {"GET",  "/borrowed?status=204", 204, NULL,     ""             },
        {"GET",  "/borrowed?status=304", 304, NULL,     ""             },
        {"GET",  "/borrowed?status=99",  200, "13",     "UVHTTP_EINVAL"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        char length[32];
        struct raw_answer answer;
        size_t offset = 0;
        begin(0);
        ask(cases[i].method, cases[i].target);
        stage_drive(&stage, &client, 1000, is_released, NULL);
        stage_turns(&stage, 5);
        raw_client_step(&client, 10000);
        assert_int_equal(borrowed.released, 1);
        assert_true(raw_client_answer(&client, &offset, cases[i].body[0] == '\0', &answer));
        assert_int_equal(answer.status, cases[i].status);
        assert_int_equal(raw_answer_field(&answer, "Content-Length", length, sizeof(length)),
                         cases[i].length != NULL);
        if (cases[i].length != NULL)
            assert_string_equal(length, cases[i].length);
        assert_int_equal(client.received - answer.head_length, strlen(cases[i].body));
        assert_memory_equal(answer.body, cases[i].body, strlen(cases[i].body));
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

static void a_file_that_gets_shorter_ends_the_connection_and_is_logged(void **state)
{
    (void)state;
    begin(RECEIVE_BUFFER);
    ask("GET", "/file");
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

/* ---- the last answer ---- */

/* The server closes after an answer, of its own accord; the client, not knowing, has sent more. Closing with that unread would reset
 * the connection and take the end of the answer with it (RFC 9112 section 9.6). */
static void assert_last_answer_arrives(size_t max_requests, bool stop)
{
    stage_begin(&stage);
    stage.config->max_requests_per_connection = max_requests;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/static", send_static_bytes, NULL), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, 32768); /* the end of the answer waits there when the server closes */
    raw_client_connect(&client, uvhttp_server_port(stage.server), RECEIVE_BUFFER);
    ask("GET", "/static");
    stage_drive(&stage, &client, 600, body_has_begun, NULL);
    ask("GET", "/static");
    raw_client_step(&client, 0);
    if (stop)
        uvhttp_server_stop(stage.server);
    stage_drive_to_end(&stage, &client, 2000);
    struct raw_answer answer;
    size_t offset = 0;
    assert_true(raw_client_answer(&client, &offset, false, &answer));
    assert_body("/static", &answer);
    assert_int_equal(client.received, offset);
    end();
}

static void the_last_answer_arrives_although_more_requests_are_on_the_way(void **state)
{
    (void)state;
    assert_last_answer_arrives(1, false);
}

static void the_last_answer_arrives_when_the_server_stops_in_the_middle_of_it(void **state)
{
    (void)state;
    assert_last_answer_arrives(0, true);
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    (void)state;
    free(borrowed.data);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_body_arrives_whole),
        cmocka_unit_test(small_answers_read_byte_by_byte),
        cmocka_unit_test(pipelined_answers_of_all_kinds_keep_their_order),
        cmocka_unit_test(so_many_small_answers_that_they_fill_socket_and_buffer),
        cmocka_unit_test(a_borrowed_body_is_given_back_once_it_is_out),
        cmocka_unit_test(a_borrowed_body_is_given_back_once_when_the_client_vanishes),
        cmocka_unit_test(a_borrowed_body_is_given_back_once_when_the_server_is_freed),
        cmocka_unit_test(a_borrowed_body_nobody_wants_is_given_back_at_once),
        cmocka_unit_test(a_file_that_gets_shorter_ends_the_connection_and_is_logged),
        cmocka_unit_test(the_last_answer_arrives_although_more_requests_are_on_the_way),
        cmocka_unit_test(the_last_answer_arrives_when_the_server_stops_in_the_middle_of_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
