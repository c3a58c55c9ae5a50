/* Concurrent requests for one path (one load), the cache of absent paths, watched changes,
 * prewarmed directories, and their statistics. The server runs on its own thread; its file system
 * access can be blocked where it allocates memory. */
#include <uvhttp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { SAFETY_SECONDS = 60, REQUESTS = 200 };

struct fixture {
    char root[64];
    uvhttp_allocator_t allocator;
    uvhttp_static_options_t config;
    uvhttp_static_t *files;
    uvhttp_server_t *server;
    pthread_t thread;
    bool running;
    atomic_long live;
    atomic_long allocations_left;      /* allocations until one fails */
    atomic_bool blocked;               /* those of the thread pool block, */
    atomic_long unblocked_allocations; /* except for this number */
    atomic_long blocked_allocations;   /* number of blocked allocations */
    atomic_int warnings;
    char warning[256];
};

/* ---- clocks, linked instead of the real ones ---- */

static _Atomic uint64_t loop_ms;       /* of all loops; 0: the real time */
static atomic_long wall_clock_forward; /* seconds */

uint64_t uv_now(const uv_loop_t *loop)
{
    uint64_t (*real)(const uv_loop_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "uv_now");
    uint64_t stopped = atomic_load(&loop_ms);
    return stopped != 0 ? stopped : real(loop);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += atomic_load(&wall_clock_forward);
    return result;
}

/* ---- fixture ---- */

static void *allocate(size_t size, void *context)
{
    struct fixture *fixture = context;
    if (atomic_fetch_sub(&fixture->allocations_left, 1) == 1)
        return NULL;
    bool held = atomic_load(&fixture->blocked) && !pthread_equal(pthread_self(), fixture->thread) &&
                atomic_fetch_sub(&fixture->unblocked_allocations, 1) <= 0;
    if (held)
        atomic_fetch_add(&fixture->blocked_allocations, 1);
    while (held && atomic_load(&fixture->blocked))
        sched_yield();
    void *memory = malloc(size);
    if (memory != NULL)
        atomic_fetch_add(&fixture->live, 1);
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    if (memory == NULL)
        return allocate(size, context);
    return realloc(memory, size);
}

static void release(void *memory, void *context)
{
    struct fixture *fixture = context;
    atomic_fetch_sub(&fixture->live, 1);
    free(memory);
}

static void path_in(const struct fixture *fixture, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", fixture->root, name);
}

static void write_file(const struct fixture *fixture, const char *name, const char *text)
{
    char path[256];
    path_in(fixture, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_large(const struct fixture *fixture, const char *name, size_t size)
{
    char path[256];
    path_in(fixture, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)size), 0);
}

static void make_dir(const struct fixture *fixture, const char *name)
{
    char path[256];
    path_in(fixture, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void keep_warning(uvhttp_log_level_t level, const char *message, void *arg)
{
    struct fixture *fixture = arg;
    if (level != UVHTTP_LOG_WARNING || strstr(message, "static files") == NULL)
        return;
    snprintf(fixture->warning, sizeof(fixture->warning), "%s", message);
    atomic_fetch_add(&fixture->warnings, 1);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->root, sizeof(fixture->root), "/tmp/uvhttp-cache-XXXXXX");
    assert_non_null(mkdtemp(fixture->root));
    make_dir(fixture, "sub");
    write_file(fixture, "file", "old");
    write_file(fixture, "sub/index.html", "index");
    fixture->allocator = (uvhttp_allocator_t){allocate, reallocate, release, fixture};
    fixture->config = (uvhttp_static_options_t){.root = fixture->root,
                                                .revalidate_ms = 3600000,
                                                .negative_ms = 3600000,
                                                .allocator = &fixture->allocator};
    atomic_store(&loop_ms, 0);
    atomic_store(&wall_clock_forward, 0);
    *state = fixture;
    return 0;
}

static void *run(void *server)
{
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static void open_files(struct fixture *fixture)
{
    assert_int_equal(uvhttp_static_new(&fixture->files, &fixture->config, NULL), 0);
}

/* Starts a server with this number of workers. */
static void start(struct fixture *fixture, size_t workers)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = workers;
    config->log = keep_warning;
    config->log_arg = fixture;
    fixture->server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(fixture->server);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/", fixture->files, NULL), 0);
    assert_int_equal(uvhttp_server_listen(fixture->server, "127.0.0.1", 0), 0);
    assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture->server), 0);
    fixture->running = true;
}

static void open_and_start(struct fixture *fixture)
{
    open_files(fixture);
    start(fixture, 1);
}

static void stop(struct fixture *fixture)
{
    atomic_store(&fixture->blocked, false);
    if (fixture->running) {
        void *result;
        uvhttp_server_stop(fixture->server);
        assert_int_equal(pthread_join(fixture->thread, &result), 0);
        assert_null(result);
        fixture->running = false;
    }
    uvhttp_server_free(fixture->server);
    uvhttp_static_free(fixture->files);
    fixture->server = NULL;
    fixture->files = NULL;
    assert_int_equal(atomic_load(&fixture->live), 0);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    stop(fixture);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

/* ---- a client ---- */

static int open_request(const struct fixture *fixture, const char *target)
{
    char request[512];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvhttp_server_port(fixture->server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client >= 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", target);
    assert_int_equal(send(client, request, (size_t)length, MSG_NOSIGNAL), length);
    return client;
}

static char response[65536];

/* Returns the status, 0 without a response; the whole response is in `response`. */
static int read_response(int client)
{
    size_t size = 0;
    ssize_t count;
    while ((count = recv(client, response + size, sizeof(response) - 1 - size, 0)) > 0)
        size += (size_t)count;
    response[size] = '\0';
    close(client);
    return size == 0 ? 0 : (int)strtol(response + strlen("HTTP/1.1 "), NULL, 10);
}

static int send_request(const struct fixture *fixture, const char *target)
{
    return read_response(open_request(fixture, target));
}

static const char *body(void)
{
    const char *end = strstr(response, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static void reset_connection(int client)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(client);
}

static uvhttp_static_stats_t stats_of(const struct fixture *fixture)
{
    uvhttp_static_stats_t stats;
    memset(&stats, 0xff, sizeof(stats));
    assert_int_equal(uvhttp_static_read_stats(fixture->files, &stats), 0);
    return stats;
}

static bool wait_for_end(time_t *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (*end == 0)
        *end = now.tv_sec + SAFETY_SECONDS;
    sched_yield();
    return now.tv_sec < *end;
}

#define AWAIT(condition)                     \
    do {                                     \
        time_t end = 0;                      \
        while (!(condition))                 \
            assert_true(wait_for_end(&end)); \
    } while (0)

static uint64_t aborted(const struct fixture *fixture)
{
    uvhttp_stats_t stats;
    assert_int_equal(uvhttp_server_read_stats(fixture->server, &stats), 0);
    return stats.aborted_exchanges;
}

/* ---- one load for all ---- */

/* The first request starts the load; all others are received while it is in progress. */
static void send_concurrently(struct fixture *fixture, const char *target, int clients[REQUESTS])
{
    uint64_t misses = stats_of(fixture).misses;
    uint64_t coalesced = stats_of(fixture).coalesced;
    atomic_store(&fixture->blocked, true);
    for (size_t i = 0; i < REQUESTS; i++)
        clients[i] = open_request(fixture, target);
    /* A request is counted as a miss before it joins the load. */
    AWAIT(stats_of(fixture).coalesced == coalesced + REQUESTS - 1);
    assert_int_equal(stats_of(fixture).misses, misses + REQUESTS);
}

static void test_uncached_file_is_loaded_once(void **state)
{
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    open_and_start(fixture);
    send_concurrently(fixture, "/file", clients);
    atomic_store(&fixture->blocked, false);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(read_response(clients[i]), 200);
        assert_string_equal(body(), "old");
    }
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.lookups, 0);
    assert_int_equal(stats.hits, 0);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(stats.memory, 3);
    assert_int_equal(send_request(fixture, "/file"), 200);
    stats = stats_of(fixture);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.misses, REQUESTS);
    assert_true(stats.hit_rate > 0.0049 && stats.hit_rate < 0.0051);
    for (int i = 1; i < REQUESTS; i++)
        assert_int_equal(send_request(fixture, "/file"), 200);
    assert_true(stats_of(fixture).hit_rate > 0.499 && stats_of(fixture).hit_rate < 0.501);
}

static void test_errors_and_redirects_are_looked_up_once(void **state)
{
    static const struct {
        const char *target;
        int status;
    } cases[] = {{"/missing", 404},
                 {"/sub/missing", 404},
                 {"/sub", 301},
                 {"/sub?a=a-query-longer-than-the-path", 301},
                 {"/", 403}};
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture->config.watch = true; /* so that the lookup of an absent path allocates, too */
        open_and_start(fixture);
        send_concurrently(fixture, cases[i].target, clients);
        atomic_store(&fixture->blocked, false);
        for (size_t j = 0; j < REQUESTS; j++)
            assert_int_equal(read_response(clients[j]), cases[i].status);
        assert_int_equal(stats_of(fixture).lookups, 1);
        assert_int_equal(stats_of(fixture).loads, 0);
        stop(fixture);
    }
}

/* Listings depend on the request, so each request makes its own. */
static void test_listings_are_made_per_request(void **state)
{
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    fixture->config.listing = true;
    fixture->config.watch = true; /* so that the lookup of the directory allocates, too */
    open_and_start(fixture);
    send_concurrently(fixture, "/", clients);
    atomic_store(&fixture->blocked, false);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(read_response(clients[i]), 200);
        assert_non_null(strstr(body(), "file"));
    }
    assert_int_equal(stats_of(fixture).lookups, REQUESTS);
}

static void test_disconnects_do_not_cancel_load(void **state)
{
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    open_and_start(fixture);
    send_concurrently(fixture, "/file", clients);
    for (size_t i = 0; i < REQUESTS; i += 3) /* including the first one, which started the load */
        reset_connection(clients[i]);
    AWAIT(aborted(fixture) == (REQUESTS + 2) / 3);
    atomic_store(&fixture->blocked, false);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (i % 3 == 0)
            continue;
        assert_int_equal(read_response(clients[i]), 200);
        assert_string_equal(body(), "old");
    }
    assert_int_equal(stats_of(fixture).loads, 1);
}

static void test_server_stop_ends_pending_requests(void **state)
{
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    open_and_start(fixture);
    send_concurrently(fixture, "/file", clients);
    uvhttp_server_stop(fixture->server);
    uvhttp_server_stop(fixture->server);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(read_response(clients[i]), 0);
}

/* Stale entries are served for a while; later requests wait for the only load. */
static void test_revalidation_is_done_once(void **state)
{
    struct fixture *fixture = *state;
    int clients[REQUESTS];
    fixture->config.revalidate_ms = 1;
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/file"), 200);
    uint64_t loads = stats_of(fixture).loads;
    write_file(fixture, "file", "new");
    atomic_store(&fixture->blocked, true);
    clients[0] = open_request(fixture, "/file");
    /* From some request on none is served before the load ends. */
    size_t count = 1;
    while (count < REQUESTS) {
        uint64_t before = stats_of(fixture).misses + stats_of(fixture).hits;
        clients[count++] = open_request(fixture, "/file");
        AWAIT(stats_of(fixture).misses + stats_of(fixture).hits > before);
    }
    assert_true(stats_of(fixture).coalesced > 0);
    atomic_store(&fixture->blocked, false);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(read_response(clients[i]), 200);
    assert_string_equal(body(), "new");
    /* the file is too new to be identified by its facts */
    assert_true(stats_of(fixture).loads <= loads + 2);
}

/* ---- absent paths ---- */

static void test_absent_paths_are_cached(void **state)
{
    struct fixture *fixture = *state;
    char longest[400];
    open_and_start(fixture);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_request(fixture, "/missing"), 404);
        assert_int_equal(send_request(fixture, "/./missing"), 404);
        assert_int_equal(send_request(fixture, "/"), 403);
    }
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.lookups, 2);
    assert_int_equal(stats.negative_hits, 13);
    assert_int_equal(stats.negative_entries, 2);
    assert_int_equal(stats.entries, 0);
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[257] = '\0'; /* 256 without the slash: too long for the cache */
    assert_int_equal(send_request(fixture, longest), 404);
    assert_int_equal(stats_of(fixture).negative_entries, 2);
    longest[256] = '\0';
    assert_int_equal(send_request(fixture, longest), 404);
    assert_int_equal(stats_of(fixture).negative_entries, 3);
}

static void test_absent_paths_expire(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.negative_ms = 20;
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/late"), 404);
    write_file(fixture, "late", "here");
    AWAIT(send_request(fixture, "/late") == 200);
    assert_string_equal(body(), "here");
    assert_int_equal(stats_of(fixture).negative_entries, 0);
}

static void test_negative_cache_can_be_disabled(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.negative_ms = UVHTTP_NEVER;
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/late"), 404);
    write_file(fixture, "late", "here");
    assert_int_equal(send_request(fixture, "/late"), 200);
    assert_int_equal(stats_of(fixture).negative_entries, 0);
}

/* Client-side routes of an application cost one lookup each. */
static void test_fallback_paths_are_cached(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.fallback = "/file";
    open_and_start(fixture);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_request(fixture, "/route"), 200);
        assert_string_equal(body(), "old");
        assert_int_equal(send_request(fixture, "/other"), 200);
        assert_int_equal(send_request(fixture, "/missing.css"), 404);
    }
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.lookups, 3);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.negative_hits, 12);
    assert_int_equal(stats.negative_entries, 3);
}

static void test_try_files_results_are_cached(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.try_files = "{path} {path}.html /file";
    open_and_start(fixture);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_request(fixture, "/missing"), 200);
        assert_string_equal(body(), "old");
    }
    assert_int_equal(stats_of(fixture).lookups, 1);
    assert_int_equal(stats_of(fixture).negative_hits, 4);
}

/* Requests for random names do not evict files. */
static void test_absent_paths_do_not_evict_files(void **state)
{
    struct fixture *fixture = *state;
    char name[32];
    fixture->config.cache_entries = 16;
    open_and_start(fixture);
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof(name), "/f%d", i);
        write_file(fixture, name + 1, "x");
        assert_int_equal(send_request(fixture, name), 200);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "/none%d", i);
        assert_int_equal(send_request(fixture, name), 404);
    }
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.entries, 16);
    assert_int_equal(stats.negative_entries, 4);
    assert_int_equal(stats.evictions, 0);
    write_file(fixture, "one-more", "x");
    assert_int_equal(send_request(fixture, "/one-more"), 200);
    assert_int_equal(stats_of(fixture).evictions, 1);
}

/* ---- watched changes ---- */

/* Without the watch changes would not be detected for an hour. */
static void test_watched_changes_are_visible_at_once(void **state)
{
    struct fixture *fixture = *state;
    char from[256], to[256];
    fixture->config.watch = true;
    open_files(fixture);
    start(fixture, 3);
    for (int i = 0; i < 30; i++) { /* so that each worker has an entry */
        assert_int_equal(send_request(fixture, "/file"), 200);
        assert_int_equal(send_request(fixture, "/sub/"), 200);
        assert_int_equal(send_request(fixture, "/late"), 404);
    }
    write_file(fixture, "file", "newer");
    AWAIT(send_request(fixture, "/file") == 200 && strcmp(body(), "newer") == 0);
    write_file(fixture, "late", "here");
    AWAIT(send_request(fixture, "/late") == 200);
    path_in(fixture, "sub", from);
    path_in(fixture, "away", to);
    assert_int_equal(rename(from, to), 0);
    AWAIT(send_request(fixture, "/sub/") == 404);
    make_dir(fixture, "sub");
    write_file(fixture, "sub/index.html", "another");
    AWAIT(send_request(fixture, "/sub/") == 200 && strcmp(body(), "another") == 0);
    path_in(fixture, "late", from);
    assert_int_equal(unlink(from), 0);
    AWAIT(send_request(fixture, "/late") == 404);
    /* After the event no worker serves the old state again. */
    for (int i = 0; i < 30; i++) {
        assert_int_equal(send_request(fixture, "/file"), 200);
        assert_string_equal(body(), "newer");
        assert_int_equal(send_request(fixture, "/late"), 404);
    }
    assert_true(stats_of(fixture).watched_directories >= 1);
}

/* Changes in one directory do not invalidate others. */
static void test_changes_do_not_invalidate_other_directories(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.watch = true;
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/sub/"), 200);
    assert_int_equal(send_request(fixture, "/file"), 200);
    write_file(fixture, "file", "newer");
    AWAIT(send_request(fixture, "/file") == 200 && strcmp(body(), "newer") == 0);
    uint64_t misses = stats_of(fixture).misses;
    for (int i = 0; i < 10; i++)
        assert_int_equal(send_request(fixture, "/sub/"), 200);
    assert_int_equal(stats_of(fixture).misses, misses);
}

/* Load, revalidation after a change, and the next request are in the same millisecond. */
static void unchanged_entry_is_renewed_within_load_millisecond(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.watch = true;
    /* the file is old enough to be identified by its facts */
    atomic_store(&wall_clock_forward, 3600);
    atomic_store(&loop_ms, uv_hrtime() / 1000000);
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/file"), 200);
    make_dir(fixture, "another");
    AWAIT(send_request(fixture, "/file") == 200 && stats_of(fixture).lookups == 1);
    uint64_t hits = stats_of(fixture).hits;
    assert_int_equal(send_request(fixture, "/file"), 200);
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.hits, hits + 1);
    assert_int_equal(stats.lookups, 1);
    assert_int_equal(stats.loads, 1);
}

/* A request after a change does not get the result of a load that began before it. */
static void test_change_during_load_is_detected(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.watch = true;
    open_and_start(fixture);
    assert_int_equal(send_request(fixture, "/absent"), 404);
    /* its content is read, its fields are not made yet */
    atomic_store(&fixture->unblocked_allocations, 1);
    atomic_store(&fixture->blocked, true);
    int early = open_request(fixture, "/file");
    AWAIT(atomic_load(&fixture->blocked_allocations) == 1);
    write_file(fixture, "file", "newest");
    uint64_t misses = stats_of(fixture).misses;
    /* the change has been handled */
    AWAIT(send_request(fixture, "/absent") == 404 && stats_of(fixture).misses > misses);
    misses = stats_of(fixture).misses;
    int late[8];
    for (size_t i = 0; i < 8; i++)
        late[i] = open_request(fixture, "/file");
    AWAIT(stats_of(fixture).coalesced == 8);
    assert_int_equal(stats_of(fixture).misses, misses + 8);
    atomic_store(&fixture->blocked, false);
    assert_int_equal(read_response(early), 200);
    assert_string_equal(body(), "old");
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(read_response(late[i]), 200);
        assert_string_equal(body(), "newest");
    }
    assert_int_equal(stats_of(fixture).loads, 2); /* one for the eight requests */
}

/* Without a descriptor for the watch files are still served, and one warning is logged. */
static void test_unavailable_watch_is_logged_once(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit before;
    int spare[64];
    size_t count = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {.rlim_cur = 60, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < 64 && (spare[count] = open("/", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    assert_true(count > 1);
    close(spare[--count]); /* for the root */
    fixture->config.watch = true;
    fixture->config.cache_descriptors = 8;
    open_files(fixture);
    while (count > 0)
        close(spare[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    start(fixture, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_request(fixture, "/file"), 200);
        assert_int_equal(send_request(fixture, "/missing"), 404);
    }
    write_file(fixture, "file", "newer"); /* detected after a second, not after an hour */
    AWAIT(send_request(fixture, "/file") == 200 && strcmp(body(), "newer") == 0);
    AWAIT(atomic_load(&fixture->warnings) == 1);
    stop(fixture);
    assert_int_equal(atomic_load(&fixture->warnings), 1);
    assert_non_null(strstr(fixture->warning, "cannot watch for changes"));
}

/* ---- limits ---- */

static void test_descriptor_limit_evicts_files(void **state)
{
    struct fixture *fixture = *state;
    char name[16];
    fixture->config.cache_descriptors = 3;
    fixture->config.memory_file_size = 10;
    open_and_start(fixture);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "/large%d", i);
        make_large(fixture, name + 1, 1000);
        assert_int_equal(send_request(fixture, name), 200);
    }
    uvhttp_static_stats_t stats = stats_of(fixture);
    assert_int_equal(stats.descriptors, 3);
    assert_int_equal(stats.entries, 3);
    assert_int_equal(stats.evictions, 5);
    assert_int_equal(stats.memory, 0);
}

/* ---- prewarming ---- */

struct progress {
    size_t calls;
    size_t last;
    size_t cancel_at;
};

static bool on_progress(const uvhttp_static_prewarmed_t *so_far, const char *path, void *arg)
{
    struct progress *progress = arg;
    assert_true(strlen(path) > 0 && path[0] != '/');
    assert_int_equal(so_far->loaded, ++progress->calls);
    progress->last = so_far->bytes;
    return progress->calls != progress->cancel_at;
}

static void make_tree(const struct fixture *fixture)
{
    char path[256];
    make_dir(fixture, "assets");
    make_dir(fixture, "assets/lib");
    make_dir(fixture, ".git");
    write_file(fixture, "assets/a.css", "0123456789");
    write_file(fixture, "assets/lib/b.css", "0123456789");
    write_file(fixture, "assets/lib/c.js", "0123456789");
    write_file(fixture, ".git/config", "secret");
    make_large(fixture, "assets/video", 20000);
    path_in(fixture, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    path_in(fixture, "link", path);
    assert_int_equal(symlink("assets/a.css", path), 0);
    path_in(fixture, "out", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    path_in(fixture, "circle", path);
    assert_int_equal(symlink(".", path), 0);
}

static void test_directory_is_prewarmed(void **state)
{
    struct fixture *fixture = *state;
    uvhttp_static_prewarmed_t found;
    make_tree(fixture);
    open_files(fixture);
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, NULL, &found), 0);
    /* file, link, sub/, and four of the assets */
    assert_int_equal(found.loaded, 7);
    assert_int_equal(found.bytes, 3 + 10 + 5 + 30);
    assert_int_equal(found.unwanted, 1);    /* .git */
    assert_int_equal(found.not_regular, 3); /* fifo, out, circle */
    assert_int_equal(found.over_budget + found.failed, 0);
    assert_false(found.cancelled);
    start(fixture, 1);
    assert_int_equal(stats_of(fixture).entries, 7);
    assert_int_equal(stats_of(fixture).descriptors, 1);
    assert_int_equal(send_request(fixture, "/sub/"), 200); /* stored under the requested name */
    assert_string_equal(body(), "index");
    assert_int_equal(send_request(fixture, "/link"), 200);
    assert_int_equal(stats_of(fixture).entries, 7);
}

static void test_patterns_select_prewarmed_files(void **state)
{
    static const char *const styles[] = {"*.css", "/file"};
    static const char *const deep[] = {"assets/**/*.js"};
    static const char *const malformed[] = {"*.css", "a[b"};
    struct fixture *fixture = *state;
    uvhttp_static_prewarmed_t found;
    make_tree(fixture);
    open_files(fixture);
    uvhttp_static_prewarm_options_t options = {.patterns = styles, .pattern_count = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 3);
    options = (uvhttp_static_prewarm_options_t){.patterns = deep, .pattern_count = 1};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 1);
    options = (uvhttp_static_prewarm_options_t){.directory = "//assets/lib"};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    options = (uvhttp_static_prewarm_options_t){.patterns = malformed, .pattern_count = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){.patterns = styles};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){.pattern_count = 1};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){UVHTTP_PREWARM_PATTERNS("*.css", "/file")};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 3);
    options = (uvhttp_static_prewarm_options_t){.directory = "/missing"};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), -ENOENT);
    options = (uvhttp_static_prewarm_options_t){.directory = "/.git"};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), -ENOENT);
    options = (uvhttp_static_prewarm_options_t){.directory = "/file"};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, NULL), -ENOTDIR);
    assert_int_equal(uvhttp_static_prewarm_directory(NULL, &options, &found), UVHTTP_ENOMEM);
}

static void test_prewarm_limits_are_enforced(void **state)
{
    struct fixture *fixture = *state;
    struct progress progress = {.cancel_at = 0};
    uvhttp_static_prewarmed_t found;
    make_tree(fixture);
    open_files(fixture);
    uvhttp_static_prewarm_options_t options = {
        .directory = "assets", .most_bytes = 25, .progress = on_progress, .arg = &progress};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    /* two of the small ones, and the large one, which uses no memory */
    assert_int_equal(found.loaded, 3);
    assert_int_equal(found.bytes, 20);
    assert_int_equal(found.over_budget, 1);
    assert_int_equal(progress.calls, 3);
    assert_int_equal(progress.last, 20);
    stop(fixture);
    open_files(fixture);
    options = (uvhttp_static_prewarm_options_t){.directory = "assets", .most_entries = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    assert_int_equal(found.over_budget, 2);
    stop(fixture);
    open_files(fixture);
    progress = (struct progress){.cancel_at = 2};
    options = (uvhttp_static_prewarm_options_t){.progress = on_progress, .arg = &progress};
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    assert_true(found.cancelled);
    stop(fixture);
    /* The limits of the cache apply as well: loaded files are not evicted again. */
    fixture->config.cache_entries = 3;
    fixture->config.cache_memory = 15;
    open_files(fixture);
    assert_int_equal(uvhttp_static_prewarm_directory(fixture->files, NULL, &found), 0);
    assert_true(found.loaded <= 3 && found.loaded > 0 && found.bytes <= 15);
    assert_int_equal(found.loaded + found.over_budget, 7);
    assert_int_equal(stats_of(fixture).evictions, 0);
    assert_int_equal(stats_of(fixture).entries, found.loaded);
}

static void test_invalid_arguments_are_refused(void **state)
{
    struct fixture *fixture = *state;
    uvhttp_static_stats_t stats;
    open_files(fixture);
    assert_int_equal(uvhttp_static_read_stats(NULL, &stats), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_read_stats(fixture->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount_context(NULL, "/", fixture->files, NULL), UVHTTP_ENOMEM);
    fixture->server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/", NULL, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/x", fixture->files, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/", fixture->files, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/", fixture->files, NULL),
                     UVHTTP_ECONFLICT);
}

/* Each allocation fails once, on the loop and on the thread pool: the response is 503 or the usual
 * one, later responses are the usual ones, and nothing leaks. */
static void test_every_failed_allocation_is_handled(void **state)
{
    static const char *const targets[] = {"/file", "/missing", "/sub/", "/sub/missing", "/file"};
    struct fixture *fixture = *state;
    fixture->config.watch = true;
    make_tree(fixture);
    bool failed = true;
    for (long fail_at = 1; failed; fail_at++) {
        uvhttp_static_prewarmed_t found;
        int refused = 0;
        atomic_store(&fixture->allocations_left, fail_at);
        int err = uvhttp_static_new(&fixture->files, &fixture->config, NULL);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0) {
            err = uvhttp_static_prewarm_directory(
                fixture->files, &(uvhttp_static_prewarm_options_t){.directory = "assets"}, &found);
            assert_true(err == 0 || err == UVHTTP_ENOMEM);
            assert_true(err == UVHTTP_ENOMEM || found.loaded == 4);
        }
        if (fixture->files != NULL) {
            fixture->server = uvhttp_server_new(NULL);
            assert_non_null(fixture->server);
            err = uvhttp_static_mount_context(fixture->server, "/", fixture->files, NULL);
            assert_true(err == 0 || err == UVHTTP_ENOMEM);
            assert_int_equal(uvhttp_server_listen(fixture->server, "127.0.0.1", 0), 0);
            assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture->server), 0);
            fixture->running = true;
            for (size_t i = 0; err == 0 && i < sizeof(targets) / sizeof(targets[0]); i++) {
                int status = send_request(fixture, targets[i]);
                assert_true(status == 503 ||
                            status == (strstr(targets[i], "missing") != NULL ? 404 : 200));
                refused += status == 503;
            }
            assert_true(refused <= 1);
        }
        failed = atomic_load(&fixture->allocations_left) <= 0;
        stop(fixture);
        assert_true(fail_at < 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_uncached_file_is_loaded_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_and_redirects_are_looked_up_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_listings_are_made_per_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disconnects_do_not_cancel_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_server_stop_ends_pending_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_revalidation_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_are_cached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_expire, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_negative_cache_can_be_disabled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fallback_paths_are_cached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_try_files_results_are_cached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_do_not_evict_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_watched_changes_are_visible_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_changes_do_not_invalidate_other_directories, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unchanged_entry_is_renewed_within_load_millisecond, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_change_during_load_is_detected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unavailable_watch_is_logged_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptor_limit_evicts_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory_is_prewarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patterns_select_prewarmed_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarm_limits_are_enforced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_arguments_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_handled, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
