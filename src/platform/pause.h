/* How a thread of ours waits: for a time, or until it is told to end.
 *
 * Called by tls/watch.c. */
#ifndef UVH_PLATFORM_PAUSE_H
#define UVH_PLATFORM_PAUSE_H

#include <pthread.h>
#include <stdbool.h>

struct uvh_pause {
    pthread_mutex_t mutex;
    pthread_cond_t ended_now;
    bool ended;
};

void uvh_pause_init(struct uvh_pause *pause);
void uvh_pause_destroy(struct uvh_pause *pause);

/* Waits. True when the thread is to end. */
bool uvh_pause_wait(struct uvh_pause *pause, unsigned milliseconds);

/* Any thread: whoever waits returns at once, now and later. */
void uvh_pause_end(struct uvh_pause *pause);

#endif
