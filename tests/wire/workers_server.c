/* workers_server: the server program of tests/wire/test_workers.py, with its own loop and several
 * workers. Every number shared by threads is atomic or under the lock. Usage: workers_server
 * WORKERS [PORT [DIRECTORY [LOG]]]. Prints "listening on 127.0.0.1:PORT"; SIGTERM stops it. Exit
 * codes: 0 regular stop, 1 could not start, 4 leak. Environment variables: UVHTTP_MAX_CONNECTIONS,
 * UVHTTP_DRAIN_TIMEOUT and UVHTTP_VERBOSE. */
#include <uvhttp.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

enum { EXIT_NOT_STARTED = 1, EXIT_LEFT = 4, TEXT_SIZE = 8192 };

static atomic_long live; /* allocated blocks */
static uv_mutex_t lock;
static uv_cond_t changed;
static long threads; /* running threads that send responses; under the lock */
static atomic_long aborts;
static atomic_long hops;
static atomic_long finished;

/* ---- the heap ---- */

static void *allocate(size_t size, void *context)
{
    void *memory = malloc(size);
    (void)context;
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    void *moved = realloc(memory, size);
    (void)context;
    atomic_fetch_add(&live, memory == NULL && moved != NULL);
    return moved;
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
    atomic_fetch_sub(&live, 1);
}

static const uvhttp_allocator_t allocator = {allocate, reallocate, release, NULL};

/* ---- threads ---- */

static void count_thread(long change)
{
    uv_mutex_lock(&lock);
    threads += change;
    uv_cond_broadcast(&changed);
    uv_mutex_unlock(&lock);
}

static long count_threads(void)
{
    uv_mutex_lock(&lock);
    long count = threads;
    uv_mutex_unlock(&lock);
    return count;
}

/* Work that takes this time. */
static void be_slow(uint64_t ms)
{
    uint64_t end = uv_hrtime() + ms * 1000000;
    uv_mutex_lock(&lock);
    for (uint64_t now = uv_hrtime(); now < end; now = uv_hrtime())
        (void)uv_cond_timedwait(&changed, &lock, end - now);
    uv_mutex_unlock(&lock);
}

/* ---- handlers ---- */

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, "hello");
}

static int which(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    (void)arg;
    (void)snprintf(text, sizeof text, "%zu", uvhttp_request_worker(req));
    return uvhttp_response_send_text(res, 200, text);
}

/* A body that lives in this exchange's worker: a mix-up of buffers between threads would be
 * detected. */
static int echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    (void)arg;
    return uvhttp_response_send(res, 200, "application/octet-stream", body.base, body.length);
}

static int stats(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_server_t *server = uvhttp_request_server(req);
    uvhttp_stats_t one;
    char text[TEXT_SIZE];
    int used = 0;
    (void)arg;
    for (size_t i = 0; i <= uvhttp_server_worker_count(server); i++) {
        bool all = i == uvhttp_server_worker_count(server);
        int err = all ? uvhttp_server_read_stats(server, &one)
                      : uvhttp_server_worker_stats(server, i, &one);
        if (err != 0)
            return err;
        used += snprintf(
            text + used, sizeof text - (size_t)used,
            "%s{\"active\":%zu,\"idle\":%zu,\"connections\":%llu,\"requests\":%llu,"
            "\"ok\":%llu,\"rejected\":%llu,\"latencies\":%llu}",
            i == 0 ? "{\"workers\":[" : (all ? "],\"all\":" : ","), one.active_connections,
            one.idle_connections, (unsigned long long)one.total_connections,
            (unsigned long long)one.total_requests, (unsigned long long)one.responses_2xx,
            (unsigned long long)one.rejected_connections, (unsigned long long)one.latency.count);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used,
                   ",\"aborts\":%ld,\"threads\":%ld,\"finished\":%ld}", atomic_load(&aborts),
                   count_threads(), atomic_load(&finished));
    return uvhttp_response_send_json(res, 200, text);
}

static void count_finished(uvhttp_request_t *req, uvhttp_response_t *res,
                           const uvhttp_outcome_t *outcome, void *log)
{
    atomic_fetch_add(&finished, 1);
    if (log != NULL)
        uvhttp_access_log_finished(req, res, outcome, log);
}

/* ---- a response from a thread ---- */

struct task {
    uvhttp_server_t *server;
    size_t worker;
    uvhttp_response_t *response; /* NULL: the client has disconnected; the worker's thread only */
    unsigned delay_ms;
};

static void send_task(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct task *task = arg;
    char text[32];
    (void)server;
    (void)snprintf(text, sizeof text, "%zu", worker);
    if (task->response != NULL)
        (void)uvhttp_response_send_text(task->response, 200, text);
    free(task);
}

static void work_on(void *arg)
{
    struct task *task = arg;
    be_slow(task->delay_ms);
    if (uvhttp_server_post(task->server, task->worker, send_task, task) != 0)
        free(task); /* stopped: the exchange is already aborted */
    count_thread(-1);
}

static void task_aborted(uvhttp_response_t *res, void *arg)
{
    (void)res;
    ((struct task *)arg)->response = NULL;
    atomic_fetch_add(&aborts, 1);
}

static int from_thread(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *delay = uvhttp_request_query(req, "ms");
    struct task *task = calloc(1, sizeof *task);
    uv_thread_t thread;
    (void)arg;
    if (task == NULL)
        return UVHTTP_ENOMEM;
    task->server = uvhttp_request_server(req);
    task->worker = uvhttp_request_worker(req);
    task->response = res;
    task->delay_ms = delay == NULL ? 0 : (unsigned)strtoul(delay, NULL, 10);
    uvhttp_response_on_abort(res, task_aborted, task);
    count_thread(1);
    if (uv_thread_create(&thread, work_on, task) != 0) {
        uvhttp_response_on_abort(res, NULL, NULL);
        count_thread(-1);
        free(task);
        return UVHTTP_ENOMEM;
    }
    (void)pthread_detach(thread);
    return 0;
}

/* ---- tasks on all workers in turn ---- */

static void hop(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct task *task = arg;
    size_t next = (worker + 1) % uvhttp_server_worker_count(server);
    atomic_fetch_add(&hops, 1);
    if (worker == task->worker)
        send_task(server, worker, task);
    else if (uvhttp_server_post(server, next, hop, task) != 0 &&
             uvhttp_server_post(server, task->worker, hop, task) != 0)
        free(task); /* its own worker has stopped, too, and has called the abort callback */
}

static int around(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct task *task = calloc(1, sizeof *task);
    uvhttp_server_t *server = uvhttp_request_server(req);
    (void)arg;
    if (task == NULL)
        return UVHTTP_ENOMEM;
    task->worker = uvhttp_request_worker(req);
    task->response = res;
    uvhttp_response_on_abort(res, task_aborted, task);
    size_t next = (task->worker + 1) % uvhttp_server_worker_count(server);
    int err = uvhttp_server_post(server, next, hop, task);
    if (err == UVHTTP_ESTOPPED) /* the next worker has ended */
        err = uvhttp_server_post(server, task->worker, hop, task);
    if (err != 0) {
        uvhttp_response_on_abort(res, NULL, NULL);
        free(task);
    }
    return err;
}

/* ---- a timer on the request's own loop ---- */

struct delay {
    uv_timer_t timer;
    uvhttp_response_t *response;
};

static void free_delay(uv_handle_t *timer)
{
    free(timer->data);
}

static void on_time(uv_timer_t *timer)
{
    struct delay *delay = timer->data;
    (void)uvhttp_response_send_text(delay->response, 200, "waited");
    uv_close((uv_handle_t *)timer, free_delay);
}

static void on_abort(uvhttp_response_t *res, void *arg)
{
    (void)res;
    atomic_fetch_add(&aborts, 1);
    uv_close((uv_handle_t *)&((struct delay *)arg)->timer, free_delay);
}

static int delay_by_timer(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *ms = uvhttp_request_query(req, "ms");
    struct delay *delay = calloc(1, sizeof *delay);
    (void)arg;
    if (delay == NULL)
        return UVHTTP_ENOMEM;
    delay->response = res;
    (void)uv_timer_init(uvhttp_request_loop(req), &delay->timer);
    delay->timer.data = delay;
    (void)uv_timer_start(&delay->timer, on_time, ms == NULL ? 0 : strtoul(ms, NULL, 10), 0);
    uvhttp_response_on_abort(res, on_abort, delay);
    return 0;
}

/* ---- start and end ---- */

static int stop(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    uvhttp_server_stop(uvhttp_request_server(req));
    return uvhttp_response_send_text(res, 200, "stopping");
}

static void log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)level, (void)arg;
    (void)fprintf(stderr, "%s\n", message);
}

static int add_routes(uvhttp_server_t *server, uvhttp_static_t *files)
{
    static const struct {
        const char *method, *pattern;
        uvhttp_handler_cb handler;
    } routes[] = {
        {"GET", "/hello", hello},          {"GET", "/which", which},
        {"POST", "/echo", echo},           {"GET", "/stats", stats},
        {"GET", "/thread", from_thread},   {"GET", "/around", around},
        {"GET", "/timer", delay_by_timer}, {"GET", "/stop", stop},
    };
    int err = uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err = uvhttp_server_route(server, routes[i].method, routes[i].pattern, routes[i].handler,
                                  NULL);
    if (err == 0 && files != NULL)
        err = uvhttp_server_route(server, "GET", "/files/*", uvhttp_static_handle_request, files);
    return err;
}

static void set_number(size_t *field, const char *variable)
{
    const char *text = getenv(variable);
    if (text != NULL)
        *field = strtoul(text, NULL, 10);
}

static int open_files(const char *directory, uvhttp_static_t **files)
{
    const uvhttp_static_options_t config = {
        .root = directory, .revalidate_ms = 20, .memory_file_size = 1024, .allocator = &allocator};
    int err = uvhttp_static_new(files, &config, NULL);
    if (err == 0)
        err = uvhttp_static_prewarm_cache(*files, "/small.txt");
    return err == 0 ? uvhttp_static_prewarm_cache(*files, "/large.txt") : err;
}

static int serve(uvhttp_server_t *server, int port)
{
    int err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0) {
        (void)printf("listening on 127.0.0.1:%d\n", uvhttp_server_port(server));
        (void)fflush(stdout);
        err = uvhttp_server_run(server);
    }
    return err;
}

int main(int argc, char **argv)
{
    uvhttp_config_t *config = uvhttp_config_new();
    uvhttp_static_t *files = NULL;
    uvhttp_access_log_t *log = NULL;
    int err = 0;
    if (config == NULL || argc < 2 || uv_mutex_init(&lock) != 0 || uv_cond_init(&changed) != 0)
        return EXIT_NOT_STARTED;
    config->workers = strtoul(argv[1], NULL, 10);
    config->allocator = &allocator;
    config->log = log_line;
    set_number(&config->max_connections, "UVHTTP_MAX_CONNECTIONS");
    set_number(&config->drain_timeout, "UVHTTP_DRAIN_TIMEOUT");
    if (getenv("UVHTTP_VERBOSE") != NULL)
        config->log_level = UVHTTP_LOG_DEBUG;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    if (argc > 3)
        err = open_files(argv[3], &files);
    if (err == 0 && argc > 4)
        err = uvhttp_access_log_new(
            &log, &(uvhttp_access_log_options_t){.path = argv[4], .flush_ms = 10}, NULL);
    uvhttp_server_on_finished(server, count_finished, log);
    if (err == 0)
        err = add_routes(server, files);
    if (err == 0)
        err = serve(server, argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0);
    if (err != 0)
        (void)fprintf(stderr, "workers_server: %s\n", uvhttp_error_name(err));
    uv_mutex_lock(&lock);
    while (threads > 0) /* they may still post */
        uv_cond_wait(&changed, &lock);
    uv_mutex_unlock(&lock);
    uvhttp_server_free(server);
    uvhttp_access_log_free(log);
    uvhttp_static_free(files);
    if (atomic_load(&live) != 0)
        (void)fprintf(stderr, "workers_server: %ld blocks are left\n", atomic_load(&live));
    return atomic_load(&live) != 0 ? EXIT_LEFT : (err == 0 ? 0 : EXIT_NOT_STARTED);
}
