/* Answers that are asked for often and kept whole in a file in memory: which ones, that clients get
 * the same bytes either way, and what happens where the system takes only parts, or nothing. This
 * program has system calls of its own between the server and the system. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "server/exchange.h"
#include "server/response_cache.h"
#include "support/stage.h"

enum {
    SIZE = 10000,
    OFTEN = 12, /* times for that size: uvh_response_cache_often */
    MANY = 40,
    MOST_WAITS = 20000,
};

/* What the system does for once. */
static struct {
    int sendfile_error, sendfile_errors; /* so many calls fail */
    size_t sendfile_most;                /* bytes a call takes; 0: all */
    int memfd_error, pwritev_error;      /* each call fails */
    int pread_error;                     /* the same */
    const char *release;                 /* of the system */
    rlim_t file_size;                    /* that a process may write */
} system_does;

static size_t sendfile_calls, kept, files;

static struct stage stage;
static struct raw_client client;
static char body[SIZE], other_body[SIZE];
static int body_file = -1, other_body_file = -1; /* the same, when answers are sent from files */
static uvhttp_prepared_t *prepared;
static size_t released;
static bool starving; /* no buffer is to be had when the answer is sent */
static int64_t own_clock_ms;
static uint64_t sent_by_outcomes;

/* ---- the system calls ---- */

ssize_t sendfile(int socket, int descriptor, off_t *offset, size_t count)
{
    if (descriptor == body_file || descriptor == other_body_file)
        return syscall(SYS_sendfile, socket, descriptor, offset, count);
    sendfile_calls++;
    if (system_does.sendfile_errors > 0) {
        system_does.sendfile_errors--;
        errno = system_does.sendfile_error;
        return -1;
    }
    if (system_does.sendfile_most > 0 && count > system_does.sendfile_most)
        count = system_does.sendfile_most;
    return syscall(SYS_sendfile, socket, descriptor, offset, count);
}

int memfd_create(const char *name, unsigned flags)
{
    if (system_does.memfd_error != 0) {
        errno = system_does.memfd_error;
        return -1;
    }
    files++;
    return (int)syscall(SYS_memfd_create, name,
                        flags & MFD_CLOEXEC); /* the others are not known everywhere */
}

ssize_t pwritev(int descriptor, const struct iovec *areas, int count, off_t offset)
{
    kept++;
    if (system_does.pwritev_error != 0) {
        errno = system_does.pwritev_error;
        return -1;
    }
    return syscall(SYS_pwritev, descriptor, areas, count, offset, 0);
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset)
{
    if (system_does.pread_error != 0) {
        errno = system_does.pread_error;
        return -1;
    }
    return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

int uname(struct utsname *name)
{
    long result = syscall(SYS_uname, name);
    if (result == 0)
        snprintf(name->release, sizeof(name->release), "%s", system_does.release);
    return (int)result;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int result = prlimit(0, resource, NULL, limit);
    if (resource == RLIMIT_FSIZE)
        limit->rlim_cur = system_does.file_size;
    return result;
}

/* ---- the server ---- */

static void count_release(void *arg)
{
    assert_ptr_equal(arg, &released);
    released++;
}

static int send_prepared(uvhttp_response_t *response, int status, const char *bytes)
{
    uvhttp_response_use_prepared(response, prepared);
    if (body_file >= 0)
        return uvhttp_response_send_descriptor(response, status, NULL,
                                               bytes == body ? body_file : other_body_file, 0, SIZE,
                                               count_release, &released);
    return uvhttp_response_send_borrowed(response, status, NULL, bytes, SIZE, count_release,
                                         &released);
}

static int answer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    if (starving) {
        uvh_buffer_pool_release(&uvh_exchange_of_request(request)->worker->conns.buffers);
        fault_heap_arm(&stage.heap, 1, true);
    }
    return send_prepared(response, 200, body);
}

static int answer_created(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return send_prepared(response, 201, body);
}

static int answer_with_a_field(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    assert_int_equal(uvhttp_response_set_header(response, "X-Own", "1"), 0);
    return send_prepared(response, 200, body);
}

static int answer_other_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return send_prepared(response, 200, other_body);
}

static int answer_slowly(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    assert_int_equal(uvhttp_response_limit_rate(response, 100000000, 100000000), 0);
    return send_prepared(response, 200, body);
}

static void add_outcome(uvhttp_request_t *request, uvhttp_response_t *response,
                        const uvhttp_outcome_t *outcome, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    sent_by_outcomes += outcome->bytes_sent;
}

static void promise(uvhttp_prepared_t *made)
{
    if (body_file >= 0)
        uvhttp_prepared_set_descriptor(made, body_file, 0, SIZE);
    else
        uvhttp_prepared_set_body(made, body, SIZE);
}

static uvhttp_prepared_t *new_prepared(const char *type)
{
    uvhttp_prepared_t *made = uvhttp_prepared_new(NULL);
    assert_non_null(made);
    assert_int_equal(uvhttp_prepared_add(made, "Content-Type", type), 0);
    promise(made);
    return made;
}

static int64_t read_own_clock(void *arg)
{
    (void)arg;
    return own_clock_ms;
}

static void let_the_system_be(void)
{
    memset(&system_does, 0, sizeof(system_does));
    system_does.release = "6.5.0"; /* an older one sends the same, only slower */
    system_does.file_size = RLIM_INFINITY;
}

static void begin_with(size_t memory, bool with_clock)
{
    static const struct {
        const char *pattern;
        uvhttp_handler_cb handler;
    } routes[] = {
        {"/often", answer},
        {"/created", answer_created},
        {"/field", answer_with_a_field},
        {"/other", answer_other_bytes},
        {"/slowly", answer_slowly},
    };
    let_the_system_be();
    sendfile_calls = kept = files = released = 0;
    sent_by_outcomes = 0;
    prepared = new_prepared("text/plain");
    stage_begin(&stage);
    stage.config->response_cache_memory = memory;
    if (with_clock)
        stage.config->clock = read_own_clock;
    assert_non_null(stage_new_server(&stage));
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(
            uvhttp_server_route(stage.server, "GET", routes[i].pattern, routes[i].handler, NULL),
            0);
    uvhttp_server_on_finished(stage.server, add_outcome, NULL);
    stage_listen(&stage);
    client.socket = -1;
}

static void begin(void)
{
    begin_with(1 << 20, false);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_prepared_free(prepared);
}

/* `count` requests at once on a connection of their own: so many complete answers come back. */
static size_t ask(const char *request, size_t count)
{
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    for (size_t i = 0; i < count; i++)
        raw_client_send_text(&client, request);
    return stage_drive_responses(&stage, &client, SIZE, count);
}

static void assert_answers(size_t count, const char *bytes)
{
    char length[16], type[32], date[64];
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        struct raw_response got;
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_int_equal(got.status, 200);
        assert_int_equal(got.body_length, SIZE);
        assert_memory_equal(got.body, bytes, SIZE);
        assert_true(raw_response_field(&got, "Content-Length", length, sizeof(length)));
        assert_string_equal(length, "10000");
        assert_true(raw_response_field(&got, "Content-Type", type, sizeof(type)));
        assert_string_equal(type, "text/plain");
        assert_true(raw_response_field(&got, "Date", date, sizeof(date)));
        assert_false(raw_response_field(&got, "Connection", date, sizeof(date)));
    }
    assert_int_equal(offset, client.received); /* and nothing besides */
}

#define GET(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"

/* Asked for until it stands: in MANY times, even if a second ends meanwhile. */
static void make_it_stand(void)
{
    assert_int_equal(ask(GET("/often"), MANY), MANY);
    assert_answers(MANY, body);
    assert_true(kept >= 1);
}

/* ---- tests ---- */

static void what_is_asked_for_often_is_sent_without_a_copy(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(GET("/often"), OFTEN - 1), OFTEN - 1);
    assert_int_equal(kept, 0);
    make_it_stand();
    /* But for those in front of the eighth, of one second or two. */
    assert_true(sendfile_calls >= MANY - 2 * OFTEN && sendfile_calls <= MANY);
    assert_int_equal(released, MANY + OFTEN - 1);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_int_equal(stats->responses_2xx, MANY + OFTEN - 1);
    assert_true(stats->bytes_sent > stats->responses_2xx * SIZE &&
                stats->bytes_sent < stats->responses_2xx * (SIZE + 300));
    assert_int_equal(sent_by_outcomes, stats->bytes_sent);
    end();
}

static void what_is_not_as_prepared_is_sent_as_ever(void **state)
{
    static const char *const requests[] = {
        GET("/created"),
        GET("/field"),
        GET("/other"),
        GET("/slowly"),
        "GET /often HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
    };
    (void)state;
    begin();
    for (size_t i = 0; i < UVH_COUNT_OF(requests); i++)
        assert_int_equal(ask(requests[i], MANY), MANY);
    assert_int_equal(kept, 0);
    make_it_stand();
    size_t calls = sendfile_calls;
    for (size_t i = 0; i < UVH_COUNT_OF(requests); i++)
        assert_int_equal(ask(requests[i], 1), 1);
    assert_int_equal(ask(GET("/other"), 1), 1);
    assert_answers(1, other_body);
    char connection[16];
    size_t offset = 0;
    struct raw_response got;
    assert_int_equal(ask("GET /often HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_true(raw_response_field(&got, "Connection", connection, sizeof(connection)));
    assert_string_equal(connection, "close");
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "HEAD /often HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < MOST_WAITS && client.received == 0; i++) {
        raw_client_step(&client, SIZE);
        stage_wait(&stage);
    }
    offset = 0;
    assert_true(raw_client_response(&client, &offset, true, &got));
    assert_int_equal(client.received, got.head_length);
    assert_int_equal(sendfile_calls, calls);
    end();
}

static void answers_that_wait_go_in_front(void **state)
{
    (void)state;
    begin();
    make_it_stand();
    /* The first answer is collected, the second would stand. */
    assert_int_equal(ask("GET /none HTTP/1.1\r\nHost: h\r\n\r\n" GET("/often"), 1), 1);
    stage_drive_responses(&stage, &client, SIZE, 2);
    size_t offset = 0;
    struct raw_response got;
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_int_equal(got.status, 404);
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_memory_equal(got.body, body, SIZE);
    end();
}

/* There is no memory to go on with what the client has not taken. */
static void what_cannot_be_gone_on_with_ends_the_connection_and_is_counted(void **state)
{
    (void)state;
    begin();
    make_it_stand();
    make_it_stand(); /* so that of this second some may be left to ask for */
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    uint64_t responses = stats->responses_2xx, bytes = stats->bytes_sent;
    size_t before = released;
    system_does.sendfile_most = 1000;
    starving = true;
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, GET("/often"));
    stage_drive_to_end(&stage, &client, SIZE);
    starving = false;
    fault_heap_arm(&stage.heap, 0, false);
    stats = uvhttp_server_stats(stage.server);
    /* 0 when a second has just begun: then not even the head could be sent. */
    assert_true(client.received == 1000 || client.received == 0);
    if (client.received == 1000) {
        assert_int_equal(stats->responses_2xx, responses + 1);
        assert_int_equal(stats->bytes_sent, bytes + 1000);
        assert_int_equal(sent_by_outcomes, stats->bytes_sent);
    }
    assert_int_equal(released, before + 1);
    end();
}

static void what_is_taken_in_dribs_and_drabs_arrives_whole(void **state)
{
    static const struct {
        int error, errors;
        size_t most;
    } ways[] = {
        {EINTR, 30, 0}, {EAGAIN, 3, 0}, {0, 0, 1}, {0, 0, 3001}, {EAGAIN, 5, 4096},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(ways); i++) {
        begin();
        make_it_stand();
        size_t before = released;
        system_does.sendfile_error = ways[i].error;
        system_does.sendfile_errors = ways[i].errors;
        system_does.sendfile_most = ways[i].most;
        stage.simulates_eagain = true;
        size_t count = ways[i].most == 1 ? OFTEN + 2 : MANY;
        assert_int_equal(ask(GET("/often"), count), count);
        assert_answers(count, body);
        assert_int_equal(released, before + count);
        assert_int_equal(stage.errors_logged, 0);
        end();
    }
}

static void a_client_that_goes_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t most = 0; most <= 5000; most += 5000) {
        begin();
        make_it_stand();
        size_t before = released;
        system_does.sendfile_most = most;
        for (int i = 0; i < 3; i++) {
            static const int errors[] = {EPIPE, ECONNRESET, ETIMEDOUT};
            system_does.sendfile_error = errors[i];
            system_does.sendfile_errors = MANY;
            raw_client_close(&client, false);
            raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
            for (int k = 0; k < MANY; k++)
                raw_client_send_text(&client, GET("/often"));
            for (int k = 0; k < 20; k++) {
                raw_client_step(&client, 1);
                stage_iterate(&stage);
            }
            raw_client_close(&client, true);
        }
        system_does.sendfile_errors = 0;
        assert_true(released > before);
        assert_int_equal(stage.errors_logged, 0);
        make_it_stand();
        end(); /* which counts heap and descriptors */
    }
}

static void what_the_system_refuses_is_sent_as_ever(void **state)
{
    (void)state;
    for (int way = 0; way < 5; way++) {
        begin();
        if (way == 0)
            system_does.memfd_error = EMFILE;
        if (way == 1)
            system_does.memfd_error = ENOSYS;
        if (way == 2)
            system_does.pwritev_error = ENOSPC;
        if (way == 3)
            system_does.release = "6.1.0-41-amd64"; /* passes pages on one by one */
        if (way == 4)
            system_does.file_size = 4096; /* past it there would be a signal */
        assert_int_equal(ask(GET("/often"), MANY), MANY);
        assert_answers(MANY, body);
        assert_int_equal(sendfile_calls, 0);
        assert_true(kept == 0 || way == 2);
        assert_int_equal(stage.errors_logged, 0);
        end();
    }
    begin();
    system_does.release = "7.0.1";
    make_it_stand();
    assert_true(sendfile_calls > 0);
    end();
}

static void without_memory_it_is_sent_as_ever(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(GET("/other"), MANY), MANY);
    fault_heap_arm(&stage.heap, 1, false); /* the places */
    make_it_stand();
    assert_int_equal(atomic_load(&stage.heap.failures), 1);
    end();
    begin();
    for (size_t failing = 1; failing <= 60; failing++) {
        raw_client_close(&client, false);
        stage_iterations(&stage, 5);
        fault_heap_arm(&stage.heap, failing, true);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&client, GET("/often"));
        for (int i = 0; i < 20; i++) {
            raw_client_step(&client, SIZE);
            stage_iterate(&stage);
        }
        fault_heap_arm(&stage.heap, 0, false);
    }
    make_it_stand();
    end();
}

static void only_so_much_is_kept(void **state)
{
    (void)state;
    begin_with(0, false);
    assert_int_equal(ask(GET("/often"), MANY), MANY);
    assert_int_equal(kept, 0);
    end();
    begin_with(SIZE - 1, false);
    assert_int_equal(ask(GET("/often"), MANY), MANY);
    assert_answers(MANY, body);
    assert_int_equal(kept, 0);
    assert_int_equal(files, 0);
    end();
    begin_with(2 * SIZE, false);
    make_it_stand();
    uvhttp_prepared_t *first = prepared;
    size_t calls = sendfile_calls, before = kept;
    /* another answer, for which there is no room in the same second */
    prepared = new_prepared("text/plain");
    assert_int_equal(ask(GET("/often"), OFTEN + 1), OFTEN + 1);
    assert_answers(OFTEN + 1, body);
    /* or a new second began */
    assert_true(kept == before ? sendfile_calls == calls : kept == before + 1);
    uvhttp_prepared_free(first);
    end();
}

static void with_a_clock_of_its_own_nothing_is_kept(void **state)
{
    (void)state;
    begin_with(1 << 20, true);
    for (own_clock_ms = 0; own_clock_ms < 3000; own_clock_ms += 1000) {
        char date[64], expected[64];
        size_t offset = 0;
        struct raw_response got;
        assert_int_equal(ask(GET("/often"), MANY), MANY);
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Date", date, sizeof(date)));
        snprintf(expected, sizeof(expected), "Thu, 01 Jan 1970 00:00:0%d GMT",
                 (int)(own_clock_ms / 1000));
        assert_string_equal(date, expected);
    }
    assert_int_equal(kept, 0);
    end();
}

static void another_state_of_the_fields_is_another_answer(void **state)
{
    char value[16];
    size_t offset = 0;
    struct raw_response got;
    (void)state;
    begin();
    make_it_stand();
    assert_int_equal(uvhttp_prepared_add(prepared, "X-New", "1"), 0);
    assert_int_equal(ask(GET("/often"), MANY), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "X-New", value, sizeof(value)));
    }
    assert_int_equal(kept, 2 + (kept > 2)); /* one more when a second ended */
    if (body_file >= 0)
        uvhttp_prepared_set_descriptor(prepared, -1, 0, 0);
    else
        uvhttp_prepared_set_body(prepared, NULL, 0);
    size_t calls = sendfile_calls;
    assert_int_equal(ask(GET("/often"), MANY), MANY);
    assert_int_equal(sendfile_calls, calls);
    end();
}

/* Their numbers lie so far apart that they have the same place. */
static void of_two_answers_that_meet_each_is_itself(void **state)
{
    char type[32];
    size_t offset = 0;
    struct raw_response got;
    (void)state;
    begin();
    uvhttp_prepared_t *first = prepared, *second = new_prepared("text/html");
    make_it_stand();
    for (int i = 0; i < UVH_RESPONSE_CACHE_SLOTS - 1; i++)
        promise(second);
    for (int i = 0; i < 2 * MANY; i++) {
        prepared = i % 2 == 0 ? second : first;
        assert_int_equal(ask(GET("/often"), 1), 1);
        offset = 0;
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Content-Type", type, sizeof(type)));
        assert_string_equal(type, i % 2 == 0 ? "text/html" : "text/plain");
    }
    assert_true(kept <= 1 + files); /* one of them, once a second */
    prepared = first;
    uvhttp_prepared_free(second);
    end();
}

/* The value of Date in the last answer. */
static void last_date(char date[64])
{
    size_t offset = 0;
    struct raw_response got;
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_true(raw_response_field(&got, "Date", date, 64));
}

static void a_new_second_has_a_new_date_and_old_answers_stay_as_they_were(void **state)
{
    struct raw_client slow = {.socket = -1};
    char before[64], after[64], date[64];
    struct raw_response got;
    size_t offset = 0;
    (void)state;
    begin();
    do { /* until it all lies within one second */
        raw_client_close(&slow, false);
        make_it_stand();
        last_date(before);
        size_t calls = sendfile_calls;
        raw_client_connect(&slow, uvhttp_server_port(stage.server), 0);
        for (int i = 0; i < OFTEN; i++)
            raw_client_send_text(&slow, GET("/often"));
        for (int i = 0; i < MOST_WAITS && sendfile_calls < calls + OFTEN; i++) {
            raw_client_step(&slow, 1); /* so nearly all of it waits in the system */
            stage_iterate(&stage);
        }
        assert_int_equal(ask(GET("/often"), 1), 1);
        last_date(after);
    } while (strcmp(before, after) != 0);
    for (int i = 0; i < MOST_WAITS && strcmp(before, after) == 0; i++) {
        stage_wait(&stage);
        assert_int_equal(ask(GET("/often"), 1), 1);
        last_date(after);
    }
    make_it_stand();
    assert_int_equal(ask(GET("/often"), 1), 1);
    last_date(after);
    assert_string_not_equal(before, after);
    assert_int_equal(stage_drive_responses(&stage, &slow, SIZE, OFTEN), OFTEN);
    for (int i = 0; i < OFTEN; i++) {
        assert_true(raw_client_response(&slow, &offset, false, &got));
        assert_memory_equal(got.body, body, SIZE);
        assert_true(raw_response_field(&got, "Date", date, sizeof(date)));
        assert_string_equal(date, before);
    }
    raw_client_close(&slow, false);
    end();
}

static void memory_goes_back_when_nobody_asks_any_more(void **state)
{
    (void)state;
    begin();
    assert_int_equal(ask(GET("/none"), 1), 1);
    size_t before = stage_descriptors();
    make_it_stand();
    stage_iterations(&stage, 5);
    size_t with_file = stage_descriptors();
    for (int i = 0; i < MOST_WAITS && stage_descriptors() > before; i++)
        stage_wait(&stage);
    assert_int_equal(stage_descriptors(), before);
    assert_true(with_file <= before + 2);
    make_it_stand();
    raw_client_close(&client, false);
    /* both ends of the connection */
    for (int i = 0; i < MOST_WAITS && stage_descriptors() > before - 2; i++)
        stage_wait(&stage);
    assert_int_equal(stage_descriptors(), before - 2);
    end();
}

/* The second may not be over: what was kept in the file that is gone is not there any more, whoever
 * comes first. */
static void what_was_kept_for_others_is_not_looked_for_when_it_has_gone(void **state)
{
    (void)state;
    begin();
    uvhttp_prepared_t *first = prepared, *second = new_prepared("text/html");
    for (int round = 0; round < 6; round++) {
        size_t before = stage_descriptors();
        char type[32];
        size_t offset = 0;
        struct raw_response got;
        prepared = first;
        make_it_stand();
        raw_client_close(&client, false);
        for (int i = 0; i < MOST_WAITS && stage_descriptors() > before; i++)
            stage_wait(&stage);
        if (round % 2 == 0) {
            prepared = second;
            assert_int_equal(ask(GET("/often"), OFTEN + 1), OFTEN + 1);
            prepared = first;
        }
        assert_int_equal(ask(GET("/often"), 1), 1);
        assert_answers(1, body);
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Content-Type", type, sizeof(type)));
        assert_string_equal(type, "text/plain");
        raw_client_close(&client, false);
        stage_iterations(&stage, 3);
    }
    uvhttp_prepared_free(second);
    end();
}

/* Whoever is still at an old answer holds no file of its second. */
static void slow_clients_hold_nothing_back(void **state)
{
    enum { SLOW = 4 };
    struct raw_client slow[SLOW];
    char before[64], now[64];
    (void)state;
    begin();
    assert_int_equal(ask(GET("/other"), 1), 1);
    stage_iterations(&stage, 5);
    size_t at_first = stage_descriptors();
    stage_shrink_send_buffer(&stage, 4096);
    for (int i = 0; i < SLOW; i++) {
        make_it_stand();
        last_date(before);
        raw_client_connect(&slow[i], uvhttp_server_port(stage.server), 2048);
        for (int k = 0; k < OFTEN + 2; k++)
            raw_client_send_text(&slow[i], GET("/often"));
        for (int k = 0; k < 10; k++) {
            raw_client_step(&slow[i], 1);
            stage_iterate(&stage);
        }
        memcpy(now, before, sizeof(now));
        for (int k = 0; k < MOST_WAITS && strcmp(before, now) == 0; k++) {
            stage_wait(&stage);
            assert_int_equal(ask(GET("/often"), 1), 1);
            last_date(now);
        }
    }
    assert_true(files >= SLOW);
    stage_iterations(&stage, 5); /* so that the server sees who has closed */
    assert_true(stage_descriptors() <= at_first + 2 * SLOW + 2);
    for (int i = 0; i < SLOW; i++) {
        size_t offset = 0;
        struct raw_response got;
        assert_int_equal(stage_drive_responses(&stage, &slow[i], SIZE, OFTEN + 2), OFTEN + 2);
        for (int k = 0; k < OFTEN + 2; k++) {
            assert_true(raw_client_response(&slow[i], &offset, false, &got));
            assert_memory_equal(got.body, body, SIZE);
        }
        raw_client_close(&slow[i], false);
    }
    end();
}

/* ---- from files ---- */

static void a_file_that_cannot_be_read_whole_is_not_kept(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        begin();
        assert_int_equal(ftruncate(body_file, way == 0 ? SIZE - 1 : SIZE), 0);
        system_does.pread_error = way == 1 ? EIO : 0;
        for (int i = 0; i < MANY; i++)
            ask(GET("/often"), 1); /* a file that is too short ends the connection */
        assert_int_equal(kept, 0);
        assert_int_equal(stage.errors_logged, way == 0 ? MANY : 0);
        assert_int_equal(ftruncate(body_file, SIZE), 0);
        assert_int_equal(pwrite(body_file, body, SIZE, 0), SIZE);
        system_does.pread_error = 0;
        end();
    }
}

static void a_part_of_a_file_is_another_answer(void **state)
{
    static const struct {
        uint64_t offset;
        size_t size;
    } parts[] = {
        {0, SIZE - 1},
        {1, SIZE},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(parts); i++) {
        begin();
        uvhttp_prepared_set_descriptor(prepared, body_file, parts[i].offset, parts[i].size);
        assert_int_equal(ask(GET("/often"), MANY), MANY);
        assert_answers(MANY, body);
        assert_int_equal(kept, 0);
        uvhttp_prepared_set_descriptor(prepared, other_body_file, 0, SIZE);
        assert_int_equal(ask(GET("/often"), MANY), MANY);
        assert_answers(MANY, body);
        assert_int_equal(kept, 0);
        end();
    }
}

/* ---- without a server ---- */

static struct uvh_cached_response *request(struct uvh_response_cache *cache, uint64_t id,
                                           uint64_t until, uint32_t times)
{
    uvhttp_prepared_t fields = {.id = id, .descriptor = -1, .body = {body, SIZE}};
    struct uvhttp_response response = {
        .status = 200, .prepared = &fields, .body = {.base = body, .size = SIZE, .descriptor = -1}};
    struct uvh_cached_response *cached = NULL;
    while (times-- > 0) {
        cached = uvh_response_cache_lookup(cache, &response, until);
        assert_non_null(cached);
        uvh_response_cache_store(cache, cached, (uvhttp_slice_t){"", 0}, &response.body);
    }
    return cached;
}

static void what_was_worth_it_is_kept_at_once_in_the_next_second(void **state)
{
    struct uvh_response_cache cache;
    (void)state;
    let_the_system_be();
    assert_int_equal(uvh_response_cache_often(SIZE), OFTEN);
    uvh_response_cache_init(&cache, uvh_alloc_default(), 1 << 20);
    assert_int_equal(request(&cache, 1, 500, OFTEN - 1)->size, 0);
    assert_int_equal(request(&cache, 1, 1000, OFTEN - 1)->size, 0);
    /* sent in this way one time too few */
    assert_int_equal(request(&cache, 1, 1000, OFTEN)->size, SIZE);
    assert_int_equal(request(&cache, 1, 2000, OFTEN - 1)->size, 0);
    assert_int_equal(request(&cache, 1, 2000, OFTEN + 1)->size, SIZE);
    assert_int_equal(request(&cache, 1, 3000, 1)->size, SIZE);
    uvh_response_cache_expire(&cache, 3000);
    /* in the second before it was not worth it */
    assert_int_equal(request(&cache, 1, 4000, 1)->size, 0);
    uvh_response_cache_expire(&cache, 4000);
    assert_int_equal(request(&cache, 1, 5000, 2 * OFTEN)->size, SIZE);
    uvh_response_cache_expire(&cache, 5000);
    assert_int_equal(request(&cache, 1, 6000, OFTEN + 1)->size, SIZE);
    assert_int_equal(request(&cache, 1, 7000, 1)->size, SIZE);
    request(&cache, 1, 7000, OFTEN);
    /* It has the slot of one that was worth it. */
    assert_int_equal(request(&cache, 1 + UVH_RESPONSE_CACHE_SLOTS, 8000, 1)->size, 0);
    uvh_response_cache_release(&cache);
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        body[i] = (char)(i * 131 + i / 251);
        other_body[i] = (char)(body[i] ^ 1);
    }
    return 0;
}

static int new_file(const char *bytes)
{
    int file = (int)syscall(SYS_memfd_create, "body", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, SIZE, 0), SIZE);
    return file;
}

static int set_up_files(void **state)
{
    set_up(state);
    body_file = new_file(body);
    other_body_file = new_file(other_body);
    return 0;
}

static int close_files(void **state)
{
    (void)state;
    close(body_file);
    close(other_body_file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest from_memory[] = {
        cmocka_unit_test(what_was_worth_it_is_kept_at_once_in_the_next_second),
        cmocka_unit_test(what_is_asked_for_often_is_sent_without_a_copy),
        cmocka_unit_test(what_is_not_as_prepared_is_sent_as_ever),
        cmocka_unit_test(answers_that_wait_go_in_front),
        cmocka_unit_test(what_cannot_be_gone_on_with_ends_the_connection_and_is_counted),
        cmocka_unit_test(what_is_taken_in_dribs_and_drabs_arrives_whole),
        cmocka_unit_test(a_client_that_goes_leaves_nothing_behind),
        cmocka_unit_test(what_the_system_refuses_is_sent_as_ever),
        cmocka_unit_test(without_memory_it_is_sent_as_ever),
        cmocka_unit_test(only_so_much_is_kept),
        cmocka_unit_test(with_a_clock_of_its_own_nothing_is_kept),
        cmocka_unit_test(another_state_of_the_fields_is_another_answer),
        cmocka_unit_test(of_two_answers_that_meet_each_is_itself),
        cmocka_unit_test(a_new_second_has_a_new_date_and_old_answers_stay_as_they_were),
        cmocka_unit_test(memory_goes_back_when_nobody_asks_any_more),
        cmocka_unit_test(what_was_kept_for_others_is_not_looked_for_when_it_has_gone),
        cmocka_unit_test(slow_clients_hold_nothing_back),
    };
    const struct CMUnitTest from_files[] = {
        cmocka_unit_test(what_is_asked_for_often_is_sent_without_a_copy),
        cmocka_unit_test(what_is_not_as_prepared_is_sent_as_ever),
        cmocka_unit_test(answers_that_wait_go_in_front),
        cmocka_unit_test(what_cannot_be_gone_on_with_ends_the_connection_and_is_counted),
        cmocka_unit_test(what_is_taken_in_dribs_and_drabs_arrives_whole),
        cmocka_unit_test(a_client_that_goes_leaves_nothing_behind),
        cmocka_unit_test(what_the_system_refuses_is_sent_as_ever),
        cmocka_unit_test(without_memory_it_is_sent_as_ever),
        cmocka_unit_test(only_so_much_is_kept),
        cmocka_unit_test(with_a_clock_of_its_own_nothing_is_kept),
        cmocka_unit_test(another_state_of_the_fields_is_another_answer),
        cmocka_unit_test(of_two_answers_that_meet_each_is_itself),
        cmocka_unit_test(a_new_second_has_a_new_date_and_old_answers_stay_as_they_were),
        cmocka_unit_test(memory_goes_back_when_nobody_asks_any_more),
        cmocka_unit_test(what_was_kept_for_others_is_not_looked_for_when_it_has_gone),
        cmocka_unit_test(slow_clients_hold_nothing_back),
        cmocka_unit_test(a_file_that_cannot_be_read_whole_is_not_kept),
        cmocka_unit_test(a_part_of_a_file_is_another_answer),
    };
    int failed = cmocka_run_group_tests(from_memory, set_up, NULL);
    return failed + cmocka_run_group_tests(from_files, set_up_files, close_files);
}
