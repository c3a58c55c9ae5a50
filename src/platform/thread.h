/* Threads other than those of the loops. */
#ifndef UVH_PLATFORM_THREAD_H
#define UVH_PLATFORM_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked, because signals are for the program's threads. `thread`
 * NULL: the thread is detached. Returns 0, or a negative errno. */
int uvh_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* Registers `run` to be called in the child after every fork(2). Returns 0, or a negative errno. */
int uvh_thread_in_child(void (*run)(void));

#endif
