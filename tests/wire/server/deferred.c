/* Handlers of wire_server that respond later: exchanges that are pending until another request
 * releases them, and work on the thread pool that waits at a gate. So tests control pending
 * exchanges without a clock. */
#include "wire_server.h"

#include <stdlib.h>
#include <string.h>

struct pending {
    struct pending *next;
    uvhttp_response_t *response;
    char key[32];
};

static uv_mutex_t gate_mutex;
static uv_cond_t gate_cond;
static bool gate_open;

static void forget(struct pending *removed)
{
    struct pending **link = &app.pending;
    while (*link != removed)
        link = &(*link)->next;
    *link = removed->next;
    free(removed);
}

/* The response includes the target of the request, whose memory must still be valid. */
static int respond_late(uvhttp_response_t *res, const char *text)
{
    int err = uvhttp_response_set_header(res, "X-Target",
                                         uvhttp_request_target(uvhttp_response_request(res)).base);
    return err != 0 ? err : uvhttp_response_send_text(res, 200, text);
}

static size_t release_pending(const char *key);

/* The abort of an exchange under "chain" sends the responses of those under "chained": other
 * exchanges, from within an abort callback. */
static void pending_aborted(uvhttp_response_t *res, void *arg)
{
    bool chain = strcmp(((struct pending *)arg)->key, "chain") == 0;
    (void)res;
    app.aborts++;
    forget(arg);
    if (chain)
        (void)release_pending("chained");
}

int hold(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct pending *pending = calloc(1, sizeof *pending);
    (void)arg;
    if (pending == NULL)
        return UVHTTP_ENOMEM;
    (void)snprintf(pending->key, sizeof pending->key, "%s", uvhttp_request_param(req, "id"));
    pending->response = res;
    pending->next = app.pending;
    app.pending = pending;
    uvhttp_response_on_abort(res, pending_aborted, pending);
    return 0;
}

/* Sends the responses of the exchanges under `key` (all of them if NULL). Sending may abort others,
 * so the search restarts each time. */
static size_t release_pending(const char *key)
{
    size_t count = 0;
    for (;;) {
        struct pending *pending = app.pending;
        uvhttp_response_t *response;
        while (pending != NULL && key != NULL && strcmp(pending->key, key) != 0)
            pending = pending->next;
        if (pending == NULL)
            return count;
        response = pending->response;
        forget(pending);
        app.last_error = respond_late(response, "released\n");
        count++;
    }
}

int release(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    (void)arg;
    (void)snprintf(text, sizeof text, "%zu", release_pending(uvhttp_request_param(req, "id")));
    return uvhttp_response_send_text(res, 200, text);
}

int count_pending(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *key = uvhttp_request_param(req, "id");
    size_t count = 0;
    char text[32];
    (void)arg;
    for (const struct pending *pending = app.pending; pending != NULL; pending = pending->next)
        count += strcmp(pending->key, key) == 0;
    (void)snprintf(text, sizeof text, "%zu", count);
    return uvhttp_response_send_text(res, 200, text);
}

static void open_gate(void)
{
    uv_mutex_lock(&gate_mutex);
    gate_open = true;
    uv_cond_broadcast(&gate_cond);
    uv_mutex_unlock(&gate_mutex);
}

void wait_for_gate(void *arg)
{
    (void)arg;
    uv_mutex_lock(&gate_mutex);
    while (!gate_open)
        uv_cond_wait(&gate_cond, &gate_mutex);
    uv_mutex_unlock(&gate_mutex);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static int deferred_done(uvhttp_response_t *res, void *arg)
{
    (void)arg;
    app.deferred++;
    if (!uvhttp_response_open(res))
        app.deferred_disconnected++;
    app.last_error = respond_late(res, "deferred\n");
    return 0;
}

static int deferred_fails(uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    return UVHTTP_EINVAL;
}

int defer(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *how = uvhttp_request_query(req, "how");
    (void)arg;
    if (how != NULL && strcmp(how, "gate") == 0)
        return uvhttp_response_defer(res, wait_for_gate, deferred_done, NULL);
    if (how != NULL && strcmp(how, "fail") == 0)
        return uvhttp_response_defer(res, do_nothing, deferred_fails, NULL);
    return uvhttp_response_defer(res, do_nothing, deferred_done, NULL);
}

int gate(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    open_gate();
    return uvhttp_response_send_text(res, 200, "open\n");
}

int gate_init(void)
{
    int err = uv_mutex_init(&gate_mutex);
    return err != 0 ? err : uv_cond_init(&gate_cond);
}

void gate_release(void)
{
    uv_cond_destroy(&gate_cond);
    uv_mutex_destroy(&gate_mutex);
}

void release_all(void)
{
    open_gate();
    (void)release_pending(NULL);
}
