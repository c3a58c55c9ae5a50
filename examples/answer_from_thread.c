/* Responds from an application thread. The handler keeps the response and the number of its worker.
 * The thread posts the result to that worker, and only the worker's thread uses the response. When
 * the client disconnects first, the abort callback clears the response on the same thread. Each
 * thread has a reference to the server, which does not end before it is released.
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
    /* NULL after the client has disconnected. Only the worker's thread uses it. */
    uvhttp_response_t *response;
    unsigned long long to, sum;
};

/* Runs on the worker's thread. */
static void send_result(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct job *job = arg;
    char text[64];
    snprintf(text, sizeof(text), "%llu (worker %zu)\n", job->sum, worker);
    if (job->response != NULL)
        uvhttp_response_send_text(job->response, 200, text);
    free(job);
}

/* Also runs on the worker's thread, so no lock is needed. */
static void on_abort(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    job->response = NULL;
}

static void *compute(void *arg)
{
    struct job *job = arg;
    for (unsigned long long i = 1; i <= job->to; i++)
        job->sum += i;
    uvhttp_server_t *server = job->server; /* `job` may be freed when it is posted */
    int err = uvhttp_server_post(server, job->worker, send_result, job);
    while (err == UVHTTP_ENOMEM) { /* memory may be available again later */
        sched_yield();
        err = uvhttp_server_post(server, job->worker, send_result, job);
    }
    uvhttp_server_unref(server);
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
    uvhttp_server_ref(job->server);
    if (pthread_create(&thread, NULL, compute, job) != 0) {
        uvhttp_server_unref(job->server);
        free(job);
        return UVHTTP_ENOMEM;
    }
    pthread_detach(thread);
    uvhttp_response_on_abort(res, on_abort, job);
    return 0; /* the response follows later */
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
    uvhttp_server_free(server);
    return err != 0;
}
