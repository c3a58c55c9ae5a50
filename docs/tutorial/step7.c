/* Step 7 of the tutorial: answers that take time: later, from elsewhere, and on another thread. */
#include <stdlib.h>

#include <uvhttp.h>

/* ---- later: everybody who asks for /next waits for the next message ---- */

struct waiting {
    uvhttp_response_t *response;
    struct waiting *next;
};

static struct waiting *waiting;

static void forget(uvhttp_response_t *res, void *arg)
{
    struct waiting **link = &waiting;
    while (*link != arg)
        link = &(*link)->next;
    *link = ((struct waiting *)arg)->next;
    free(arg);
}

static int wait_for_next(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct waiting *one = malloc(sizeof *one);
    if (one == NULL)
        return UVHTTP_ENOMEM;
    *one = (struct waiting){res, waiting};
    waiting = one;
    uvhttp_response_on_abort(res, forget, one); /* the client leaves, or the server stops */
    return 0;                                   /* taken, and not answered yet */
}

static int say(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t text = uvhttp_request_body(req);
    char answer[32];
    int count = 0;
    for (struct waiting *one; (one = waiting) != NULL; count++) {
        waiting = one->next;
        uvhttp_response_on_abort(one->response, NULL, NULL); /* it is ours alone from here on */
        if (uvhttp_response_send(one->response, 200, "text/plain", text.base, text.length) != 0)
            uvhttp_response_send_status(one->response, 503);
        free(one);
    }
    snprintf(answer, sizeof answer, "%d heard it\n", count);
    return uvhttp_response_send_text(res, 200, answer);
}

/* ---- on another thread: code that takes long, or waits ---- */

static int count_primes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *text = uvhttp_request_query(req, "below");
    unsigned long below = text != NULL ? strtoul(text, NULL, 10) : 100, found = 0;
    char answer[64];
    if (below > 1000000)
        return uvhttp_response_send_text(res, 422, "a million is as far as I go\n");
    for (unsigned long n = 2; n < below; n++) {
        unsigned long d = 2;
        while (d * d <= n && n % d != 0)
            d++;
        found += d * d > n;
    }
    snprintf(answer, sizeof answer, "%lu primes below %lu\n", found, below);
    return uvhttp_response_send_text(res, 200, answer);
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
    uvhttp_server_free(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
