/* files/static_files.c in a running server: prewarming, allocations of the fast path, routes and
 * prefixes with files, and failed allocations. The server runs on its own thread, the client is a
 * blocking socket on this one. */
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

/* Has the server's root in a directory that is removed at the end, and counts the allocations of
 * static files. */
struct fixture {
    char root[64];
    struct fault_heap heap;
    uvhttp_static_options_t config;
    uvhttp_static_t *files;
    uvhttp_server_t *server;
    pthread_t thread;
    bool running;
};

static void make_file(const struct fixture *fixture, const char *name, size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", fixture->root, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(fputc((int)(i % 251), file), (int)(i % 251));
    assert_int_equal(fclose(file), 0);
}

static void make_dir(const struct fixture *fixture, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", fixture->root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->root, sizeof(fixture->root), "/tmp/uvhttp-files-XXXXXX");
    assert_non_null(mkdtemp(fixture->root));
    make_dir(fixture, "sub");
    make_file(fixture, "small", 5000);
    make_file(fixture, "large", LARGE);
    make_file(fixture, "sub/index.html", 10);
    make_file(fixture, ".hidden", 10);
    fault_heap_init(&fixture->heap);
    fixture->config = (uvhttp_static_options_t){
        .root = fixture->root, .revalidate_ms = 3600000, .allocator = &fixture->heap.allocator};
    fixture->server = uvhttp_server_new(NULL);
    assert_non_null(fixture->server);
    *state = fixture;
    return 0;
}

static void *run(void *server)
{
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static void start(struct fixture *fixture)
{
    assert_int_equal(uvhttp_server_listen(fixture->server, "127.0.0.1", 0), 0);
    assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture->server), 0);
    fixture->running = true;
}

static void stop(struct fixture *fixture)
{
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
    assert_int_equal(atomic_load(&fixture->heap.live), 0);
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

struct response {
    int status;
    size_t size; /* of the body */
    char head[1024];
    unsigned char *body;
};

static struct response response;

/* Sends one request on a new connection and reads the response into `response`. */
static int send_request(const struct fixture *fixture, const char *method, const char *target)
{
    static unsigned char bytes[4 << 20];
    char request[512];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvhttp_server_port(fixture->server)),
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
    assert_true(head < sizeof(response.head));
    memcpy(response.head, bytes, head);
    response.head[head] = '\0';
    response.body = bytes + head;
    response.size = size - head;
    response.status = (int)strtol(response.head + strlen("HTTP/1.1 "), NULL, 10);
    return response.status;
}

static void assert_body(size_t size)
{
    assert_int_equal(response.size, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(response.body[i], i % 251);
}

static void open_files(struct fixture *fixture, const char *pattern)
{
    assert_int_equal(uvhttp_static_new(&fixture->files, &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_server_route(fixture->server, NULL, pattern,
                                         uvhttp_static_handle_request, fixture->files),
                     0);
}

/* A file of the system, since recently written files are always read again. Its size is larger than
 * any other allocation. */
static const char old_directory[] = "/usr/bin";
static const char old_file[] = "env";

static size_t largest_for_first_request(struct fixture *fixture, const char *pattern,
                                        const char *target, const char *prewarmed)
{
    fixture->config.root = old_directory;
    fixture->config.memory_file_size = 1 << 20;
    open_files(fixture, pattern);
    if (prewarmed != NULL)
        assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, prewarmed), 0);
    start(fixture);
    atomic_store(&fixture->heap.largest, 0);
    assert_int_equal(send_request(fixture, "GET", target), 200);
    size_t largest = atomic_load(&fixture->heap.largest);
    stop(fixture);
    fixture->server = uvhttp_server_new(NULL);
    assert_non_null(fixture->server);
    return largest;
}

/* Prewarming must use the same keys as lookups. */
static void test_pitfall_prewarmed_files_are_found(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    assert_int_equal(stat("/usr/bin/env", &status), 0);
    size_t size = (size_t)status.st_size;
    assert_true(size > 4096 && size < 1 << 20);
    assert_true(largest_for_first_request(fixture, "/*", "/env", NULL) >= size);
    assert_int_equal(largest_for_first_request(fixture, "/*", "/env", "/env"), 0);
    assert_int_equal(response.size, size);
    assert_int_equal(largest_for_first_request(fixture, "/*", "/env", old_file), 0);
    assert_int_equal(largest_for_first_request(fixture, "/*", "/%65nv?query", "//env"), 0);
    assert_int_equal(largest_for_first_request(fixture, "/a/prefix/*", "/a/prefix/env", "/env"), 0);
    assert_int_equal(largest_for_first_request(fixture, "/env", "/env", "/env"), 0);
}

static void test_prewarm_errors_are_returned(void **state)
{
    struct fixture *fixture = *state;
    open_files(fixture, "/*");
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/missing"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/small/x"), -ENOTDIR);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/sub"), UVHTTP_ENOTREG);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/.hidden"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/../etc/passwd"), -ENOENT);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/"), -EISDIR);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/sub/"), 0);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/large"), 0);
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/sub/"), 200);
    assert_body(10);
    assert_int_equal(send_request(fixture, "GET", "/large"), 200);
    assert_body(LARGE);
}

static void test_cached_files_do_not_allocate(void **state)
{
    struct fixture *fixture = *state;
    static const char *const targets[] = {"/small", "/large", "/sub/"};
    open_files(fixture, "/*");
    start(fixture);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(send_request(fixture, "GET", targets[i]), 200);
    size_t calls = atomic_load(&fixture->heap.calls);
    for (int i = 0; i < 30; i++)
        assert_int_equal(send_request(fixture, i % 2 == 0 ? "GET" : "HEAD", targets[i % 3]), 200);
    assert_int_equal(atomic_load(&fixture->heap.calls), calls);
}

static void test_new_errors_are_returned(void **state)
{
    struct fixture *fixture = *state;
    uvhttp_static_t *files = (uvhttp_static_t *)fixture;
    assert_int_equal(uvhttp_static_new(&files, NULL, NULL), UVHTTP_EINVAL);
    assert_null(files);
    fixture->config.root = NULL;
    assert_int_equal(uvhttp_static_new(&files, &fixture->config, NULL), UVHTTP_EINVAL);
    fixture->config.root = "/nowhere/at/all";
    assert_int_equal(uvhttp_static_new(&files, &fixture->config, NULL), -ENOENT);
    fixture->config.root = "/usr/bin/env";
    assert_int_equal(uvhttp_static_new(&files, &fixture->config, NULL), -ENOTDIR);
    assert_null(files);
    uvhttp_static_free(NULL);
}

static void test_mount_below_prefix_serves_files(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(uvhttp_static_mount(fixture->server, "/assets/", &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/", &fixture->config, NULL), 0);
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/assets/small"), 200);
    assert_body(5000);
    assert_int_equal(send_request(fixture, "GET", "/small"), 200);
    assert_int_equal(send_request(fixture, "GET", "/assets/sub"), 301);
    assert_non_null(strstr(response.head, "Location: /assets/sub/\r\n"));
    assert_int_equal(send_request(fixture, "GET", "/assets/assets/small"), 404);
    assert_int_equal(send_request(fixture, "GET", "/assets/"), 403);
    assert_int_equal(send_request(fixture, "POST", "/assets/small"), 405);
    assert_non_null(strstr(response.head, "Allow: "));
}

/* The path of the request is then shorter than the prefix. */
static void test_mount_with_ignored_slash_serves_index(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.uploads = true;
    fixture->config.index = "small";
    uvhttp_router_set_slash(uvhttp_server_router(fixture->server), UVHTTP_SLASH_IGNORE);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/assets/", &fixture->config, NULL), 0);
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/assets/"), 200);
    assert_int_equal(send_request(fixture, "GET", "/assets"), 200);
    assert_body(5000);
    assert_int_equal(send_request(fixture, "PUT", "/assets"), 405);
    assert_int_equal(send_request(fixture, "GET", "/assets/small"), 200);
    assert_int_equal(send_request(fixture, "GET", "/asset"), 404);
}

static void test_context_mounts_at_several_prefixes(void **state)
{
    struct fixture *fixture = *state;
    uvhttp_server_t *other = uvhttp_server_new(NULL);
    fixture->config.index = "small";
    open_files(fixture, "/");
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/a/", fixture->files, NULL), 0);
    assert_int_equal(
        uvhttp_static_mount_context(fixture->server, "/much/longer/", fixture->files, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(other, "/", fixture->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_route(fixture->server, "GET", "/of/:user/*rest",
                                         uvhttp_static_handle_request, fixture->files),
                     0);
    start(fixture);
    static const char *const found[] = {
        "/",      "/a/",           "/a/small",           "/much/longer/",
        "/of/x/", "/of/ann/small", "/much/longer/small", "/a/../a/small"};
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        assert_int_equal(send_request(fixture, "GET", found[i]), 200);
        assert_body(5000);
    }
    assert_int_equal(send_request(fixture, "GET", "/a/a/small"), 404);
    assert_int_equal(send_request(fixture, "GET", "/much/longer"), 404);
    uvhttp_server_free(other);
}

/* ---- a clock set back ---- */

enum { YEAR_2000 = 946684800 };

static atomic_llong clock_ms;

static int64_t read_clock(void *arg)
{
    (void)arg;
    return atomic_load(&clock_ms);
}

static void field_of(const char *name, char value[64])
{
    const char *at = strstr(response.head, name);
    value[0] = '\0';
    if (at != NULL)
        sscanf(at + strlen(name), ": %63[^\r]", value);
}

static int send_with_field(const struct fixture *fixture, const char *target, const char *field)
{
    char line[256];
    snprintf(line, sizeof(line), "%s HTTP/1.1\r\n%s\r\nX:", target, field);
    return send_request(fixture, "GET", line);
}

/* The loop's clock has a resolution of a millisecond, and the calendar clock is read once in
 * each. */
static void await_modified(struct fixture *fixture, const char *expected)
{
    char modified[64] = "";
    for (int i = 0; i < 100000 && strcmp(modified, expected) != 0; i++) {
        assert_int_equal(send_request(fixture, "GET", "/small"), 200);
        field_of("Last-Modified", modified);
    }
    assert_string_equal(modified, expected);
}

/* RFC 9110 section 8.8.2.1. */
static void last_modified_is_not_after_date(void **state)
{
    static const struct {
        const char *field;
        int status;
    } cases[] = {
        {"Range: bytes=0-9", 206}, {"Range: bytes=0-9,1000-1009", 206}, {"If-None-Match: *", 304},
        {"If-Match: *", 200},      {"Accept-Encoding: gzip", 200},
    };
    struct fixture *fixture = *state;
    uvhttp_config_t *config = uvhttp_config_new();
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = YEAR_2000}};
    char path[128], modified[64], date[64];
    assert_non_null(config);
    uvhttp_server_free(fixture->server);
    config->clock = read_clock;
    fixture->server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(fixture->server);
    snprintf(path, sizeof(path), "%s/small", fixture->root);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    snprintf(path, sizeof(path), "%s/large", fixture->root);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    fixture->config.compress = UVHTTP_TESTS_COMPRESSION;
    fixture->config.default_type = "text/plain";
    open_files(fixture, "/*");
    atomic_store(&clock_ms, (long long)(YEAR_2000 + 1) * 1000);
    start(fixture);
    await_modified(fixture, "Sat, 01 Jan 2000 00:00:00 GMT");
    atomic_store(&clock_ms, (long long)(YEAR_2000 - 1) * 1000);
    await_modified(fixture, "Fri, 31 Dec 1999 23:59:59 GMT");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int large = 0; large < 2; large++) {
            for (int k = 0; k < 2; k++) { /* from the disk, and from the cache */
                const char *target = large ? "/large" : "/small";
                assert_int_equal(send_with_field(fixture, target, cases[i].field), cases[i].status);
                field_of("Last-Modified", modified);
                field_of("Date", date);
                assert_string_equal(modified, "Fri, 31 Dec 1999 23:59:59 GMT");
                assert_string_equal(date, modified);
                assert_non_null(strstr(response.head, "\r\nETag: "));
            }
        }
    }
    atomic_store(&clock_ms, (long long)(YEAR_2000 + 1) * 1000);
    await_modified(fixture, "Sat, 01 Jan 2000 00:00:00 GMT");
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
static void begin_second(struct fixture *second, uvhttp_static_t *files)
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

static void second_server_gets_einval(struct fixture *fixture)
{
    struct fixture second;
    begin_second(&second, fixture->files);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_request(&second, "GET", "/small"), 500);
        assert_int_equal(send_request(&second, "GET", "/missing"), 500);
        assert_int_equal(send_request(&second, "PUT", "/new"), 500);
        assert_int_equal(send_request(fixture, "GET", "/small"), 200);
        assert_body(5000);
    }
    assert_int_equal(atomic_load(&errors_logged), 1);
    assert_non_null(strstr(last_error, "another server"));
    stop(&second);
}

static void context_of_another_server_gets_einval(void **state)
{
    struct fixture *fixture = *state;
    uvhttp_static_stats_t stats;
    uvhttp_server_t *other = uvhttp_server_new(NULL);
    fixture->config.uploads = true;
    open_files(fixture, "/*");
    start(fixture);
    /* the first server that uses it */
    assert_int_equal(send_request(fixture, "GET", "/small"), 200);
    second_server_gets_einval(fixture);
    assert_int_equal(uvhttp_static_mount_context(other, "/", fixture->files, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_read_stats(fixture->files, &stats), 0);
    assert_int_equal(stats.hits + stats.misses, 4);
    uvhttp_server_free(other);
}

static void context_mounted_on_another_server_gets_einval(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.uploads = true;
    assert_int_equal(uvhttp_static_new(&fixture->files, &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount_context(fixture->server, "/", fixture->files, NULL), 0);
    start(fixture);
    second_server_gets_einval(fixture);
}

/* File names contain no slash, so a path with an encoded one finds no file, cached or not, on any
 * route. */
static void test_encoded_slashes_do_not_separate_names(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(uvhttp_static_mount(fixture->server, "/", &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/:who/files/", &fixture->config, NULL),
                     0);
    start(fixture);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(send_request(fixture, "GET", "/sub/index.html"), 200);
        assert_int_equal(send_request(fixture, "GET", "/sub%2Findex.html"), 404);
        assert_int_equal(send_request(fixture, "GET", "/sub%252Findex.html"), 404);
        assert_int_equal(send_request(fixture, "GET", "/%2Fsmall"), 404);
        assert_int_equal(send_request(fixture, "GET", "/ann/files/sub/index.html"), 200);
        assert_int_equal(send_request(fixture, "GET", "/a%2Fb/files/sub/index.html"), 200);
        assert_int_equal(send_request(fixture, "GET", "/ann/files/sub%2findex.html"), 404);
        assert_int_equal(send_request(fixture, "GET", "/ann/files/..%2Fsmall"), 404);
        assert_int_equal(send_request(fixture, "GET", "/ann/files/%73mall"), 200);
        assert_body(5000);
    }
}

static void test_mount_errors_are_returned(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(uvhttp_static_mount(NULL, "/", &fixture->config, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_static_mount(fixture->server, NULL, &fixture->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(fixture->server, "", &fixture->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/assets", &fixture->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(fixture->server, "assets/", &fixture->config, NULL),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/", &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/", &fixture->config, NULL),
                     UVHTTP_ECONFLICT);
    fixture->config.root = "/nowhere/at/all";
    assert_int_equal(uvhttp_static_mount(fixture->server, "/other/", &fixture->config, NULL),
                     -ENOENT);
}

static void test_any_method_route_gets_405(void **state)
{
    struct fixture *fixture = *state;
    open_files(fixture, "/*");
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/small"), 200);
    assert_body(5000);
    assert_int_equal(send_request(fixture, "POST", "/small"), 405);
    assert_non_null(strstr(response.head, "Allow: GET, HEAD\r\n"));
}

/* A route without a wildcard serves the file of the whole path. */
static void test_route_without_wildcard_serves_file(void **state)
{
    struct fixture *fixture = *state;
    open_files(fixture, "/sub/index.html");
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/sub/index.html"), 200);
    assert_body(10);
    assert_int_equal(send_request(fixture, "GET", "/small"), 404);
}

struct expected {
    const char *target;
    int status;
};

/* Each allocation of static files fails once: the response is 503 or the usual one, later responses
 * are the usual ones, and nothing leaks. */
static void check_failed_allocations(struct fixture *fixture, const struct expected *cases,
                                     size_t count)
{
    bool failed = true;
    for (size_t fail_at = 1; failed; fail_at++) {
        int unavailable = 0;
        fault_heap_arm(&fixture->heap, fail_at, false);
        int err = uvhttp_static_mount(fixture->server, "/", &fixture->config, NULL);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0) {
            start(fixture);
            for (size_t i = 0; i < 2 * count; i++) {
                int status = send_request(fixture, "GET", cases[i / 2].target);
                assert_true(status == cases[i / 2].status || status == 503);
                unavailable += status == 503;
            }
            assert_true(unavailable <= 1);
        }
        failed = atomic_load(&fixture->heap.calls) >= fail_at;
        stop(fixture);
        fixture->server = uvhttp_server_new(NULL);
        assert_non_null(fixture->server);
        assert_true(fail_at < 200);
    }
}

static void test_failed_allocations_get_503(void **state)
{
    static const struct expected cases[] = {{"/small", 200}, {"/large", 200}, {"/sub", 301},
                                            {"/", 200},      {"/sub/", 200},  {"/missing", 404}};
    struct fixture *fixture = *state;
    fixture->config.listing = true;
    check_failed_allocations(fixture, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_failed_allocations_with_pages_get_503(void **state)
{
    static const struct expected cases[] = {
        {"/small", 200}, {"/sub/index.html", 301}, {"/sub/index", 301}, {"/sub/", 200},
        {"/route", 200}, {"/missing.png", 404},    {"/.hidden", 404}};
    struct fixture *fixture = *state;
    const char *const more[] = {old_directory, NULL};
    make_dir(fixture, "sub/index");
    make_file(fixture, "sub/index/index.html", 10);
    make_file(fixture, "app", 20);
    make_file(fixture, "lost", 300);
    make_file(fixture, "busy", LARGE);
    fixture->config.clean_urls = true;
    fixture->config.fallback = "app";
    fixture->config.error_pages = "404=/lost 5xx=/busy";
    fixture->config.more_roots = more;
    check_failed_allocations(fixture, cases, sizeof(cases) / sizeof(cases[0]));
    fixture->config = (uvhttp_static_options_t){.root = fixture->root,
                                                .file = "small",
                                                .allocator = &fixture->heap.allocator,
                                                .revalidate_ms = 3600000};
    static const struct expected alias[] = {{"/anything", 200}};
    check_failed_allocations(fixture, alias, 1);
    fixture->config.file = NULL;
    fixture->config.try_files = "{path}.html {path}/ /small";
    check_failed_allocations(fixture, alias, 1);
}

static void test_cached_fallback_and_pages_do_not_allocate(void **state)
{
    struct fixture *fixture = *state;
    make_file(fixture, "lost", 300);
    fixture->config.fallback = "/small";
    fixture->config.error_pages = "404=/lost";
    open_files(fixture, "/*");
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/a/route"), 200);
    assert_int_equal(send_request(fixture, "GET", "/a.png"), 404);
    atomic_store(&fixture->heap.largest, 0);
    for (int round = 0; round < 2; round++) {
        size_t calls = atomic_load(&fixture->heap.calls);
        for (int i = 0; i < 20; i++) {
            char target[32];
            snprintf(target, sizeof(target), "/another/%d", i);
            assert_int_equal(send_request(fixture, "GET", i % 2 == 0 ? target : "/a.png"),
                             i % 2 == 0 ? 200 : 404);
            assert_body(i % 2 == 0 ? 5000 : 300);
        }
        if (round == 1)
            /* each route is cached by now */
            assert_int_equal(atomic_load(&fixture->heap.calls), calls);
    }
    assert_true(atomic_load(&fixture->heap.largest) < 300); /* both pages are cached once */
}

static void test_single_file_mount_serves_file(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.file = "sub/index.html";
    assert_int_equal(uvhttp_static_mount(fixture->server, "/favicon.ico", &fixture->config, NULL),
                     0);
    assert_int_equal(uvhttp_static_mount(fixture->server, "/below/", &fixture->config, NULL), 0);
    assert_int_equal(uvhttp_static_mount(fixture->server, "favicon.ico", &fixture->config, NULL),
                     UVHTTP_EINVAL);
    fixture->config.file = "missing";
    assert_int_equal(uvhttp_static_mount(fixture->server, "/later", &fixture->config, NULL), 0);
    fixture->config.file = "/";
    assert_int_equal(uvhttp_static_mount(fixture->server, "/folder", &fixture->config, NULL),
                     UVHTTP_ECONFIG);
    start(fixture);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(send_request(fixture, "GET", "/favicon.ico"), 200);
        assert_body(10);
        assert_int_equal(send_request(fixture, "GET", "/below/any/thing"), 200);
        assert_body(10);
        assert_int_equal(send_request(fixture, "GET", "/later"), 404);
        assert_int_equal(send_request(fixture, "GET", "/favicon.ico/"), 404);
    }
    make_file(fixture, "missing", 77);
    assert_int_equal(send_request(fixture, "GET", "/later"), 200);
    assert_body(77);
}

static void test_single_file_is_prewarmed(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    assert_int_equal(stat("/usr/bin/env", &status), 0);
    fixture->config.root = old_directory;
    fixture->config.memory_file_size = 1 << 20;
    fixture->config.file = old_file;
    open_files(fixture, "/program");
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/program"), 0);
    start(fixture);
    atomic_store(&fixture->heap.largest, 0);
    assert_int_equal(send_request(fixture, "GET", "/program"), 200);
    assert_int_equal(response.size, status.st_size);
    assert_int_equal(atomic_load(&fixture->heap.largest), 0);
}

/* Without the call the changes would be visible after an hour, or a second for a missing file. */
static void invalidated_paths_are_read_again(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.negative_ms = 3600000;
    open_files(fixture, "/*");
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/new.txt"), 404);
    assert_int_equal(send_request(fixture, "GET", "/one/two/three"), 404);
    make_file(fixture, "new.txt", 40);
    make_dir(fixture, "one");
    make_dir(fixture, "one/two");
    make_file(fixture, "one/two/three", 50);
    assert_int_equal(send_request(fixture, "GET", "/new.txt"), 404);
    uvhttp_static_invalidate(fixture->files, "/new.txt");
    assert_int_equal(send_request(fixture, "GET", "/new.txt"), 200);
    assert_body(40);
    assert_int_equal(send_request(fixture, "GET", "/one/two/three"), 404);
    uvhttp_static_invalidate(fixture->files, "one//two/three");
    assert_int_equal(send_request(fixture, "GET", "/one/two/three"), 200);
    make_file(fixture, "new.txt", 41);
    assert_int_equal(send_request(fixture, "GET", "/new.txt"), 200);
    assert_body(40);
    uvhttp_static_invalidate(fixture->files, NULL);
    assert_int_equal(send_request(fixture, "GET", "/new.txt"), 200);
    assert_body(41);
}

static void test_missing_additional_root_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const char *const more[] = {old_directory, "/nowhere/at/all", NULL};
    fixture->config.more_roots = more;
    assert_int_equal(uvhttp_static_new(&fixture->files, &fixture->config, NULL), -ENOENT);
    assert_null(fixture->files);
    assert_int_equal(atomic_load(&fixture->heap.live), 0);
}

static void test_prewarm_follows_try_files(void **state)
{
    struct fixture *fixture = *state;
    fixture->config.try_files = "{path} {path}.html /small";
    make_file(fixture, "page.html", 40);
    open_files(fixture, "/*");
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/page"), 0);
    assert_int_equal(uvhttp_static_prewarm_cache(fixture->files, "/nothing"), -ENOENT);
    start(fixture);
    assert_int_equal(send_request(fixture, "GET", "/page"), 200);
    assert_body(40);
    assert_int_equal(send_request(fixture, "GET", "/nothing"), 200);
    assert_body(5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pitfall_prewarmed_files_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarm_errors_are_returned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cached_files_do_not_allocate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_errors_are_returned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mount_below_prefix_serves_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mount_with_ignored_slash_serves_index, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_context_mounts_at_several_prefixes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_modified_is_not_after_date, set_up, tear_down),
        cmocka_unit_test_setup_teardown(context_of_another_server_gets_einval, set_up, tear_down),
        cmocka_unit_test_setup_teardown(context_mounted_on_another_server_gets_einval, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_encoded_slashes_do_not_separate_names, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_mount_errors_are_returned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_method_route_gets_405, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_route_without_wildcard_serves_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_allocations_get_503, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_allocations_with_pages_get_503, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cached_fallback_and_pages_do_not_allocate, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_single_file_mount_serves_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_single_file_is_prewarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalidated_paths_are_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_additional_root_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prewarm_follows_try_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
