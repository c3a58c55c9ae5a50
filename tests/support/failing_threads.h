/* Replaces uv_thread_create in the test program that includes this file, so that thread creation
 * can fail on demand.
 *
 * The definitions are in a header, so only programs that include it have them. */
#ifndef UVH_SUPPORT_FAILING_THREADS_H
#define UVH_SUPPORT_FAILING_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <uv.h>

static struct {
    atomic_size_t calls;
    atomic_size_t created;
    atomic_size_t alive;
    atomic_size_t fail_at; /* number of the failing call, counted from 1; 0: none */
} failing_threads;

struct failing_threads_start {
    uv_thread_cb entry;
    void *arg;
};

static inline void failing_threads_reset(void)
{
    failing_threads.calls = failing_threads.created = failing_threads.fail_at = 0;
}

/* The n-th call from now on fails. */
static inline void failing_threads_fail_at(size_t n)
{
    failing_threads.calls = 0;
    failing_threads.fail_at = n;
}

/* Threads created since the reset. */
static inline size_t failing_threads_created(void)
{
    return failing_threads.created;
}

/* Threads that have not ended. */
static inline size_t failing_threads_alive(void)
{
    return failing_threads.alive;
}

static void *failing_threads_run(void *arg)
{
    struct failing_threads_start start = *(struct failing_threads_start *)arg;
    free(arg);
    start.entry(start.arg);
    failing_threads.alive--;
    return NULL;
}

int uv_thread_create(uv_thread_t *thread, uv_thread_cb entry, void *arg)
{
    if (++failing_threads.calls == failing_threads.fail_at)
        return UV_EAGAIN;
    struct failing_threads_start *start = malloc(sizeof(*start));
    if (start == NULL)
        return UV_ENOMEM;
    *start = (struct failing_threads_start){entry, arg};
    failing_threads.alive++;
    int err = pthread_create(thread, NULL, failing_threads_run, start);
    if (err != 0) {
        failing_threads.alive--;
        free(start);
        return uv_translate_sys_error(err);
    }
    failing_threads.created++;
    return 0;
}

#endif
