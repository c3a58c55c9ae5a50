/* What a test of a whole server in this thread stands on: a loop, a counted heap, a configuration
 * that uses it, and the turns of the loop, which are counted instead of timed.
 *
 * Always true: stage_end fails the test when the server left a handle on the loop, a block on the
 * heap or an open descriptor. */
#ifndef UVH_SUPPORT_STAGE_H
#define UVH_SUPPORT_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <uvhttp.h>

#include "support/fault_heap.h"
#include "support/raw_client.h"

enum {
    STAGE_MAX_ITERATIONS = 200000
}; /* far more than any test needs: a test that gets there hangs */

struct stage {
    uv_loop_t loop;
    uv_timer_t pulse; /* so that a turn that waits always ends */
    struct fault_heap heap;
    uvhttp_config_t *config; /* with the heap's allocator and a log that is counted */
    uvhttp_server_t *server; /* freed by stage_end when there is one */
    size_t descriptors;      /* open before the stage */
    /* calls of the test's own say EAGAIN although the socket is not full: its edge is invented,
     * too */
    bool simulates_eagain;
    size_t warnings_logged;
    size_t errors_logged;
    char last_error[256];
};

/* Clients are closed before the end. */
void stage_begin(struct stage *stage);
void stage_end(struct stage *stage);

/* A server with the stage's configuration on the stage's loop; NULL when the heap has failed. */
uvhttp_server_t *stage_new_server(struct stage *stage);

/* Listens on a free port of 127.0.0.1. */
void stage_listen(struct stage *stage);

/* Connections accepted from now on have a send buffer of about this size, so that the server is cut
 * off in the middle. */
void stage_shrink_send_buffer(struct stage *stage, int bytes);

/* One turn: what is ready is done, nothing is waited for. */
void stage_iterate(struct stage *stage);
void stage_iterations(struct stage *stage, int count);

/* One turn that waits a moment for something to happen, for work on the thread pool. */
void stage_wait(struct stage *stage);

/* Steps client and server in turn, at most `most` bytes a step, until `done(arg)`; waits only when
 * nothing moves. */
void stage_drive(struct stage *stage, struct raw_client *client, size_t most,
                 bool (*done)(void *arg), void *arg);

/* The same until `count` complete answers have come, or the server has closed; the number of
 * answers. */
size_t stage_drive_responses(struct stage *stage, struct raw_client *client, size_t most,
                             size_t count);

/* The same until the server has closed. */
void stage_drive_to_end(struct stage *stage, struct raw_client *client, size_t most);

/* Descriptors this process has open. */
size_t stage_descriptors(void);

#endif
