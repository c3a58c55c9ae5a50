/* See the header. Uses the monotonic clock, so clock changes have no effect. */
#include "platform/pause.h"

#include <time.h>

void uvh_pause_init(struct uvh_pause *pause)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&pause->mutex, NULL);
    pthread_cond_init(&pause->ended_now, &attributes);
    pthread_condattr_destroy(&attributes);
    pause->ended = false;
}

void uvh_pause_destroy(struct uvh_pause *pause)
{
    pthread_cond_destroy(&pause->ended_now);
    pthread_mutex_destroy(&pause->mutex);
}

bool uvh_pause_wait(struct uvh_pause *pause, unsigned milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&pause->mutex);
    while (!pause->ended && pthread_cond_timedwait(&pause->ended_now, &pause->mutex, &until) == 0)
        ;
    bool ended = pause->ended;
    pthread_mutex_unlock(&pause->mutex);
    return ended;
}

void uvh_pause_end(struct uvh_pause *pause)
{
    pthread_mutex_lock(&pause->mutex);
    pause->ended = true;
    pthread_cond_broadcast(&pause->ended_now);
    pthread_mutex_unlock(&pause->mutex);
}
