/* Blocking handlers of wire_server, each on a thread of the pool. */
#include "wire_server.h"

#include <stdlib.h>
#include <string.h>

static atomic_int running;
static atomic_int most_running;
static atomic_int disconnected; /* handlers that got a disconnect error */
static atomic_int last_error;   /* of a response after the gate */

static void enter(void)
{
    int now = atomic_fetch_add(&running, 1) + 1;
    int most = atomic_load(&most_running);
    while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now))
        continue;
}

/* All accessors of the request, and all setters of the response. */
static int report(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[512];
    const char *query = uvhttp_request_query(req, "q");
    const char *field = uvhttp_request_header(req, "X-Field");
    const char *form = uvhttp_request_form(req, "f");
    uvhttp_slice_t body = uvhttp_request_body(req);
    int length = snprintf(text, sizeof text, "%s %s %s q=%s field=%s f=%s body=%zu from=%s",
                          uvhttp_request_method_name(req), uvhttp_request_path(req),
                          uvhttp_request_param(req, "id"), query ? query : "-", field ? field : "-",
                          form ? form : "-", body.length, uvhttp_request_client_address(req));
    uvhttp_cookie_t cookie = {.name = "seen", .value = "yes", .path = "/"};
    (void)arg;
    int err = uvhttp_response_set_header(res, "X-Blocking", "yes");
    if (err == 0)
        err = uvhttp_response_set_cookie(res, &cookie);
    if (err == 0)
        err = uvhttp_response_send(res, 202, "text/plain", text, (size_t)length);
    memset(text, 'x', sizeof text); /* the data must have been copied */
    return err;
}

static int wait_at_gate(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    enter();
    wait_for_gate(NULL);
    atomic_fetch_sub(&running, 1);
    atomic_store(&last_error, uvhttp_response_send_text(res, 200, "through\n"));
    return 0;
}

static int write_chunks(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char type[] = "application/octet-stream";
    const char *size_text = uvhttp_request_query(req, "size"),
               *chunk_text = uvhttp_request_query(req, "piece");
    size_t size = size_text == NULL ? 0 : (size_t)strtoull(size_text, NULL, 10);
    size_t chunk = chunk_text == NULL ? 1000 : (size_t)strtoull(chunk_text, NULL, 10);
    bool known = uvhttp_request_query(req, "known") != NULL;
    char *bytes = malloc(chunk);
    (void)arg;
    if (bytes == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_response_set_header(res, "Link", "</a.css>; rel=preload");
    if (err == 0)
        err = uvhttp_response_send_early_hints(res);
    if (err == 0)
        err = uvhttp_response_begin(res, 200, type, known ? size : UVHTTP_LENGTH_UNKNOWN);
    for (size_t sent = 0; err == 0 && sent < size; sent += chunk) {
        if (chunk > size - sent)
            chunk = size - sent;
        for (size_t i = 0; i < chunk; i++)
            bytes[i] = (char)(unsigned char)((sent + i) % 251);
        err = uvhttp_response_write(res, bytes, chunk);
    }
    free(bytes);
    if (err == UVHTTP_EDISCONNECTED)
        atomic_fetch_add(&disconnected, 1);
    if (err == 0)
        err = uvhttp_response_add_trailer(res, "X-End", "yes");
    if (err == 0 && uvhttp_request_query(req, "half") != NULL)
        return 0;
    if (uvhttp_request_query(req, "last") != NULL)
        uvhttp_response_close_after(res);
    return err != 0 ? err : uvhttp_response_end(res);
}

static int give_back(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *how = uvhttp_request_query(req, "how");
    const void *key = &running;
    (void)req, (void)arg;
    if (uvhttp_request_attach(req, key, res, NULL) != 0 || uvhttp_request_attached(req, key) != res)
        return UVHTTP_ENOMEM;
    if (how != NULL && strcmp(how, "file") == 0)
        return uvhttp_response_send_file(res, 200, uvhttp_request_query(req, "path"));
    if (how != NULL && strcmp(how, "silent") == 0)
        return 0;
    if (how != NULL && strcmp(how, "declined") == 0)
        return UVHTTP_DECLINED;
    if (how != NULL && strcmp(how, "defer") == 0)
        return uvhttp_response_send_text(
            res, 200, uvhttp_error_name(uvhttp_response_defer(res, wait_for_gate, NULL, NULL)));
    if (how != NULL && strcmp(how, "subscribe") == 0) {
        uvhttp_event_hub_t *hub;
        int err = uvhttp_event_hub_new(&hub, NULL, NULL);
        if (err == 0)
            err = uvhttp_event_hub_subscribe(hub, res);
        uvhttp_event_hub_free(hub);
        return uvhttp_response_send_text(res, 200, uvhttp_error_name(err));
    }
    if (how != NULL && strcmp(how, "ask") == 0) {
        char *answer = uvhttp_request_allocate(req, 16); /* not for the loop thread only */
        if (answer == NULL)
            return UVHTTP_ENOMEM;
        snprintf(answer, 16, "%s", uvhttp_request_is_blocking(req) ? "blocks" : "does not");
        return uvhttp_response_send_text(res, 200, answer);
    }
    return UVHTTP_EINVAL;
}

/* More than this response may have, by a handler that ignores all errors. */
static int write_too_much(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[20];
    (void)req, (void)arg;
    memset(text, 'x', sizeof text);
    uvhttp_response_limit_body(res, 15);
    (void)uvhttp_response_begin(res, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    (void)uvhttp_response_write(res, text, 10);
    atomic_store(&last_error, uvhttp_response_write(res, text, sizeof text));
    (void)uvhttp_response_write(res, text, 1);
    (void)uvhttp_response_end(res);
    return 0;
}

/* A stream that is silent while the gate is closed. */
static int wait_with_events(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    int err = uvhttp_response_begin_events(res);
    enter();
    wait_for_gate(NULL);
    atomic_fetch_sub(&running, 1);
    if (err == 0)
        err = uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.data = {"through", 7}});
    return err != 0 ? err : uvhttp_response_end(res);
}

static int send_state(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[64];
    (void)req, (void)arg;
    (void)snprintf(text, sizeof text, "%d %d %d %s", atomic_load(&running),
                   atomic_load(&most_running), atomic_load(&disconnected),
                   uvhttp_error_name(atomic_load(&last_error)));
    return uvhttp_response_send_text(res, 200, text);
}

int add_blocking(uvhttp_router_t *router)
{
    static const uvhttp_route_t routes[] = {
        {.pattern = "/block/tell/:id", .handler = report, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/tell-late/:id",
         .handler = report,
         .flags = UVHTTP_ROUTE_BLOCKING | UVHTTP_ROUTE_NEVER_SHED},
        {.pattern = "/block/gate", .handler = wait_at_gate, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/gate-briefly",
         .handler = wait_at_gate,
         .handler_timeout = 1,
         .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/pieces", .handler = write_chunks, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/back", .handler = give_back, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/pulled", .handler = pulled, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/too-much", .handler = write_too_much, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/block/events", .handler = wait_with_events, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/blocking-state", .handler = send_state},
    };
    int err = 0;
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err = uvhttp_router_add(router, &routes[i]);
    return err;
}
