/* Handlers of wire_server that call the query functions of request and response and report the
 * results: the clock, the queued bytes, offered upgrades, and removed fields. */
#include "wire_server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 * 1024 };

/* Removed fields; an HTML page with umlauts. */
static int page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    int err = uvhttp_response_set_header(res, "X-Kept", "1");
    for (int i = 0; err == 0 && i < 3; i++)
        err = uvhttp_response_add_header(res, "X-Gone", "2");
    if (err == 0)
        err = uvhttp_response_set_header(res, "Content-Type", "text/x-gone");
    if (err != 0)
        return err;
    uvhttp_response_remove_header(res, "x-gone");
    uvhttp_response_remove_header(res, "content-type");
    uvhttp_response_remove_header(res, "X-Never-Set");
    if (uvhttp_request_query(req, "untyped") != NULL)
        return uvhttp_response_send(res, 200, NULL, "?", 1);
    return uvhttp_response_send_html(res, 203,
                                     "<p>Gr\xc3\xbc\xc3\x9f"
                                     "e</p>");
}

/* The loop's time, before and after a delay within one loop iteration; and whether request and
 * response refer to each other. */
static int now(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[96];
    uint64_t before = uvhttp_response_now(res);
    uint64_t end = uv_hrtime() + 5 * 1000000;
    (void)arg;
    while (uv_hrtime() < end)
        ;
    (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %d %d\n", before,
                   uvhttp_response_now(res), uvhttp_request_response(req) == res,
                   uvhttp_response_request(res) == req);
    return uvhttp_response_send_text(res, 200, text);
}

/* Writes until a chunk is rejected. */
static int fill(uvhttp_response_t *res, size_t *most)
{
    static char chunk[CHUNK];
    int err = 0;
    memset(chunk, '.', sizeof chunk);
    while (err == 0)
        err = uvhttp_response_write(res, chunk, sizeof chunk);
    *most = uvhttp_response_pending(res);
    return err == UVHTTP_EFULL ? 0 : err;
}

/* When everything is sent, the last line reports the queued bytes at the rejected chunk, and
 * now. */
static int report_pending(uvhttp_response_t *res, void *arg)
{
    char text[64];
    const char *least = uvhttp_request_query(uvhttp_response_request(res), "least");
    if (*(size_t *)arg <= strtoul(least == NULL ? "0" : least, NULL, 10))
        /* the write was rejected for the budget of the iteration, not for a full socket */
        return fill(res, arg);
    (void)snprintf(text, sizeof text, "\n%zu %zu\n", *(size_t *)arg, uvhttp_response_pending(res));
    int err = uvhttp_response_write(res, text, strlen(text));
    return err != 0 ? err : uvhttp_response_end(res);
}

static int pending(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    size_t *most = uvhttp_request_allocate(req, sizeof *most);
    (void)arg;
    if (most == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_response_on_drain(res, report_pending, most);
    int err = uvhttp_response_begin(res, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : fill(res, most);
}

static int offers(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    const char *protocol = uvhttp_request_query(req, "protocol");
    return uvhttp_response_send_text(res, 200,
                                     uvhttp_request_offers_upgrade(req, protocol) ? "yes" : "no");
}

/* A cache in the handler: every name but "a" is a miss. */
static int cached(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    bool hit = strcmp(uvhttp_request_param(req, "name"), "a") == 0;
    (void)arg;
    uvhttp_request_count_cache(req, hit);
    return uvhttp_response_send_text(res, 200, hit ? "hit" : "miss");
}

int add_queries(uvhttp_router_t *router)
{
    uvhttp_router_t *group;
    int err = uvhttp_router_group(router, "/asking", &group);
    if (err == 0)
        err = uvhttp_router_add_route(group, "/page", page);
    if (err == 0)
        err = uvhttp_router_add_route(group, "/now", now);
    if (err == 0)
        err = uvhttp_router_add_route(group, "/pending", pending);
    if (err == 0)
        err = uvhttp_router_add_route(group, "/offers", offers);
    if (err == 0)
        err = uvhttp_router_add_route(group, "/cached/:name", cached);
    return err;
}
