/* Threads of our own beside those of the loops. Called by platform/line_writer.c and
 * net/lookup.c. */
#ifndef UVH_PLATFORM_THREAD_H
#define UVH_PLATFORM_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals, which are for the threads of the program. `thread` NULL:
 * nobody waits for its end. 0, or a negative errno. */
int uvh_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* Has `run` called in every child that this process forks, before fork(2) returns there. 0, or a
 * negative errno. */
int uvh_thread_in_child(void (*run)(void));

#endif
