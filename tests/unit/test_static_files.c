/* files/static_files.c inside a running server: prewarming, what the quick path allocates, how
 * routes and prefixes meet files, and what happens when memory runs out. The server runs on a
 * thread of its own, the client is a blocking socket on this one. */
#include <uvhttp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fault_heap.h"

enum { LARGE = 300 * 1024 };

/* Has the server's root in a folder that is removed at the end, and counts what static files
 * allocate. */
struct place {
    char root[64];
    struct fault_heap heap;
    uvhttp_static_options_t config;
    uvhttp_static_t *files;
    uvhttp_server_t *server;
    pthread_t thread;
    bool running;
};

static void make_file(const struct place *place, const char *name, size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", place->root, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(fputc((int)(i % 251), file), (int)(i % 251));
    assert_int_equal(fclose(file), 0);
}

static void make_dir(const struct place *place, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", place->root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->root, sizeof(place->root), "/tmp/uvhttp-files-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    make_dir(place, "sub");
    make_file(place, "small", 5000);
    make_file(place, "large", LARGE);
    make_file(place, "sub/index.html", 10);
    make_file(place, ".hidden", 10);
    fault_heap_init(&place->heap);
    place->config = (uvhttp_static_options_t){
        .root = place->root, .revalidate_ms = 3600000, .allocator = &place->heap.allocator};
    place->server = uvhttp_server_new(NULL);
    assert_non_null(place->server);
    *state = place;
    return 0;
}

static void *run(void *server)
{
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static void start(struct place *place)
{
    assert_int_equal(uvhttp_server_listen(place->server, "127.0.0.1", 0), 0);
    assert_int_equal(pthread_create(&place->thread, NULL, run, place->server), 0);
    place->running = true;
}

static void stop(struct place *place)
{
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
    assert_int_equal(atomic_load(&place->heap.live), 0);
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

struct answer {
    int status;
    size_t size; /* of the body */
    char head[1024];
    unsigned char *body;
};

static struct answer answer;

/* One request on a connection of its own, into `answer`. */
static int ask(const struct place *place, const char *method, const char *target)
{
    static unsigned char bytes[4 << 20];
    char request[512];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvhttp_server_port(place->server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(connection >= 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof(address)), 0);
    int length = snprintf(request, sizeof(request),
                          "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", method, target);
    assert_int_equal(send(connection, request, (size_t)length, MSG_NOSIGNAL), length);
    size_t size = 0;
    ssize_t count;
    while ((count = recv(connection, bytes + size, sizeof(bytes) - size, 0)) > 0)
        size += (size_t)count;
    close(connection);
    unsigned char *end = memmem(bytes, size, "\r\n\r\n", 4);
    assert_non_null(end);
    size_t head = (size_t)(end + 4 - bytes);
    assert_true(head < sizeof(answer.head));
    memcpy(answer.head, bytes, head);
    answer.head[head] = '\0';
    answer.body = bytes + head;
    answer.size = size - head;
    answer.status = (int)strtol(answer.head + strlen("HTTP/1.1 "), NULL, 10);
    return answer.status;
}

static void assert_body(size_t size)
{
    assert_int_equal(answer.size, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(answer.body[i], i % 251);
}

static void open_files(struct place *place, const char *pattern)
{
    assert_int_equal(uvhttp_static_new(&place->files, &place->config, NULL), 0);
    assert_int_equal(uvhttp_server_route(place->server, NULL, pattern, uvhttp_static_handle_request,
                                         place->files),
                     0);
}

/* A file of the system's, since one that was written a moment ago is read again in any case. Its
 * size is larger than anything else that is allocated. */
static const char old_folder[] = "/usr/bin";
static const char old_file[] = "env";

static size_t largest_for_first_request(struct place *place, const char *pattern,
                                        const char *target, const char *prewarmed)
{
    place->config.root = old_folder;
    place->config.memory_file_size = 1 << 20;
    open_files(place, pattern);
    if (prewarmed != NULL)
        assert_int_equal(uvhttp_static_prewarm_cache(place->files, prewarmed), 0);
    start(place);
    atomic_store(&place->heap.largest, 0);
    assert_int_equal(ask(place, "GET", target), 200);
    size_t largest = atomic_load(&place->heap.largest);
    stop(place);
    place->server = uvhttp_server_new(NULL);
    assert_non_null(place->server);
    return largest;
}

/* Prewarming once stored under a key that lookups never used. */
static void test_pitfall_prewarmed_files_are_found(void **state)
{
    struct place *place = *state;
    struct stat status;
    assert_int_equal(stat("/usr/bin/env", &status), 0);
    size_t size = (size_t)status.st_size;
    assert_true(size > 4096 && size < 1 << 20);
    assert_true(largest_for_first_request(place, "/*", "/env", NULL) >= size);
    assert_int_equal(largest_for_first_request(place, "/*", "/env", "/env"), 0);
    assert_int_equal(answer.size, size);
    assert_int_equal(largest_for_first_request(place, "/*", "/env", old_file), 0);
    assert_int_equal(largest_for_first_request(place, "/*", "/%65nv?query", "//env"), 0);
    assert_int_equal(largest_for_first_request(place, "/a/prefix/*", "/a/prefix/env", "/env"), 0);
    assert_int_equal(largest_for_first_request(place, "/env", "/env", "/env"), 0);
}

static void test_prewarming_says_what_is_wrong(void **state)
{
    struct place *place = *state;
    open_files(place, "/*");
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/missing"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/small/x"), -ENOTDIR);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/sub"), UVHTTP_ENOTREG);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/.hidden"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/../etc/passwd"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/"), -EACCES);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/sub/"), 0);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/large"), 0);
    start(place);
    assert_int_equal(ask(place, "GET", "/sub/"), 200);
    assert_body(10);
    assert_int_equal(ask(place, "GET", "/large"), 200);
    assert_body(LARGE);
}

static void test_cached_files_allocate_nothing(void **state)
{
    struct place *place = *state;
    static const char *const targets[] = {"/small", "/large", "/sub/"};
    open_files(place, "/*");
    start(place);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ask(place, "GET", targets[i]), 200);
    size_t calls = atomic_load(&place->heap.calls);
    for (int i = 0; i < 30; i++)
        assert_int_equal(ask(place, i % 2 == 0 ? "GET" : "HEAD", targets[i % 3]), 200);
    assert_int_equal(atomic_load(&place->heap.calls), calls);
}

static void test_open_says_what_is_wrong(void **state)
{
    struct place *place = *state;
    uvhttp_static_t *files = (uvhttp_static_t *)place;
    assert_int_equal(uvhttp_static_new(&files, NULL, NULL), UVHTTP_EINVAL);
    assert_null(files);
    place->config.root = NULL;
    assert_int_equal(uvhttp_static_new(&files, &place->config, NULL), UVHTTP_EINVAL);
    place->config.root = "/nowhere/at/all";
    assert_int_equal(uvhttp_static_new(&files, &place->config, NULL), -ENOENT);
    place->config.root = "/usr/bin/env";
    assert_int_equal(uvhttp_static_new(&files, &place->config, NULL), -ENOTDIR);
    assert_null(files);
    uvhttp_static_free(NULL);
}

static void test_mounting_below_a_prefix(void **state)
{
    struct place *place = *state;
    assert_int_equal(uvhttp_static_mount(place->server, "/assets/", &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(place->server, "/", &place->config, NULL), 0);
    start(place);
    assert_int_equal(ask(place, "GET", "/assets/small"), 200);
    assert_body(5000);
    assert_int_equal(ask(place, "GET", "/small"), 200);
    assert_int_equal(ask(place, "GET", "/assets/sub"), 301);
    assert_non_null(strstr(answer.head, "Location: /assets/sub/\r\n"));
    assert_int_equal(ask(place, "GET", "/assets/assets/small"), 404);
    assert_int_equal(ask(place, "GET", "/assets/"), 403);
    assert_int_equal(ask(place, "POST", "/assets/small"), 405);
    assert_non_null(strstr(answer.head, "Allow: "));
}

/* The path is shorter than the prefix then. */
static void test_a_mount_where_slashes_are_ignored(void **state)
{
    struct place *place = *state;
    place->config.uploads = true;
    place->config.index = "small";
    uvhttp_router_set_slash(uvhttp_server_router(place->server), UVHTTP_SLASH_IGNORE);
    assert_int_equal(uvhttp_static_mount(place->server, "/assets/", &place->config, NULL), 0);
    start(place);
    assert_int_equal(ask(place, "GET", "/assets/"), 200);
    assert_int_equal(ask(place, "GET", "/assets"), 200);
    assert_body(5000);
    assert_int_equal(ask(place, "PUT", "/assets"), 405);
    assert_int_equal(ask(place, "GET", "/assets/small"), 200);
    assert_int_equal(ask(place, "GET", "/asset"), 404);
}

static void test_one_folder_in_several_places(void **state)
{
    struct place *place = *state;
    uvhttp_server_t *other = uvhttp_server_new(NULL);
    place->config.index = "small";
    open_files(place, "/");
    assert_int_equal(uvhttp_static_mount_context(place->server, "/a/", place->files, NULL), 0);
    assert_int_equal(
        uvhttp_static_mount_context(place->server, "/much/longer/", place->files, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(other, "/", place->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_route(place->server, "GET", "/of/:user/*rest",
                                         uvhttp_static_handle_request, place->files),
                     0);
    start(place);
    static const char *const found[] = {
        "/",      "/a/",           "/a/small",           "/much/longer/",
        "/of/x/", "/of/ann/small", "/much/longer/small", "/a/../a/small"};
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        assert_int_equal(ask(place, "GET", found[i]), 200);
        assert_body(5000);
    }
    assert_int_equal(ask(place, "GET", "/a/a/small"), 404);
    assert_int_equal(ask(place, "GET", "/much/longer"), 404);
    uvhttp_server_free(other);
}

/* No file's name holds a slash, so an encoded one finds nothing, cached or not, whatever the route
 * looks like. */
/* ---- a clock that is set back ---- */

enum { YEAR_2000 = 946684800 };

static atomic_llong clock_ms;

static int64_t read_clock(void *arg)
{
    (void)arg;
    return atomic_load(&clock_ms);
}

static void field_of(const char *name, char value[64])
{
    const char *at = strstr(answer.head, name);
    value[0] = '\0';
    if (at != NULL)
        sscanf(at + strlen(name), ": %63[^\r]", value);
}

static int ask_with(const struct place *place, const char *target, const char *field)
{
    char line[256];
    snprintf(line, sizeof(line), "%s HTTP/1.1\r\n%s\r\nX:", target, field);
    return ask(place, "GET", line);
}

/* The loop's clock goes in milliseconds, and within one the calendar clock is read once. */
static void await_modified(struct place *place, const char *expected)
{
    char modified[64] = "";
    for (int i = 0; i < 100000 && strcmp(modified, expected) != 0; i++) {
        assert_int_equal(ask(place, "GET", "/small"), 200);
        field_of("Last-Modified", modified);
    }
    assert_string_equal(modified, expected);
}

/* RFC 9110 section 8.8.2.1. */
static void last_modified_is_never_after_date(void **state)
{
    static const struct {
        const char *field;
        int status;
    } cases[] = {
        {"Range: bytes=0-9", 206}, {"Range: bytes=0-9,1000-1009", 206}, {"If-None-Match: *", 304},
        {"If-Match: *", 200},      {"Accept-Encoding: gzip", 200},
    };
    struct place *place = *state;
    uvhttp_config_t *config = uvhttp_config_new();
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = YEAR_2000}};
    char path[128], modified[64], date[64];
    assert_non_null(config);
    uvhttp_server_free(place->server);
    config->clock = read_clock;
    place->server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(place->server);
    snprintf(path, sizeof(path), "%s/small", place->root);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    snprintf(path, sizeof(path), "%s/large", place->root);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    place->config.compress = UVHTTP_TESTS_COMPRESSION;
    place->config.default_type = "text/plain";
    open_files(place, "/*");
    atomic_store(&clock_ms, (long long)(YEAR_2000 + 1) * 1000);
    start(place);
    await_modified(place, "Sat, 01 Jan 2000 00:00:00 GMT");
    atomic_store(&clock_ms, (long long)(YEAR_2000 - 1) * 1000);
    await_modified(place, "Fri, 31 Dec 1999 23:59:59 GMT");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int large = 0; large < 2; large++) {
            for (int k = 0; k < 2; k++) { /* from the disk, and from the cache */
                const char *target = large ? "/large" : "/small";
                assert_int_equal(ask_with(place, target, cases[i].field), cases[i].status);
                field_of("Last-Modified", modified);
                field_of("Date", date);
                assert_string_equal(modified, "Fri, 31 Dec 1999 23:59:59 GMT");
                assert_string_equal(date, modified);
                assert_non_null(strstr(answer.head, "\r\nETag: "));
            }
        }
    }
    atomic_store(&clock_ms, (long long)(YEAR_2000 + 1) * 1000);
    await_modified(place, "Sat, 01 Jan 2000 00:00:00 GMT");
}

/* ---- two servers ---- */

static atomic_int errors_logged;
static char last_error[256];

static void keep_error(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    if (level != UVHTTP_LOG_ERROR || strstr(message, "static files") == NULL)
        return;
    snprintf(last_error, sizeof(last_error), "%s", message);
    atomic_fetch_add(&errors_logged, 1);
}

/* A second server with the same files, for GET, HEAD and uploads. */
static void begin_second(struct place *second, uvhttp_static_t *files)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->log = keep_error;
    memset(second, 0, sizeof(*second));
    second->server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(second->server);
    assert_int_equal(
        uvhttp_server_route(second->server, "GET", "/*", uvhttp_static_handle_request, files), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(second->server),
                                       &(uvhttp_route_t){.method = "PUT",
                                                         .pattern = "/*",
                                                         .handler = uvhttp_static_handle_upload,
                                                         .arg = files,
                                                         .flags = UVHTTP_ROUTE_STREAM}),
                     0);
    atomic_store(&errors_logged, 0);
    start(second);
}

static void second_server_gets_einval(struct place *place)
{
    struct place second;
    begin_second(&second, place->files);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&second, "GET", "/small"), 500);
        assert_int_equal(ask(&second, "GET", "/missing"), 500);
        assert_int_equal(ask(&second, "PUT", "/new"), 500);
        assert_int_equal(ask(place, "GET", "/small"), 200);
        assert_body(5000);
    }
    assert_int_equal(atomic_load(&errors_logged), 1);
    assert_non_null(strstr(last_error, "another server"));
    stop(&second);
}

static void context_of_another_server_gets_einval(void **state)
{
    struct place *place = *state;
    uvhttp_static_stats_t stats;
    uvhttp_server_t *other = uvhttp_server_new(NULL);
    place->config.uploads = true;
    open_files(place, "/*");
    start(place);
    assert_int_equal(ask(place, "GET", "/small"), 200); /* the first to use it */
    second_server_gets_einval(place);
    assert_int_equal(uvhttp_static_mount_context(other, "/", place->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_read_stats(place->files, &stats), 0);
    assert_int_equal(stats.hits + stats.misses, 4);
    uvhttp_server_free(other);
}

static void context_mounted_on_another_server_gets_einval(void **state)
{
    struct place *place = *state;
    place->config.uploads = true;
    assert_int_equal(uvhttp_static_new(&place->files, &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(place->server, "/", place->files, NULL), 0);
    start(place);
    second_server_gets_einval(place);
}

static void test_encoded_slashes_separate_no_names(void **state)
{
    struct place *place = *state;
    assert_int_equal(uvhttp_static_mount(place->server, "/", &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(place->server, "/:who/files/", &place->config, NULL), 0);
    start(place);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ask(place, "GET", "/sub/index.html"), 200);
        assert_int_equal(ask(place, "GET", "/sub%2Findex.html"), 404);
        assert_int_equal(ask(place, "GET", "/sub%252Findex.html"), 404);
        assert_int_equal(ask(place, "GET", "/%2Fsmall"), 404);
        assert_int_equal(ask(place, "GET", "/ann/files/sub/index.html"), 200);
        assert_int_equal(ask(place, "GET", "/a%2Fb/files/sub/index.html"), 200);
        assert_int_equal(ask(place, "GET", "/ann/files/sub%2findex.html"), 404);
        assert_int_equal(ask(place, "GET", "/ann/files/..%2Fsmall"), 404);
        assert_int_equal(ask(place, "GET", "/ann/files/%73mall"), 200);
        assert_body(5000);
    }
}

static void test_mount_says_what_is_wrong(void **state)
{
    struct place *place = *state;
    assert_int_equal(uvhttp_static_mount(NULL, "/", &place->config, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_mount(place->server, NULL, &place->config, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(place->server, "", &place->config, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(place->server, "/assets", &place->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(place->server, "assets/", &place->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(place->server, "/", &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(place->server, "/", &place->config, NULL),
                     UVHTTP_ECONFLICT);
    place->config.root = "/nowhere/at/all";
    assert_int_equal(uvhttp_static_mount(place->server, "/other/", &place->config, NULL), -ENOENT);
}

static void test_route_for_every_method(void **state)
{
    struct place *place = *state;
    open_files(place, "/*");
    start(place);
    assert_int_equal(ask(place, "GET", "/small"), 200);
    assert_body(5000);
    assert_int_equal(ask(place, "POST", "/small"), 405);
    assert_non_null(strstr(answer.head, "Allow: GET, HEAD\r\n"));
}

/* A route without a wildcard serves the file of the whole path. */
static void test_route_of_one_file(void **state)
{
    struct place *place = *state;
    open_files(place, "/sub/index.html");
    start(place);
    assert_int_equal(ask(place, "GET", "/sub/index.html"), 200);
    assert_body(10);
    assert_int_equal(ask(place, "GET", "/small"), 404);
}

struct expected {
    const char *target;
    int status;
};

/* Each allocation of static files fails once: the answer is 503 or as usual, later ones are as
 * usual, and nothing leaks. */
static void fail_every_allocation(struct place *place, const struct expected *cases, size_t count)
{
    bool failed = true;
    for (size_t fail_at = 1; failed; fail_at++) {
        int unavailable = 0;
        fault_heap_arm(&place->heap, fail_at, false);
        int err = uvhttp_static_mount(place->server, "/", &place->config, NULL);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0) {
            start(place);
            for (size_t i = 0; i < 2 * count; i++) {
                int status = ask(place, "GET", cases[i / 2].target);
                assert_true(status == cases[i / 2].status || status == 503);
                unavailable += status == 503;
            }
            assert_true(unavailable <= 1);
        }
        failed = atomic_load(&place->heap.calls) >= fail_at;
        stop(place);
        place->server = uvhttp_server_new(NULL);
        assert_non_null(place->server);
        assert_true(fail_at < 200);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    static const struct expected cases[] = {{"/small", 200}, {"/large", 200}, {"/sub", 301},
                                            {"/", 200},      {"/sub/", 200},  {"/missing", 404}};
    struct place *place = *state;
    place->config.listing = true;
    fail_every_allocation(place, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_every_allocation_may_fail_with_pages(void **state)
{
    static const struct expected cases[] = {
        {"/small", 200}, {"/sub/index.html", 301}, {"/sub/index", 301}, {"/sub/", 200},
        {"/route", 200}, {"/missing.png", 404},    {"/.hidden", 404}};
    struct place *place = *state;
    const char *const more[] = {old_folder, NULL};
    make_dir(place, "sub/index");
    make_file(place, "sub/index/index.html", 10);
    make_file(place, "app", 20);
    make_file(place, "lost", 300);
    make_file(place, "busy", LARGE);
    place->config.clean_urls = true;
    place->config.fallback = "app";
    place->config.error_pages = "404=/lost 5xx=/busy";
    place->config.more_roots = more;
    fail_every_allocation(place, cases, sizeof(cases) / sizeof(cases[0]));
    place->config = (uvhttp_static_options_t){.root = place->root,
                                              .file = "small",
                                              .allocator = &place->heap.allocator,
                                              .revalidate_ms = 3600000};
    static const struct expected alias[] = {{"/anything", 200}};
    fail_every_allocation(place, alias, 1);
    place->config.file = NULL;
    place->config.try_files = "{path}.html {path}/ /small";
    fail_every_allocation(place, alias, 1);
}

static void test_a_fallback_and_pages_allocate_little(void **state)
{
    struct place *place = *state;
    make_file(place, "lost", 300);
    place->config.fallback = "/small";
    place->config.error_pages = "404=/lost";
    open_files(place, "/*");
    start(place);
    assert_int_equal(ask(place, "GET", "/a/route"), 200);
    assert_int_equal(ask(place, "GET", "/a.png"), 404);
    atomic_store(&place->heap.largest, 0);
    for (int round = 0; round < 2; round++) {
        size_t calls = atomic_load(&place->heap.calls);
        for (int i = 0; i < 20; i++) {
            char target[32];
            snprintf(target, sizeof(target), "/another/%d", i);
            assert_int_equal(ask(place, "GET", i % 2 == 0 ? target : "/a.png"),
                             i % 2 == 0 ? 200 : 404);
            assert_body(i % 2 == 0 ? 5000 : 300);
        }
        if (round == 1)
            /* each route is known by now */
            assert_int_equal(atomic_load(&place->heap.calls), calls);
    }
    assert_true(atomic_load(&place->heap.largest) < 300); /* both pages lie in the cache, once */
}

static void test_mounting_one_file(void **state)
{
    struct place *place = *state;
    place->config.file = "sub/index.html";
    assert_int_equal(uvhttp_static_mount(place->server, "/favicon.ico", &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(place->server, "/below/", &place->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(place->server, "favicon.ico", &place->config, NULL),
                     UVHTTP_EINVAL);
    place->config.file = "missing";
    assert_int_equal(uvhttp_static_mount(place->server, "/later", &place->config, NULL), 0);
    place->config.file = "/";
    assert_int_equal(uvhttp_static_mount(place->server, "/folder", &place->config, NULL),
                     UVHTTP_ECONFIG);
    start(place);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(place, "GET", "/favicon.ico"), 200);
        assert_body(10);
        assert_int_equal(ask(place, "GET", "/below/any/thing"), 200);
        assert_body(10);
        assert_int_equal(ask(place, "GET", "/later"), 404);
        assert_int_equal(ask(place, "GET", "/favicon.ico/"), 404);
    }
    make_file(place, "missing", 77);
    assert_int_equal(ask(place, "GET", "/later"), 200);
    assert_body(77);
}

static void test_one_file_is_prewarmed(void **state)
{
    struct place *place = *state;
    struct stat status;
    assert_int_equal(stat("/usr/bin/env", &status), 0);
    place->config.root = old_folder;
    place->config.memory_file_size = 1 << 20;
    place->config.file = old_file;
    open_files(place, "/program");
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/program"), 0);
    start(place);
    atomic_store(&place->heap.largest, 0);
    assert_int_equal(ask(place, "GET", "/program"), 200);
    assert_int_equal(answer.size, status.st_size);
    assert_int_equal(atomic_load(&place->heap.largest), 0);
}

static void test_a_missing_root_among_several(void **state)
{
    struct place *place = *state;
    const char *const more[] = {old_folder, "/nowhere/at/all", NULL};
    place->config.more_roots = more;
    assert_int_equal(uvhttp_static_new(&place->files, &place->config, NULL), -ENOENT);
    assert_null(place->files);
    assert_int_equal(atomic_load(&place->heap.live), 0);
}

static void test_prewarming_what_a_list_finds(void **state)
{
    struct place *place = *state;
    place->config.try_files = "{path} {path}.html /small";
    make_file(place, "page.html", 40);
    open_files(place, "/*");
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/page"), 0);
    assert_int_equal(uvhttp_static_prewarm_cache(place->files, "/nothing"), -ENOENT);
    start(place);
    assert_int_equal(ask(place, "GET", "/page"), 200);
    assert_body(40);
    assert_int_equal(ask(place, "GET", "/nothing"), 200);
    assert_body(5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pitfall_prewarmed_files_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarming_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cached_files_allocate_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mounting_below_a_prefix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_mount_where_slashes_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_folder_in_several_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_modified_is_never_after_date, set_up, tear_down),
        cmocka_unit_test_setup_teardown(context_of_another_server_gets_einval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(context_mounted_on_another_server_gets_einval, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_encoded_slashes_separate_no_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mount_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_route_for_every_method, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_route_of_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail_with_pages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_fallback_and_pages_allocate_little, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_mounting_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_file_is_prewarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_root_among_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarming_what_a_list_finds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
