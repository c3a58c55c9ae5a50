/* The line writer: order, whole lines, dropped lines that are counted and noted in place, full
 * disks, blocked readers, and several threads (for ThreadSanitizer). */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "platform/line_writer.h"
#include "support/fault_heap.h"

enum { BUFFER = 4096, THREADS = 4, LINES_PER_THREAD = 2000, MESSAGES = 16 };

static struct fault_heap heap;
static char directory[64];
static char path[96];

/* The messages logged by the writer's thread. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int count;
    char text[MESSAGES][256];
    uvhttp_log_level_t level[MESSAGES];
} logged = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void on_log(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&logged.lock);
    if (logged.count < MESSAGES) {
        snprintf(logged.text[logged.count], sizeof(logged.text[0]), "%s", message);
        logged.level[logged.count] = level;
        logged.count++;
    }
    pthread_cond_broadcast(&logged.more);
    pthread_mutex_unlock(&logged.lock);
}

static void wait_until_logged(int count)
{
    pthread_mutex_lock(&logged.lock);
    while (logged.count < count)
        pthread_cond_wait(&logged.more, &logged.lock);
    pthread_mutex_unlock(&logged.lock);
}

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    logged.count = 0;
    snprintf(directory, sizeof(directory), "/tmp/line_writer_XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/log", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command) != 0 || atomic_load(&heap.live) != 0 ? -1 : 0;
}

static size_t notice(uint64_t count, char out[UVH_LINE_WRITER_NOTICE_SIZE], void *arg)
{
    (void)arg;
    return (size_t)snprintf(out, UVH_LINE_WRITER_NOTICE_SIZE, "dropped %llu\n",
                            (unsigned long long)count);
}

static struct uvh_line_writer *open_writer(const char *target, size_t buffer, uint64_t flush_ms)
{
    struct uvh_line_writer *writer;
    struct uvh_line_writer_config config = {.path = target,
                                            .buffer_size = buffer,
                                            .flush_ms = flush_ms,
                                            .notice = notice,
                                            .log = on_log,
                                            .allocator = &heap.allocator};
    assert_int_equal(uvh_line_writer_open(&writer, &config), 0);
    return writer;
}

static void put_number(struct uvh_line_writer *writer, unsigned number)
{
    char line[32];
    int length = snprintf(line, sizeof(line), "line %07u\n", number); /* 13 bytes */
    uvh_line_writer_put(writer, line, (size_t)length);
}

/* Of different lengths, so that a shorter line could still fit after one that does not. */
static void put_number_padded(struct uvh_line_writer *writer, unsigned number)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "line %07u%.*s\n", number, (int)(number % 3) * 10,
                          "xxxxxxxxxxxxxxxxxxxx");
    uvh_line_writer_put(writer, line, (size_t)length);
}

/* The file as text; the caller frees it. */
static char *read_text(const char *name)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

static void wait_until_written(struct uvh_line_writer *writer, uint64_t count)
{
    while (uvh_line_writer_counts(writer).written < count)
        poll(NULL, 0, 1);
}

/* Parses "line N" and "dropped N" and checks that numbers increase by one, including dropped ones.
 * Returns the number after the last. */
static unsigned check_sequence(const char *text, unsigned *notices)
{
    unsigned next = 0;
    *notices = 0;
    while (*text != '\0') {
        unsigned number;
        if (sscanf(text, "line %7u", &number) == 1) {
            assert_int_equal(number, next);
            next++;
        } else {
            assert_int_equal(sscanf(text, "dropped %u", &number), 1);
            assert_true(number > 0);
            next += number;
            ++*notices;
        }
        text = strchr(text, '\n');
        assert_non_null(text);
        text++;
    }
    return next;
}

static void close_writes_all_lines_in_order(void **state)
{
    (void)state;
    unsigned notices;
    struct uvh_line_writer *writer = open_writer(path, 1 << 20, 3600000);
    for (unsigned i = 0; i < 1000; i++)
        put_number(writer, i);
    uvh_line_writer_close(writer);
    char *text = read_text(path);
    assert_int_equal(strlen(text), 13000);
    assert_int_equal(check_sequence(text, &notices), 1000);
    assert_int_equal(notices, 0);
    assert_int_equal(logged.count, 0);
    free(text);
}

static void flush_ms_limits_delay_of_line(void **state)
{
    (void)state;
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    put_number(writer, 0);
    wait_until_written(writer, 1);
    char *text = read_text(path);
    assert_string_equal(text, "line 0000000\n");
    free(text);
    uvh_line_writer_close(writer);
}

static void half_full_buffer_is_written_at_once(void **state)
{
    (void)state;
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 3600000);
    for (unsigned i = 0; i < BUFFER / 2 / 13 + 1; i++)
        put_number(writer, i);
    wait_until_written(writer, BUFFER / 2 / 13 + 1);
    uvh_line_writer_close(writer);
}

static void open_appends_with_private_mode(void **state)
{
    (void)state;
    struct stat facts;
    for (unsigned i = 0; i < 2; i++) {
        struct uvh_line_writer *writer = open_writer(path, BUFFER, 1000);
        put_number(writer, i);
        uvh_line_writer_close(writer);
    }
    char *text = read_text(path);
    assert_string_equal(text, "line 0000000\nline 0000001\n");
    free(text);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0137, 0);
}

/* A pipe without a reader: put never blocks, lines that do not fit are counted, and the notice has
 * their number once the pipe is read. */
static void blocked_pipe_drops_lines(void **state)
{
    (void)state;
    enum { PUT = 100000 };
    assert_int_equal(mkfifo(path, 0600), 0);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    for (unsigned i = 0; i < PUT; i++)
        put_number_padded(writer, i);
    struct uvh_line_writer_counts counts = uvh_line_writer_counts(writer);
    assert_true(counts.dropped > PUT / 2);
    assert_true(counts.written + counts.dropped <= PUT);

    /* Reads until all buffered lines are received, and new lines after them. */
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    char *text = calloc(1, 1 << 21);
    assert_non_null(text);
    size_t length = 0;
    unsigned next = PUT;
    while (next < PUT + 3 || counts.written + counts.dropped < next) {
        if (counts.written + counts.dropped == next)
            put_number_padded(writer, next++);
        struct pollfd ready = {.fd = reader, .events = POLLIN};
        if (poll(&ready, 1, 1) > 0) {
            ssize_t count = read(reader, text + length, 4096);
            assert_true(count > 0);
            length += (size_t)count;
        }
        counts = uvh_line_writer_counts(writer);
    }
    uvh_line_writer_close(writer);
    ssize_t count;
    while ((count = read(reader, text + length, 4096)) > 0)
        length += (size_t)count;
    close(reader);
    unsigned notices;
    assert_int_equal(check_sequence(text, &notices), next);
    assert_true(notices >= 1);
    free(text);
}

static void close_drops_lines_of_blocked_pipe(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    struct uvh_line_writer *writer = open_writer(path, 1 << 20, 1);
    for (unsigned i = 0; i < 10000; i++) /* more than a pipe holds */
        put_number(writer, i);
    uvh_line_writer_close(writer);
    assert_int_equal(logged.count, 1);
    assert_non_null(strstr(logged.text[0], "lines lost on close"));
    assert_int_equal(logged.level[0], UVHTTP_LOG_ERROR);
}

/* A reader that is too slow: the target stalls, accepts lines, and stalls again. */
static void repeated_stalls_are_reported_rarely(void **state)
{
    (void)state;
    char bytes[4096];
    time_t began = time(NULL);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    int reader = open(path, O_RDONLY | O_NONBLOCK), stalls = 0;
    assert_true(reader >= 0);
    for (int i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 100000; k++) {
            put_number(writer, k);
            if (k % 100 == 0)
                poll(NULL, 0, 1); /* in all longer than a write waits */
        }
        while (read(reader, bytes, sizeof(bytes)) > 0)
            poll(NULL, 0, 1);
    }
    uvh_line_writer_close(writer);
    close(reader);
    for (int i = 0; i < logged.count; i++)
        stalls += strstr(logged.text[i], "stalled") != NULL;
    assert_true(stalls >= 1 && stalls <= 1 + (time(NULL) - began) / 10);
}

static void full_disk_is_reported_once(void **state)
{
    (void)state;
    struct uvh_line_writer *writer = open_writer("/dev/full", BUFFER, 1);
    for (unsigned i = 0; i < 10000; i++)
        put_number(writer, i);
    wait_until_logged(1);
    assert_non_null(strstr(logged.text[0], "/dev/full"));
    assert_non_null(strstr(logged.text[0], "no space left"));
    assert_true(uvh_line_writer_counts(writer).written == 0);
    assert_true(uvh_line_writer_counts(writer).dropped > 0);
    uvh_line_writer_close(writer);
    assert_int_equal(logged.count, 2);
    assert_non_null(strstr(logged.text[1], "lines lost on close"));
}

/* A link to /dev/full that is changed to a link to a file: buffered lines are written there,
 * beginning with a whole line. */
static void write_failure_keeps_buffered_lines(void **state)
{
    (void)state;
    unsigned notices;
    char file[96];
    snprintf(file, sizeof(file), "%s/file", directory);
    assert_int_equal(symlink("/dev/full", path), 0);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    put_number(writer, 0);
    wait_until_logged(1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(file, path), 0);
    uvh_line_writer_reopen(writer);
    wait_until_logged(2);
    assert_non_null(strstr(logged.text[1], "writing resumed"));
    assert_int_equal(logged.level[1], UVHTTP_LOG_INFO);
    put_number(writer, 1);
    uvh_line_writer_close(writer);
    char *text = read_text(file);
    assert_int_equal(check_sequence(text, &notices), 2);
    free(text);
    assert_int_equal(logged.count, 2);
}

static void reopen_creates_new_file(void **state)
{
    (void)state;
    char old[96];
    struct stat facts;
    snprintf(old, sizeof(old), "%s/log.1", directory);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    put_number(writer, 0);
    wait_until_written(writer, 1);
    assert_int_equal(rename(path, old), 0);
    put_number(writer, 1); /* still written to the old file */
    wait_until_written(writer, 2);
    uvh_line_writer_reopen(writer);
    while (stat(path, &facts) != 0)
        poll(NULL, 0, 1);
    put_number(writer, 2);
    uvh_line_writer_close(writer);
    char *text = read_text(old);
    assert_string_equal(text, "line 0000000\nline 0000001\n");
    free(text);
    text = read_text(path);
    assert_string_equal(text, "line 0000002\n");
    free(text);
}

/* A line truncated at the end of the old file, here by a limit of its size, is written whole to the
 * new one. */
static void reopened_file_begins_with_whole_line(void **state)
{
    (void)state;
    char old[96];
    struct rlimit before, small;
    snprintf(old, sizeof(old), "%s/log.1", directory);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 3600000);
    for (unsigned i = 0; i < 10; i++)
        put_number(writer, i);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    uvh_line_writer_reopen(writer); /* first writes the buffered lines */
    wait_until_logged(1);
    assert_int_equal(rename(path, old), 0);
    uvh_line_writer_reopen(writer);
    wait_until_logged(2);
    uvh_line_writer_close(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    char *text = read_text(old);
    assert_int_equal(strlen(text), 100);
    assert_string_equal(text + 91, "line 0000");
    free(text);
    text = read_text(path);
    assert_string_equal(text, "line 0000007\nline 0000008\nline 0000009\n");
    free(text);
}

static void failed_reopen_keeps_old_file(void **state)
{
    (void)state;
    char old[96];
    snprintf(old, sizeof(old), "%s/log.1", directory);
    struct uvh_line_writer *writer = open_writer(path, BUFFER, 1);
    assert_int_equal(rename(path, old), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    uvh_line_writer_reopen(writer);
    wait_until_logged(1);
    assert_non_null(strstr(logged.text[0], "cannot be reopened"));
    put_number(writer, 0);
    uvh_line_writer_close(writer);
    char *text = read_text(old);
    assert_string_equal(text, "line 0000000\n");
    free(text);
}

struct job {
    struct uvh_line_writer *writer;
    unsigned number;
};

static void *put_many(void *arg)
{
    const struct job *job = arg;
    for (unsigned i = 0; i < LINES_PER_THREAD; i++) {
        char line[64];
        int length = snprintf(line, sizeof(line), "%u %u\n", job->number, i);
        uvh_line_writer_put(job->writer, line, (size_t)length);
        if (i % 500 == 0)
            uvh_line_writer_reopen(job->writer);
    }
    return NULL;
}

static void concurrent_puts_keep_lines_whole(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    struct uvh_line_writer *writer = open_writer(path, 1 << 20, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){writer, i};
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uvh_line_writer_close(writer);
    char *text = read_text(path);
    unsigned next[THREADS] = {0};
    for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        unsigned number, i;
        assert_int_equal(sscanf(line, "%u %u\n", &number, &i), 2);
        assert_true(number < THREADS);
        assert_int_equal(i, next[number]++);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(next[i], LINES_PER_THREAD);
    free(text);
}

static void failed_open_leaves_nothing(void **state)
{
    (void)state;
    struct uvh_line_writer *writer;
    struct uvh_line_writer_config config = {
        .path = directory, .buffer_size = BUFFER, .notice = notice, .allocator = &heap.allocator};
    assert_true(uvh_line_writer_open(&writer, &config) < 0);
    assert_null(writer);
    config.path = "/dev/null/log";
    assert_true(uvh_line_writer_open(&writer, &config) < 0);
    config.path = path;
    for (size_t n = 1; n <= 3; n++) {
        fault_heap_arm(&heap, n, false);
        assert_int_equal(uvh_line_writer_open(&writer, &config), UVHTTP_ENOMEM);
        assert_null(writer);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    fault_heap_arm(&heap, 0, false);
    uvh_line_writer_close(NULL);
}

#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(close_writes_all_lines_in_order),
        WITH_DIRECTORY(flush_ms_limits_delay_of_line),
        WITH_DIRECTORY(half_full_buffer_is_written_at_once),
        WITH_DIRECTORY(open_appends_with_private_mode),
        WITH_DIRECTORY(blocked_pipe_drops_lines),
        WITH_DIRECTORY(close_drops_lines_of_blocked_pipe),
        WITH_DIRECTORY(repeated_stalls_are_reported_rarely),
        WITH_DIRECTORY(full_disk_is_reported_once),
        WITH_DIRECTORY(write_failure_keeps_buffered_lines),
        WITH_DIRECTORY(reopen_creates_new_file),
        WITH_DIRECTORY(reopened_file_begins_with_whole_line),
        WITH_DIRECTORY(failed_reopen_keeps_old_file),
        WITH_DIRECTORY(concurrent_puts_keep_lines_whole),
        WITH_DIRECTORY(failed_open_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
