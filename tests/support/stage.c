/* Each loop here has a limit of iterations, so a server that hangs fails its test. */
#include "support/stage.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "conn/conn.h"
#include "server/server.h"

enum { PULSE_MS = 1, QUIET_ITERATIONS = 8 };

static void on_pulse(uv_timer_t *timer)
{
    (void)timer;
}

static void on_log(uvhttp_log_level_t level, const char *message, void *arg)
{
    struct stage *stage = arg;
    if (level == UVHTTP_LOG_WARNING) {
        stage->warnings_logged++;
        snprintf(stage->last_warning, sizeof(stage->last_warning), "%s", message);
    }
    if (level != UVHTTP_LOG_ERROR)
        return;
    stage->errors_logged++;
    snprintf(stage->last_error, sizeof(stage->last_error), "%s", message);
}

void stage_begin(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    uv_loop_t first; /* the first loop of a process opens descriptors that stay open */
    assert_int_equal(uv_loop_init(&first), 0);
    assert_int_equal(uv_loop_close(&first), 0);
    stage->descriptors = stage_descriptors();
    fault_heap_init(&stage->heap);
    assert_int_equal(uv_loop_init(&stage->loop), 0);
    assert_int_equal(uv_timer_init(&stage->loop, &stage->pulse), 0);
    uv_unref((uv_handle_t *)&stage->pulse);
    stage->config = uvhttp_config_new();
    assert_non_null(stage->config);
    stage->config->allocator = &stage->heap.allocator;
    stage->config->log = on_log;
    stage->config->log_arg = stage;
}

static void count_handle(uv_handle_t *handle, void *arg)
{
    if (!uv_is_closing(handle))
        ++*(size_t *)arg;
}

void stage_end(struct stage *stage)
{
    uvhttp_server_free(stage->server);
    stage->server = NULL;
    uv_close((uv_handle_t *)&stage->pulse, NULL);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS && uv_loop_alive(&stage->loop);
         iteration++)
        uv_run(&stage->loop, UV_RUN_NOWAIT);
    size_t handles = 0;
    uv_walk(&stage->loop, count_handle, &handles);
    assert_int_equal(handles, 0);
    assert_int_equal(uv_loop_close(&stage->loop), 0);
    assert_int_equal(atomic_load(&stage->heap.live), 0);
    assert_int_equal(stage_descriptors(), stage->descriptors);
    uvhttp_config_free(stage->config);
}

uvhttp_server_t *stage_new_server(struct stage *stage)
{
    stage->server = uvhttp_server_new_with(&stage->loop, stage->config);
    return stage->server;
}

void stage_listen(struct stage *stage)
{
    assert_int_equal(uvhttp_server_listen(stage->server, "127.0.0.1", 0), 0);
    assert_true(uvhttp_server_port(stage->server) > 0);
}

void stage_shrink_send_buffer(struct stage *stage, int bytes)
{
    struct uvh_server *server = uvh_server_of(stage->server);
    struct uvh_listener *listener =
        UVH_CONTAINER_OF(server->workers[0].listeners.next, struct uvh_listener, link);
    assert_int_equal(setsockopt(listener->socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
}

/* Reports a writable socket to each connection with pending output. */
static void report_writable(struct stage *stage)
{
    struct uvh_conn_shared *conns = &uvh_server_of(stage->server)->workers[0].conns;
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &conns->timeouts[UVH_CONN_TIMEOUT_WRITE].members);
    while (!uvh_list_empty(&batch)) {
        struct uvh_list *first = batch.next;
        struct uvh_conn *conn = UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link);
        uvh_list_remove(first);
        uvh_list_append(&conns->timeouts[UVH_CONN_TIMEOUT_WRITE].members, first);
        conn->socket.writable = true;
        uvh_conn_ready(&conn->socket);
    }
}

void stage_iterate(struct stage *stage)
{
    uv_run(&stage->loop, UV_RUN_NOWAIT);
    if (stage->simulates_eagain)
        report_writable(stage);
}

void stage_iterations(struct stage *stage, int count)
{
    while (count-- > 0)
        stage_iterate(stage);
}

void stage_wait(struct stage *stage)
{
    /* Repeats, since the first timeout may expire before the loop polls. */
    uv_timer_start(&stage->pulse, on_pulse, PULSE_MS, PULSE_MS);
    uv_run(&stage->loop, UV_RUN_ONCE);
    if (stage->simulates_eagain)
        report_writable(stage);
}

void stage_drive(struct stage *stage, struct raw_client *client, size_t max,
                 bool (*done)(void *arg), void *arg)
{
    int quiet = 0;
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        quiet = raw_client_step(client, max) ? 0 : quiet + 1;
        if (done(arg))
            return;
        if (quiet < QUIET_ITERATIONS)
            stage_iterate(stage);
        else
            stage_wait(stage);
    }
    fail_msg("no progress after %zu received bytes", client->received);
}

struct progress {
    struct raw_client *client;
    size_t offset;
    size_t received;
    size_t count;
};

static bool has_responses(void *arg)
{
    struct progress *progress = arg;
    struct raw_response response;
    while (progress->received < progress->count &&
           raw_client_response(progress->client, &progress->offset, false, &response))
        progress->received += response.status >= 200;
    return progress->received == progress->count || progress->client->ended;
}

size_t stage_drive_responses(struct stage *stage, struct raw_client *client, size_t max,
                             size_t count)
{
    struct progress progress = {client, 0, 0, count};
    stage_drive(stage, client, max, has_responses, &progress);
    return progress.received;
}

static bool has_ended(void *arg)
{
    return ((const struct raw_client *)arg)->ended;
}

void stage_drive_to_end(struct stage *stage, struct raw_client *client, size_t max)
{
    stage_drive(stage, client, max, has_ended, client);
}

size_t stage_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}
