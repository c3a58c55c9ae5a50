/* Jobs of responses: two lanes that do not delay each other, what happens when a queue is full,
 * which work goes where, and threads that cannot be created. The lanes have one thread each,
 * which a request can block. */
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

enum { LARGE = 2000000, MOST_CLIENTS = 8, MOST_ALLOCATIONS = 1000 };

static struct stage stage;
static struct raw_client clients[MOST_CLIENTS];
static char directory[] = "/tmp/uvhttp-jobs-XXXXXX";
static uvhttp_response_t *kept;

/* ---- the site ---- */

static struct lane {
    uv_sem_t started, gate;
} lanes[UVH_LANE_COUNT];

static atomic_int ran;
static pthread_t ran_on;

static void block(void *arg)
{
    struct lane *lane = arg;
    uv_sem_post(&lane->started);
    uv_sem_wait(&lane->gate);
}

static int sent;

static int released(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return sent = uvhttp_response_send_text(response, 200, "released");
}

static int block_quick(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer(response, block, released, &lanes[UVH_LANE_QUICK]);
}

static int block_heavy(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer_heavy(response, block, released, &lanes[UVH_LANE_HEAVY]);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int keep(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    kept = response;
    return 0;
}

static void work(void *arg)
{
    (void)arg;
    ran_on = pthread_self();
    atomic_fetch_add(&ran, 1);
}

static int wait_on(uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return 0;
}

static int end_body(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_end(response);
}

static char posts[8]; /* a character for each post that ran */

static void note_post(uvhttp_server_t *server, size_t worker, void *arg)
{
    size_t length = strlen(posts);
    (void)server, (void)worker;
    assert_true(length + 1 < sizeof(posts));
    posts[length] = *(const char *)arg;
}

static int post_second(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_server_post(stage.server, 0, note_post, "2"), 0);
    return 0;
}

static int block_then_post(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer(response, block, post_second, &lanes[UVH_LANE_QUICK]);
}

static void in_folder(const char *name, char path[96])
{
    snprintf(path, 96, "%s/%s", directory, name);
}

static void write_file(const char *name, size_t size)
{
    char path[96];
    in_folder(name, path);
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
    in_folder("sub", path);
    assert_int_equal(mkdir(path, 0755), 0);
    write_file("sub/large.bin", LARGE);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"small.html", "text.txt", "sub/large.bin", "put.txt"};
    char path[96];
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        in_folder(names[i], path);
        unlink(path);
    }
    in_folder("sub", path);
    assert_int_equal(rmdir(path), 0);
    return rmdir(directory);
}

/* ---- beginning and ending ---- */

static void begin_unheard(void)
{
    char uploaded[96];
    in_folder("put.txt", uploaded);
    unlink(uploaded);
    failing_threads_reset();
    stage_begin(&stage);
    stage.config->quick_threads = stage.config->heavy_threads = 1;
    stage.config->quick_queue = stage.config->heavy_queue = 1;
    ran = 0;
    for (size_t i = 0; i < UVH_LANE_COUNT; i++) {
        assert_int_equal(uv_sem_init(&lanes[i].started, 0), 0);
        assert_int_equal(uv_sem_init(&lanes[i].gate, 0), 0);
    }
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        clients[i] = (struct raw_client){.socket = -1};
}

static void build(void)
{
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", hello, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/quick", block_quick, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/heavy", block_heavy, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/keep", keep, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/post", block_then_post, NULL), 0);
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
    begin_unheard();
    build();
    stage_listen(&stage);
}

static void end(void)
{
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        raw_client_close(&clients[i], false);
    stage_end(&stage);
    assert_int_equal(failing_threads_alive(), 0);
    for (size_t i = 0; i < UVH_LANE_COUNT; i++) {
        uv_sem_destroy(&lanes[i].started);
        uv_sem_destroy(&lanes[i].gate);
    }
}

/* ---- asking ---- */

static void send_request(size_t index, const char *request)
{
    if (clients[index].socket < 0)
        raw_client_connect(&clients[index], uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&clients[index], request);
    for (int turn = 0; turn < 20; turn++) {
        raw_client_step(&clients[index], 100000);
        stage_iterate(&stage);
    }
}

static void ask(size_t index, const char *target)
{
    char request[256];
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", target);
    send_request(index, request);
}

/* The status of the answer; `retry` says whether it has "Retry-After: 1". */
static int status_of(size_t index, bool *retry)
{
    size_t offset = 0;
    char value[16];
    struct raw_response answer;
    assert_int_equal(stage_drive_responses(&stage, &clients[index], 100000, 1), 1);
    assert_true(raw_client_response(&clients[index], &offset, false, &answer));
    clients[index].received = 0;
    *retry =
        raw_response_field(&answer, "Retry-After", value, sizeof(value)) && strcmp(value, "1") == 0;
    return answer.status;
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

static void await_counts(enum uvh_lane lane, uint64_t pending, uint64_t running)
{
    for (int turn = 0; turn < STAGE_MAX_ITERATIONS; turn++) {
        const uvhttp_job_stats_t *counts = counts_of(lane);
        if (counts->pending == pending && counts->running == running)
            return;
        stage_wait(&stage);
    }
    fail_msg("%llu pending and %llu running", (unsigned long long)counts_of(lane)->pending,
             (unsigned long long)counts_of(lane)->running);
}

/* A job that blocks the lane has its thread. */
static void await_blocked(enum uvh_lane lane)
{
    for (int turn = 0; uv_sem_trywait(&lanes[lane].started) != 0; turn++) {
        assert_true(turn < STAGE_MAX_ITERATIONS);
        stage_wait(&stage);
    }
}

/* Client `index` has the lane's thread from now on. */
static void block_lane(size_t index, enum uvh_lane lane)
{
    ask(index, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
    await_blocked(lane);
    await_counts(lane, 0, 1);
}

/* The same, and client `index` + 1 has the place in the queue. */
static void fill_lane(size_t index, enum uvh_lane lane)
{
    block_lane(index, lane);
    ask(index + 1, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
    await_counts(lane, 1, 1);
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
    await_counts(lane, 0, 0);
}

/* ---- lanes ---- */

static void quick_lookup_is_answered_while_heavy_lane_is_full(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    ask(2, "/files/small.html");
    assert_status(2, 200);
    ask(2, "/files/nowhere");
    assert_status(2, 404);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->pending, 1);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->running, 1);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->rejected, 0);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

static void heavy_job_runs_while_quick_lane_is_full(void **state)
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

static void job_behind_its_timeout_hears_that_its_response_is_gone(void **state)
{
    bool retry;
    (void)state;
    begin_unheard();
    stage.config->handler_timeout = 1;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    assert_int_equal(status_of(0, &retry), 503);
    release_lane(UVH_LANE_HEAVY, 1);
    await_counts(UVH_LANE_HEAVY, 0, 0);
    stage_iterations(&stage, 5);
    assert_int_equal(sent, UVHTTP_EDISCONNECTED);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

static void refuse_in(enum uvh_lane lane, enum uvh_lane other)
{
    begin();
    for (size_t round = 1; round <= 2; round++) {
        fill_lane(0, lane);
        for (size_t i = 0; i < 3; i++) {
            ask(2, lane == UVH_LANE_QUICK ? "/quick" : "/heavy");
            assert_status(2, 503);
        }
        assert_int_equal(counts_of(lane)->rejected, 3 * round);
        assert_int_equal(counts_of(lane)->pending, 1);
        assert_int_equal(stage.warnings_logged, round); /* once, until there was room again */
        drain_lane(0, lane);
    }
    assert_int_equal(counts_of(other)->rejected, 0);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

static void full_queue_gets_503_with_retry_after(void **state)
{
    (void)state;
    refuse_in(UVH_LANE_QUICK, UVH_LANE_HEAVY);
    refuse_in(UVH_LANE_HEAVY, UVH_LANE_QUICK);
}

static void static_lookup_gets_503_when_quick_queue_is_full(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    ask(2, "/files/small.html");
    assert_status(2, 503);
    drain_lane(0, UVH_LANE_QUICK);
    ask(2, "/files/small.html");
    assert_status(2, 200);
    fill_lane(0, UVH_LANE_QUICK); /* what is cached needs no job */
    ask(2, "/files/small.html");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_QUICK);
    end();
}

/* ---- beyond the limit ---- */

static void full_queue_takes_nothing_of_a_new_response(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    ask(2, "/keep");
    assert_int_equal(uvhttp_response_defer(kept, work, released, NULL), UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_defer(kept, work, released, NULL), UVHTTP_EFULL);
    assert_true(uvhttp_response_open(kept));
    /* there is room */
    assert_int_equal(uvhttp_response_defer_heavy(kept, work, released, NULL), 0);
    assert_status(2, 200);
    assert_int_equal(ran, 1);
    drain_lane(0, UVH_LANE_QUICK);
    assert_int_equal(ran, 1);
    end();
}

static void begun_response_is_not_cut_by_a_full_queue(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    ask(2, "/keep");
    assert_int_equal(uvhttp_response_defer_heavy(kept, work, end_body, NULL), UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_begin(kept, 200, NULL, UVHTTP_LENGTH_UNKNOWN), 0);
    assert_int_equal(uvhttp_response_defer_heavy(kept, work, end_body, NULL), 0);
    await_counts(UVH_LANE_HEAVY, 2, 1);
    drain_lane(0, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(ran, 1);
    end();
}

static void later_jobs_of_an_admitted_response_are_taken(void **state)
{
    (void)state;
    begin();
    ask(2, "/keep");
    assert_int_equal(uvhttp_response_defer(kept, work, wait_on, NULL), 0);
    await_counts(UVH_LANE_QUICK, 0, 0);
    fill_lane(0, UVH_LANE_QUICK);
    fill_lane(3, UVH_LANE_HEAVY);
    assert_int_equal(uvhttp_response_defer_heavy(kept, work, released, NULL), UVHTTP_EFULL);
    assert_int_equal(uvhttp_response_defer(kept, work, released, NULL), 0);
    drain_lane(0, UVH_LANE_QUICK);
    drain_lane(3, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(ran, 2);
    end();
}

static void clean_up_is_a_job_in_a_full_queue(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_QUICK);
    ask(2, "/keep");
    uvhttp_response_clean_up(kept, work, NULL);
    assert_int_equal(ran, 0);
    await_counts(UVH_LANE_QUICK, 2, 1);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "sent"), 0);
    assert_status(2, 200);
    assert_int_equal(ran, 0);
    drain_lane(0, UVH_LANE_QUICK);
    assert_int_equal(ran, 1);
    assert_false(pthread_equal(ran_on, pthread_self()));
    end();
}

static void clean_up_after_a_heavy_job_is_heavy(void **state)
{
    (void)state;
    begin();
    ask(2, "/keep");
    assert_int_equal(uvhttp_response_defer_heavy(kept, work, wait_on, NULL), 0);
    await_counts(UVH_LANE_HEAVY, 0, 0);
    fill_lane(0, UVH_LANE_HEAVY);
    uvhttp_response_clean_up(kept, work, NULL);
    await_counts(UVH_LANE_HEAVY, 2, 1);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "sent"), 0);
    drain_lane(0, UVH_LANE_HEAVY);
    assert_status(2, 200);
    assert_int_equal(ran, 2);
    end();
}

/* ---- what is heavy ---- */

struct heavy_case {
    const char *request;
    int status;      /* in its turn */
    int full_status; /* with a full queue */
};

static const struct heavy_case heavy_cases[] = {
    {"GET /files/sub/ HTTP/1.1\r\nHost: h\r\n\r\n", 200, 503},
    {"GET /files/sub/?format=tar HTTP/1.1\r\nHost: h\r\n\r\n", 200, 503},
    {"PUT /files/put.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 201, 503},
    {"GET /files/text.txt HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", 200, 200},
};

/* The last one is about compression. */
enum { HEAVY_CASES = UVH_COUNT_OF(heavy_cases) - !UVHTTP_TESTS_COMPRESSION };

static void long_work_waits_in_the_heavy_lane(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEAVY_CASES; i++) {
        begin();
        block_lane(0, UVH_LANE_HEAVY);
        send_request(2, heavy_cases[i].request);
        await_counts(UVH_LANE_HEAVY, 1, 1);
        await_counts(UVH_LANE_QUICK, 0, 0);
        assert_int_equal(clients[2].received, 0);
        release_lane(UVH_LANE_HEAVY, 1);
        assert_status(2, heavy_cases[i].status);
        assert_status(0, 200);
        end();
    }
}

static void long_work_with_a_full_heavy_queue(void **state)
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

static void style_sheet_of_a_listing_needs_no_heavy_job(void **state)
{
    (void)state;
    begin();
    fill_lane(0, UVH_LANE_HEAVY);
    ask(2, "/files/sub/?format=css");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

/* Two jobs, with one that blocks the lane between them, and one after them. */
static void upload_is_written_and_published_in_the_heavy_lane(void **state)
{
    (void)state;
    begin_unheard();
    stage.config->heavy_queue = 2;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    send_request(2, "PUT /files/put.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    await_counts(UVH_LANE_HEAVY, 1, 1);
    ask(1, "/heavy");
    await_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(0, 200);
    await_blocked(UVH_LANE_HEAVY);
    await_counts(UVH_LANE_HEAVY, 1, 1);
    await_counts(UVH_LANE_QUICK, 0, 0);
    ask(0, "/heavy");
    await_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(1, 200);
    assert_status(2, 201);
    await_blocked(UVH_LANE_HEAVY);
    await_counts(UVH_LANE_HEAVY, 0, 1); /* nothing is left to be cleaned up */
    ask(2, "/");
    assert_status(2, 200);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(0, 200);
    end();
}

/* The one job of a short listing is followed by one that blocks the lane. */
static void next_request_after_a_listing_waits_for_no_job(void **state)
{
    (void)state;
    begin_unheard();
    stage.config->heavy_queue = 2;
    build();
    stage_listen(&stage);
    block_lane(0, UVH_LANE_HEAVY);
    ask(2, "/files/sub/");
    await_counts(UVH_LANE_HEAVY, 1, 1);
    ask(1, "/heavy");
    await_counts(UVH_LANE_HEAVY, 2, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(2, 200);
    await_blocked(UVH_LANE_HEAVY);
    await_counts(UVH_LANE_HEAVY, 0, 1);
    ask(2, "/");
    assert_status(2, 200);
    drain_lane(0, UVH_LANE_HEAVY);
    end();
}

static void passwords_are_hashed_in_the_heavy_lane(void **state)
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
    begin_unheard();
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
    await_counts(UVH_LANE_HEAVY, 1, 1);
    release_lane(UVH_LANE_HEAVY, 1);
    assert_status(2, 200);
    assert_status(0, 200);
    end();
    uvhttp_auth_free(auth);
    uvhttp_passwords_free(passwords);
}

/* The queue gets full while the client reads slowly: the archive waits for its turn then, and is
 * complete. */
static void archive_is_complete_after_a_full_queue(void **state)
{
    (void)state;
    begin();
    stage_shrink_send_buffer(&stage, 8192);
    raw_client_connect(&clients[2], uvhttp_server_port(stage.server), 8192);
    raw_client_send_text(&clients[2], "GET /files/sub/?format=tar HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int turn = 0; turn < STAGE_MAX_ITERATIONS && clients[2].received == 0; turn++) {
        raw_client_step(&clients[2], 100);
        stage_wait(&stage);
    }
    await_counts(UVH_LANE_HEAVY, 0, 0);
    fill_lane(0, UVH_LANE_HEAVY);
    for (int turn = 0; turn < STAGE_MAX_ITERATIONS && counts_of(UVH_LANE_HEAVY)->pending < 2;
         turn++) {
        raw_client_step(&clients[2], 100000);
        stage_wait(&stage);
    }
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->pending, 2);
    release_lane(UVH_LANE_HEAVY, 2);
    size_t offset = 0;
    struct raw_response answer;
    assert_int_equal(stage_drive_responses(&stage, &clients[2], 100000, 1), 1);
    assert_true(raw_client_response(&clients[2], &offset, false, &answer));
    assert_int_equal(answer.status, 200);
    assert_true(answer.body_length > LARGE && answer.body_length % 512 == 0);
    assert_int_equal(counts_of(UVH_LANE_HEAVY)->rejected, 0);
    end();
}

/* The end of the job frees the last connection of a server that stops, while a post is pending. */
static void posts_after_the_last_job_of_a_stopping_server_run_in_order(void **state)
{
    (void)state;
    begin();
    memset(posts, 0, sizeof(posts));
    ask(0, "/post");
    uv_sem_wait(&lanes[UVH_LANE_QUICK].started);
    raw_client_close(&clients[0], true);
    stage_iterations(&stage, 20);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 0);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    uv_sem_post(&lanes[UVH_LANE_QUICK].gate);
    /* its result is pending, the loop does not run */
    while (counts_of(UVH_LANE_QUICK)->running > 0)
        ;
    assert_int_equal(uvhttp_server_post(stage.server, 0, note_post, "1"), 0);
    stage_iterations(&stage, 20);
    assert_string_equal(posts, "12");
    assert_int_equal(uvhttp_server_post(stage.server, 0, note_post, "3"), UVHTTP_ESTOPPED);
    end();
}

/* ---- threads ---- */

static void failed_thread_creation_is_an_error_of_listen(void **state)
{
    (void)state;
    begin_unheard();
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
    ask(0, "/files/small.html");
    assert_status(0, 200);
    end();
}

static void failed_listen_leaves_no_thread(void **state)
{
    (void)state;
    bool listening = false;
    for (size_t n = 1; n < MOST_ALLOCATIONS && !listening; n++) {
        begin_unheard();
        build();
        fault_heap_arm(&stage.heap, n, false);
        int err = uvhttp_server_listen(stage.server, "127.0.0.1", 0);
        listening = atomic_load(&stage.heap.failures) == 0;
        assert_int_equal(err, listening ? 0 : UVHTTP_ENOMEM);
        fault_heap_arm(&stage.heap, 0, false);
        if (uvh_server_of(stage.server)->life == UVH_SERVER_NEW)
            assert_int_equal(failing_threads_alive(), 0);
        stage_listen(&stage);
        ask(0, "/files/small.html");
        assert_status(0, 200);
        end();
    }
    assert_true(listening);
}

static void streams_need_no_threads_before_listening(void **state)
{
    (void)state;
    begin_unheard();
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
    ask(0, "/files/small.html");
    assert_status(0, 200);
    end();
}

static void workers_share_the_threads(void **state)
{
    (void)state;
    begin_unheard();
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
        cmocka_unit_test(quick_lookup_is_answered_while_heavy_lane_is_full),
        cmocka_unit_test(heavy_job_runs_while_quick_lane_is_full),
        cmocka_unit_test(job_behind_its_timeout_hears_that_its_response_is_gone),
        cmocka_unit_test(full_queue_gets_503_with_retry_after),
        cmocka_unit_test(static_lookup_gets_503_when_quick_queue_is_full),
        cmocka_unit_test(full_queue_takes_nothing_of_a_new_response),
        cmocka_unit_test(begun_response_is_not_cut_by_a_full_queue),
        cmocka_unit_test(later_jobs_of_an_admitted_response_are_taken),
        cmocka_unit_test(clean_up_is_a_job_in_a_full_queue),
        cmocka_unit_test(clean_up_after_a_heavy_job_is_heavy),
        cmocka_unit_test(long_work_waits_in_the_heavy_lane),
        cmocka_unit_test(long_work_with_a_full_heavy_queue),
        cmocka_unit_test(style_sheet_of_a_listing_needs_no_heavy_job),
        cmocka_unit_test(upload_is_written_and_published_in_the_heavy_lane),
        cmocka_unit_test(next_request_after_a_listing_waits_for_no_job),
        cmocka_unit_test(passwords_are_hashed_in_the_heavy_lane),
        cmocka_unit_test(archive_is_complete_after_a_full_queue),
        cmocka_unit_test(posts_after_the_last_job_of_a_stopping_server_run_in_order),
        cmocka_unit_test(failed_thread_creation_is_an_error_of_listen),
        cmocka_unit_test(failed_listen_leaves_no_thread),
        cmocka_unit_test(streams_need_no_threads_before_listening),
        cmocka_unit_test(workers_share_the_threads),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_folder);
}
