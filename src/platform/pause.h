/* An interruptible sleep: a thread waits for a time, or until it must end. */
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

/* Sleeps. True if the thread must end. */
bool uvh_pause_wait(struct uvh_pause *pause, unsigned milliseconds);

/* Any thread. Ends the current wait and all later ones at once. */
void uvh_pause_end(struct uvh_pause *pause);

#endif
