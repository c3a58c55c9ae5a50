/* A mutex for data shared by several threads, held for a few dozen instructions.
 *
 * Always true: at most one thread runs between uvh_lock_acquire and uvh_lock_release. Used by
 * modules whose handlers run on several loops. */
#ifndef UVH_PLATFORM_LOCK_H
#define UVH_PLATFORM_LOCK_H

#include <pthread.h>

struct uvh_lock {
    pthread_mutex_t mutex;
};

/* Allocates nothing and cannot fail on Linux. */
static inline void uvh_lock_init(struct uvh_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
}

static inline void uvh_lock_destroy(struct uvh_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static inline void uvh_lock_acquire(struct uvh_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

static inline void uvh_lock_release(struct uvh_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

#endif
