/* The life of an exchange: routing, middleware and handler, answering for those who fail, jobs on the thread pool, and the end. */
#include "server/exchange.h"

#include <string.h>

#include "base/bytes.h"
#include "platform/socket.h"
#include "server/server.h"

enum { MAX_ALLOW_SIZE = 65536 };

void uvh_exchange_hold(struct uvh_exchange *exchange)
{
    exchange->holders++;
}

void uvh_exchange_let_go(struct uvh_exchange *exchange)
{
    exchange->holders--;
    if (exchange->finished && exchange->holders == 0)
        exchange->protocol->released(exchange);
}

void uvh_exchange_init(struct uvh_exchange *exchange, struct uvh_worker *worker,
                       const struct uvh_protocol *protocol, struct uvh_arena arena)
{
    exchange->arena = arena;
    exchange->worker = worker;
    exchange->protocol = protocol;
    exchange->response.arena = &exchange->arena;
    exchange->response.status = 200;
}

void uvh_exchange_route(struct uvh_exchange *exchange)
{
    struct uvhttp_request *request = &exchange->request;
    uvhttp_slice_t name = {request->bytes + request->head->start, request->head->method_length};
    uvh_router_match(exchange->worker->server->router, (uvhttp_method_t)request->head->method, name,
                     request->path, &exchange->match);
    if (exchange->match.route != NULL) {
        request->params = exchange->match.params;
        request->param_count = exchange->match.param_count;
    }
}

size_t uvh_exchange_body_limit(const struct uvh_exchange *exchange)
{
    const struct uvh_route *route = exchange->match.route;
    if (route != NULL && route->max_body_size != 0)
        return route->max_body_size;
    return exchange->worker->server->config.max_body_size;
}

static int run_chain(struct uvh_exchange *exchange)
{
    struct uvh_server *server = exchange->worker->server;
    uvhttp_request_t *request = &exchange->request;
    uvhttp_response_t *response = &exchange->response;
    for (size_t i = 0; i < server->middleware_count; i++) {
        int result = server->middleware[i].handler(request, response, server->middleware[i].arg);
        if (result != UVHTTP_DECLINED || !uvhttp_response_open(response))
            return result;
    }
    const struct uvh_route *route = exchange->match.route;
    return route == NULL ? UVHTTP_DECLINED : route->handler(request, response, route->arg);
}

/* A server that is no proxy does not CONNECT, and TRACE is done only by a route (RFC 9110 sections 9.3.6 and 9.3.8). */
static bool is_implemented(const struct uvh_exchange *exchange)
{
    const struct uvhttp_request *request = &exchange->request;
    uvhttp_slice_t name = {request->bytes + request->head->start, request->head->method_length};
    if (request->head->method == UVHTTP_METHOD_OTHER)
        return uvh_router_knows_method(exchange->worker->server->router, name);
    return request->head->method != UVHTTP_METHOD_CONNECT && request->head->method != UVHTTP_METHOD_TRACE;
}

static int answer_with_allow(struct uvh_exchange *exchange, int status)
{
    struct uvh_bytes allow;
    uvh_bytes_init(&allow, exchange->worker->server->allocator, MAX_ALLOW_SIZE);
    int err = uvh_router_allow(exchange->worker->server->router, exchange->request.path, &allow);
    if (err == 0 && uvh_bytes_append(&allow, "", 1) != 0)
        err = UVHTTP_ENOMEM;
    if (err == 0)
        err = uvhttp_response_set_header(&exchange->response, "Allow", allow.data);
    uvh_bytes_release(&allow);
    return err != 0 ? err : uvhttp_response_send_status(&exchange->response, status);
}

/* No handler wanted the request. */
static int answer_unrouted(struct uvh_exchange *exchange)
{
    bool asks_options = exchange->request.head->method == UVHTTP_METHOD_OPTIONS;
    bool known_path =
        exchange->match.known_path || exchange->request.framing.target_form == UVHTTP_TARGET_ASTERISK;
    if (!is_implemented(exchange))
        return uvhttp_response_send_status(&exchange->response, 501);
    if (exchange->match.route != NULL || !known_path)
        return uvhttp_response_send_status(&exchange->response, 404);
    return answer_with_allow(exchange, asks_options ? 204 : 405);
}

/* A handler has returned `result`: makes sure that a failure is answered and logged. */
static void conclude(struct uvh_exchange *exchange, int result)
{
    uvhttp_response_t *response = &exchange->response;
    if (result == UVHTTP_DECLINED && uvhttp_response_open(response))
        result = answer_unrouted(exchange);
    if (result > 0 && result != UVHTTP_DECLINED)
        result =
            UVHTTP_EINVAL; /* nothing a handler may return: whoever waits for an answer is not left waiting */
    bool client_left = response->state == UVH_RESPONSE_GONE ||
                       (result == UVHTTP_EGONE && response->state == UVH_RESPONSE_SENT);
    if (result >= 0 || client_left)
        return;
    uvh_server_log(exchange->worker->server, UVHTTP_LOG_ERROR, "%s failed: %s",
                   uvhttp_request_path(&exchange->request), uvhttp_error_name(result));
    if (!uvhttp_response_open(response))
        return;
    response->header_count = 0;
    response->prepared = NULL;
    if (uvhttp_response_send_status(response, result == UVHTTP_ENOMEM ? 503 : 500) != 0)
        exchange->protocol->abandon(exchange);
}

void uvh_exchange_run(struct uvh_exchange *exchange)
{
    uvh_exchange_hold(exchange);
    conclude(exchange, run_chain(exchange));
    uvh_exchange_let_go(exchange);
}

void uvh_exchange_refuse(struct uvh_exchange *exchange, int status, const char *detail)
{
    uvhttp_response_t *response = &exchange->response;
    struct uvh_bytes body;
    uvh_exchange_hold(exchange);
    response->close_after = true;
    uvh_bytes_init(&body, exchange->worker->server->allocator, 512);
    uvh_bytes_append_format(&body, "%d %s\n%s\n", status, uvhttp_status_text(status), detail);
    const char *type = "text/plain; charset=utf-8";
    if (uvhttp_response_send(response, status, type, body.data, body.length) != 0)
        exchange->protocol->abandon(exchange);
    uvh_bytes_release(&body);
    uvh_exchange_let_go(exchange);
}

void uvh_exchange_finish(struct uvh_exchange *exchange, bool aborted)
{
    uvhttp_response_t *response = &exchange->response;
    if (exchange->finished)
        return;
    exchange->finished = true;
    uvh_exchange_hold(exchange); /* the callbacks below must not pull the exchange from under us */
    if (aborted)
        exchange->worker->counters.aborted_exchanges++;
    if (response->state == UVH_RESPONSE_OPEN) {
        response->state = UVH_RESPONSE_GONE;
        if (response->on_abort != NULL)
            response->on_abort(response, response->abort_arg);
    }
    uvh_response_release_body(response);
    uvh_exchange_let_go(exchange);
}

/* One job on the thread pool. Lives in the exchange's arena. */
struct job {
    uv_work_t work;
    struct uvh_exchange *exchange;
    uvhttp_work_cb run;
    uvhttp_done_cb done;
    void *arg;
};

static void job_run(uv_work_t *work)
{
    struct job *job = UVH_CONTAINER_OF(work, struct job, work);
    job->run(job->arg);
}

static void job_done(uv_work_t *work, int status)
{
    struct job *job = UVH_CONTAINER_OF(work, struct job, work);
    struct uvh_exchange *exchange = job->exchange;
    (void)status; /* never cancelled */
    int result = job->done(&exchange->response, job->arg);
    conclude(exchange, result == UVHTTP_DECLINED ? UVHTTP_EINVAL : result); /* there is no next one */
    uvh_exchange_let_go(exchange);
}

int uvhttp_response_defer(uvhttp_response_t *response, uvhttp_work_cb work, uvhttp_done_cb done, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (!uvhttp_response_open(response))
        return response->state == UVH_RESPONSE_GONE ? UVHTTP_EGONE : UVHTTP_EANSWERED;
    if (work == NULL || done == NULL)
        return UVHTTP_EINVAL;
    struct job *job = uvh_arena_alloc(&exchange->arena, sizeof(*job));
    if (job == NULL)
        return UVHTTP_ENOMEM;
    *job = (struct job){.exchange = exchange, .run = work, .done = done, .arg = arg};
    int err = uv_queue_work(exchange->worker->loop, &job->work, job_run, job_done);
    if (err == 0)
        uvh_exchange_hold(exchange);
    return err;
}

const char *uvhttp_request_client_address(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    if (exchange->peer_text == NULL) {
        exchange->peer_text = uvh_arena_text(&exchange->arena, UVH_SOCKET_ADDRESS_TEXT);
        if (exchange->peer_text == NULL)
            return "";
        exchange->protocol->peer(exchange, exchange->peer_text);
    }
    return exchange->peer_text;
}

uvhttp_request_t *uvhttp_response_request(uvhttp_response_t *response)
{
    return &uvh_exchange_of_response(response)->request;
}

void uvhttp_response_log(uvhttp_response_t *response, uvhttp_log_level_t level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_server_log_list(uvh_exchange_of_response(response)->worker->server, level, format, arguments);
    va_end(arguments);
}

uint64_t uvhttp_response_now(const uvhttp_response_t *response)
{
    return uv_now(uvh_exchange_of_response((uvhttp_response_t *)(uintptr_t)response)->worker->loop);
}
