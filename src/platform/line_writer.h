/* Lines to a file, without the caller ever waiting for it: lines are copied into a buffer of fixed
 * size, and a thread of the writer's own brings them to the file. Called by logs.
 *
 * Always true: uvh_line_writer_put does no input or output and waits only for another thread's copy
 * of one line. What finds no room is dropped and counted, and a notice with the number stands where
 * the lines would have been, as soon as there is room. Lines come out whole and in the order in
 * which they were put in. A target that does not take them (full disk, pipe that nobody reads) is
 * tried again until it does; what went wrong is reported once, not at every try. */
#ifndef UVH_PLATFORM_LINE_WRITER_H
#define UVH_PLATFORM_LINE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

struct uvh_line_writer;

/* Writes the notice that `count` lines were dropped, line end included, to `out`; returns its
 * length. */
enum { UVH_LINE_WRITER_NOTICE_SIZE = 256 };
typedef size_t (*uvh_line_writer_notice_cb)(uint64_t count, char out[UVH_LINE_WRITER_NOTICE_SIZE],
                                            void *arg);

struct uvh_line_writer_config {
    /* a regular file or FIFO to append to, created if absent; "-": standard output */
    const char *path;
    size_t buffer_size; /* bytes of waiting lines; twice that much is taken */
    uint64_t flush_ms;  /* how long a line may wait for others before it is written */
    uvh_line_writer_notice_cb notice;
    void *notice_arg;
    uvhttp_log_cb log; /* called on the writer's thread; NULL: nobody is told */
    void *log_arg;
    const uvhttp_allocator_t *allocator; /* required */
};

struct uvh_line_writer_counts {
    uint64_t written; /* lines that have reached the target */
    uint64_t dropped; /* for which there was no room, or which were still waiting at the end */
};

/* 0, UVHTTP_ENOMEM or a negative errno. */
int uvh_line_writer_open(struct uvh_line_writer **writer,
                         const struct uvh_line_writer_config *config);

/* Puts one line, its end ('\n', the only one in it) included. Any thread. */
void uvh_line_writer_put(struct uvh_line_writer *writer, const char *line, size_t length);

/* Opens the path again, for a file that was renamed; the old one stays in use when that fails.
 * Returns at once. Any thread. */
void uvh_line_writer_reopen(struct uvh_line_writer *writer);

/* Any thread. */
struct uvh_line_writer_counts uvh_line_writer_counts(struct uvh_line_writer *writer);

/* Writes what is waiting and ends the thread. A target that takes nothing for
 * UVH_LINE_WRITER_PATIENCE_MS is given up, and the lines that are lost are reported. NULL is fine.
 * Nobody may use the writer meanwhile or afterwards. */
enum { UVH_LINE_WRITER_PATIENCE_MS = 1000 };
void uvh_line_writer_close(struct uvh_line_writer *writer);

#endif
