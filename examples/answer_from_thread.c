/* Answering from a thread of your own: the handler keeps the response and the number of its worker;
 * the thread posts the result there, and only on that worker's thread the response is touched. When
 * the client gives up first, the abort callback notes it, on the same thread.
 *
 *     curl 'http://127.0.0.1:8080/sum?to=100000000'
 *
 * Usage: answer_from_thread [PORT] */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <uvhttp.h>

struct job {
    uvhttp_server_t *server;
    size_t worker;
    uvhttp_response_t
        *response; /* NULL once the client has disconnected; for the worker's thread only */
    unsigned long long to, sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int threads;

static void count_thread(int change)
{
    pthread_mutex_lock(&lock);
    threads += change;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* A thread that still works will post to the server, so that is freed after it. */
static void wait_for_threads(void)
{
    pthread_mutex_lock(&lock);
    while (threads > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* On the worker's thread. */
static void answer(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct job *job = arg;
    char text[64];
    snprintf(text, sizeof(text), "%llu (worker %zu)\n", job->sum, worker);
    if (job->response != NULL)
        uvhttp_response_send_text(job->response, 200, text);
    free(job);
}

/* On the worker's thread too, so there is nothing to lock. */
static void on_abort(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    job->response = NULL;
}

static void *work(void *arg)
{
    struct job *job = arg;
    for (unsigned long long i = 1; i <= job->to; i++)
        job->sum += i;
    int err = uvhttp_server_post(job->server, job->worker, answer, job);
    while (err == UVHTTP_ENOMEM) { /* there may be memory again in a moment */
        sched_yield();
        err = uvhttp_server_post(job->server, job->worker, answer, job);
    }
    if (err != 0) /* UVHTTP_ESTOPPED: the worker has nothing open any more, so on_abort has run */
        free(job);
    count_thread(-1);
    return NULL;
}

static int sum(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *to = uvhttp_request_query(req, "to");
    struct job *job = calloc(1, sizeof(*job));
    pthread_t thread;
    if (job == NULL)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    job->server = uvhttp_request_server(req);
    job->worker = uvhttp_request_worker(req);
    job->response = res;
    job->to = to == NULL ? 0 : strtoull(to, NULL, 10);
    count_thread(1);
    if (pthread_create(&thread, NULL, work, job) != 0) {
        count_thread(-1);
        free(job);
        return UVHTTP_ENOMEM;
    }
    pthread_detach(thread);
    uvhttp_response_on_abort(res, on_abort, job);
    return 0; /* taken, and not answered yet */
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return 1;
    config->workers = uvhttp_core_count();
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    int err = uvhttp_server_route(server, "GET", "/sum", sum, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    wait_for_threads();
    uvhttp_server_free(server);
    return err != 0;
}
