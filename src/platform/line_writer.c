/* Double buffering: callers fill one buffer under a lock held for one copy, the thread writes the
 * other without a lock, and then they are swapped. */
#include "platform/line_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/clock.h"
#include "platform/line_socket.h"
#include "platform/thread.h"

enum {
    /* between retries while the target is not writable; also the delay until close is noticed */
    RETRY_MS = 250,
    REPORT_MS = 10000, /* the shortest time between reports of dropped lines */
    MOST_PER_WRITE = 1 << 20,
    FILE_MODE = 0640, /* a log of requests is private */
};

static _Atomic uint64_t all_dropped; /* of all writers */

struct uvh_line_writer {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;

    /* Protected by the lock. */
    char *filling;
    size_t filled;
    uint64_t filled_lines;
    uint64_t missing; /* dropped since the last notice */
    struct uvh_line_writer_counts counts;
    bool urgent;   /* do not wait for flush_ms */
    bool reopen;   /* requested and not done yet */
    bool stopping; /* write the queued lines, then end */

    /* Used by the thread only. */
    char *writing;
    size_t size; /* bytes in `writing` */
    size_t done;
    uint64_t lines;
    int descriptor;
    bool regular;                /* a regular file: writes do not wait for a reader */
    enum uvh_line_socket socket; /* the other kinds of targets: a message for each line */
    bool failing;                /* the error has been reported */
    uint64_t unreported;         /* dropped lines */
    uint64_t reported_us;        /* time of the last report of dropped lines; 0: none */
    uint64_t stalled_us;         /* the same, of a target that accepts nothing */

    /* Constant. */
    size_t capacity;
    uint64_t flush_ms;
    uvh_line_writer_notice_cb notice;
    void *notice_arg;
    uvhttp_log_cb log;
    void *log_arg;
    const uvhttp_allocator_t *allocator;
    char path[];
};

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
report(struct uvh_line_writer *writer, uvhttp_log_level_t level, const char *format, ...)
{
    char message[512];
    va_list arguments;
    if (writer->log == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    writer->log(level, message, writer->log_arg);
}

/* ---- the target ---- */

/* A FIFO is opened for reading and writing: open then needs no reader, and a reader that closes it
 * causes no error. */
static int open_target(const char *path, int *descriptor, bool *regular)
{
    const char *socket_path;
    struct stat facts;
    if (uvh_line_socket_kind(path, &socket_path) != UVH_LINE_SOCKET_NONE) {
        *regular = false;
        return uvh_line_socket_open(socket_path, descriptor);
    }
    int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int opened = -1;
    if (strcmp(path, "-") == 0)
        opened = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    else if (stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode))
        opened = open(path, O_RDWR | flags, FILE_MODE);
    else
        opened = open(path, O_WRONLY | flags, FILE_MODE);
    if (opened < 0)
        return -errno;
    if (fstat(opened, &facts) != 0) {
        int err = -errno;
        close(opened);
        return err;
    }
    *descriptor = opened;
    *regular = S_ISREG(facts.st_mode);
    return 0;
}

/* The size of the next write: for a regular file all lines; for other targets at most what a
 * writable target accepts without blocking. Standard output may not be set to non-blocking, because
 * other processes may share it. */
static size_t portion(const struct uvh_line_writer *writer)
{
    size_t size = writer->size - writer->done;
    size_t most = writer->regular ? (size_t)MOST_PER_WRITE : (size_t)PIPE_BUF;
    return size < most ? size : most;
}

/* Bytes written, or a negative errno; -EAGAIN if the target was not writable for RETRY_MS. */
static ssize_t write_some(struct uvh_line_writer *writer)
{
    struct pollfd target = {.fd = writer->descriptor, .events = POLLOUT};
    if (!writer->regular && poll(&target, 1, RETRY_MS) <= 0)
        return -EAGAIN;
    const char *next = writer->writing + writer->done;
    if (writer->socket != UVH_LINE_SOCKET_NONE)
        return uvh_line_socket_send(writer->socket, writer->descriptor, next,
                                    writer->size - writer->done);
    ssize_t count = write(writer->descriptor, next, portion(writer));
    return count < 0 ? -errno : count;
}

/* The service behind a socket has ended, and listens again later. */
static void connect_again(struct uvh_line_writer *writer)
{
    int descriptor;
    bool regular;
    if (writer->socket == UVH_LINE_SOCKET_NONE ||
        open_target(writer->path, &descriptor, &regular) != 0)
        return;
    close(writer->descriptor);
    writer->descriptor = descriptor;
}

/* ---- the thread ---- */

/* Waits on `wake`, with the lock held, for at most `ms`, or until reopen or close is requested;
 * `or_urgent`: or until lines should be written at once. */
static void wait_for(struct uvh_line_writer *writer, uint64_t ms, bool or_urgent)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(ms / 1000);
    end.tv_nsec += (long)(ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    int result = 0;
    while (result == 0 && !writer->reopen && !writer->stopping && !(or_urgent && writer->urgent))
        result = pthread_cond_timedwait(&writer->wake, &writer->lock, &end);
}

/* A new file begins with a whole line: one that was cut off is written again. */
static void begin_line_again(struct uvh_line_writer *writer)
{
    while (writer->done > 0 && writer->writing[writer->done - 1] != '\n')
        writer->done--;
}

static bool is_same_file(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static void reopen_if_requested(struct uvh_line_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool requested = writer->reopen;
    writer->reopen = false;
    pthread_mutex_unlock(&writer->lock);
    if (!requested)
        return;
    int descriptor;
    bool regular;
    int err = open_target(writer->path, &descriptor, &regular);
    if (err != 0) {
        report(writer, UVHTTP_LOG_ERROR,
               "log %s cannot be reopened: %s; the old file remains in use", writer->path,
               uvhttp_strerror(err));
        return;
    }
    /* A pipe, standard output, or a file that was not renamed: the line continues. */
    if (!is_same_file(writer->descriptor, descriptor))
        begin_line_again(writer);
    close(writer->descriptor);
    writer->descriptor = descriptor;
    writer->regular = regular;
}

static bool is_stopping(struct uvh_line_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool stopping = writer->stopping;
    pthread_mutex_unlock(&writer->lock);
    return stopping;
}

static bool is_dropping(struct uvh_line_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool dropping = writer->missing > 0;
    pthread_mutex_unlock(&writer->lock);
    return dropping;
}

/* True rarely, since a target that is too slow stalls and drops lines again and again. `last`: time
 * of the last report, which is set. */
static bool is_report_due(uint64_t *last)
{
    uint64_t now = uvh_clock_monotonic_us();
    if (*last != 0 && now - *last < REPORT_MS * 1000U)
        return false;
    *last = now;
    return true;
}

/* Once for each failure. A target that accepts nothing has failed when lines are dropped. */
static void report_failure(struct uvh_line_writer *writer, int err)
{
    bool stalled = err == -EAGAIN;
    if (writer->failing ||
        (stalled && !(is_dropping(writer) && is_report_due(&writer->stalled_us))))
        return;
    report(writer, UVHTTP_LOG_ERROR, "log %s: %s; retrying", writer->path,
           stalled ? "the reader is stalled, and lines are dropped" : uvhttp_strerror(err));
    writer->failing = true;
}

/* A write failed: reports it and waits. False if the writer is being closed and the patience is
 * exhausted. */
static bool try_again(struct uvh_line_writer *writer, int err, unsigned *tries_left)
{
    report_failure(writer, err);
    if (is_stopping(writer) && (err != -EAGAIN || (*tries_left)-- == 0))
        return false;
    if (err != -EAGAIN) { /* otherwise poll has waited */
        pthread_mutex_lock(&writer->lock);
        wait_for(writer, RETRY_MS, false);
        pthread_mutex_unlock(&writer->lock);
        connect_again(writer);
    }
    reopen_if_requested(writer);
    return true;
}

/* Writes the whole buffer, however long that takes. False if it gave up because the writer is being
 * closed. */
static bool write_all(struct uvh_line_writer *writer)
{
    const unsigned tries = UVH_LINE_WRITER_PATIENCE_MS / RETRY_MS;
    unsigned tries_left = tries;
    while (writer->done < writer->size) {
        ssize_t count = write_some(writer);
        if (count == -EINTR)
            continue;
        if (count <= 0) {
            if (!try_again(writer, count == 0 ? -EIO : (int)count, &tries_left))
                return false;
            continue;
        }
        writer->done += (size_t)count;
        tries_left = tries;
        if (writer->failing)
            report(writer, UVHTTP_LOG_INFO, "log %s: writing resumed", writer->path);
        writer->failing = false;
    }
    return true;
}

/* With the lock held: swaps the buffers and appends the notice of dropped lines. */
static void swap_buffers(struct uvh_line_writer *writer)
{
    writer->unreported += writer->missing;
    char *filled = writer->filling;
    writer->filling = writer->writing;
    writer->writing = filled;
    writer->size = writer->filled;
    writer->lines = writer->filled_lines;
    writer->done = 0;
    if (writer->missing > 0) /* its space is reserved after `capacity` */
        writer->size +=
            writer->notice(writer->missing, writer->writing + writer->size, writer->notice_arg);
    writer->filled = 0;
    writer->filled_lines = 0;
    writer->missing = 0;
    writer->urgent = false;
}

/* `last`: in any case. */
static void report_dropped(struct uvh_line_writer *writer, bool last)
{
    if (writer->unreported == 0 || (!is_report_due(&writer->reported_us) && !last))
        return;
    report(writer, UVHTTP_LOG_WARNING, "log %s: %llu lines dropped because the buffer was full",
           writer->path, (unsigned long long)writer->unreported);
    writer->unreported = 0;
}

/* The writer is being closed and its target is not writable: queued lines are lost, including a
 * partly written one. */
static void give_up(struct uvh_line_writer *writer)
{
    uint64_t complete = 0;
    for (size_t i = 0; i < writer->done; i++)
        complete += writer->writing[i] == '\n';
    pthread_mutex_lock(&writer->lock);
    uint64_t lost = writer->lines - complete + writer->filled_lines;
    writer->counts.written += complete;
    writer->counts.dropped += lost;
    atomic_fetch_add_explicit(&all_dropped, lost, memory_order_relaxed);
    lost += writer->missing + writer->unreported;
    pthread_mutex_unlock(&writer->lock);
    report(writer, UVHTTP_LOG_ERROR, "log %s: %llu lines lost on close", writer->path,
           (unsigned long long)lost);
}

static void *run(void *arg)
{
    struct uvh_line_writer *writer = arg;
    bool stopping = false;
    while (!stopping) {
        pthread_mutex_lock(&writer->lock);
        writer->counts.written += writer->lines;
        writer->lines = 0;
        while (writer->filled == 0 && writer->missing == 0 && !writer->reopen && !writer->stopping)
            pthread_cond_wait(&writer->wake, &writer->lock);
        wait_for(writer, writer->flush_ms, true);
        stopping = writer->stopping;
        swap_buffers(writer);
        pthread_mutex_unlock(&writer->lock);
        if (!write_all(writer)) {
            give_up(writer);
            return NULL;
        }
        report_dropped(writer, stopping);
        reopen_if_requested(writer); /* after the earlier lines */
    }
    return NULL;
}

/* ---- called from other threads ---- */

void uvh_line_writer_put(struct uvh_line_writer *writer, const char *line, size_t length)
{
    pthread_mutex_lock(&writer->lock);
    /* After a drop no line is added until the notice is written, to keep the order of lines around
     * it. */
    if (writer->missing > 0 || length > writer->capacity - writer->filled) {
        if (writer->missing++ == 0) {
            writer->urgent = true;
            pthread_cond_signal(&writer->wake);
        }
        writer->counts.dropped++;
        atomic_fetch_add_explicit(&all_dropped, 1, memory_order_relaxed);
        pthread_mutex_unlock(&writer->lock);
        return;
    }
    size_t before = writer->filled;
    memcpy(writer->filling + before, line, length);
    writer->filled = before + length;
    writer->filled_lines++;
    bool half = before < writer->capacity / 2 && writer->filled >= writer->capacity / 2;
    if (half)
        writer->urgent = true;
    if (half || before == 0)
        pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

void uvh_line_writer_reopen(struct uvh_line_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->reopen = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

struct uvh_line_writer_counts uvh_line_writer_counts(struct uvh_line_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    struct uvh_line_writer_counts counts = writer->counts;
    pthread_mutex_unlock(&writer->lock);
    return counts;
}

uint64_t uvh_line_writer_all_dropped(void)
{
    return atomic_load_explicit(&all_dropped, memory_order_relaxed);
}

static void release(struct uvh_line_writer *writer)
{
    const uvhttp_allocator_t *allocator = writer->allocator;
    uvh_free(allocator, writer->filling);
    uvh_free(allocator, writer->writing);
    uvh_free(allocator, writer);
}

void uvh_line_writer_close(struct uvh_line_writer *writer)
{
    if (writer == NULL)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->lock);
    close(writer->descriptor);
    release(writer);
}

/* The thread blocks all signals, so SIGPIPE becomes an error to report. */
static int start_thread(struct uvh_line_writer *writer)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return uvh_thread_start(&writer->thread, run, writer);
}

int uvh_line_writer_open(struct uvh_line_writer **writer,
                         const struct uvh_line_writer_config *config)
{
    const uvhttp_allocator_t *allocator = config->allocator;
    size_t path_size = strlen(config->path) + 1;
    *writer = NULL;
    struct uvh_line_writer *opened = uvh_alloc(allocator, sizeof(*opened) + path_size);
    if (opened == NULL)
        return UVHTTP_ENOMEM;
    *opened = (struct uvh_line_writer){.capacity = config->buffer_size,
                                       .flush_ms = config->flush_ms,
                                       .notice = config->notice,
                                       .notice_arg = config->notice_arg,
                                       .log = config->log,
                                       .log_arg = config->log_arg,
                                       .allocator = allocator};
    memcpy(opened->path, config->path, path_size);
    const char *socket_path;
    opened->socket = uvh_line_socket_kind(opened->path, &socket_path);
    size_t size = config->buffer_size + UVH_LINE_WRITER_NOTICE_SIZE;
    opened->filling = uvh_alloc(allocator, size);
    if (opened->filling != NULL)
        opened->writing = uvh_alloc(allocator, size);
    int err = opened->writing == NULL
                  ? UVHTTP_ENOMEM
                  : open_target(opened->path, &opened->descriptor, &opened->regular);
    if (err == 0 && (err = start_thread(opened)) != 0)
        close(opened->descriptor);
    if (err != 0) {
        release(opened);
        return err;
    }
    *writer = opened;
    return 0;
}
