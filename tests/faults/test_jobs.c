/* Jobs of responses: two lanes that do not delay each other, full queues, the lane of each kind of
 * work, and threads that cannot be created. Each lane has one thread, which a request can block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/server.h"
#include "support/failing_threads.h"
#include "support/stage.h"

enum { LARGE = 2000000, MAX_CLIENTS = 8, MAX_ALLOCATIONS = 1000 };

static struct stage stage;
static struct raw_client clients[MAX_CLIENTS];
static char directory[] = "/tmp/uvhttp-jobs-XXXXXX";
static uvhttp_response_t *pending_response;

/* ---- handlers and files ---- */

static struct lane {
    uv_sem_t started, gate;
} lanes[UVH_LANE_COUNT];

static atomic_int jobs_run;
static pthread_t job_thread;

static void block(void *arg)
{
    struct lane *lane = arg;
    uv_sem_post(&lane->started);
    uv_sem_wait(&lane->gate);
}

static int send_result;

static int send_released(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return send_result = uvhttp_response_send_text(response, 200, "released");
}

static int block_quick(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer(response, block, send_released, &lanes[UVH_LANE_QUICK]);
}

static int block_heavy(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer_heavy(response, block, send_released, &lanes[UVH_LANE_HEAVY]);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int keep_pending(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    pending_response = response;
    return 0;
}

static void work(void *arg)
{
    (void)arg;
    job_thread = pthread_self();
    atomic_fetch_add(&jobs_run, 1);
}

static int do_nothing(uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return 0;
}

static int end_body(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_end(response);
}

static char messages[8]; /* one character for each message that ran */

static void add_message(uvhttp_server_t *server, size_t worker, void *arg)
{
    size_t length = strlen(messages);
    (void)server, (void)worker;
    assert_true(length + 1 < sizeof(messages));
    messages[length] = *(const char *)arg;
}

static int post_second(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_server_post(stage.server, 0, add_message, "2"), 0);
    return 0;
}

static int block_then_post(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer(response, block, post_second, &lanes[UVH_LANE_QUICK]);
}

static void path_of(const char *name, char path[96])
{
    snprintf(path, 96, "%s/%s", directory, name);
}

static void write_file(const char *name, size_t size)
{
    char path[96];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        fputc("compressible "[i % 13], file);
    assert_int_equal(fclose(file), 0);
}

static int make_dir(void **state)
{
    char path[96];
    (void)state;
    assert_non_null(mkdtemp(directory));
    write_file("small.html", 100);
    write_file("text.txt", 20000);
    path_of("sub", path);
    assert_int_equal(mkdir(path, 0755), 0);
    write_file("sub/large.bin", LARGE);
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"small.html", "text.txt", "sub/large.bin", "put.txt"};
    char path[96];
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        path_of(names[i], path);
        unlink(path);
    }
    path_of("sub", path);
    assert_int_equal(rmdir(path), 0);
    return rmdir(directory);
}

/* ---- setup and teardown ---- */

static void begin_without_server(void)
{
    char uploaded[96];
    path_of("put.txt", uploaded);
    unlink(uploaded);
    failing_threads_reset();
    stage_begin(&stage);
    stage.config->quick_threads = stage.config->heavy_threads = 1;
    stage.config->quick_queue = stage.config->heavy_queue = 1;
    jobs_run = 0;
    for (size_t i = 0; i < UVH_LANE_COUNT; i++) {
        assert_int_equal(uv_sem_init(&lanes[i].started, 0), 0);
        assert_int_equal(uv_sem_init(&lanes[i].gate, 0), 0);
    }
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        clients[i] = (struct raw_client){.socket = -1};
}

static void build(void)
{
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", hello, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/quick", block_quick, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/heavy", block_heavy, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/keep", keep_pending, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/post", block_then_post, NULL), 0);
    const uvhttp_route_t late = {
        .pattern = "/late", .handler = keep_pending, .handler_timeout = 1, .timeout_status = 504};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &late), 0);
    const uvhttp_static_options_t files = {.root = directory,
                                           .listing = true,
                                           .archive = true,
                                           .compress = UVHTTP_TESTS_COMPRESSION,
                                           .uploads = true,
                                           .upload_overwrite = true,
                                           .allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_static_mount(stage.server, "/files/", &files, NULL), 0);
}

static void begin(void)
{
    begin_without_server();
    build();
    stage_listen(&stage);
}

static void end(void)
{
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        raw_client_close(&clients[i], false);
    stage_end(&stage);
    assert_int_equal(failing_threads_alive(), 0);
    for (size_t i = 0; i < UVH_LANE_COUNT; i++) {
        uv_sem_destroy(&lanes[i].started);
        uv_sem_destroy(&lanes[i].gate);
    }
}

/* ---- requests ---- */

static void send_request(size_t index, const char *request)
{
    if (clients[index].socket < 0)
        raw_client_connect(&clients[index], uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&clients[index], request);
    for (int iteration = 0; iteration < 20; iteration++) {
        raw_client_step(&clients[index], 100000);
        stage_iterate(&stage);
    }
}

static void send_get(size_t index, const char *target)
{
    char request[256];
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", target);
    send_request(index, request);
}

/* Returns the status of the response. `retry` is set if it has "Retry-After: 1". */
static int status_of(size_t index, bool *retry)
{
    size_t offset = 0;
    char value[16];
    struct raw_response response;
    assert_int_equal(stage_drive_responses(&stage, &clients[index], 100000, 1), 1);
    assert_true(raw_client_response(&clients[index], &offset, false, &response));
    clients[index].received = 0;
    *retry = raw_response_field(&response, "Retry-After", value, sizeof(value)) &&
             strcmp(value, "1") == 0;
    return response.status;
}

static void assert_status(size_t index, int status)
{
    bool retry;
    assert_int_equal(status_of(index, &retry), status);
    assert_int_equal(retry, status == 503);
}

static const uvhttp_job_stats_t *counts_of(enum uvh_lane lane)
{
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    return lane == UVH_LANE_QUICK ? &stats->quick_jobs : &stats->heavy_jobs;
}

static void wait_for_counts(enum uvh_lane lane, uint64_t pending, uint64_t running)
{
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        const uvhttp_job_stats_t *counts = counts_of(lane);
        if (counts->pending == pending && counts->running == running)
            return;
        stage_wait(&stage);
    }
    fail_msg("%llu pending and %llu running", (unsigned long long)counts_of(lane)->pending,
             (unsigned long long)counts_of(lane)->running);
}

/* Waits until a blocking job runs in the lane. */
static void wait_until_blocked(enum uvh_lane lane)
{
    for (int iteration = 0; uv_sem_trywait(&lanes[lane].started) != 0; iteration++) {
        assert_true(iteration < STAGE_MAX_ITERATIONS);
        stage_wait(&stage);
    }
}

/* A job of client `index` blocks the lane's thread. */
static void block_lane(size_t index, enum uvh_lane lane)
{
    send_get(index, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
    wait_until_blocked(lane);
    wait_for_counts(lane, 0, 1);
}

/* The same, and a job of client `index` + 1 fills the queue. */
static void fill_lane(size_t index, enum uvh_lane lane)
{
    block_lane(index, lane);
    send_get(index + 1, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
    wait_for_counts(lane, 1, 1);
}

static void release_lane(enum uvh_lane lane, int jobs)
{
    while (jobs-- > 0)
        uv_sem_post(&lanes[lane].gate);
}

static void drain_lane(size_t index, enum uvh_lane lane)
{
    release_lane(lane, 2);
    assert_status(index, 200);
    assert_status(index + 1, 200);
    wait_for_counts(lane, 0, 0);
}

/* ---- lanes ---- */

static void full_heavy_lane_does_not_delay_lookup(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    send_get(2, "/files/small.html");
    assert_status(2, 200);
    send_get(2, "/files/nowhere");
    assert_status(2, 404);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->pending, 1);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->running, 1);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->rejected, 0);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

static void full_quick_lane_does_not_delay_heavy_job(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    block_lane(2, UVH_LANE_HEAVY);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_QUICK);
    end();
}

static void job_after_handler_timeout_gets_edisconnected(void **state)
{
    bool retry;
    (void)state;
    begin_without_server();
    stage.config->handler_timeout = 1;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_QUICK);
    assert_int_equal(status_of(0, &retry), 503);
    release_lane(UVH_LANE_QUICK, 1);
    wait_for_counts(UVH_LANE_QUICK, 0, 0);
    stage_iterations(&stage, 5);
    assert_int_equal(send_result, UVHTTP_EDISCONNECTED);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

static void late_route_has_its_own_status(void **state)
{
    (void)state;
    begin();
    send_get(0, "/late");
    assert_status(0, 504);
    end();
}

/* For example fsync of a large upload. The timeout still applies to what follows the job. */
static void heavy_job_outlasts_handler_timeout(void **state)
{
    (void)state;
    begin_without_server();
    stage.config->handler_timeout = 1;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    uint64_t end_ms = uv_now(&stage.loop) + 2000;
    while (uv_now(&stage.loop) < end_ms)
        stage_iterate(&stage);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(0, 200);
    assert_int_equal(send_result, 0);
    end();
}

static void reject_in(enum uvh_lane lane, enum uvh_lane other)
{
    begin();
    for (size_t round = 1; round <= 2; round++) {
        fill_lane(0, lane);
        for (size_t i = 0; i < 3; i++) {
            send_get(2, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
            assert_status(2, 503);
        }
        assert_int_equal(counts_of(lane)->rejected, 3 * round);
        assert_int_equal(counts_of(lane)->pending, 1);
        /* logged once until the queue has space again */
        assert_int_equal(stage.warnings_logged, round);
        drain_lane(0, lane);
    }
    assert_int_equal(counts_of(other)->rejected, 0);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

static void full_queue_gets_503_with_retry_after(void **state)
{
    (void)state;
    reject_in(UVH_LANE_QUICK, UVH_LANE_HEAVY);
    reject_in(UVH_LANE_HEAVY, UVH_LANE_QUICK);
}

static void static_lookup_with_full_queue_gets_503(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    send_get(2, "/files/small.html");
    assert_status(2, 503);
    drain_lane(0, UVH_LANE_QUICK);
    send_get(2, "/files/small.html");
    assert_status(2, 200);
    fill_lane(0, UVH_LANE_QUICK); /* a cached file needs no job */
    send_get(2, "/files/small.html");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_QUICK);
    end();
}

/* ---- jobs above the limit ---- */

static void full_queue_rejects_first_job(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    send_get(2, "/keep");
    assert_int_equal(uvhttp_response_defer(pending_response, work, send_released, NULL),
                     UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_defer(pending_response, work, send_released, NULL),
                     UVHTTP_EFULL);
    assert_true(uvhttp_response_open(pending_response));
    /* the other queue has space */
    assert_int_equal(uvhttp_response_defer_heavy(pending_response, work, send_released, NULL), 0);
    assert_status(2, 200);
    assert_int_equal(jobs_run, 1);
    drain_lane(0, UVH_LANE_QUICK);
    assert_int_equal(jobs_run, 1);
    end();
}

static void full_queue_accepts_job_of_begun_response(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    send_get(2, "/keep");
    assert_int_equal(uvhttp_response_defer_heavy(pending_response, work, end_body, NULL),
                     UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_begin(pending_response, 200, NULL, UVHTTP_LENGTH_UNKNOWN), 0);
    assert_int_equal(uvhttp_response_defer_heavy(pending_response, work, end_body, NULL), 0);
    wait_for_counts(UVH_LANE_HEAVY, 2, 1);
    drain_lane(0, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(jobs_run, 1);
    end();
}

static void full_queue_accepts_further_jobs(void **state)
{
    (void)state;
    begin();
    send_get(2, "/keep");
    assert_int_equal(uvhttp_response_defer(pending_response, work, do_nothing, NULL), 0);
    wait_for_counts(UVH_LANE_QUICK, 0, 0);
    fill_lane(0, UVH_LANE_QUICK);
    fill_lane(3, UVH_LANE_HEAVY);
    assert_int_equal(uvhttp_response_defer_heavy(pending_response, work, send_released, NULL),
                     UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_defer(pending_response, work, send_released, NULL), 0);
    drain_lane(0, UVH_LANE_QUICK);
    drain_lane(3, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(jobs_run, 2);
    end();
}

static void full_queue_accepts_clean_up(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    send_get(2, "/keep");
    uvhttp_response_clean_up(pending_response, work, NULL);
    assert_int_equal(jobs_run, 0);
    wait_for_counts(UVH_LANE_QUICK, 2, 1);
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "sent"), 0);
    assert_status(2, 200);
    assert_int_equal(jobs_run, 0);
    drain_lane(0, UVH_LANE_QUICK);
    assert_int_equal(jobs_run, 1);
    assert_false(pthread_equal(job_thread, pthread_self()));
    end();
}

static void clean_up_after_heavy_job_is_heavy(void **state)
{
    (void)state;
    begin();
    send_get(2, "/keep");
    assert_int_equal(uvhttp_response_defer_heavy(pending_response, work, do_nothing, NULL), 0);
    wait_for_counts(UVH_LANE_HEAVY, 0, 0);
    fill_lane(0, UVH_LANE_HEAVY);
    uvhttp_response_clean_up(pending_response, work, NULL);
    wait_for_counts(UVH_LANE_HEAVY, 2, 1);
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "sent"), 0);
    drain_lane(0, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(jobs_run, 2);
    end();
}

/* ---- heavy jobs ---- */

struct heavy_case {
    const char *request;
    int status;      /* in a queue with space */
    int full_status; /* with a full queue */
};

static const struct heavy_case heavy_cases[] = {
    {"GET /files/sub/ HTTP/1.1\r\nHost: h\r\n\r\n", 200, 503},
    {"GET /files/sub/?format=tar HTTP/1.1\r\nHost: h\r\n\r\n", 200, 503},
    {"PUT /files/put.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 201, 503},
    {"GET /files/text.txt HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", 200, 200},
};

/* The last one needs compression. */
enum { HEAVY_CASES = UVH_COUNT_OF(heavy_cases) - !UVHTTP_TESTS_COMPRESSION };

static void static_heavy_work_uses_heavy_lane(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEAVY_CASES; i++) {
        begin();
        block_lane(0, UVH_LANE_HEAVY);
        send_request(2, heavy_cases[i].request);
        wait_for_counts(UVH_LANE_HEAVY, 1, 1);
        wait_for_counts(UVH_LANE_QUICK, 0, 0);
        assert_int_equal(clients[2].received, 0);
        release_lane(UVH_LANE_HEAVY, 1);
        assert_status(2, heavy_cases[i].status);
        assert_status(0, 200);
        end();
    }
}

static void static_heavy_work_with_full_queue(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEAVY_CASES; i++) {
        begin();
        fill_lane(0, UVH_LANE_HEAVY);
        send_request(2, heavy_cases[i].request);
        assert_status(2, heavy_cases[i].full_status);
        assert_int_equal(counts_of(UVH_LANE_HEAVY)->rejected, 1);
        drain_lane(0, UVH_LANE_HEAVY);
        end();
    }
}

static void listing_stylesheet_needs_no_heavy_job(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    send_get(2, "/files/sub/?format=css");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

/* An upload has two jobs. A job that blocks the lane runs between them, and another one after
 * them. */
static void upload_write_and_publish_use_heavy_lane(void **state)
{
    (void)state;
    begin_without_server();
    stage.config->heavy_queue = 2;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    send_request(2, "PUT /files/put.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    wait_for_counts(UVH_LANE_HEAVY, 1, 1);
    send_get(1, "/heavy");
    wait_for_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(0, 200);
    wait_until_blocked(UVH_LANE_HEAVY);
    wait_for_counts(UVH_LANE_HEAVY, 1, 1);
    wait_for_counts(UVH_LANE_QUICK, 0, 0);
    send_get(0, "/heavy");
    wait_for_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(1, 200);
    assert_status(2, 201);
    wait_until_blocked(UVH_LANE_HEAVY);
    wait_for_counts(UVH_LANE_HEAVY, 0, 1); /* no clean-up job is left */
    send_get(2, "/");
    assert_status(2, 200);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(0, 200);
    end();
}

/* A short listing has one job. A job that blocks the lane follows it. */
static void request_after_listing_waits_for_no_job(void **state)
{
    (void)state;
    begin_without_server();
    stage.config->heavy_queue = 2;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    send_get(2, "/files/sub/");
    wait_for_counts(UVH_LANE_HEAVY, 1, 1);
    send_get(1, "/heavy");
    wait_for_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(2, 200);
    wait_until_blocked(UVH_LANE_HEAVY);
    wait_for_counts(UVH_LANE_HEAVY, 0, 1);
    send_get(2, "/");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

static void password_hashing_uses_heavy_lane(void **state)
{
    (void)state;
    static const uvhttp_hashed_user_t users[] = {
        {"me", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"}};
    const char *request =
        "GET /staff HTTP/1.1\r\nHost: h\r\nAuthorization: Basic bWU6c2VjcmV0\r\n\r\n";
    uvhttp_passwords_t *passwords;
    uvhttp_auth_t *auth;
    uvhttp_router_t *group;
    if (uvhttp_passwords_new(&passwords,
                             &(uvhttp_passwords_options_t){.users = users, .user_count = 1},
                             NULL) == UVHTTP_ENOTSUP)
        skip();
    assert_int_equal(uvhttp_auth_new(&auth,
                                     &(uvhttp_auth_options_t){.realm = "staff",
                                                              .check_basic = uvhttp_passwords_check,
                                                              .arg = passwords},
                                     NULL),
                     0);
    begin_without_server();
    build();
    assert_int_equal(uvhttp_router_group(uvhttp_server_router(stage.server), "/staff", &group), 0);
    assert_int_equal(uvhttp_router_use(group, uvhttp_auth_handle_request, auth), 0);
    assert_int_equal(uvhttp_router_add_route(group, "", hello), 0);
    stage_listen(&stage);
    fill_lane(0, UVH_LANE_HEAVY);
    send_request(2, request);
    assert_status(2, 503);
    drain_lane(0, UVH_LANE_HEAVY);
    block_lane(0, UVH_LANE_HEAVY);
    send_request(2, request);
    wait_for_counts(UVH_LANE_HEAVY, 1, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(2, 200);
    assert_status(0, 200);
    end();
    uvhttp_auth_free(auth);
    uvhttp_passwords_free(passwords);
}

/* The queue fills up while the client reads slowly. The archive waits in the queue and is
 * complete. */
static void archive_with_full_queue_is_complete(void **state)
{
    (void)state;
    begin();
    stage_shrink_send_buffer(&stage, 8192);
    raw_client_connect(&clients[2], uvhttp_server_port(stage.server), 8192);
    raw_client_send_text(&clients[2], "GET /files/sub/?format=tar HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS && clients[2].received == 0;
         iteration++) {
        raw_client_step(&clients[2], 100);
        stage_wait(&stage);
    }
    wait_for_counts(UVH_LANE_HEAVY, 0, 0);
    fill_lane(0, UVH_LANE_HEAVY);
    for (int iteration = 0;
         iteration < STAGE_MAX_ITERATIONS && counts_of(UVH_LANE_HEAVY)->pending < 2; iteration++) {
        raw_client_step(&clients[2], 100000);
        stage_wait(&stage);
    }
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->pending, 2);
    release_lane(UVH_LANE_HEAVY, 2);
    size_t offset = 0;
    struct raw_response response;
    assert_int_equal(stage_drive_responses(&stage, &clients[2], 100000, 1), 1);
    assert_true(raw_client_response(&clients[2], &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_true(response.body_length > LARGE && response.body_length % 512 == 0);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->rejected, 0);
    end();
}

/* The end of the job frees the last connection of a stopping server, while a message is queued. */
static void stopping_server_runs_messages_in_order(void **state)
{
    (void)state;
    begin();
    memset(messages, 0, sizeof(messages));
    send_get(0, "/post");
    uv_sem_wait(&lanes[UVH_LANE_QUICK].started);
    raw_client_close(&clients[0], true);
    stage_iterations(&stage, 20);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 0);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    uv_sem_post(&lanes[UVH_LANE_QUICK].gate);
    /* the job has completed, but the loop does not run */
    while (counts_of(UVH_LANE_QUICK)->running > 0)
        ;
    assert_int_equal(uvhttp_server_post(stage.server, 0, add_message, "1"), 0);
    stage_iterations(&stage, 20);
    assert_string_equal(messages, "12");
    assert_int_equal(uvhttp_server_post(stage.server, 0, add_message, "3"), UVHTTP_ESTOPPED);
    end();
}

/* ---- threads ---- */

static void thread_creation_failure_fails_listen(void **state)
{
    (void)state;
    begin_without_server();
    stage.config->quick_threads = 3;
    stage.config->heavy_threads = 2;
    stage.config->handshake_threads = 1;
    build();
    size_t descriptors = stage_descriptors();
    for (size_t n = 1; n <= 6; n++) {
        failing_threads_fail_at(n);
        assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UV_EAGAIN);
        assert_int_equal(stage.errors_logged, n);
        assert_string_equal(stage.last_error, "cannot create the threads for jobs (quick_threads: "
                                              "3, heavy_threads: 2, handshake_threads: 1): "
                                              "resource temporarily unavailable");
        assert_int_equal(failing_threads_alive(), 0);
        assert_int_equal(uvhttp_server_port(stage.server), 0);
        assert_int_equal(stage_descriptors(), descriptors);
        assert_int_equal(uvhttp_server_run(stage.server), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_server_stats(stage.server)->quick_jobs.running, 0);
    }
    failing_threads_reset();
    stage_listen(&stage);
    assert_int_equal(failing_threads_created(), 6);
    stage_listen(&stage); /* on another port, with the same threads */
    assert_int_equal(failing_threads_created(), 6);
    send_get(0, "/files/small.html");
    assert_status(0, 200);
    end();
}

static void failed_listen_leaves_no_threads(void **state)
{
    (void)state;
    bool listening = false;
    for (size_t n = 1; n < MAX_ALLOCATIONS && !listening; n++) {
        begin_without_server();
        build();
        fault_heap_arm(&stage.heap, n, false);
        int err = uvhttp_server_listen(stage.server, "127.0.0.1", 0);
        listening = atomic_load(&stage.heap.failures) == 0;
        assert_int_equal(err, listening ? 0 : UVHTTP_ENOMEM);
        fault_heap_arm(&stage.heap, 0, false);
        if (uvh_server_of(stage.server)->life == UVH_SERVER_NEW)
            assert_int_equal(failing_threads_alive(), 0);
        stage_listen(&stage);
        send_get(0, "/files/small.html");
        assert_status(0, 200);
        end();
    }
    assert_true(listening);
}

static void streams_before_listen_create_no_threads(void **state)
{
    (void)state;
    begin_without_server();
    build();
    assert_int_equal(uvh_server_start_for_streams(uvh_server_of(stage.server)), 0);
    assert_int_equal(failing_threads_created(), 0);
    assert_int_equal(uvhttp_server_stats(stage.server)->heavy_jobs.running, 0);
    failing_threads_fail_at(2);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UV_EAGAIN);
    assert_int_equal(failing_threads_alive(), 0);
    assert_int_equal(uvh_server_start_for_streams(uvh_server_of(stage.server)), 0);
    failing_threads_reset();
    stage_listen(&stage);
    assert_int_equal(failing_threads_created(), 2);
    send_get(0, "/files/small.html");
    assert_status(0, 200);
    end();
}

static void workers_share_job_threads(void **state)
{
    (void)state;
    begin_without_server();
    stage.config->workers = 3;
    stage.config->quick_threads = 2;
    stage.config->heavy_threads = 0;
    size_t heavy = uvhttp_core_count() < 4 ? uvhttp_core_count() : 4;
    stage.server = uvhttp_server_new_with(NULL, stage.config);
    assert_non_null(stage.server);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), 0);
    assert_int_equal(failing_threads_created(), 2 + heavy);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_heavy_lane_does_not_delay_lookup),
        cmocka_unit_test(full_quick_lane_does_not_delay_heavy_job),
        cmocka_unit_test(job_after_handler_timeout_gets_edisconnected),
        cmocka_unit_test(late_route_has_its_own_status),
        cmocka_unit_test(heavy_job_outlasts_handler_timeout),
        cmocka_unit_test(full_queue_gets_503_with_retry_after),
        cmocka_unit_test(static_lookup_with_full_queue_gets_503),
        cmocka_unit_test(full_queue_rejects_first_job),
        cmocka_unit_test(full_queue_accepts_job_of_begun_response),
        cmocka_unit_test(full_queue_accepts_further_jobs),
        cmocka_unit_test(full_queue_accepts_clean_up),
        cmocka_unit_test(clean_up_after_heavy_job_is_heavy),
        cmocka_unit_test(static_heavy_work_uses_heavy_lane),
        cmocka_unit_test(static_heavy_work_with_full_queue),
        cmocka_unit_test(listing_stylesheet_needs_no_heavy_job),
        cmocka_unit_test(upload_write_and_publish_use_heavy_lane),
        cmocka_unit_test(request_after_listing_waits_for_no_job),
        cmocka_unit_test(password_hashing_uses_heavy_lane),
        cmocka_unit_test(archive_with_full_queue_is_complete),
        cmocka_unit_test(stopping_server_runs_messages_in_order),
        cmocka_unit_test(thread_creation_failure_fails_listen),
        cmocka_unit_test(failed_listen_leaves_no_threads),
        cmocka_unit_test(streams_before_listen_create_no_threads),
        cmocka_unit_test(workers_share_job_threads),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
