/* Responses that are requested often and cached in a file in memory: which responses are cached,
 * that clients receive the same bytes in both cases, and short or failing system calls. This
 * program replaces system calls that the server uses. */
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
    OFTEN = 12, /* times for that size: uvh_response_cache_threshold */
    MANY = 40,
    MAX_WAITS = 20000,
};

/* Faults of the system calls. */
static struct {
    int sendfile_error, sendfile_errors; /* number of failing calls */
    size_t sendfile_max;                 /* most bytes of a call; 0: no limit */
    int memfd_error, pwritev_error;      /* each call fails */
    int pread_error;                     /* each call fails */
    const char *release;                 /* version of the kernel */
    rlim_t file_size;                    /* RLIMIT_FSIZE */
} faults;

static size_t sendfile_calls, stored, files;

static struct stage stage;
static struct raw_client client;
static char body[SIZE], other_body[SIZE];
/* files with the same contents, or -1; responses are sent from them */
static int body_file = -1, other_body_file = -1;
static uvhttp_prepared_t *prepared;
static size_t released;
static bool exhaust_memory; /* no buffer can be allocated when the response is sent */
static int64_t custom_clock_ms;
static uint64_t outcome_bytes_sent;

/* ---- system calls ---- */

ssize_t sendfile(int socket, int descriptor, off_t *offset, size_t count)
{
    if (descriptor == body_file || descriptor == other_body_file)
        return syscall(SYS_sendfile, socket, descriptor, offset, count);
    sendfile_calls++;
    if (faults.sendfile_errors > 0) {
        faults.sendfile_errors--;
        errno = faults.sendfile_error;
        return -1;
    }
    if (faults.sendfile_max > 0 && count > faults.sendfile_max)
        count = faults.sendfile_max;
    return syscall(SYS_sendfile, socket, descriptor, offset, count);
}

int memfd_create(const char *name, unsigned flags)
{
    if (faults.memfd_error != 0) {
        errno = faults.memfd_error;
        return -1;
    }
    files++;
    /* Some kernels do not support the other flags. */
    return (int)syscall(SYS_memfd_create, name, flags & MFD_CLOEXEC);
}

ssize_t pwritev(int descriptor, const struct iovec *areas, int count, off_t offset)
{
    stored++;
    if (faults.pwritev_error != 0) {
        errno = faults.pwritev_error;
        return -1;
    }
    return syscall(SYS_pwritev, descriptor, areas, count, offset, 0);
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset)
{
    if (faults.pread_error != 0) {
        errno = faults.pread_error;
        return -1;
    }
    return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

int uname(struct utsname *name)
{
    long result = syscall(SYS_uname, name);
    if (result == 0)
        snprintf(name->release, sizeof(name->release), "%s", faults.release);
    return (int)result;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int result = prlimit(0, resource, NULL, limit);
    if (resource == RLIMIT_FSIZE)
        limit->rlim_cur = faults.file_size;
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

static int send_cacheable(uvhttp_request_t *request_cached, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    if (exhaust_memory) {
        uvh_buffer_pool_release(&uvh_exchange_of_request(request_cached)->worker->conns.buffers);
        fault_heap_arm(&stage.heap, 1, true);
    }
    return send_prepared(response, 200, body);
}

static int send_created(uvhttp_request_t *request_cached, uvhttp_response_t *response, void *arg)
{
    (void)request_cached;
    (void)arg;
    return send_prepared(response, 201, body);
}

static int send_with_field(uvhttp_request_t *request_cached, uvhttp_response_t *response, void *arg)
{
    (void)request_cached;
    (void)arg;
    assert_int_equal(uvhttp_response_set_header(response, "X-Own", "1"), 0);
    return send_prepared(response, 200, body);
}

static int send_other_body(uvhttp_request_t *request_cached, uvhttp_response_t *response, void *arg)
{
    (void)request_cached;
    (void)arg;
    return send_prepared(response, 200, other_body);
}

static int send_with_rate_limit(uvhttp_request_t *request_cached, uvhttp_response_t *response,
                                void *arg)
{
    (void)request_cached;
    (void)arg;
    assert_int_equal(uvhttp_response_limit_rate(response, 100000000, 100000000), 0);
    return send_prepared(response, 200, body);
}

static void add_outcome(uvhttp_request_t *request_cached, uvhttp_response_t *response,
                        const uvhttp_outcome_t *outcome, void *arg)
{
    (void)request_cached;
    (void)response;
    (void)arg;
    outcome_bytes_sent += outcome->bytes_sent;
}

static void set_prepared_body(uvhttp_prepared_t *created)
{
    if (body_file >= 0)
        uvhttp_prepared_set_descriptor(created, body_file, 0, SIZE);
    else
        uvhttp_prepared_set_body(created, body, SIZE);
}

static uvhttp_prepared_t *new_prepared(const char *type)
{
    uvhttp_prepared_t *created = uvhttp_prepared_new(NULL);
    assert_non_null(created);
    assert_int_equal(uvhttp_prepared_add(created, "Content-Type", type), 0);
    set_prepared_body(created);
    return created;
}

static int64_t read_custom_clock(void *arg)
{
    (void)arg;
    return custom_clock_ms;
}

static void reset_faults(void)
{
    memset(&faults, 0, sizeof(faults));
    faults.release = "6.5.0"; /* the oldest kernel with which the cache is used */
    faults.file_size = RLIM_INFINITY;
}

static void begin_with(size_t memory, bool with_clock)
{
    static const struct {
        const char *pattern;
        uvhttp_handler_cb handler;
    } routes[] = {
        {"/often", send_cacheable},  {"/created", send_created},        {"/field", send_with_field},
        {"/other", send_other_body}, {"/slowly", send_with_rate_limit},
    };
    reset_faults();
    sendfile_calls = stored = files = released = 0;
    outcome_bytes_sent = 0;
    prepared = new_prepared("text/plain");
    stage_begin(&stage);
    stage.config->response_cache_memory = memory;
    if (with_clock)
        stage.config->clock = read_custom_clock;
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

/* Sends `count` requests at once on a new connection. Returns the number of complete responses. */
static size_t get(const char *request_cached, size_t count)
{
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    for (size_t i = 0; i < count; i++)
        raw_client_send_text(&client, request_cached);
    return stage_drive_responses(&stage, &client, SIZE, count);
}

static void assert_responses(size_t count, const char *bytes)
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
    assert_int_equal(offset, client.received); /* no other bytes */
}

#define GET(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"

/* Requests until the response is cached. MANY requests suffice, even if a second ends meanwhile. */
static void request_until_cached(void)
{
    assert_int_equal(get(GET("/often"), MANY), MANY);
    assert_responses(MANY, body);
    assert_true(stored >= 1);
}

/* ---- tests ---- */

static void frequent_response_is_sent_from_cache(void **state)
{
    (void)state;
    begin();
    assert_int_equal(get(GET("/often"), OFTEN - 1), OFTEN - 1);
    assert_int_equal(stored, 0);
    request_until_cached();
    /* All but those before the first cached one, in one second or two. */
    assert_true(sendfile_calls >= MANY - 2 * OFTEN && sendfile_calls <= MANY);
    assert_int_equal(released, MANY + OFTEN - 1);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_int_equal(stats->responses_2xx, MANY + OFTEN - 1);
    assert_true(stats->bytes_sent > stats->responses_2xx * SIZE &&
                stats->bytes_sent < stats->responses_2xx * (SIZE + 300));
    assert_int_equal(outcome_bytes_sent, stats->bytes_sent);
    end();
}

static void unprepared_response_is_not_cached(void **state)
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
        assert_int_equal(get(requests[i], MANY), MANY);
    assert_int_equal(stored, 0);
    request_until_cached();
    size_t calls = sendfile_calls;
    for (size_t i = 0; i < UVH_COUNT_OF(requests); i++)
        assert_int_equal(get(requests[i], 1), 1);
    assert_int_equal(get(GET("/other"), 1), 1);
    assert_responses(1, other_body);
    char connection[16];
    size_t offset = 0;
    struct raw_response got;
    assert_int_equal(get("GET /often HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_true(raw_response_field(&got, "Connection", connection, sizeof(connection)));
    assert_string_equal(connection, "close");
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "HEAD /often HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < MAX_WAITS && client.received == 0; i++) {
        raw_client_step(&client, SIZE);
        stage_wait(&stage);
    }
    offset = 0;
    assert_true(raw_client_response(&client, &offset, true, &got));
    assert_int_equal(client.received, got.head_length);
    assert_int_equal(sendfile_calls, calls);
    end();
}

static void batched_response_precedes_cached_response(void **state)
{
    (void)state;
    begin();
    request_until_cached();
    /* The first response is batched. The second one is cached. */
    assert_int_equal(get("GET /none HTTP/1.1\r\nHost: h\r\n\r\n" GET("/often"), 1), 1);
    stage_drive_responses(&stage, &client, SIZE, 2);
    size_t offset = 0;
    struct raw_response got;
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_int_equal(got.status, 404);
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_memory_equal(got.body, body, SIZE);
    end();
}

/* There is no memory to store what the socket does not accept. */
static void cached_response_without_memory_closes_connection(void **state)
{
    (void)state;
    begin();
    request_until_cached();
    request_until_cached(); /* so that the response is likely cached in this second */
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    uint64_t responses = stats->responses_2xx, bytes = stats->bytes_sent;
    size_t before = released;
    faults.sendfile_max = 1000;
    exhaust_memory = true;
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, GET("/often"));
    stage_drive_to_end(&stage, &client, SIZE);
    exhaust_memory = false;
    fault_heap_arm(&stage.heap, 0, false);
    stats = uvhttp_server_stats(stage.server);
    /* 0 when a second has just begun: not even the head is sent then. */
    assert_true(client.received == 1000 || client.received == 0);
    if (client.received == 1000) {
        assert_int_equal(stats->responses_2xx, responses + 1);
        assert_int_equal(stats->bytes_sent, bytes + 1000);
        assert_int_equal(outcome_bytes_sent, stats->bytes_sent);
    }
    assert_int_equal(released, before + 1);
    end();
}

static void short_sendfile_completes_cached_response(void **state)
{
    static const struct {
        int error, errors;
        size_t max;
    } cases[] = {
        {EINTR, 30, 0}, {EAGAIN, 3, 0}, {0, 0, 1}, {0, 0, 3001}, {EAGAIN, 5, 4096},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        begin();
        request_until_cached();
        size_t before = released;
        faults.sendfile_error = cases[i].error;
        faults.sendfile_errors = cases[i].errors;
        faults.sendfile_max = cases[i].max;
        stage.simulates_eagain = true;
        size_t count = cases[i].max == 1 ? OFTEN + 2 : MANY;
        assert_int_equal(get(GET("/often"), count), count);
        assert_responses(count, body);
        assert_int_equal(released, before + count);
        assert_int_equal(stage.errors_logged, 0);
        end();
    }
}

static void client_reset_leaks_nothing(void **state)
{
    (void)state;
    for (size_t max = 0; max <= 5000; max += 5000) {
        begin();
        request_until_cached();
        size_t before = released;
        faults.sendfile_max = max;
        for (int i = 0; i < 3; i++) {
            static const int errors[] = {EPIPE, ECONNRESET, ETIMEDOUT};
            faults.sendfile_error = errors[i];
            faults.sendfile_errors = MANY;
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
        faults.sendfile_errors = 0;
        assert_true(released > before);
        assert_int_equal(stage.errors_logged, 0);
        request_until_cached();
        end(); /* checks heap and descriptors */
    }
}

static void unsupported_cache_file_sends_copy(void **state)
{
    (void)state;
    for (int variant = 0; variant < 5; variant++) {
        begin();
        if (variant == 0)
            faults.memfd_error = EMFILE;
        if (variant == 1)
            faults.memfd_error = ENOSYS;
        if (variant == 2)
            faults.pwritev_error = ENOSPC;
        if (variant == 3)
            faults.release = "6.1.0-41-amd64"; /* splits pages when it sends them */
        if (variant == 4)
            faults.file_size = 4096; /* a larger write would raise a signal */
        assert_int_equal(get(GET("/often"), MANY), MANY);
        assert_responses(MANY, body);
        assert_int_equal(sendfile_calls, 0);
        assert_true(stored == 0 || variant == 2);
        assert_int_equal(stage.errors_logged, 0);
        end();
    }
    begin();
    faults.release = "7.0.1";
    request_until_cached();
    assert_true(sendfile_calls > 0);
    end();
}

static void allocation_failure_sends_copy(void **state)
{
    (void)state;
    begin();
    assert_int_equal(get(GET("/other"), MANY), MANY);
    fault_heap_arm(&stage.heap, 1, false); /* the slots */
    request_until_cached();
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
    request_until_cached();
    end();
}

static void response_cache_memory_limits_cache(void **state)
{
    (void)state;
    begin_with(0, false);
    assert_int_equal(get(GET("/often"), MANY), MANY);
    assert_int_equal(stored, 0);
    end();
    begin_with(SIZE - 1, false);
    assert_int_equal(get(GET("/often"), MANY), MANY);
    assert_responses(MANY, body);
    assert_int_equal(stored, 0);
    assert_int_equal(files, 0);
    end();
    begin_with(2 * SIZE, false);
    request_until_cached();
    uvhttp_prepared_t *first = prepared;
    size_t calls = sendfile_calls, before = stored;
    /* Another response exceeds the memory limit in the same second. */
    prepared = new_prepared("text/plain");
    assert_int_equal(get(GET("/often"), OFTEN + 1), OFTEN + 1);
    assert_responses(OFTEN + 1, body);
    /* unless a new second began */
    assert_true(stored == before ? sendfile_calls == calls : stored == before + 1);
    uvhttp_prepared_free(first);
    end();
}

static void custom_clock_disables_cache(void **state)
{
    (void)state;
    begin_with(1 << 20, true);
    for (custom_clock_ms = 0; custom_clock_ms < 3000; custom_clock_ms += 1000) {
        char date[64], expected[64];
        size_t offset = 0;
        struct raw_response got;
        assert_int_equal(get(GET("/often"), MANY), MANY);
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Date", date, sizeof(date)));
        snprintf(expected, sizeof(expected), "Thu, 01 Jan 1970 00:00:0%d GMT",
                 (int)(custom_clock_ms / 1000));
        assert_string_equal(date, expected);
    }
    assert_int_equal(stored, 0);
    end();
}

static void changed_prepared_fields_change_response(void **state)
{
    char value[16];
    size_t offset = 0;
    struct raw_response got;
    (void)state;
    begin();
    request_until_cached();
    assert_int_equal(uvhttp_prepared_add(prepared, "X-New", "1"), 0);
    assert_int_equal(get(GET("/often"), MANY), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "X-New", value, sizeof(value)));
    }
    assert_int_equal(stored, 2 + (stored > 2)); /* one more if a second ended */
    if (body_file >= 0)
        uvhttp_prepared_set_descriptor(prepared, -1, 0, 0);
    else
        uvhttp_prepared_set_body(prepared, NULL, 0);
    size_t calls = sendfile_calls;
    assert_int_equal(get(GET("/often"), MANY), MANY);
    assert_int_equal(sendfile_calls, calls);
    end();
}

/* Their ids differ by the number of slots, so they use the same slot. */
static void slot_collision_keeps_responses_apart(void **state)
{
    char type[32];
    size_t offset = 0;
    struct raw_response got;
    (void)state;
    begin();
    uvhttp_prepared_t *first = prepared, *second = new_prepared("text/html");
    request_until_cached();
    for (int i = 0; i < UVH_RESPONSE_CACHE_SLOTS - 1; i++)
        set_prepared_body(second);
    for (int i = 0; i < 2 * MANY; i++) {
        prepared = i % 2 == 0 ? second : first;
        assert_int_equal(get(GET("/often"), 1), 1);
        offset = 0;
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Content-Type", type, sizeof(type)));
        assert_string_equal(type, i % 2 == 0 ? "text/html" : "text/plain");
    }
    assert_true(stored <= 1 + files); /* one of them, once per second */
    prepared = first;
    uvhttp_prepared_free(second);
    end();
}

/* The value of Date in the last response. */
static void last_date(char date[64])
{
    size_t offset = 0;
    struct raw_response got;
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_true(raw_response_field(&got, "Date", date, 64));
}

static void new_second_updates_date_of_new_responses(void **state)
{
    struct raw_client slow = {.socket = -1};
    char before[64], after[64], date[64];
    struct raw_response got;
    size_t offset = 0;
    (void)state;
    begin();
    do { /* until all of it is within one second */
        raw_client_close(&slow, false);
        request_until_cached();
        last_date(before);
        size_t calls = sendfile_calls;
        raw_client_connect(&slow, uvhttp_server_port(stage.server), 0);
        for (int i = 0; i < OFTEN; i++)
            raw_client_send_text(&slow, GET("/often"));
        for (int i = 0; i < MAX_WAITS && sendfile_calls < calls + OFTEN; i++) {
            raw_client_step(&slow, 1); /* so that nearly all of it stays in the socket buffers */
            stage_iterate(&stage);
        }
        assert_int_equal(get(GET("/often"), 1), 1);
        last_date(after);
    } while (strcmp(before, after) != 0);
    for (int i = 0; i < MAX_WAITS && strcmp(before, after) == 0; i++) {
        stage_wait(&stage);
        assert_int_equal(get(GET("/often"), 1), 1);
        last_date(after);
    }
    request_until_cached();
    assert_int_equal(get(GET("/often"), 1), 1);
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

static void idle_cache_closes_its_files(void **state)
{
    (void)state;
    begin();
    assert_int_equal(get(GET("/none"), 1), 1);
    size_t before = stage_descriptors();
    request_until_cached();
    stage_iterations(&stage, 5);
    size_t with_file = stage_descriptors();
    for (int i = 0; i < MAX_WAITS && stage_descriptors() > before; i++)
        stage_wait(&stage);
    assert_int_equal(stage_descriptors(), before);
    assert_true(with_file <= before + 2);
    request_until_cached();
    raw_client_close(&client, false);
    /* both ends of the connection */
    for (int i = 0; i < MAX_WAITS && stage_descriptors() > before - 2; i++)
        stage_wait(&stage);
    assert_int_equal(stage_descriptors(), before - 2);
    end();
}

/* The second may not be over. The response that was stored in the closed file must not be used,
 * whichever request comes first. */
static void closed_cache_file_is_not_used(void **state)
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
        request_until_cached();
        raw_client_close(&client, false);
        for (int i = 0; i < MAX_WAITS && stage_descriptors() > before; i++)
            stage_wait(&stage);
        if (round % 2 == 0) {
            prepared = second;
            assert_int_equal(get(GET("/often"), OFTEN + 1), OFTEN + 1);
            prepared = first;
        }
        assert_int_equal(get(GET("/often"), 1), 1);
        assert_responses(1, body);
        assert_true(raw_client_response(&client, &offset, false, &got));
        assert_true(raw_response_field(&got, "Content-Type", type, sizeof(type)));
        assert_string_equal(type, "text/plain");
        raw_client_close(&client, false);
        stage_iterations(&stage, 3);
    }
    uvhttp_prepared_free(second);
    end();
}

/* A client that still receives an old response holds no file of its second. */
static void slow_clients_hold_no_cache_files(void **state)
{
    enum { SLOW = 4 };
    struct raw_client slow[SLOW];
    char before[64], now[64];
    (void)state;
    begin();
    assert_int_equal(get(GET("/other"), 1), 1);
    stage_iterations(&stage, 5);
    size_t at_first = stage_descriptors();
    stage_shrink_send_buffer(&stage, 4096);
    for (int i = 0; i < SLOW; i++) {
        request_until_cached();
        last_date(before);
        raw_client_connect(&slow[i], uvhttp_server_port(stage.server), 2048);
        for (int k = 0; k < OFTEN + 2; k++)
            raw_client_send_text(&slow[i], GET("/often"));
        for (int k = 0; k < 10; k++) {
            raw_client_step(&slow[i], 1);
            stage_iterate(&stage);
        }
        memcpy(now, before, sizeof(now));
        for (int k = 0; k < MAX_WAITS && strcmp(before, now) == 0; k++) {
            stage_wait(&stage);
            assert_int_equal(get(GET("/often"), 1), 1);
            last_date(now);
        }
    }
    assert_true(files >= SLOW);
    stage_iterations(&stage, 5); /* so that the server closes the disconnected clients */
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

/* ---- responses from files ---- */

static void unreadable_file_is_not_cached(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        begin();
        assert_int_equal(ftruncate(body_file, variant == 0 ? SIZE - 1 : SIZE), 0);
        faults.pread_error = variant == 1 ? EIO : 0;
        for (int i = 0; i < MANY; i++)
            get(GET("/often"), 1); /* a file that is too short closes the connection */
        assert_int_equal(stored, 0);
        assert_int_equal(stage.errors_logged, variant == 0 ? MANY : 0);
        assert_int_equal(ftruncate(body_file, SIZE), 0);
        assert_int_equal(pwrite(body_file, body, SIZE, 0), SIZE);
        faults.pread_error = 0;
        end();
    }
}

static void other_file_range_is_not_cached(void **state)
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
        assert_int_equal(get(GET("/often"), MANY), MANY);
        assert_responses(MANY, body);
        assert_int_equal(stored, 0);
        uvhttp_prepared_set_descriptor(prepared, other_body_file, 0, SIZE);
        assert_int_equal(get(GET("/often"), MANY), MANY);
        assert_responses(MANY, body);
        assert_int_equal(stored, 0);
        end();
    }
}

/* ---- the cache without a server ---- */

static struct uvh_cached_response *request_cached(struct uvh_response_cache *cache, uint64_t id,
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

static void frequent_response_is_cached_in_next_second(void **state)
{
    struct uvh_response_cache cache;
    (void)state;
    reset_faults();
    assert_int_equal(uvh_response_cache_threshold(SIZE), OFTEN);
    uvh_response_cache_init(&cache, uvh_alloc_default(), 1 << 20);
    assert_int_equal(request_cached(&cache, 1, 500, OFTEN - 1)->size, 0);
    assert_int_equal(request_cached(&cache, 1, 1000, OFTEN - 1)->size, 0);
    /* one request less than needed */
    assert_int_equal(request_cached(&cache, 1, 1000, OFTEN)->size, SIZE);
    assert_int_equal(request_cached(&cache, 1, 2000, OFTEN - 1)->size, 0);
    assert_int_equal(request_cached(&cache, 1, 2000, OFTEN + 1)->size, SIZE);
    assert_int_equal(request_cached(&cache, 1, 3000, 1)->size, SIZE);
    uvh_response_cache_expire(&cache, 3000);
    /* in the second before it had too few requests */
    assert_int_equal(request_cached(&cache, 1, 4000, 1)->size, 0);
    uvh_response_cache_expire(&cache, 4000);
    assert_int_equal(request_cached(&cache, 1, 5000, 2 * OFTEN)->size, SIZE);
    uvh_response_cache_expire(&cache, 5000);
    assert_int_equal(request_cached(&cache, 1, 6000, OFTEN + 1)->size, SIZE);
    assert_int_equal(request_cached(&cache, 1, 7000, 1)->size, SIZE);
    request_cached(&cache, 1, 7000, OFTEN);
    /* It uses the slot of a response that was cached. */
    assert_int_equal(request_cached(&cache, 1 + UVH_RESPONSE_CACHE_SLOTS, 8000, 1)->size, 0);
    uvh_response_cache_release(&cache);
}

/* After a second without requests, its file may no longer be in memory. */
static void response_of_earlier_second_is_counted_again(void **state)
{
    struct uvh_response_cache cache;
    (void)state;
    reset_faults();
    uvh_response_cache_init(&cache, uvh_alloc_default(), 1 << 20);
    assert_int_equal(request_cached(&cache, 1, 1000, 2 * OFTEN)->size, SIZE);
    assert_int_equal(request_cached(&cache, 2, 2000, 1)->size, 0); /* another response */
    assert_int_equal(request_cached(&cache, 1, 3000, 1)->size, 0);
    assert_int_equal(request_cached(&cache, 1, 3000, 2 * OFTEN)->size, SIZE);
    assert_int_equal(request_cached(&cache, 1, 9000, 1)->size, 0);
    uvh_response_cache_release(&cache);
}

static int setup(void **state)
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

static int setup_files(void **state)
{
    setup(state);
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
        cmocka_unit_test(frequent_response_is_cached_in_next_second),
        cmocka_unit_test(response_of_earlier_second_is_counted_again),
        cmocka_unit_test(frequent_response_is_sent_from_cache),
        cmocka_unit_test(unprepared_response_is_not_cached),
        cmocka_unit_test(batched_response_precedes_cached_response),
        cmocka_unit_test(cached_response_without_memory_closes_connection),
        cmocka_unit_test(short_sendfile_completes_cached_response),
        cmocka_unit_test(client_reset_leaks_nothing),
        cmocka_unit_test(unsupported_cache_file_sends_copy),
        cmocka_unit_test(allocation_failure_sends_copy),
        cmocka_unit_test(response_cache_memory_limits_cache),
        cmocka_unit_test(custom_clock_disables_cache),
        cmocka_unit_test(changed_prepared_fields_change_response),
        cmocka_unit_test(slot_collision_keeps_responses_apart),
        cmocka_unit_test(new_second_updates_date_of_new_responses),
        cmocka_unit_test(idle_cache_closes_its_files),
        cmocka_unit_test(closed_cache_file_is_not_used),
        cmocka_unit_test(slow_clients_hold_no_cache_files),
    };
    const struct CMUnitTest from_files[] = {
        cmocka_unit_test(frequent_response_is_sent_from_cache),
        cmocka_unit_test(unprepared_response_is_not_cached),
        cmocka_unit_test(batched_response_precedes_cached_response),
        cmocka_unit_test(cached_response_without_memory_closes_connection),
        cmocka_unit_test(short_sendfile_completes_cached_response),
        cmocka_unit_test(client_reset_leaks_nothing),
        cmocka_unit_test(unsupported_cache_file_sends_copy),
        cmocka_unit_test(allocation_failure_sends_copy),
        cmocka_unit_test(response_cache_memory_limits_cache),
        cmocka_unit_test(custom_clock_disables_cache),
        cmocka_unit_test(changed_prepared_fields_change_response),
        cmocka_unit_test(slot_collision_keeps_responses_apart),
        cmocka_unit_test(new_second_updates_date_of_new_responses),
        cmocka_unit_test(idle_cache_closes_its_files),
        cmocka_unit_test(closed_cache_file_is_not_used),
        cmocka_unit_test(slow_clients_hold_no_cache_files),
        cmocka_unit_test(unreadable_file_is_not_cached),
        cmocka_unit_test(other_file_range_is_not_cached),
    };
    int failed = cmocka_run_group_tests(from_memory, setup, NULL);
    return failed + cmocka_run_group_tests(from_files, setup_files, close_files);
}
