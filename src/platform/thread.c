/* See the header: pthread_create(3) with all signals blocked, which the new thread inherits. */
#include "platform/thread.h"

#include <signal.h>
#include <stddef.h>

int uvh_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    pthread_t made;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&made, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0)
        return -err;
    if (thread == NULL)
        pthread_detach(made);
    else
        *thread = made;
    return 0;
}

int uvh_thread_in_child(void (*run)(void))
{
    return -pthread_atfork(NULL, NULL, run);
}
