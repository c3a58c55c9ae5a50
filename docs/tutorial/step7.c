/* Step 7 of the tutorial: responses that take time: sent later, and from another thread. */
#include <stdlib.h>

#include <uvhttp.h>

/* ---- later: clients of /next wait for the next message ---- */

struct pending {
    uvhttp_response_t *response;
    struct pending *next;
};

static struct pending *pending;

static void forget(uvhttp_response_t *res, void *arg)
{
    struct pending **link = &pending;
    while (*link != arg)
        link = &(*link)->next;
    *link = ((struct pending *)arg)->next;
    free(arg);
}

static int wait_for_next(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct pending *one = malloc(sizeof *one);
    if (one == NULL)
        return UVHTTP_ENOMEM;
    *one = (struct pending){res, pending};
    pending = one;
    uvhttp_response_on_abort(res, forget, one); /* client disconnected, or server stopped */
    return 0;                                   /* the response follows later */
}

static int say(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t text = uvhttp_request_body(req);
    char body[32];
    int count = 0;
    for (struct pending *one; (one = pending) != NULL; count++) {
        pending = one->next;
        uvhttp_response_on_abort(one->response, NULL, NULL); /* it is sent now */
        if (uvhttp_response_send(one->response, 200, "text/plain", text.base, text.length) != 0)
            uvhttp_response_send_status(one->response, 503);
        free(one);
    }
    snprintf(body, sizeof body, "%d heard it\n", count);
    return uvhttp_response_send_text(res, 200, body);
}

/* ---- on another thread: code that blocks or computes for long ---- */

static int count_primes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *text = uvhttp_request_query(req, "below");
    unsigned long below = text != NULL ? strtoul(text, NULL, 10) : 100, found = 0;
    char body[64];
    if (below > 1000000)
        return uvhttp_response_send_text(res, 422, "a million is as far as I go\n");
    for (unsigned long n = 2; n < below; n++) {
        unsigned long d = 2;
        while (d * d <= n && n % d != 0)
            d++;
        found += d * d > n;
    }
    snprintf(body, sizeof body, "%lu primes below %lu\n", found, below);
    return uvhttp_response_send_text(res, 200, body);
}

static int add_routes(uvhttp_server_t *server)
{
    const uvhttp_route_t primes = {.method = "GET",
                                   .pattern = "/primes",
                                   .handler = count_primes,
                                   .flags = UVHTTP_ROUTE_BLOCKING};
    int err = uvhttp_server_route(server, "GET", "/next", wait_for_next, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/say", say, NULL);
    if (err == 0)
        err = uvhttp_router_add(uvhttp_server_router(server), &primes);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server);
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
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
