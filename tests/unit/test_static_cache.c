/* What many requests for one path cost (one look), what is remembered of paths that lead nowhere,
 * changes that are told, prewarmed folders, and the numbers of all that. The server runs on a
 * thread of its own; its trips to the disk can be held up where they ask for memory. */
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

enum { SAFETY_SECONDS = 60, CROWD = 200 };

struct place {
    char root[64];
    uvhttp_allocator_t allocator;
    uvhttp_static_options_t config;
    uvhttp_static_t *files;
    uvhttp_server_t *server;
    pthread_t thread;
    bool running;
    atomic_long live;
    atomic_long left;   /* allocations until one fails */
    atomic_bool closed; /* those of the thread pool wait, */
    atomic_long passes; /* but for so many */
    atomic_long held;   /* so many do */
    atomic_int warnings;
    char warning[256];
};

/* ---- clocks that the library calls instead of the real ones ---- */

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

/* ---- a place ---- */

static void *allocate(size_t size, void *context)
{
    struct place *place = context;
    if (atomic_fetch_sub(&place->left, 1) == 1)
        return NULL;
    bool held = atomic_load(&place->closed) && !pthread_equal(pthread_self(), place->thread) &&
                atomic_fetch_sub(&place->passes, 1) <= 0;
    if (held)
        atomic_fetch_add(&place->held, 1);
    while (held && atomic_load(&place->closed))
        sched_yield();
    void *memory = malloc(size);
    if (memory != NULL)
        atomic_fetch_add(&place->live, 1);
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
    struct place *place = context;
    atomic_fetch_sub(&place->live, 1);
    free(memory);
}

static void in_place(const struct place *place, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", place->root, name);
}

static void write_file(const struct place *place, const char *name, const char *text)
{
    char path[256];
    in_place(place, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_large(const struct place *place, const char *name, size_t size)
{
    char path[256];
    in_place(place, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)size), 0);
}

static void make_dir(const struct place *place, const char *name)
{
    char path[256];
    in_place(place, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void keep_warning(uvhttp_log_level_t level, const char *message, void *arg)
{
    struct place *place = arg;
    if (level != UVHTTP_LOG_WARNING || strstr(message, "static files") == NULL)
        return;
    snprintf(place->warning, sizeof(place->warning), "%s", message);
    atomic_fetch_add(&place->warnings, 1);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->root, sizeof(place->root), "/tmp/uvhttp-cache-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    make_dir(place, "sub");
    write_file(place, "file", "old");
    write_file(place, "sub/index.html", "index");
    place->allocator = (uvhttp_allocator_t){allocate, reallocate, release, place};
    place->config = (uvhttp_static_options_t){.root = place->root,
                                              .revalidate_ms = 3600000,
                                              .negative_ms = 3600000,
                                              .allocator = &place->allocator};
    atomic_store(&loop_ms, 0);
    atomic_store(&wall_clock_forward, 0);
    *state = place;
    return 0;
}

static void *run(void *server)
{
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static void open_files(struct place *place)
{
    assert_int_equal(uvhttp_static_new(&place->files, &place->config, NULL), 0);
}

/* With so many workers. */
static void start(struct place *place, size_t workers)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = workers;
    config->log = keep_warning;
    config->log_arg = place;
    place->server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(place->server);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/", place->files, NULL), 0);
    assert_int_equal(uvhttp_server_listen(place->server, "127.0.0.1", 0), 0);
    assert_int_equal(pthread_create(&place->thread, NULL, run, place->server), 0);
    place->running = true;
}

static void open_and_start(struct place *place)
{
    open_files(place);
    start(place, 1);
}

static void stop(struct place *place)
{
    atomic_store(&place->closed, false);
    if (place->running) {
        void *result;
        uvhttp_server_stop(place->server);
        assert_int_equal(pthread_join(place->thread, &result), 0);
        assert_null(result);
        place->running = false;
    }
    uvhttp_server_free(place->server);
    uvhttp_static_free(place->files);
    place->server = NULL;
    place->files = NULL;
    assert_int_equal(atomic_load(&place->live), 0);
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    stop(place);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->root);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

/* ---- a client ---- */

static int begin(const struct place *place, const char *target)
{
    char request[512];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvhttp_server_port(place->server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client >= 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", target);
    assert_int_equal(send(client, request, (size_t)length, MSG_NOSIGNAL), length);
    return client;
}

static char answer[65536];

/* The status; the whole answer is in `answer`. 0 when there was none. */
static int finish(int client)
{
    size_t size = 0;
    ssize_t count;
    while ((count = recv(client, answer + size, sizeof(answer) - 1 - size, 0)) > 0)
        size += (size_t)count;
    answer[size] = '\0';
    close(client);
    return size == 0 ? 0 : (int)strtol(answer + strlen("HTTP/1.1 "), NULL, 10);
}

static int ask(const struct place *place, const char *target)
{
    return finish(begin(place, target));
}

static const char *body(void)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static void vanish(int client)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(client);
}

static uvhttp_static_stats_t stats_of(const struct place *place)
{
    uvhttp_static_stats_t stats;
    memset(&stats, 0xff, sizeof(stats));
    assert_int_equal(uvhttp_static_read_stats(place->files, &stats), 0);
    return stats;
}

static bool is_time_left(time_t *end)
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
            assert_true(is_time_left(&end)); \
    } while (0)

static uint64_t aborted(const struct place *place)
{
    uvhttp_stats_t stats;
    assert_int_equal(uvhttp_server_read_stats(place->server, &stats), 0);
    return stats.aborted_exchanges;
}

/* ---- one look for all ---- */

/* `first` sees the look begin, so that all others come while it is under way. */
static void crowd(struct place *place, const char *target, int clients[CROWD])
{
    uint64_t misses = stats_of(place).misses;
    uint64_t coalesced = stats_of(place).coalesced;
    atomic_store(&place->closed, true);
    for (size_t i = 0; i < CROWD; i++)
        clients[i] = begin(place, target);
    /* A request is counted as a miss before it joins. */
    AWAIT(stats_of(place).coalesced == coalesced + CROWD - 1);
    assert_int_equal(stats_of(place).misses, misses + CROWD);
}

static void test_a_cold_file_is_read_once(void **state)
{
    struct place *place = *state;
    int clients[CROWD];
    open_and_start(place);
    crowd(place, "/file", clients);
    atomic_store(&place->closed, false);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(finish(clients[i]), 200);
        assert_string_equal(body(), "old");
    }
    uvhttp_static_stats_t stats = stats_of(place);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.lookups, 0);
    assert_int_equal(stats.hits, 0);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(stats.memory, 3);
    assert_int_equal(ask(place, "/file"), 200);
    stats = stats_of(place);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.misses, CROWD);
    assert_true(stats.hit_rate > 0.0049 && stats.hit_rate < 0.0051);
}

static void test_errors_and_redirects_are_found_once(void **state)
{
    static const struct {
        const char *target;
        int status;
    } cases[] = {{"/missing", 404}, {"/sub/missing", 404}, {"/sub", 301}, {"/", 403}};
    struct place *place = *state;
    int clients[CROWD];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        place->config.watch = true; /* so that looking for what is not there asks for memory, too */
        open_and_start(place);
        crowd(place, cases[i].target, clients);
        atomic_store(&place->closed, false);
        for (size_t j = 0; j < CROWD; j++)
            assert_int_equal(finish(clients[j]), cases[i].status);
        assert_int_equal(stats_of(place).lookups, 1);
        assert_int_equal(stats_of(place).loads, 0);
        stop(place);
    }
}

/* They differ by request, so each gets its own. */
static void test_listings_are_made_for_each(void **state)
{
    struct place *place = *state;
    int clients[CROWD];
    place->config.listing = true;
    place->config.watch = true; /* so that looking for the folder asks for memory, too */
    open_and_start(place);
    crowd(place, "/", clients);
    atomic_store(&place->closed, false);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(finish(clients[i]), 200);
        assert_non_null(strstr(body(), "file"));
    }
    assert_int_equal(stats_of(place).lookups, CROWD);
}

static void test_clients_may_leave(void **state)
{
    struct place *place = *state;
    int clients[CROWD];
    open_and_start(place);
    crowd(place, "/file", clients);
    for (size_t i = 0; i < CROWD; i += 3) /* the first one among them, for whom it is read */
        vanish(clients[i]);
    AWAIT(aborted(place) == (CROWD + 2) / 3);
    atomic_store(&place->closed, false);
    for (size_t i = 0; i < CROWD; i++) {
        if (i % 3 == 0)
            continue;
        assert_int_equal(finish(clients[i]), 200);
        assert_string_equal(body(), "old");
    }
    assert_int_equal(stats_of(place).loads, 1);
}

static void test_the_server_may_stop(void **state)
{
    struct place *place = *state;
    int clients[CROWD];
    open_and_start(place);
    crowd(place, "/file", clients);
    uvhttp_server_stop(place->server);
    uvhttp_server_stop(place->server);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(finish(clients[i]), 0);
}

/* For a while the old state serves; who comes later waits for the one look. */
static void test_looking_again_is_done_once(void **state)
{
    struct place *place = *state;
    int clients[CROWD];
    place->config.revalidate_ms = 1;
    open_and_start(place);
    assert_int_equal(ask(place, "/file"), 200);
    uint64_t loads = stats_of(place).loads;
    write_file(place, "file", "new");
    atomic_store(&place->closed, true);
    clients[0] = begin(place, "/file");
    /* From some moment on none is answered before the look ends. */
    size_t count = 1;
    while (count < CROWD) {
        uint64_t before = stats_of(place).misses + stats_of(place).hits;
        clients[count++] = begin(place, "/file");
        AWAIT(stats_of(place).misses + stats_of(place).hits > before);
    }
    assert_true(stats_of(place).coalesced > 0);
    atomic_store(&place->closed, false);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(finish(clients[i]), 200);
    assert_string_equal(body(), "new");
    /* the file is too young to be known by its facts */
    assert_true(stats_of(place).loads <= loads + 2);
}

/* ---- what is not there ---- */

static void test_absent_paths_are_remembered(void **state)
{
    struct place *place = *state;
    char longest[400];
    open_and_start(place);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(place, "/missing"), 404);
        assert_int_equal(ask(place, "/./missing"), 404);
        assert_int_equal(ask(place, "/"), 403);
    }
    uvhttp_static_stats_t stats = stats_of(place);
    assert_int_equal(stats.lookups, 2);
    assert_int_equal(stats.negative_hits, 13);
    assert_int_equal(stats.negative_entries, 2);
    assert_int_equal(stats.entries, 0);
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[257] = '\0'; /* 256 without the slash: too long to be kept */
    assert_int_equal(ask(place, longest), 404);
    assert_int_equal(stats_of(place).negative_entries, 2);
    longest[256] = '\0';
    assert_int_equal(ask(place, longest), 404);
    assert_int_equal(stats_of(place).negative_entries, 3);
}

static void test_absent_paths_are_forgotten_in_time(void **state)
{
    struct place *place = *state;
    place->config.negative_ms = 20;
    open_and_start(place);
    assert_int_equal(ask(place, "/late"), 404);
    write_file(place, "late", "here");
    AWAIT(ask(place, "/late") == 200);
    assert_string_equal(body(), "here");
    assert_int_equal(stats_of(place).negative_entries, 0);
}

static void test_remembering_absent_paths_can_be_off(void **state)
{
    struct place *place = *state;
    place->config.negative_ms = UVHTTP_NEVER;
    open_and_start(place);
    assert_int_equal(ask(place, "/late"), 404);
    write_file(place, "late", "here");
    assert_int_equal(ask(place, "/late"), 200);
    assert_int_equal(stats_of(place).negative_entries, 0);
}

/* The routes of an application in the browser cost one look each. */
static void test_paths_with_a_fallback_are_remembered(void **state)
{
    struct place *place = *state;
    place->config.fallback = "/file";
    open_and_start(place);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(place, "/route"), 200);
        assert_string_equal(body(), "old");
        assert_int_equal(ask(place, "/other"), 200);
        assert_int_equal(ask(place, "/missing.css"), 404);
    }
    uvhttp_static_stats_t stats = stats_of(place);
    assert_int_equal(stats.lookups, 3);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.negative_hits, 12);
    assert_int_equal(stats.negative_entries, 3);
}

static void test_pages_of_a_list_are_remembered(void **state)
{
    struct place *place = *state;
    place->config.try_files = "{path} {path}.html /file";
    open_and_start(place);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(place, "/missing"), 200);
        assert_string_equal(body(), "old");
    }
    assert_int_equal(stats_of(place).lookups, 1);
    assert_int_equal(stats_of(place).negative_hits, 4);
}

/* Whoever asks for names at random throws out none of the files. */
static void test_absent_paths_push_out_no_files(void **state)
{
    struct place *place = *state;
    char name[32];
    place->config.cache_entries = 16;
    open_and_start(place);
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof(name), "/f%d", i);
        write_file(place, name + 1, "x");
        assert_int_equal(ask(place, name), 200);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "/none%d", i);
        assert_int_equal(ask(place, name), 404);
    }
    uvhttp_static_stats_t stats = stats_of(place);
    assert_int_equal(stats.entries, 16);
    assert_int_equal(stats.negative_entries, 4);
    assert_int_equal(stats.evictions, 0);
    write_file(place, "one-more", "x");
    assert_int_equal(ask(place, "/one-more"), 200);
    assert_int_equal(stats_of(place).evictions, 1);
}

/* ---- changes that are told ---- */

/* Nothing would be noticed for an hour otherwise. */
static void test_watched_changes_show_at_once(void **state)
{
    struct place *place = *state;
    char from[256], to[256];
    place->config.watch = true;
    open_files(place);
    start(place, 3);
    for (int i = 0; i < 30; i++) { /* so that each worker has it */
        assert_int_equal(ask(place, "/file"), 200);
        assert_int_equal(ask(place, "/sub/"), 200);
        assert_int_equal(ask(place, "/late"), 404);
    }
    write_file(place, "file", "newer");
    AWAIT(ask(place, "/file") == 200 && strcmp(body(), "newer") == 0);
    write_file(place, "late", "here");
    AWAIT(ask(place, "/late") == 200);
    in_place(place, "sub", from);
    in_place(place, "away", to);
    assert_int_equal(rename(from, to), 0);
    AWAIT(ask(place, "/sub/") == 404);
    make_dir(place, "sub");
    write_file(place, "sub/index.html", "another");
    AWAIT(ask(place, "/sub/") == 200 && strcmp(body(), "another") == 0);
    in_place(place, "late", from);
    assert_int_equal(unlink(from), 0);
    AWAIT(ask(place, "/late") == 404);
    /* Told once, everybody knows: whichever worker is asked, the old state does not come back. */
    for (int i = 0; i < 30; i++) {
        assert_int_equal(ask(place, "/file"), 200);
        assert_string_equal(body(), "newer");
        assert_int_equal(ask(place, "/late"), 404);
    }
    assert_true(stats_of(place).watched_directories >= 1);
}

/* What happens elsewhere is no reason to look again. */
static void test_other_folders_stay_as_they_are(void **state)
{
    struct place *place = *state;
    place->config.watch = true;
    open_and_start(place);
    assert_int_equal(ask(place, "/sub/"), 200);
    assert_int_equal(ask(place, "/file"), 200);
    write_file(place, "file", "newer");
    AWAIT(ask(place, "/file") == 200 && strcmp(body(), "newer") == 0);
    uint64_t misses = stats_of(place).misses;
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(place, "/sub/"), 200);
    assert_int_equal(stats_of(place).misses, misses);
}

/* The entry, its look after a change and the next request are of one millisecond. */
static void unchanged_entry_is_renewed_in_the_millisecond_of_its_load(void **state)
{
    struct place *place = *state;
    place->config.watch = true;
    atomic_store(&wall_clock_forward, 3600); /* the file is old enough to be known by its facts */
    atomic_store(&loop_ms, uv_hrtime() / 1000000);
    open_and_start(place);
    assert_int_equal(ask(place, "/file"), 200);
    make_dir(place, "another");
    AWAIT(ask(place, "/file") == 200 && stats_of(place).lookups == 1);
    uint64_t hits = stats_of(place).hits;
    assert_int_equal(ask(place, "/file"), 200);
    uvhttp_static_stats_t stats = stats_of(place);
    assert_int_equal(stats.hits, hits + 1);
    assert_int_equal(stats.lookups, 1);
    assert_int_equal(stats.loads, 1);
}

/* Who comes after a change does not get what a look that began before it has found. */
static void test_a_change_during_a_look(void **state)
{
    struct place *place = *state;
    place->config.watch = true;
    open_and_start(place);
    assert_int_equal(ask(place, "/absent"), 404);
    atomic_store(&place->passes, 1); /* its bytes are read, its fields are not made yet */
    atomic_store(&place->closed, true);
    int early = begin(place, "/file");
    AWAIT(atomic_load(&place->held) == 1);
    write_file(place, "file", "newest");
    uint64_t misses = stats_of(place).misses;
    /* the change has been told */
    AWAIT(ask(place, "/absent") == 404 && stats_of(place).misses > misses);
    misses = stats_of(place).misses;
    int late[8];
    for (size_t i = 0; i < 8; i++)
        late[i] = begin(place, "/file");
    AWAIT(stats_of(place).coalesced == 8);
    assert_int_equal(stats_of(place).misses, misses + 8);
    atomic_store(&place->closed, false);
    assert_int_equal(finish(early), 200);
    assert_string_equal(body(), "old");
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(finish(late[i]), 200);
        assert_string_equal(body(), "newest");
    }
    assert_int_equal(stats_of(place).loads, 2); /* one for the eight */
}

/* Without a descriptor for it files are served all the same, and one line tells. */
static void test_watching_that_is_not_possible(void **state)
{
    struct place *place = *state;
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
    place->config.watch = true;
    place->config.cache_descriptors = 8;
    open_files(place);
    while (count > 0)
        close(spare[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    start(place, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(place, "/file"), 200);
        assert_int_equal(ask(place, "/missing"), 404);
    }
    write_file(place, "file", "newer"); /* noticed after a second, not after an hour */
    AWAIT(ask(place, "/file") == 200 && strcmp(body(), "newer") == 0);
    AWAIT(atomic_load(&place->warnings) == 1);
    stop(place);
    assert_int_equal(atomic_load(&place->warnings), 1);
    assert_non_null(strstr(place->warning, "cannot watch for changes"));
}

/* ---- limits ---- */

static void test_descriptors_are_limited(void **state)
{
    struct place *place = *state;
    char name[16];
    place->config.cache_descriptors = 3;
    place->config.memory_file_size = 10;
    open_and_start(place);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "/large%d", i);
        make_large(place, name + 1, 1000);
        assert_int_equal(ask(place, name), 200);
    }
    uvhttp_static_stats_t stats = stats_of(place);
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

static void make_tree(const struct place *place)
{
    char path[256];
    make_dir(place, "assets");
    make_dir(place, "assets/lib");
    make_dir(place, ".git");
    write_file(place, "assets/a.css", "0123456789");
    write_file(place, "assets/lib/b.css", "0123456789");
    write_file(place, "assets/lib/c.js", "0123456789");
    write_file(place, ".git/config", "secret");
    make_large(place, "assets/video", 20000);
    in_place(place, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    in_place(place, "link", path);
    assert_int_equal(symlink("assets/a.css", path), 0);
    in_place(place, "out", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    in_place(place, "circle", path);
    assert_int_equal(symlink(".", path), 0);
}

static void test_a_folder_is_prewarmed(void **state)
{
    struct place *place = *state;
    uvhttp_static_prewarmed_t found;
    make_tree(place);
    open_files(place);
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, NULL, &found), 0);
    /* file, link, sub/, and four of the assets */
    assert_int_equal(found.loaded, 7);
    assert_int_equal(found.bytes, 3 + 10 + 5 + 30);
    assert_int_equal(found.unwanted, 1);    /* .git */
    assert_int_equal(found.not_regular, 3); /* fifo, out, circle */
    assert_int_equal(found.over_budget + found.failed, 0);
    assert_false(found.cancelled);
    start(place, 1);
    assert_int_equal(stats_of(place).entries, 7);
    assert_int_equal(stats_of(place).descriptors, 1);
    assert_int_equal(ask(place, "/sub/"), 200); /* under the name it is asked for by */
    assert_string_equal(body(), "index");
    assert_int_equal(ask(place, "/link"), 200);
    assert_int_equal(stats_of(place).entries, 7);
}

static void test_patterns_choose_what_is_prewarmed(void **state)
{
    static const char *const styles[] = {"*.css", "/file"};
    static const char *const deep[] = {"assets/**/*.js"};
    static const char *const malformed[] = {"*.css", "a[b"};
    struct place *place = *state;
    uvhttp_static_prewarmed_t found;
    make_tree(place);
    open_files(place);
    uvhttp_static_prewarm_options_t options = {.patterns = styles, .pattern_count = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 3);
    options = (uvhttp_static_prewarm_options_t){.patterns = deep, .pattern_count = 1};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 1);
    options = (uvhttp_static_prewarm_options_t){.directory = "//assets/lib"};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    options = (uvhttp_static_prewarm_options_t){.patterns = malformed, .pattern_count = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){.patterns = styles};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){.pattern_count = 1};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found),
                     UVHTTP_EINVAL);
    options = (uvhttp_static_prewarm_options_t){UVHTTP_PREWARM_PATTERNS("*.css", "/file")};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 3);
    options = (uvhttp_static_prewarm_options_t){.directory = "/missing"};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), -ENOENT);
    options = (uvhttp_static_prewarm_options_t){.directory = "/.git"};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), -ENOENT);
    options = (uvhttp_static_prewarm_options_t){.directory = "/file"};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, NULL), -ENOTDIR);
    assert_int_equal(uvhttp_static_prewarm_directory(NULL, &options, &found), UVHTTP_ENOMEM);
}

static void test_prewarming_has_a_budget(void **state)
{
    struct place *place = *state;
    struct progress progress = {.cancel_at = 0};
    uvhttp_static_prewarmed_t found;
    make_tree(place);
    open_files(place);
    uvhttp_static_prewarm_options_t options = {
        .directory = "assets", .most_bytes = 25, .progress = on_progress, .arg = &progress};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    /* two of the small ones, and the large one, which takes no memory */
    assert_int_equal(found.loaded, 3);
    assert_int_equal(found.bytes, 20);
    assert_int_equal(found.over_budget, 1);
    assert_int_equal(progress.calls, 3);
    assert_int_equal(progress.last, 20);
    stop(place);
    open_files(place);
    options = (uvhttp_static_prewarm_options_t){.directory = "assets", .most_entries = 2};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    assert_int_equal(found.over_budget, 2);
    stop(place);
    open_files(place);
    progress = (struct progress){.cancel_at = 2};
    options = (uvhttp_static_prewarm_options_t){.progress = on_progress, .arg = &progress};
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, &options, &found), 0);
    assert_int_equal(found.loaded, 2);
    assert_true(found.cancelled);
    stop(place);
    /* The cache's own bounds hold as well: nothing that was loaded is thrown out again. */
    place->config.cache_entries = 3;
    place->config.cache_memory = 15;
    open_files(place);
    assert_int_equal(uvhttp_static_prewarm_directory(place->files, NULL, &found), 0);
    assert_true(found.loaded <= 3 && found.loaded > 0 && found.bytes <= 15);
    assert_int_equal(found.loaded + found.over_budget, 7);
    assert_int_equal(stats_of(place).evictions, 0);
    assert_int_equal(stats_of(place).entries, found.loaded);
}

static void test_what_is_wrong_is_said(void **state)
{
    struct place *place = *state;
    uvhttp_static_stats_t stats;
    open_files(place);
    assert_int_equal(uvhttp_static_read_stats(NULL, &stats), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_read_stats(place->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount_context(NULL, "/", place->files, NULL), UVHTTP_ENOMEM);
    place->server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/", NULL, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/x", place->files, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/", place->files, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/", place->files, NULL),
                     UVHTTP_ECONFLICT);
}

/* Each allocation fails once, on the loop and on the thread pool: the answer is 503 or as usual,
 * later ones are as usual, and nothing leaks. */
static void test_every_allocation_may_fail(void **state)
{
    static const char *const targets[] = {"/file", "/missing", "/sub/", "/sub/missing", "/file"};
    struct place *place = *state;
    place->config.watch = true;
    make_tree(place);
    bool failed = true;
    for (long fail_at = 1; failed; fail_at++) {
        uvhttp_static_prewarmed_t found;
        int refused = 0;
        atomic_store(&place->left, fail_at);
        int err = uvhttp_static_new(&place->files, &place->config, NULL);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0) {
            err = uvhttp_static_prewarm_directory(
                place->files, &(uvhttp_static_prewarm_options_t){.directory = "assets"}, &found);
            assert_true(err == 0 || err == UVHTTP_ENOMEM);
            assert_true(err == UVHTTP_ENOMEM || found.loaded == 4);
        }
        if (place->files != NULL) {
            place->server = uvhttp_server_new(NULL);
            assert_non_null(place->server);
            err = uvhttp_static_mount_context(place->server, "/", place->files, NULL);
            assert_true(err == 0 || err == UVHTTP_ENOMEM);
            assert_int_equal(uvhttp_server_listen(place->server, "127.0.0.1", 0), 0);
            assert_int_equal(pthread_create(&place->thread, NULL, run, place->server), 0);
            place->running = true;
            for (size_t i = 0; err == 0 && i < sizeof(targets) / sizeof(targets[0]); i++) {
                int status = ask(place, targets[i]);
                assert_true(status == 503 ||
                            status == (strstr(targets[i], "missing") != NULL ? 404 : 200));
                refused += status == 503;
            }
            assert_true(refused <= 1);
        }
        failed = atomic_load(&place->left) <= 0;
        stop(place);
        assert_true(fail_at < 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_cold_file_is_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_and_redirects_are_found_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_listings_are_made_for_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clients_may_leave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_server_may_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_looking_again_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_are_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_are_forgotten_in_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_remembering_absent_paths_can_be_off, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_paths_with_a_fallback_are_remembered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_pages_of_a_list_are_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_paths_push_out_no_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_watched_changes_show_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_folders_stay_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unchanged_entry_is_renewed_in_the_millisecond_of_its_load,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_change_during_a_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_watching_that_is_not_possible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_is_prewarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patterns_choose_what_is_prewarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarming_has_a_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
