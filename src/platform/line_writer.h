/* Writes lines to a file without blocking the caller: lines are copied into a buffer of fixed size,
 * and the writer's thread writes them. Used by logs.
 *
 * Always true: uvh_line_writer_put does no I/O and waits at most for another thread's copy of one
 * line. If the buffer is full, the line is dropped and counted, and a notice with the number is
 * written in its position as soon as there is space. Lines are written whole and in order. If a
 * write fails (full disk, pipe without reader), it is retried until it works; the error is reported
 * once. */
#ifndef UVH_PLATFORM_LINE_WRITER_H
#define UVH_PLATFORM_LINE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

struct uvh_line_writer;

/* Writes the notice that `count` lines were dropped, with a line end, to `out`; returns its
 * length. */
enum { UVH_LINE_WRITER_NOTICE_SIZE = 256 };
typedef size_t (*uvh_line_writer_notice_cb)(uint64_t count, char out[UVH_LINE_WRITER_NOTICE_SIZE],
                                            void *arg);

struct uvh_line_writer_config {
    /* a regular file or FIFO to append to, created if missing; "-": standard output; "syslog:" or
     * "journal:" with the path of the socket, or without: the usual one */
    const char *path;
    size_t buffer_size; /* bytes of queued lines; twice that much is allocated */
    uint64_t flush_ms;  /* the longest delay of a line to batch it with others, ms */
    uvh_line_writer_notice_cb notice;
    void *notice_arg;
    uvhttp_log_cb log; /* called on the writer's thread, or NULL */
    void *log_arg;
    const uvhttp_allocator_t *allocator; /* required */
};

struct uvh_line_writer_counts {
    uint64_t written; /* lines written to the target */
    uint64_t dropped; /* because the buffer was full, or still queued at close */
};

/* Returns 0, UVHTTP_ENOMEM or a negative errno. */
int uvh_line_writer_open(struct uvh_line_writer **writer,
                         const struct uvh_line_writer_config *config);

/* Queues one line with its '\n', the only one in it. Any thread. */
void uvh_line_writer_put(struct uvh_line_writer *writer, const char *line, size_t length);

/* Reopens the path, for log rotation; the old file remains in use if that fails. Returns at once.
 * Any thread. */
void uvh_line_writer_reopen(struct uvh_line_writer *writer);

/* Any thread. */
struct uvh_line_writer_counts uvh_line_writer_counts(struct uvh_line_writer *writer);

/* The number of lines that all writers of the process have dropped. Any thread. */
uint64_t uvh_line_writer_all_dropped(void);

/* Writes the queued lines and ends the thread. After UVH_LINE_WRITER_PATIENCE_MS without a writable
 * target it gives up and reports the number of lost lines. NULL is allowed. No other thread may use
 * the writer during and after the call. */
enum { UVH_LINE_WRITER_PATIENCE_MS = 1000 };
void uvh_line_writer_close(struct uvh_line_writer *writer);

#endif
