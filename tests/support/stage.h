/* The fixture of tests that run a whole server in one thread: a loop, a counting heap, a
 * configuration that uses it, and a limit of loop iterations instead of a timeout.
 *
 * stage_end fails the test when the server leaves a handle on the loop, a block on the heap or an
 * open descriptor. */
#ifndef UVH_SUPPORT_STAGE_H
#define UVH_SUPPORT_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <uvhttp.h>

#include "support/fault_heap.h"
#include "support/raw_client.h"

/* Far more than any test needs. A test that reaches it hangs. */
enum { STAGE_MAX_ITERATIONS = 200000 };

struct stage {
    uv_loop_t loop;
    uv_timer_t pulse; /* limits the time that an iteration blocks */
    struct fault_heap heap;
    uvhttp_config_t *config; /* uses the heap's allocator and a log callback that counts */
    uvhttp_server_t *server; /* may be NULL; freed by stage_end */
    size_t descriptors;      /* open before stage_begin */
    /* The test's own system calls return EAGAIN although the socket is writable. No edge follows
     * then, so each iteration reports the sockets as writable. */
    bool simulates_eagain;
    size_t warnings_logged;
    size_t errors_logged;
    char last_error[256];
    char last_warning[256];
};

/* Clients are closed before stage_end. */
void stage_begin(struct stage *stage);
void stage_end(struct stage *stage);

/* Creates a server with the fixture's configuration on its loop. NULL when an allocation fails. */
uvhttp_server_t *stage_new_server(struct stage *stage);

/* Listens on a free port of 127.0.0.1. */
void stage_listen(struct stage *stage);

/* Sets the approximate size of the send buffer of connections accepted from now on, so that writes
 * are short. */
void stage_shrink_send_buffer(struct stage *stage, int bytes);

/* One loop iteration that does not block. */
void stage_iterate(struct stage *stage);
void stage_iterations(struct stage *stage, int count);

/* One loop iteration that blocks for a short time at most, for work on the thread pool. */
void stage_wait(struct stage *stage);

/* Runs client and server alternately, with at most `max` bytes received a step, until `done(arg)`.
 * Blocks only when no bytes move. */
void stage_drive(struct stage *stage, struct raw_client *client, size_t max,
                 bool (*done)(void *arg), void *arg);

/* The same until `count` complete responses are received or the server has closed. Returns the
 * number of responses. */
size_t stage_drive_responses(struct stage *stage, struct raw_client *client, size_t max,
                             size_t count);

/* The same until the server has closed. */
void stage_drive_to_end(struct stage *stage, struct raw_client *client, size_t max);

/* Number of open descriptors of this process. */
size_t stage_descriptors(void);

#endif
