/* Life cycle of an exchange: routing, middleware and handler, error responses, and the end. Jobs
 * are in jobs.c. */
#include "server/exchange.h"

#include <string.h>

#include <uvhttp/stream.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "codec/http1/method.h"
#include "conn/pace.h"
#include "route/slash.h"
#include "server/blocking.h"
#include "server/route_stats.h"
#include "server/send.h"
#include "server/server.h"
#include "server/shed.h"
#include "tls/info.h"

enum { MAX_ALLOW_SIZE = 65536 };

void uvh_exchange_destroy(struct uvh_exchange *exchange)
{
    uvh_request_release(&exchange->request);
    if (exchange->holders > 0) /* a cleanup job is running, and this function runs again after it */
        return;
    if (exchange->tls != NULL)
        uvh_tls_info_unref(exchange->tls);
    exchange->tls = NULL;
    struct uvh_worker *worker = exchange->worker;
    struct uvh_use *use = exchange->use;
    exchange->protocol->released(exchange);
    if (UVH_UNLIKELY(--use->exchanges == 0 && use->is_retired))
        uvh_generation_check_retired(worker);
}

void uvh_exchange_begin_use(struct uvh_exchange *exchange)
{
    exchange->use = exchange->worker->use;
    exchange->use->exchanges++;
}

void uvh_exchange_init(struct uvh_exchange *exchange, struct uvh_worker *worker,
                       const struct uvh_protocol *protocol, struct uvh_arena arena)
{
    exchange->arena = arena;
    exchange->worker = worker;
    exchange->protocol = protocol;
    uvh_timeout_init(&exchange->timeout);
    exchange->timeout_class = UVH_EXCHANGE_TIMEOUT_NONE;
    /* also of a request that is refused because it is malformed */
    exchange->request.arena = exchange->response.arena = &exchange->arena;
    exchange->response.status = 200;
    exchange->response.body_limit = UINT64_MAX;
}

/* A preflight (Fetch, "CORS-preflight request") without a route of its own gets the middleware of
 * the request that it announces. Otherwise only middleware of the server and of hosts could respond
 * to it. */
static void match_preflight(struct uvh_exchange *exchange)
{
    struct uvhttp_request *request = &exchange->request;
    const char *method = uvhttp_request_header(request, "Access-Control-Request-Method");
    struct uvh_match wanted;
    if (method == NULL)
        return;
    uvhttp_slice_t name = {method, strlen(method)};
    uvh_router_match(exchange->match.site, uvh_method_lookup(name), name, request->path, &wanted);
    if (wanted.route == NULL)
        return;
    exchange->match = wanted;
    exchange->announced = wanted.route;
    exchange->match.route = NULL; /* the route's handler is for the announced request */
    exchange->match.known_path = true;
    request->param_names = wanted.route->params;
    request->params = exchange->match.params;
    request->param_count = wanted.param_count;
}

int uvh_exchange_route(struct uvh_exchange *exchange)
{
    struct uvhttp_request *request = &exchange->request;
    uvhttp_slice_t name = {request->bytes + request->head->start, request->head->method_length};
    const struct uvh_site *site =
        uvh_router_site(exchange->use->generation->router, request->framing.authority);
    int err = uvh_rewriting_apply(site, request, &exchange->match);
    if (UVH_UNLIKELY(err != 0))
        return err;
    exchange->routed = true;
    uvh_router_match(site, (uvhttp_method_t)request->head->method, name, request->path,
                     &exchange->match);
    if (exchange->match.route != NULL) {
        request->param_names = exchange->match.route->params;
        request->params = exchange->match.params;
        request->param_count = exchange->match.param_count;
    } else if (UVH_UNLIKELY(request->head->method == UVHTTP_METHOD_OPTIONS)) {
        match_preflight(exchange);
    }
    return 0;
}

bool uvh_exchange_streams_body(const struct uvh_exchange *exchange)
{
    const struct uvh_route *route = exchange->match.route;
    return route != NULL && (route->flags & UVHTTP_ROUTE_STREAM) != 0;
}

static uint64_t route_body_limit(const struct uvh_exchange *exchange)
{
    const struct uvh_route *route = exchange->match.route;
    if (route != NULL && route->max_body_size != 0)
        return route->max_body_size;
    return uvh_exchange_streams_body(exchange) ? UINT64_MAX
                                               : exchange->worker->server->config.max_body_size;
}

uint64_t uvh_exchange_body_limit(const struct uvh_exchange *exchange)
{
    const struct uvhttp_request *request = &exchange->request;
    uint64_t limit = route_body_limit(exchange);
    return request->body_limited && request->body_limit < limit ? request->body_limit : limit;
}

/* A server that is not a proxy does not implement CONNECT, and TRACE needs a route (RFC 9110
 * sections 9.3.6 and 9.3.8). */
static bool is_implemented(const struct uvh_exchange *exchange)
{
    const struct uvhttp_request *request = &exchange->request;
    uvhttp_slice_t name = {request->bytes + request->head->start, request->head->method_length};
    if (request->head->method == UVHTTP_METHOD_OTHER)
        return uvh_router_knows_method(exchange->use->generation->router, name);
    return request->head->method != UVHTTP_METHOD_CONNECT &&
           request->head->method != UVHTTP_METHOD_TRACE;
}

static int respond_with_allow(struct uvh_exchange *exchange, int status)
{
    struct uvh_bytes allow;
    uvh_bytes_init(&allow, exchange->worker->server->allocator, MAX_ALLOW_SIZE);
    int err = uvh_router_allow(exchange->match.site, exchange->request.path, &allow);
    if (err == 0 && uvh_bytes_append(&allow, "", 1) != 0)
        err = UVHTTP_ENOMEM;
    if (err == 0)
        err = uvhttp_response_set_header(&exchange->response, "Allow", allow.data);
    uvh_bytes_release(&allow);
    return err != 0 ? err : uvhttp_response_send_status(&exchange->response, status);
}

/* No handler has accepted the request. */
static int respond_unrouted(struct uvh_exchange *exchange)
{
    bool is_options = exchange->request.head->method == UVHTTP_METHOD_OPTIONS;
    bool known_path = exchange->match.known_path ||
                      exchange->request.framing.target_form == UVHTTP_TARGET_ASTERISK;
    if (exchange->match.other_slash) {
        int result = uvh_slash_redirect(&exchange->request, &exchange->response);
        if (result != UVHTTP_DECLINED)
            return result;
    }
    if (!is_implemented(exchange))
        return uvhttp_response_send_status(&exchange->response, 501);
    if (exchange->match.route != NULL || !known_path)
        return uvhttp_response_send_status(&exchange->response, 404);
    return respond_with_allow(exchange, is_options ? 204 : 405);
}

/* The result is not 0. */
static UVH_NEVER_INLINE void conclude_otherwise(struct uvh_exchange *exchange, int result)
{
    uvhttp_response_t *response = &exchange->response;
    if (result == UVHTTP_DECLINED && uvhttp_response_open(response))
        result = respond_unrouted(exchange);
    if (result == UVHTTP_QUEUED) /* of a message that the handler has sent */
        result = 0;
    if (result > 0 && result != UVHTTP_DECLINED)
        /* not a valid result of a handler: without an error the client would wait forever */
        result = UVHTTP_EINVAL;
    bool client_left = response->state == UVH_RESPONSE_DISCONNECTED ||
                       (result == UVHTTP_EDISCONNECTED && response->state == UVH_RESPONSE_SENT);
    if (result >= 0 || client_left)
        return;
    /* not an error */
    bool stopping = result == UVHTTP_ESTOPPED;
    /* already logged by jobs.c */
    bool full = result == UVHTTP_EFULL && uvhttp_response_open(response);
    if (!response->failure_logged)
        uvh_server_log(exchange->worker->server,
                       stopping || full ? UVHTTP_LOG_DEBUG : UVHTTP_LOG_ERROR, "%s failed: %s",
                       uvhttp_request_path(&exchange->request), uvhttp_error_name(result));
    response->failure_logged = false;
    /* the client must not take an incomplete body for a complete one */
    if (response->state == UVH_RESPONSE_BEGUN)
        exchange->protocol->abandon(exchange);
    if (!uvhttp_response_open(response))
        return;
    uvh_response_forget(response);
    bool passing = result == UVHTTP_ENOMEM || stopping || full;
    if (full)
        uvhttp_response_set_header(response, "Retry-After", "1");
    if (uvhttp_response_send_status(response, passing ? 503 : 500) != 0)
        exchange->protocol->abandon(exchange);
}

void uvh_exchange_conclude(struct uvh_exchange *exchange, int result)
{
    if (UVH_UNLIKELY(result != 0))
        conclude_otherwise(exchange, result);
}

/* For the watcher of stuck loops. Returns the route that ran before: a handler may cause another
 * one to run. */
static const struct uvh_route *set_running(struct uvh_worker *worker, const struct uvh_route *route)
{
    const struct uvh_route *before =
        atomic_load_explicit(&worker->running_route, memory_order_relaxed);
    atomic_store_explicit(&worker->running_route, route, memory_order_relaxed);
    return before;
}

static const struct uvh_route *begin_running(struct uvh_exchange *exchange)
{
    struct uvh_worker *worker = exchange->worker;
    atomic_store_explicit(&worker->running_method, exchange->request.head->method,
                          memory_order_relaxed);
    return set_running(worker, exchange->match.route);
}

/* Runs the remaining middleware. True when all of it has passed the request on. */
static bool run_middleware(struct uvh_exchange *exchange)
{
    const struct uvh_match *match = &exchange->match;
    uvhttp_response_t *response = &exchange->response;
    while (exchange->next_middleware < match->chain_length) {
        const uvhttp_middleware_t *next = &match->chain[exchange->next_middleware++];
        const struct uvh_route *before = begin_running(exchange);
        int result = next->handler(&exchange->request, response, next->arg);
        set_running(exchange->worker, before);
        if (result == UVHTTP_DECLINED && uvhttp_response_open(response))
            continue;
        exchange->deciding =
            (result == 0 || result == UVHTTP_QUEUED) && uvhttp_response_open(response);
        uvh_exchange_conclude(exchange, result);
        return false;
    }
    return true;
}

/* Early data may be replayed, so only safe requests are processed (RFC 8470 section 3). An upgraded
 * connection would process its data without this check, and a body may take longer than the
 * handshake timeout. */
static bool may_be_early(const struct uvh_exchange *exchange)
{
    uint8_t method = exchange->request.head->method;
    bool safe = method == UVHTTP_METHOD_GET || method == UVHTTP_METHOD_HEAD ||
                method == UVHTTP_METHOD_OPTIONS || method == UVHTTP_METHOD_TRACE;
    return safe && !exchange->request.framing.upgrade &&
           exchange->request.framing.body == UVHTTP_BODY_NONE;
}

static void respond_too_early(struct uvh_exchange *exchange)
{
    uvh_exchange_ref(exchange);
    uvh_exchange_conclude(exchange, uvhttp_response_send_too_early(&exchange->response));
    uvh_exchange_unref(exchange);
}

bool uvh_exchange_admit(struct uvh_exchange *exchange)
{
    if (UVH_UNLIKELY(exchange->worker->overload != NULL) && uvh_shed_request(exchange))
        return false;
    if (UVH_UNLIKELY(exchange->early) && !may_be_early(exchange)) {
        respond_too_early(exchange);
        return false;
    }
    if (exchange->match.chain_length == 0)
        return true;
    uvh_exchange_ref(exchange);
    bool admitted = run_middleware(exchange);
    uvh_exchange_unref(exchange);
    return admitted;
}

int uvhttp_response_proceed(uvhttp_response_t *response)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (!exchange->deciding)
        return UVHTTP_EINVAL;
    exchange->deciding = false;
    uvh_exchange_ref(exchange);
    if (run_middleware(exchange))
        exchange->protocol->admitted(exchange);
    uvh_exchange_unref(exchange);
    return 0;
}

static int respond_upgrade_required(struct uvh_exchange *exchange, const char *protocol)
{
    if (exchange->request.is_http2 && exchange->request.framing.upgrade)
        return uvhttp_response_send_status(&exchange->response, 501); /* RFC 9220 section 3 */
    int err = uvhttp_response_set_header(&exchange->response, "Upgrade", protocol);
    return err != 0 ? err : uvhttp_response_send_status(&exchange->response, 426);
}

static int run_handler(struct uvh_exchange *exchange)
{
    const struct uvh_route *route = exchange->match.route;
    if (route == NULL)
        return UVHTTP_DECLINED;
    if (route->upgrade != NULL &&
        !uvhttp_request_offers_upgrade(&exchange->request, route->upgrade))
        return respond_upgrade_required(exchange, route->upgrade);
    if ((route->flags & UVHTTP_ROUTE_BLOCKING) != 0)
        return uvh_blocking_start(exchange);
    const struct uvh_route *before = begin_running(exchange);
    int result = route->handler(&exchange->request, &exchange->response, route->arg);
    set_running(exchange->worker, before);
    return result;
}

void uvh_exchange_run(struct uvh_exchange *exchange)
{
    exchange->handled = true;
    uvh_exchange_ref(exchange);
    uvh_exchange_conclude(exchange, run_handler(exchange));
    uvh_exchange_unref(exchange);
}

void uvh_exchange_deliver(struct uvh_exchange *exchange, const char *data, size_t size)
{
    struct uvhttp_request *request = &exchange->request;
    bool over = exchange->response.state == UVH_RESPONSE_SENT ||
                exchange->response.state == UVH_RESPONSE_DISCONNECTED ||
                exchange->response.deferred != NULL;
    if (over)
        return;
    uvh_exchange_ref(exchange);
    const struct uvh_route *before = begin_running(exchange);
    int result = request->on_body(request, &exchange->response, data, size, request->body_arg);
    set_running(exchange->worker, before);
    /* there is no next handler */
    uvh_exchange_conclude(exchange, result == UVHTTP_DECLINED ? UVHTTP_EINVAL : result);
    uvh_exchange_unref(exchange);
}

void uvh_exchange_drained(struct uvh_exchange *exchange)
{
    uvhttp_response_t *response = &exchange->response;
    response->wants_drain = false;
    if (response->on_drain == NULL || uvh_send_has_to_wait(exchange))
        return;
    uvh_exchange_ref(exchange);
    int result = response->on_drain(response, response->drain_arg);
    uvh_exchange_conclude(exchange, result == UVHTTP_DECLINED ? UVHTTP_EINVAL : result);
    uvh_exchange_unref(exchange);
}

void uvh_exchange_peer_ended(struct uvh_exchange *exchange)
{
    uvhttp_response_t *response = &exchange->response;
    uvhttp_peer_end_cb on_peer_end = response->on_peer_end;
    response->on_peer_end = NULL;
    uvh_exchange_ref(exchange);
    int result = on_peer_end(response, response->peer_end_arg);
    bool unfinished = response->state == UVH_RESPONSE_OPEN || response->state == UVH_RESPONSE_BEGUN;
    if (result == UVHTTP_EDISCONNECTED && unfinished)
        exchange->protocol->abandon(exchange);
    else
        uvh_exchange_conclude(exchange, result == UVHTTP_DECLINED ? UVHTTP_EINVAL : result);
    uvh_exchange_unref(exchange);
}

bool uvhttp_response_peer_ended(const uvhttp_response_t *response)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_response((uvhttp_response_t *)(uintptr_t)response);
    bool over = response->state == UVH_RESPONSE_DISCONNECTED || exchange->finished;
    return over || exchange->protocol->peer_ended(exchange);
}

int uvhttp_response_on_peer_end(uvhttp_response_t *response, uvhttp_peer_end_cb ended, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (uvh_blocking_is(exchange))
        return UVHTTP_EINVAL;
    if (response->state == UVH_RESPONSE_SENT || response->state == UVH_RESPONSE_DISCONNECTED)
        return uvh_response_over_code(response);
    response->on_peer_end = ended;
    response->peer_end_arg = arg;
    if (ended != NULL)
        exchange->protocol->await_peer_end(exchange);
    return 0;
}

/* Notifies the handler when its response ends before it has responded: further output would not be
 * sent. */
static void tell_abort(uvhttp_response_t *response)
{
    uvhttp_abort_cb on_abort = response->on_abort;
    response->on_abort = NULL;
    if (on_abort != NULL)
        on_abort(response, response->abort_arg);
}

void uvh_exchange_refuse(struct uvh_exchange *exchange, int status, const char *detail)
{
    uvhttp_response_t *response = &exchange->response;
    if (exchange->finished || response->state == UVH_RESPONSE_SENT) /* one response is enough */
        return;
    uvh_exchange_ref(exchange);
    /* streams its response while its body is received */
    if (response->state == UVH_RESPONSE_BEGUN) {
        exchange->protocol->abandon(exchange);
        uvh_exchange_unref(exchange);
        return;
    }
    response->state = UVH_RESPONSE_DISCONNECTED;
    tell_abort(response);
    response->state = UVH_RESPONSE_OPEN;
    response->taken_away = true;
    uvh_response_forget(response); /* also because the handler may just have freed data */
    if (uvhttp_response_send_error(response, status, "%s", detail) != 0)
        exchange->protocol->abandon(exchange);
    uvh_exchange_unref(exchange);
}

static const struct uvh_route *route_of(const struct uvh_exchange *exchange)
{
    return exchange->routed ? exchange->match.route : NULL;
}

static void record_exemplar(struct uvh_exchange *exchange, uint64_t duration)
{
    struct uvh_worker *worker = exchange->worker;
    const char *trace_id = uvh_request_exemplar(&exchange->request);
    if (UVH_UNLIKELY(trace_id != NULL))
        uvh_exemplars_record(&worker->exemplars, trace_id, duration,
                             uvh_server_unix_ms(worker->server));
}

static void tell_finished(struct uvh_exchange *exchange, bool aborted)
{
    const struct uvh_server *server = exchange->worker->server;
    const struct uvh_generation *generation = exchange->use->generation;
    uvh_response_forget_lent(&exchange->response); /* the send function may not have returned yet */
    uint64_t duration = uvh_loop_stats_since(exchange->began);
    if (!aborted && exchange->began != 0)
        uvh_loop_stats_record(&exchange->worker->loop_stats, duration);
    bool got_any = !aborted || exchange->sent > 0;
    uvhttp_outcome_t outcome = {.status = got_any ? exchange->response.status
                                                  : UVHTTP_STATUS_CLIENT_CLOSED_REQUEST,
                                .bytes_sent = exchange->sent,
                                .duration_us = duration,
                                .aborted = aborted,
                                .unix_ms = uvh_server_unix_ms(server) - (int64_t)(duration / 1000)};
    if (server->config.route_stats > 0)
        uvh_route_stats_count(exchange->use, route_of(exchange),
                              uvhttp_request_method(&exchange->request), &outcome);
    if (generation->on_finished != NULL)
        generation->on_finished(&exchange->request, &exchange->response, &outcome,
                                generation->finished_arg);
    if (!aborted && exchange->began != 0)
        record_exemplar(exchange, duration);
}

/* As short as the whole iteration, unless it has an exemplar, whose duration must be in its range.
 */
static void record_duration(struct uvh_exchange *exchange)
{
    struct uvh_loop_stats *stats = &exchange->worker->loop_stats;
    if (UVH_LIKELY(uvh_request_exemplar(&exchange->request) == NULL)) {
        uvh_loop_stats_responded(stats, exchange->began);
        return;
    }
    uint64_t duration = uvh_loop_stats_since(exchange->began);
    uvh_loop_stats_record(stats, duration);
    record_exemplar(exchange, duration);
}

void uvh_exchange_finish(struct uvh_exchange *exchange, bool aborted)
{
    uvhttp_response_t *response = &exchange->response;
    if (exchange->finished)
        return;
    exchange->finished = true;
    uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_NONE, false);
    if (exchange->is_listed)
        uvh_list_remove(&exchange->link);
    uvh_exchange_ref(exchange); /* the callbacks below must not free the exchange */
    if (aborted)
        uvh_counter_add(&exchange->worker->counters.aborted_exchanges, 1);
    bool incomplete = response->state != UVH_RESPONSE_SENT;
    if (incomplete) /* before any callback that could try to send */
        response->state = UVH_RESPONSE_DISCONNECTED;
    bool counted = exchange->worker->server->config.route_stats > 0;
    if (exchange->use->generation->on_finished != NULL || counted)
        tell_finished(exchange, aborted);
    else if (!aborted && exchange->began != 0)
        record_duration(exchange);
    if (incomplete)
        tell_abort(response);
    uvh_response_release_body(response);
    uvh_exchange_unref(exchange);
}

/* ---- timeouts and rates ---- */

/* The timeout of the class, unless the route sets its own. */
static struct uvh_timeout_list *timeouts_for(const struct uvh_exchange *exchange,
                                             enum uvh_exchange_timeout timeout)
{
    struct uvh_worker *worker = exchange->worker;
    const struct uvh_route *route = exchange->match.route;
    uint32_t seconds = 0;
    if (route != NULL && timeout == UVH_EXCHANGE_TIMEOUT_HANDLER)
        seconds = route->handler_timeout;
    else if (route != NULL && timeout == UVH_EXCHANGE_TIMEOUT_BODY)
        seconds = route->body_timeout;
    else if (route != NULL && timeout == UVH_EXCHANGE_TIMEOUT_WRITE)
        seconds = route->write_timeout;
    return seconds == 0
               ? &worker->exchange_timeouts[timeout]
               : uvh_timeout_lengths_find(worker->exchange_lengths, seconds * (uint64_t)1000);
}

void uvh_exchange_set_timeout(struct uvh_exchange *exchange, enum uvh_exchange_timeout timeout,
                              bool progress)
{
    if (exchange->timeout_class == timeout && !progress)
        return;
    exchange->timeout_class = (unsigned char)timeout;
    if (timeout == UVH_EXCHANGE_TIMEOUT_NONE)
        uvh_timeout_cancel(&exchange->timeout);
    else
        uvh_timeout_arm(timeouts_for(exchange, timeout), &exchange->timeout,
                        uv_now(exchange->worker->loop));
}

int uvh_exchange_late_status(struct uvh_exchange *exchange)
{
    const struct uvh_route *route = exchange->match.route;
    struct uvh_server *server = exchange->worker->server;
    bool has_own = route != NULL && route->handler_timeout != 0;
    uvh_server_log(
        server, UVHTTP_LOG_WARNING, "%s %s: no response within %zu s (handler_timeout), route %s",
        uvhttp_request_method_name(&exchange->request), uvhttp_request_path(&exchange->request),
        has_own ? route->handler_timeout : server->config.handler_timeout,
        route == NULL ? "none" : route->pattern);
    return route == NULL ? 503 : (int)route->timeout_status;
}

/* The handler is not notified of a failure. When out of memory, the next heartbeat may succeed; a
 * disconnected client closes the connection. */
void uvh_exchange_send_heartbeat(struct uvh_exchange *exchange)
{
    static const char comment[] = ":\n\n";
    (void)uvh_send_beside(exchange, (uvhttp_slice_t){comment, sizeof(comment) - 1});
}

void uvh_exchange_begin_events(struct uvh_exchange *exchange)
{
    uvh_list_init(&exchange->link);
    uvh_list_append(&exchange->worker->event_streams, &exchange->link);
    exchange->is_listed = true;
}

/* The handler is notified by on_abort: the response was complete for the client, but not for the
 * handler. */
void uvh_exchange_end_events(struct uvh_exchange *exchange)
{
    uvhttp_response_t *response = &exchange->response;
    uvhttp_abort_cb on_abort = response->on_abort;
    uvh_list_remove(&exchange->link);
    exchange->is_listed = false;
    response->on_abort = NULL;
    response->taken_away = true;
    uvh_exchange_ref(exchange);
    (void)uvhttp_response_end(response); /* a failure has ended it as well */
    if (on_abort != NULL)
        on_abort(response, response->abort_arg);
    uvh_exchange_unref(exchange);
}

uint64_t uvh_exchange_allowed(const struct uvh_exchange *exchange)
{
    struct uvh_pace *pace = exchange->response.pace;
    return UVH_LIKELY(pace == NULL) ? UINT64_MAX
                                    : uvh_pace_allowed(pace, uv_now(exchange->worker->loop));
}

int uvhttp_response_limit_rate(uvhttp_response_t *response, uint64_t bytes_per_second,
                               uint64_t burst)
{
    if (bytes_per_second == 0 || bytes_per_second > UVH_PACE_MOST) {
        response->pace = NULL;
        return 0;
    }
    /* For a handler on another thread the loop owns the pace once the response has begun, so it is
     * never changed, but replaced. */
    if (response->pace != NULL && response->disconnected == NULL) {
        uvh_pace_change(response->pace, bytes_per_second);
        return 0;
    }
    struct uvh_pace *pace = uvh_arena_alloc(response->arena, sizeof(*pace));
    if (pace == NULL)
        return UVHTTP_ENOMEM;
    uvh_pace_init(pace, bytes_per_second, burst);
    response->pace = pace;
    return 0;
}

uvhttp_request_t *uvhttp_response_request(uvhttp_response_t *response)
{
    return &uvh_exchange_of_response(response)->request;
}

const char *uvhttp_request_route(const uvhttp_request_t *request)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request);
    const struct uvh_route *route = route_of(exchange);
    if (route == NULL)
        route = exchange->announced;
    return route == NULL ? NULL : route->pattern;
}

void *uvhttp_request_router_data(const uvhttp_request_t *request)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request);
    const struct uvh_route *route = exchange->match.route;
    if (!exchange->routed)
        return NULL;
    return uvh_router_data(exchange->match.site, route != NULL ? route : exchange->announced);
}

static struct uvh_worker *worker_of(const uvhttp_request_t *request)
{
    return UVH_CONTAINER_OF((uvhttp_request_t *)(uintptr_t)request, struct uvh_exchange, request)
        ->worker;
}

struct uvhttp_server *uvhttp_request_server(const uvhttp_request_t *request)
{
    return &worker_of(request)->server->view;
}

size_t uvhttp_request_worker(const uvhttp_request_t *request)
{
    return worker_of(request)->index;
}

struct uv_loop_s *uvhttp_request_loop(const uvhttp_request_t *request)
{
    return worker_of(request)->loop;
}

uvhttp_response_t *uvhttp_request_response(uvhttp_request_t *request)
{
    return &UVH_CONTAINER_OF(request, struct uvh_exchange, request)->response;
}

int uvhttp_request_limit_body(uvhttp_request_t *request, uint64_t most)
{
    const struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    if (exchange->handled)
        return UVHTTP_EINVAL;
    if (!request->body_limited || most < request->body_limit)
        request->body_limit = most;
    request->body_limited = true;
    return 0;
}

int uvhttp_request_on_body(uvhttp_request_t *request, uvhttp_body_cb body, void *arg)
{
    struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    const uvhttp_response_t *response = &exchange->response;
    int err = response->state == UVH_RESPONSE_BEGUN ? 0 : uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (body == NULL || request->on_body != NULL || !exchange->handled ||
        !uvh_exchange_streams_body(exchange))
        return UVHTTP_EINVAL;
    request->on_body = body;
    request->body_arg = arg;
    exchange->protocol->read_body(exchange);
    return 0;
}

void uvhttp_request_pause_body(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    request->body_paused = true;
    if (!exchange->finished)
        exchange->protocol->pause_body(exchange);
}

void uvhttp_request_resume_body(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    unsigned char state = exchange->response.state;
    if (!request->body_paused)
        return;
    request->body_paused = false;
    /* After the response the body is not read: the connection closes, or the rest of the body was
     * consumed. */
    bool wanted = uvhttp_response_open(&exchange->response) || state == UVH_RESPONSE_BEGUN;
    if (!wanted || exchange->finished)
        return;
    if (request->on_body != NULL)
        exchange->protocol->read_body(exchange);
    else
        exchange->protocol->pause_body(exchange); /* re-evaluates body_paused */
}

void uvhttp_response_log(uvhttp_response_t *response, uvhttp_log_level_t level, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_server_log_list(uvh_exchange_of_response(response)->worker->server, level, format,
                        arguments);
    va_end(arguments);
}

void uvhttp_response_log_failure(uvhttp_response_t *response, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_server_log_list(uvh_exchange_of_response(response)->worker->server, UVHTTP_LOG_ERROR,
                        format, arguments);
    va_end(arguments);
    response->failure_logged = format != NULL;
}

uint64_t uvhttp_response_now(const uvhttp_response_t *response)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_response((uvhttp_response_t *)(uintptr_t)response);
    /* uv_now may be called on the loop's thread only, and uv_hrtime is its source */
    if (uvh_blocking_is(exchange))
        return uv_hrtime() / 1000000;
    return uv_now(exchange->worker->loop);
}
