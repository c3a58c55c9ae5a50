/* See the header. Handles do not keep the loop running: the server does. */
#include "server/application.h"

#include <signal.h>
#include <stdio.h>

#include <uvhttp/error.h>
#include <uvhttp/server.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "options/error.h"
#include "route/router.h"
#include "server/server.h"

/* ---- timers and signals ---- */

struct uvhttp_timer { /* or a signal */
    struct uvh_list link;
    struct uvh_server *server;
    union {
        uv_handle_t handle;
        uv_timer_t timer;
        uv_signal_t signal;
    } uv;
    uvhttp_timer_cb on_timer;
    uvhttp_signal_cb on_signal;
    void *arg;
    uvhttp_release_cb release;
};

int uvh_application_init(struct uvh_application *application)
{
    uvh_list_init(&application->handles);
    int err = uv_mutex_init(&application->lock);
    if (err != 0)
        return err;
    err = uv_cond_init(&application->unused);
    if (err != 0)
        uv_mutex_destroy(&application->lock);
    return err;
}

void uvh_application_release(struct uvh_application *application)
{
    uv_cond_destroy(&application->unused);
    uv_mutex_destroy(&application->lock);
}

static void on_closed(uv_handle_t *handle)
{
    struct uvhttp_timer *one = handle->data;
    struct uvh_server *server = one->server;
    if (one->release != NULL)
        one->release(one->arg);
    uvh_free(server->allocator, one);
    uvh_server_handle_closed(server);
}

static void close_handle(struct uvhttp_timer *one)
{
    if (uv_is_closing(&one->uv.handle))
        return;
    uvh_list_remove(&one->link);
    uv_close(&one->uv.handle, on_closed);
}

void uvh_application_close(struct uvh_application *application)
{
    while (!uvh_list_empty(&application->handles))
        close_handle(UVH_CONTAINER_OF(application->handles.next, struct uvhttp_timer, link));
}

/* Records the result of a call. An error is one of the set-up until the server runs, except that a
 * stopped server needs no timer: an application may call these functions in its last callbacks. */
static int end(struct uvh_server *server, int err)
{
    if (err == UVHTTP_ESTOPPED || server->threads_started)
        return uvh_error_end(uvh_server_error(server), err);
    return uvh_router_end(server->setup->router, err);
}

/* Returns 0 with the memory of a handle, or an error. */
static int new_handle(struct uvh_server *server, bool has_callback, struct uvhttp_timer **out)
{
    if (!has_callback) {
        uvh_error_sentence(uvh_server_error(server), "run", NULL,
                           "a timer or signal requires a function");
        return UVHTTP_EINVAL;
    }
    if (server->life > UVH_SERVER_DRAINING)
        return UVHTTP_ESTOPPED;
    struct uvhttp_timer *one = uvh_alloc_zero(server->allocator, sizeof(*one));
    if (one == NULL)
        return UVHTTP_ENOMEM;
    one->server = server;
    *out = one;
    return 0;
}

static void add_handle(struct uvhttp_timer *one)
{
    struct uvh_server *server = one->server;
    one->uv.handle.data = one;
    uv_unref(&one->uv.handle);
    uvh_list_append(&server->application.handles, &one->link);
    server->open_handles++;
}

static void note_event(struct uvh_server *server)
{
    if (server->workers != NULL)
        uvh_loop_stats_event(&server->workers[0].loop_stats);
}

static void on_timer(uv_timer_t *timer)
{
    struct uvhttp_timer *one = timer->data;
    note_event(one->server);
    if (uv_timer_get_repeat(timer) == 0)
        close_handle(one); /* `one` is valid until a later iteration */
    one->on_timer(&one->server->view, one->arg);
}

static int start_timer(struct uvh_server *server, uint32_t delay_ms, uint32_t interval_ms,
                       uvhttp_timer_cb run, void *arg, uvhttp_timer_t **out)
{
    struct uvhttp_timer *one;
    int err = new_handle(server, run != NULL, &one);
    if (err != 0)
        return err;
    one->on_timer = run;
    one->arg = arg;
    uv_timer_init(one->server->loop, &one->uv.timer);
    add_handle(one);
    uv_update_time(one->server->loop);
    uv_timer_start(&one->uv.timer, on_timer, delay_ms, interval_ms);
    if (out != NULL)
        *out = one;
    return 0;
}

int uvhttp_server_every(uvhttp_server_t *view, uint32_t interval_ms, uvhttp_timer_cb run, void *arg,
                        uvhttp_timer_t **timer)
{
    if (timer != NULL)
        *timer = NULL;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    if (interval_ms > 0)
        return end(server, start_timer(server, interval_ms, interval_ms, run, arg, timer));
    uvh_error_int(uvh_server_error(server), "interval", 0,
                  "allowed are 1 to 4294967295 milliseconds");
    return end(server, UVHTTP_EINVAL);
}

int uvhttp_server_after(uvhttp_server_t *view, uint32_t delay_ms, uvhttp_timer_cb run, void *arg,
                        uvhttp_timer_t **timer)
{
    if (timer != NULL)
        *timer = NULL;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return end(server, start_timer(server, delay_ms, 0, run, arg, timer));
}

void uvhttp_timer_stop(uvhttp_timer_t *timer)
{
    if (timer != NULL)
        close_handle(timer);
}

void uvhttp_timer_own(uvhttp_timer_t *timer, uvhttp_release_cb release)
{
    if (timer != NULL)
        timer->release = release;
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct uvhttp_timer *one = signal->data;
    note_event(one->server);
    one->on_signal(&one->server->view, number, one->arg);
}

static void describe_signal(struct uvh_server *server, int number, int err)
{
    uvhttp_error_t *error = uvh_server_error(server);
    char value[16];
    snprintf(value, sizeof(value), "%d", number);
    if (number == SIGKILL || number == SIGSTOP)
        uvh_error_sentence(error, "signal", value, "signal %d cannot be caught", number);
    else if (err == UV_EINVAL)
        uvh_error_sentence(error, "signal", value, "there is no signal %d", number);
    else
        uvh_error_sentence(error, "signal", value, "cannot wait for signal %d: %s", number,
                           uvhttp_strerror(err));
}

static int start_signal(struct uvh_server *server, int number, uvhttp_signal_cb run, void *arg)
{
    struct uvhttp_timer *one;
    int err = new_handle(server, run != NULL, &one);
    if (err != 0)
        return err;
    one->on_signal = run;
    one->arg = arg;
    err = uv_signal_init(one->server->loop, &one->uv.signal);
    if (err != 0) {
        uvh_free(one->server->allocator, one);
        return err;
    }
    add_handle(one);
    err = uv_signal_start(&one->uv.signal, on_signal, number);
    if (err != 0) {
        close_handle(one);
        describe_signal(server, number, err);
    }
    return err;
}

int uvhttp_server_on_signal(uvhttp_server_t *view, int number, uvhttp_signal_cb run, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return end(server, start_signal(server, number, run, arg));
}

/* ---- references ---- */

void uvhttp_server_ref(uvhttp_server_t *view)
{
    if (view == NULL)
        return;
    struct uvh_application *application = &uvh_server_of(view)->application;
    uv_mutex_lock(&application->lock);
    application->refs++;
    uv_mutex_unlock(&application->lock);
}

/* The server takes the lock to see that no reference is left, so it is valid until this function
 * releases the lock. */
void uvhttp_server_unref(uvhttp_server_t *view)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    struct uvh_application *application = &server->application;
    uv_mutex_lock(&application->lock);
    if (--application->refs == 0) {
        struct uvh_worker *workers = uvh_server_workers(server);
        for (size_t i = 0; workers != NULL && i < server->worker_count; i++)
            uvh_inbox_wake(&workers[i].inbox);
        uv_cond_signal(&application->unused);
    }
    uv_mutex_unlock(&application->lock);
}

bool uvh_application_is_busy(struct uvh_application *application)
{
    uv_mutex_lock(&application->lock);
    bool busy = application->refs > 0;
    uv_mutex_unlock(&application->lock);
    return busy;
}

void uvh_application_wait(struct uvh_application *application)
{
    uv_mutex_lock(&application->lock);
    while (application->refs > 0)
        uv_cond_wait(&application->unused, &application->lock);
    uv_mutex_unlock(&application->lock);
}
