/* The access log by its public functions: invalid options, failed allocations, writes of several
 * threads, and a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uvhttp/access_log.h>
#include <uvhttp/error.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

enum { THREADS = 3, LINES = 3000 };

static struct fault_heap heap;
static char path[64];

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    snprintf(path, sizeof(path), "/tmp/access_log_XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path) != 0 || atomic_load(&heap.live) != 0 ? -1 : 0;
}

static uvhttp_access_log_options_t default_options(void)
{
    return (uvhttp_access_log_options_t){.path = path, .allocator = &heap.allocator};
}

static uvhttp_slice_t text(const char *value)
{
    return (uvhttp_slice_t){value, strlen(value)};
}

static char *read_log(void)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 22);
    assert_non_null(file);
    assert_non_null(bytes);
    assert_true(fread(bytes, 1, (1 << 22) - 1, file) < (1 << 22) - 1);
    fclose(file);
    return bytes;
}

static void assert_refused(uvhttp_access_log_options_t config)
{
    uvhttp_access_log_t *log;
    assert_int_equal(uvhttp_access_log_new(&log, &config, NULL), UVHTTP_EINVAL);
    assert_null(log);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void invalid_options_are_refused(void **state)
{
    (void)state;
    uvhttp_access_log_options_t config = default_options();
    uvhttp_access_log_t *log;
    assert_int_equal(uvhttp_access_log_new(&log, NULL, NULL), UVHTTP_EINVAL);
    assert_null(log);
    config.path = NULL;
    assert_refused(config);
    config.path = "";
    assert_refused(config);
    config = default_options();
    config.pattern = "{nothing}";
    assert_refused(config);
    config = default_options();
    config.format = (uvhttp_access_format_t)3;
    assert_refused(config);
    config = default_options();
    config.buffer_size = 65535;
    assert_refused(config);
    config.buffer_size = ((size_t)1 << 30) + 1;
    assert_refused(config);
    config = default_options();
    config.path = "/dev/null/log";
    assert_true(uvhttp_access_log_new(&log, &config, NULL) < 0);
    assert_null(log);
    uvhttp_access_log_free(NULL);
    uvhttp_access_log_reopen(NULL);
    assert_true(uvhttp_access_log_dropped(NULL) == 0);
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    uvhttp_access_log_options_t config = default_options();
    uvhttp_access_log_t *log;
    size_t n = 1;
    for (;; n++) {
        fault_heap_arm(&heap, n, false);
        int err = uvhttp_access_log_new(&log, &config, NULL);
        if (err == 0)
            break;
        assert_int_equal(err, UVHTTP_ENOMEM);
        assert_null(log);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    assert_true(n > 3);
    fault_heap_arm(&heap, 1, true); /* writing does not allocate */
    uvhttp_access_log_write(log, &(uvhttp_access_facts_t){.client = text("a")});
    uvhttp_access_log_free(log);
    char *found = read_log();
    assert_int_equal(strncmp(found, "a - - [", 7), 0);
    free(found);
}

/* Times from 2024 in Paris: summer time began on March 31 at 01:00 UTC and ended on October 27 at
 * 01:00 UTC. */
static void local_time_has_utc_offset(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *time;
    } cases[] = {
        {1711846799, "31/Mar/2024:01:59:59 +0100\n"},
        {1711846800, "31/Mar/2024:03:00:00 +0200\n"},
        {1729990799, "27/Oct/2024:02:59:59 +0200\n"},
        {1729990800, "27/Oct/2024:02:00:00 +0100\n"},
    };
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    uvhttp_access_log_options_t config = default_options();
    uvhttp_access_log_t *log;
    config.pattern = "{time}";
    assert_int_equal(uvhttp_access_log_new(&log, &config, NULL), 0);
    char expected[256] = "";
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_access_log_write(
            log, &(uvhttp_access_facts_t){.outcome = {.unix_ms = cases[i].seconds * 1000 + 999}});
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s",
                 cases[i].time);
    }
    uvhttp_access_log_free(log);
    char *found = read_log();
    assert_string_equal(found, expected);
    free(found);
}

static void *write_lines(void *log)
{
    for (unsigned i = 0; i < LINES; i++) {
        uvhttp_access_facts_t facts = {.client = text("192.0.2.1"),
                                       .method = text("GET"),
                                       .target = text("/"),
                                       .http_minor = 1,
                                       .outcome = {.status = 200, .unix_ms = (int64_t)i * 1000000}};
        uvhttp_access_log_write(log, &facts);
        if (i % 1000 == 0)
            uvhttp_access_log_reopen(log);
    }
    return NULL;
}

static void concurrent_writes_keep_lines_whole(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uvhttp_access_log_options_t config = default_options();
    uvhttp_access_log_t *log;
    config.flush_ms = 1;
    config.buffer_size = 1 << 21;
    assert_int_equal(uvhttp_access_log_new(&log, &config, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, log), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(uvhttp_access_log_dropped(log) == 0);
    uvhttp_access_log_free(log);
    char *found = read_log();
    unsigned count = 0;
    for (char *line = found; *line != '\0'; line = strchr(line, '\n') + 1, count++) {
        assert_int_equal(strncmp(line, "192.0.2.1 - - [", 15), 0);
        assert_int_equal(strncmp(strchr(line, ']'), "] \"GET / HTTP/1.1\" 200 0\n", 25), 0);
    }
    assert_int_equal(count, THREADS * LINES);
    free(found);
}

static void count_messages(uvhttp_log_level_t level, const char *message, void *arg)
{
    assert_int_equal(level, UVHTTP_LOG_ERROR);
    assert_non_null(strstr(message, "/dev/full"));
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* The writer continues; lost lines are counted and reported. */
static void full_disk_drops_lines(void **state)
{
    (void)state;
    atomic_int messages = 0;
    uvhttp_access_log_options_t config = default_options();
    uvhttp_access_log_t *log;
    config.path = "/dev/full";
    config.log = count_messages;
    config.log_arg = &messages;
    config.buffer_size = 65536;
    config.flush_ms = 1;
    assert_int_equal(uvhttp_access_log_new(&log, &config, NULL), 0);
    write_lines(log);
    write_lines(log);
    assert_true(uvhttp_access_log_dropped(log) > 0);
    uvhttp_access_log_free(log);
    /* the failure, and the number of lost lines at the end */
    assert_int_equal(atomic_load(&messages), 2);
}

/* The notice of dropped lines has the format of the log, for JSON an object. */
static void dropped_lines_are_logged_in_log_format(void **state)
{
    (void)state;
    static const char *const expected[] = {" lines dropped\n", "}\n{\"dropped\":"};
    for (int json = 0; json <= 1; json++) {
        uvhttp_access_log_options_t config = default_options();
        uvhttp_access_log_t *log;
        char found[4096] = "";
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        config.buffer_size = 65536;
        config.flush_ms = 1;
        config.format = json ? UVHTTP_ACCESS_JSON : UVHTTP_ACCESS_COMMON;
        assert_int_equal(uvhttp_access_log_new(&log, &config, NULL), 0);
        write_lines(log);
        write_lines(log);
        assert_true(uvhttp_access_log_dropped(log) > 0);
        int reader = open(path, O_RDONLY | O_NONBLOCK);
        assert_true(reader >= 0);
        /* Reads chunk by chunk and keeps the end of the previous chunk, since a notice can span two
         * chunks. */
        size_t length = 0;
        while (strstr(found, expected[json]) == NULL) {
            struct pollfd ready = {.fd = reader, .events = POLLIN};
            size_t overlap = length < 64 ? length : 64;
            assert_int_equal(poll(&ready, 1, -1), 1);
            memmove(found, found + length - overlap, overlap);
            ssize_t count = read(reader, found + overlap, sizeof(found) - 1 - overlap);
            assert_true(count > 0);
            length = overlap + (size_t)count;
            found[length] = '\0';
        }
        uvhttp_access_log_free(log);
        close(reader);
    }
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(invalid_options_are_refused), WITH_FILE(new_fails_without_memory),
        WITH_FILE(local_time_has_utc_offset),   WITH_FILE(concurrent_writes_keep_lines_whole),
        WITH_FILE(full_disk_drops_lines),       WITH_FILE(dropped_lines_are_logged_in_log_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
