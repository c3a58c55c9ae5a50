/* NULL for each pointer parameter of functions called outside of exchanges: configuration, server,
 * router, static files, logs, and the functions that create and free the objects of modules. A
 * required argument that is NULL is refused, an optional one has a default; an object that is NULL
 * because its creation failed gives UVHTTP_ENOMEM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

#include "support/null_rows.h"

#define SLICE(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

/* The attribute of the function tells compilers that its format must not be NULL. */
static void (*const log_line)(uvhttp_server_t *server, uvhttp_log_level_t level, const char *format,
                              ...) = uvhttp_server_log;

static char text[65536];
static uvhttp_error_t error;
static size_t number;

static int handler(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return UVHTTP_DECLINED;
}

static void ignore(uvhttp_server_t *server, void *arg)
{
    (void)server, (void)arg;
}

static void release(void *arg)
{
    (void)arg;
}

static int check_user(uvhttp_request_t *req, uvhttp_response_t *res,
                      const uvhttp_credentials_t *given, void *arg)
{
    (void)req, (void)res, (void)given, (void)arg;
    return UVHTTP_AUTH_REFUSE;
}

/* True if a constructor has created an object, which is freed. */
#define IS_MADE(type, object, call) \
    ((call) == 0 && (object) != NULL && (uvhttp_##type##_free(object), true))

#if UVHTTP_TESTS_HTTPS
#define TLS_REFUSED UVHTTP_ECONFIG
#else
#define TLS_REFUSED UVHTTP_ENOTSUP
#endif

/* Options without a certificate are refused, with and without an error to fill. */
static void tls_functions_check_null(void **state)
{
    (void)state;
    const uvhttp_tls_options_t empty = {0};
    const char *const names[] = {"a.test", NULL}, *const invalid[] = {"a b", NULL};
    char *pem;
    uvhttp_tls_t *created;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    null_rows_begin();
    NULL_ROW(uvhttp_tls_new, tls, uvhttp_tls_new(NULL, &empty, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_new, options,
             uvhttp_tls_new(&created, NULL, &error) == UVHTTP_EINVAL && created == NULL);
    NULL_ROW(uvhttp_tls_new, error, uvhttp_tls_new(&created, &empty, NULL) == TLS_REFUSED);
    unsigned char tickets[UVHTTP_TLS_TICKET_STATE_SIZE] = {0};
    NULL_ROW(uvhttp_tls_save_tickets, tls, uvhttp_tls_save_tickets(NULL, tickets) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_save_tickets, state,
             uvhttp_tls_save_tickets(created, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_restore_tickets, tls,
             uvhttp_tls_restore_tickets(NULL, tickets) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_restore_tickets, state,
             uvhttp_tls_restore_tickets(created, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_replace, tls, uvhttp_tls_replace(NULL, &empty, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_replace, options,
             uvhttp_tls_replace(created, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_replace, error, uvhttp_tls_replace(NULL, &empty, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_make_self_signed, pem,
             uvhttp_tls_make_self_signed(NULL, names, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_make_self_signed, names,
             uvhttp_tls_make_self_signed(&pem, NULL, &error) ==
                 (TLS_REFUSED == UVHTTP_ENOTSUP ? UVHTTP_ENOTSUP : 0));
    uvhttp_file_release(pem);
    NULL_ROW(uvhttp_tls_make_self_signed, error,
             uvhttp_tls_make_self_signed(&pem, invalid, NULL) == TLS_REFUSED && pem == NULL);
    NULL_ROW(uvhttp_tls_reload, tls, uvhttp_tls_reload(NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_reload, error, uvhttp_tls_reload(NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_expires, tls, uvhttp_tls_expires(NULL) == 0);
    NULL_CALL(uvhttp_tls_free, tls, uvhttp_tls_free(NULL));
    const uvhttp_tls_client_options_t client_config = {.ca_file = "/nothing"};
    uvhttp_tls_client_t *client;
    NULL_ROW(uvhttp_tls_client_new, client,
             uvhttp_tls_client_new(NULL, &client_config, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_tls_client_new, options,
             uvhttp_tls_client_new(&client, NULL, &error) == UVHTTP_EINVAL && client == NULL);
    NULL_ROW(uvhttp_tls_client_new, error,
             uvhttp_tls_client_new(&client, &client_config, NULL) == TLS_REFUSED);
    NULL_CALL(uvhttp_tls_client_free, client, uvhttp_tls_client_free(NULL));
    NULL_ROW(uvhttp_server_listen_tls, server,
             uvhttp_server_listen_tls(NULL, "127.0.0.1", 0, created) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen_tls, address,
             uvhttp_server_listen_tls(server, NULL, 0, created) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_listen_tls, tls,
             uvhttp_server_listen_tls(server, "127.0.0.1", 0, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_listen_fd_tls, server,
             uvhttp_server_listen_fd_tls(NULL, 0, created) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen_fd_tls, tls,
             uvhttp_server_listen_fd_tls(server, 0, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_server_free(server);
}

static void config_functions_check_null(void **state)
{
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    uvhttp_config_t *invalid = uvhttp_config_new();
    invalid->workers = 0;
    setenv("NULL_TEST_BODY_TIMEOUT", "x", 1);
    null_rows_begin();
    NULL_CALL(uvhttp_config_free, config, uvhttp_config_free(NULL));
    NULL_ROW(uvhttp_config_check, config, uvhttp_config_check(NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_check, error, uvhttp_config_check(invalid, NULL) == UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_config_get, config,
             uvhttp_config_get(NULL, "workers", &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_get, name, uvhttp_config_get(config, NULL, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_get, value, uvhttp_config_get(config, "workers", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_set, config,
             uvhttp_config_set(NULL, "workers", "2", &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_set, name,
             uvhttp_config_set(config, NULL, "2", &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_set, text,
             uvhttp_config_set(config, "workers", NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_set, error,
             uvhttp_config_set(config, "workers", "x", NULL) == UVHTTP_ECONFIG &&
                 uvhttp_config_set(config, "none", "x", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_from_env, config,
             uvhttp_config_from_env(NULL, "X_", &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_from_env, prefix,
             uvhttp_config_from_env(config, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_from_env, error,
             uvhttp_config_from_env(config, "NULL_TEST_", NULL) == UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_config_parse, text,
             uvhttp_config_parse(NULL, "bytes", &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_parse, unit, uvhttp_config_parse("1", NULL, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_config_parse, value, uvhttp_config_parse("1", "bytes", NULL) == UVHTTP_EINVAL);
    null_rows_end();
    unsetenv("NULL_TEST_BODY_TIMEOUT");
    uvhttp_config_free(config);
    uvhttp_config_free(invalid);
}

static int count_route(const uvhttp_route_stats_t *stats, void *arg)
{
    (void)stats, (void)arg;
    return 0;
}

static void count_listening(const uvhttp_listening_t *listening, void *arg)
{
    (void)listening, (void)arg;
}

static void server_functions_check_null(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_server_t *other = NULL;
    static uvhttp_timer_t *timer;
    uvhttp_stats_t stats;
    null_rows_begin();
    NULL_ROW(uvhttp_server_new, loop, (other = uvhttp_server_new(NULL)) != NULL);
    uvhttp_server_free(other);
    NULL_ROW(uvhttp_server_new_with, loop, (other = uvhttp_server_new_with(NULL, NULL)) != NULL);
    uvhttp_server_free(other);
    NULL_ROW(uvhttp_server_new_with, config, (other = uvhttp_server_new_with(NULL, NULL)) != NULL);
    uvhttp_server_free(other);
    NULL_CALL(uvhttp_server_free, server, uvhttp_server_free(NULL));
    NULL_ROW(uvhttp_server_router, server, uvhttp_server_router(NULL) == NULL);
    NULL_ROW(uvhttp_server_route, server,
             uvhttp_server_route(NULL, "GET", "/", handler, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_route, method,
             uvhttp_server_route(server, NULL, "/any", handler, NULL) == 0);
    NULL_ROW(uvhttp_server_route, pattern,
             uvhttp_server_route(server, "GET", NULL, handler, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_route, handler,
             uvhttp_server_route(server, "GET", "/", NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_use, server, uvhttp_server_use(NULL, handler, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_use, middleware, uvhttp_server_use(server, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_server_on_finished, server,
              uvhttp_server_on_finished(NULL, uvhttp_access_log_finished, NULL));
    NULL_CALL(uvhttp_server_on_finished, finished, uvhttp_server_on_finished(server, NULL, NULL));
    NULL_CALL(uvhttp_server_on_error, server,
              uvhttp_server_on_error(NULL, uvhttp_error_as_json, NULL));
    NULL_CALL(uvhttp_server_on_error, error, uvhttp_server_on_error(server, NULL, NULL));
    NULL_CALL(uvhttp_server_never_shed, server, uvhttp_server_never_shed(NULL, NULL, NULL));
    NULL_CALL(uvhttp_server_never_shed, never_shed, uvhttp_server_never_shed(server, NULL, NULL));
    NULL_ROW(uvhttp_server_set, server, uvhttp_server_set(NULL, "workers", "1") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_set, name, uvhttp_server_set(server, NULL, "1") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_set, value, uvhttp_server_set(server, "workers", NULL) != 0);
    NULL_ROW(uvhttp_server_main, server, uvhttp_server_main(NULL, "127.0.0.1", 0) == 1);
    NULL_ROW(uvhttp_server_main, address,
             uvhttp_server_main(uvhttp_server_new(NULL), NULL, 0) == 1);
    NULL_ROW(uvhttp_server_own, server, uvhttp_server_own(NULL, release, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_own, release, uvhttp_server_own(server, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_keep, server, uvhttp_server_keep(NULL, release, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_keep, release, uvhttp_server_keep(server, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_port, server, uvhttp_server_port(NULL) == 0);
    NULL_ROW(uvhttp_server_last_port, server, uvhttp_server_last_port(NULL) == 0);
    NULL_ROW(uvhttp_server_run, server, uvhttp_server_run(NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_worker_count, server, uvhttp_server_worker_count(NULL) == 0);
    NULL_ROW(uvhttp_server_post, server, uvhttp_server_post(NULL, 0, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_post, run, uvhttp_server_post(server, 0, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_server_ref, server, uvhttp_server_ref(NULL));
    NULL_CALL(uvhttp_server_unref, server, uvhttp_server_unref(NULL));
    NULL_ROW(uvhttp_server_every, server,
             uvhttp_server_every(NULL, 1, NULL, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_every, run,
             uvhttp_server_every(server, 1, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_every, timer,
             uvhttp_server_every(server, 1, ignore, NULL, NULL) == 0 &&
                 uvhttp_server_every(server, 1, ignore, NULL, &timer) == 0);
    NULL_ROW(uvhttp_server_after, server,
             uvhttp_server_after(NULL, 1, NULL, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_after, run,
             uvhttp_server_after(server, 1, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_after, timer, uvhttp_server_after(server, 1, ignore, NULL, NULL) == 0);
    NULL_CALL(uvhttp_timer_stop, timer, uvhttp_timer_stop(NULL));
    NULL_CALL(uvhttp_timer_own, timer, uvhttp_timer_own(NULL, release));
    NULL_CALL(uvhttp_timer_own, release, uvhttp_timer_own(timer, NULL));
    NULL_ROW(uvhttp_server_on_signal, server,
             uvhttp_server_on_signal(NULL, 1, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_on_signal, run,
             uvhttp_server_on_signal(server, 1, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_server_stop, server, uvhttp_server_stop(NULL));
    NULL_ROW(uvhttp_server_begin_reload, server, uvhttp_server_begin_reload(NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_drain, server,
             uvhttp_server_drain(NULL, &(uvhttp_drain_t){0}) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_drain, times, uvhttp_server_drain(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_drain_result, server,
             uvhttp_server_drain_result(NULL, &(uvhttp_drain_result_t){0}) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_drain_result, result,
             uvhttp_server_drain_result(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_apply_reload, server, uvhttp_server_apply_reload(NULL) == UVHTTP_ENOMEM);
    NULL_CALL(uvhttp_server_cancel_reload, server, uvhttp_server_cancel_reload(NULL));
    NULL_ROW(uvhttp_server_stop_on_signals, server,
             uvhttp_server_stop_on_signals(NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_loop, server, uvhttp_server_loop(NULL) == NULL);
    NULL_CALL(uvhttp_server_on_stopping, server, uvhttp_server_on_stopping(NULL, NULL, NULL));
    NULL_CALL(uvhttp_server_on_stopping, stopping, uvhttp_server_on_stopping(server, NULL, NULL));
    NULL_CALL(uvhttp_server_on_stopped, server, uvhttp_server_on_stopped(NULL, NULL, NULL));
    NULL_CALL(uvhttp_server_on_stopped, stopped, uvhttp_server_on_stopped(server, NULL, NULL));
    NULL_ROW(uvhttp_server_stats, server, uvhttp_server_stats(NULL) == NULL);
    NULL_ROW(uvhttp_server_read_stats, server,
             uvhttp_server_read_stats(NULL, &stats) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_read_stats, stats,
             uvhttp_server_read_stats(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_worker_stats, server,
             uvhttp_server_worker_stats(NULL, 0, &stats) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_worker_stats, stats,
             uvhttp_server_worker_stats(server, 0, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_server_free(server);
}

static void listen_functions_check_null(void **state)
{
    (void)state;
    static const char *const proxies[] = {NULL};
    uvhttp_exemplar_t exemplars[UVHTTP_EXEMPLARS];
    static uvhttp_latency_counts_t counts;
    uvhttp_latency_t latency;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_log_level_t quiet = (uvhttp_log_level_t)-1;
    null_rows_begin();
    NULL_ROW(uvhttp_server_listen, server,
             uvhttp_server_listen(NULL, "127.0.0.1", 0) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen, address, uvhttp_server_listen(server, NULL, 0) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_listen_unix, server,
             uvhttp_server_listen_unix(NULL, "@null-test", 0) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen_unix, path,
             uvhttp_server_listen_unix(server, NULL, 0) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_listen_unix_owned, server,
             uvhttp_server_listen_unix_owned(NULL, "@null-test", 0, -1, -1) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen_unix_owned, path,
             uvhttp_server_listen_unix_owned(server, NULL, 0, -1, -1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_listen_fd, server, uvhttp_server_listen_fd(NULL, 0) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_listen_inherited, server,
             uvhttp_server_listen_inherited(NULL, &number) == UVHTTP_ENOMEM && number == 0);
    NULL_ROW(uvhttp_server_listen_inherited, count,
             uvhttp_server_listen_inherited(server, NULL) == 0);
    NULL_ROW(uvhttp_server_unlisten, server, uvhttp_server_unlisten(NULL, "*", 1) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_unlisten, address,
             uvhttp_server_unlisten(server, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_unlisten_unix, server,
             uvhttp_server_unlisten_unix(NULL, "@x") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_unlisten_unix, path,
             uvhttp_server_unlisten_unix(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_unlisten_fd, server,
             uvhttp_server_unlisten_fd(NULL, 3) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_each_listening, server,
             uvhttp_server_each_listening(NULL, count_listening, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_each_listening, each,
             uvhttp_server_each_listening(server, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_server_keep_socket_files, server, uvhttp_server_keep_socket_files(NULL));
    NULL_ROW(uvhttp_server_adopt, server, uvhttp_server_adopt(NULL, 0) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_trust_proxies, server,
             uvhttp_server_trust_proxies(NULL, proxies, 1, UVHTTP_FORWARDING_X) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_trust_proxies, prefixes,
             uvhttp_server_trust_proxies(server, NULL, 1, UVHTTP_FORWARDING_X) == UVHTTP_EINVAL &&
                 uvhttp_server_trust_proxies(server, proxies, 1, UVHTTP_FORWARDING_X) ==
                     UVHTTP_EINVAL &&
                 uvhttp_server_trust_proxies(server, NULL, 0, UVHTTP_FORWARDING_X) == 0);
    NULL_ROW(uvhttp_server_accept_proxy_protocol, server,
             uvhttp_server_accept_proxy_protocol(NULL, proxies, 1, UVHTTP_PROXY_OTHERS_DIRECT) ==
                 UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_accept_proxy_protocol, sources,
             uvhttp_server_accept_proxy_protocol(server, NULL, 1, UVHTTP_PROXY_OTHERS_DIRECT) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_error, server, uvhttp_server_error(NULL)->code == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_first_error, server,
             uvhttp_server_first_error(NULL)->code == UVHTTP_ENOMEM);
    NULL_CALL(uvhttp_server_set_data, server, uvhttp_server_set_data(NULL, text));
    NULL_ROW(uvhttp_server_data, server, uvhttp_server_data(NULL) == NULL);
    NULL_ROW(uvhttp_server_each_route_stats, server,
             uvhttp_server_each_route_stats(NULL, count_route, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_each_route_stats, each,
             uvhttp_server_each_route_stats(server, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_metrics_write_routes, server, uvhttp_metrics_write_routes(NULL, text, 9) == 0);
    NULL_ROW(uvhttp_metrics_write_routes, out, uvhttp_metrics_write_routes(server, NULL, 9) == 0);
    NULL_ROW(uvhttp_server_read_latency, server,
             uvhttp_server_read_latency(NULL, &counts) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_read_latency, counts,
             uvhttp_server_read_latency(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_latency_between, before,
             (uvhttp_latency_between(NULL, &counts, &latency), latency.count == 0));
    NULL_ROW(uvhttp_latency_between, after,
             (uvhttp_latency_between(&counts, NULL, &latency), latency.count == 0));
    NULL_CALL(uvhttp_latency_between, latency, uvhttp_latency_between(&counts, &counts, NULL));
    NULL_ROW(uvhttp_server_read_exemplars, server,
             uvhttp_server_read_exemplars(NULL, exemplars) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_read_exemplars, exemplars,
             uvhttp_server_read_exemplars(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_metrics_write_server, server,
             uvhttp_metrics_write_server(NULL, UVHTTP_METRICS_TEXT, text, 9) == 0);
    NULL_ROW(uvhttp_metrics_write_server, out,
             uvhttp_metrics_write_server(server, UVHTTP_METRICS_TEXT, NULL, 9) > 0);
    NULL_ROW(uvhttp_server_allocator, server, uvhttp_server_allocator(NULL) != NULL);
    NULL_ROW(uvhttp_server_unix_ms, server, uvhttp_server_unix_ms(NULL) == 0);
    NULL_CALL(uvhttp_server_log, server, uvhttp_server_log(NULL, UVHTTP_LOG_ERROR, "x"));
    NULL_CALL(uvhttp_server_log, format, log_line(server, UVHTTP_LOG_ERROR, NULL));
    NULL_CALL(uvhttp_log_to_stderr, message, uvhttp_log_to_stderr(UVHTTP_LOG_ERROR, NULL, &quiet));
    NULL_CALL(uvhttp_log_to_stderr, arg, uvhttp_log_to_stderr(UVHTTP_LOG_ERROR, NULL, NULL));
    null_rows_end();
    uvhttp_server_free(server);
}

static void test_client_checks_null(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    const uvhttp_test_request_t request = {0};
    uvhttp_test_response_t *response = NULL;
    null_rows_begin();
    NULL_ROW(uvhttp_test_request, server,
             uvhttp_test_request(NULL, &request, &response) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_test_request, request,
             uvhttp_test_request(server, NULL, &response) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_test_request, response,
             uvhttp_test_request(server, &request, NULL) == UVHTTP_EINVAL);
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    NULL_ROW(uvhttp_test_response_header, response,
             uvhttp_test_response_header(NULL, "Date") == NULL);
    NULL_ROW(uvhttp_test_response_header, name,
             uvhttp_test_response_header(response, NULL) == NULL);
    uvhttp_test_response_free(response);
    NULL_CALL(uvhttp_test_response_free, response, uvhttp_test_response_free(NULL));
    null_rows_end();
    uvhttp_server_free(server);
}

static void router_functions_check_null(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server), *out = router;
    const uvhttp_route_t route = {.pattern = "/", .handler = handler};
    null_rows_begin();
    NULL_ROW(uvhttp_router_add, router, uvhttp_router_add(NULL, &route) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_add, route, uvhttp_router_add(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_route, router,
             uvhttp_router_route(NULL, "GET", "/r", handler, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_route, method,
             uvhttp_router_route(router, NULL, "/r", handler, NULL) == 0);
    NULL_ROW(uvhttp_router_route, pattern,
             uvhttp_router_route(router, "GET", NULL, handler, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_route, handler,
             uvhttp_router_route(router, "GET", "/r", NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_add_route, router,
             uvhttp_router_add_route(NULL, "/", handler) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_add_route, pattern,
             uvhttp_router_add_route(router, NULL, handler) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_add_route, handler,
             uvhttp_router_add_route(router, "/", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_use, router, uvhttp_router_use(NULL, handler, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_use, middleware, uvhttp_router_use(router, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_group, router,
             uvhttp_router_group(NULL, "/a", &out) == UVHTTP_ENOMEM && out == NULL);
    NULL_ROW(uvhttp_router_group, prefix, uvhttp_router_group(router, NULL, &out) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_group, group, uvhttp_router_group(router, "/a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_host, router, uvhttp_router_host(NULL, "a", &out) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_host, host, uvhttp_router_host(router, NULL, &out) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_host, out, uvhttp_router_host(router, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_is_frozen, router, !uvhttp_router_is_frozen(NULL));
    NULL_ROW(uvhttp_router_rewrite, router,
             uvhttp_router_rewrite(NULL, "/a", "/b") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_rewrite, pattern,
             uvhttp_router_rewrite(router, NULL, "/b") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_rewrite, to, uvhttp_router_rewrite(router, "/a", NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_router_set_data, router, uvhttp_router_set_data(NULL, &error));
    NULL_CALL(uvhttp_router_set_data, data, uvhttp_router_set_data(router, NULL));
    NULL_ROW(uvhttp_router_set_slash, router,
             uvhttp_router_set_slash(NULL, UVHTTP_SLASH_IGNORE) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_each, router, uvhttp_router_each(NULL, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_each, each, uvhttp_router_each(router, NULL, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_server_free(server);
}

static bool log_is_refused(uvhttp_access_log_t *log, int result)
{
    return result == UVHTTP_EINVAL && log == NULL;
}

static const char *check_nothing(void *arg)
{
    (void)arg;
    return NULL;
}

static void log_and_metrics_functions_check_null(void **state)
{
    (void)state;
    uvhttp_access_log_t *log = NULL;
    const uvhttp_access_log_options_t config = {.path = "/dev/null"};
    const uvhttp_access_facts_t facts = {.http_minor = 1};
    static const uvhttp_stats_t stats;
    null_rows_begin();
    NULL_ROW(uvhttp_access_log_new, log,
             uvhttp_access_log_new(NULL, &config, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_access_log_new, options,
             log_is_refused(log, uvhttp_access_log_new(&log, NULL, NULL)));
    NULL_ROW(uvhttp_access_log_new, error, uvhttp_access_log_new(&log, &config, NULL) == 0);
    NULL_CALL(uvhttp_access_log_write, log, uvhttp_access_log_write(NULL, &facts));
    NULL_CALL(uvhttp_access_log_write, facts, uvhttp_access_log_write(log, NULL));
    NULL_CALL(uvhttp_access_log_reopen, log, uvhttp_access_log_reopen(NULL));
    NULL_ROW(uvhttp_access_log_dropped, log, uvhttp_access_log_dropped(NULL) == 0);
    NULL_CALL(uvhttp_access_log_free, log, uvhttp_access_log_free(NULL));
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    NULL_ROW(uvhttp_server_add_check, server,
             uvhttp_server_add_check(NULL, "a", check_nothing, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_add_check, name,
             uvhttp_server_add_check(server, NULL, check_nothing, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_add_check, check,
             uvhttp_server_add_check(server, "a", NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_server_is_ready, server, !uvhttp_server_is_ready(NULL, text, sizeof(text)));
    NULL_ROW(uvhttp_server_is_ready, reason, uvhttp_server_is_ready(server, NULL, 9));
    uvhttp_status_page_t *status = NULL;
    NULL_ROW(uvhttp_status_page_new, status, uvhttp_status_page_new(NULL, server) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_status_page_new, server,
             uvhttp_status_page_new(&status, NULL) == UVHTTP_ENOMEM && status == NULL);
    NULL_CALL(uvhttp_status_page_free, status, uvhttp_status_page_free(NULL));
    NULL_ROW(uvhttp_server_route_status, server,
             uvhttp_server_route_status(NULL, "/") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_server_route_status, pattern,
             uvhttp_server_route_status(server, NULL) == UVHTTP_EINVAL);
    uvhttp_server_free(server);
    NULL_ROW(uvhttp_metrics_write, stats, uvhttp_metrics_write(NULL, text, sizeof(text)) == 0);
    NULL_ROW(uvhttp_metrics_write, out,
             uvhttp_metrics_write(&stats, NULL, 64) ==
                 uvhttp_metrics_write(&stats, text, sizeof(text)));
    NULL_ROW(uvhttp_metrics_escape, out, uvhttp_metrics_escape(SLICE("a\"b"), NULL, 64) == 4);
    null_rows_end();
    uvhttp_access_log_free(log);
}

static void access_middleware_checks_null(void **state)
{
    (void)state;
    uvhttp_address_rules_t *rules = NULL, *made_rules = NULL;
    uvhttp_auth_t *auth = NULL;
    uvhttp_passwords_t *passwords = NULL;
    uvhttp_rate_limit_t *rate = NULL;
    uvhttp_size_limit_t *size = NULL;
    const uvhttp_address_rules_options_t some = {UVHTTP_ADDRESS_RULES({"10.0.0.0/8", true})};
    const uvhttp_address_rules_options_t invalid_rules = {
        UVHTTP_ADDRESS_RULES({"10.0.0.1/8", true})};
    const uvhttp_auth_options_t invalid_auth = {.realm = "\x01", .check_basic = check_user};
    const uvhttp_passwords_options_t invalid_passwords = {.file = "/nowhere/at all"};
    const uvhttp_rate_limit_options_t one = {.requests = 1}, no_rate = {.requests = 0};
    const uvhttp_size_limit_options_t small = {.max_request_body = 1},
                                      no_size = {.max_request_body = 0};
    assert_int_equal(uvhttp_address_rules_new(&rules, &some, NULL), 0);
    null_rows_begin();
    NULL_ROW(uvhttp_address_rules_new, rules,
             uvhttp_address_rules_new(NULL, &some, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_address_rules_new, options,
             uvhttp_address_rules_new(&made_rules, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_address_rules_new, error,
             uvhttp_address_rules_new(&made_rules, &invalid_rules, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_address_rules_free, rules, uvhttp_address_rules_free(NULL));
    NULL_ROW(uvhttp_address_rules_allow, rules, !uvhttp_address_rules_allow(NULL, "10.0.0.1"));
    NULL_ROW(uvhttp_address_rules_allow, address, !uvhttp_address_rules_allow(rules, NULL));
    NULL_ROW(uvhttp_address_rules_handle_request, rules,
             uvhttp_address_rules_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_auth_new, auth, uvhttp_auth_new(NULL, &invalid_auth, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_auth_new, options, uvhttp_auth_new(&auth, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_auth_new, error, uvhttp_auth_new(&auth, &invalid_auth, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_auth_free, auth, uvhttp_auth_free(NULL));
    NULL_ROW(uvhttp_auth_handle_request, auth,
             uvhttp_auth_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_passwords_new, passwords,
             uvhttp_passwords_new(NULL, &invalid_passwords, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_passwords_new, options,
             uvhttp_passwords_new(&passwords, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_passwords_new, error,
             uvhttp_passwords_new(&passwords, &invalid_passwords, NULL) != 0);
    NULL_CALL(uvhttp_passwords_free, passwords, uvhttp_passwords_free(NULL));
    NULL_ROW(uvhttp_rate_limit_new, limit,
             uvhttp_rate_limit_new(NULL, &one, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_rate_limit_new, options,
             uvhttp_rate_limit_new(&rate, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_rate_limit_new, error,
             uvhttp_rate_limit_new(&rate, &no_rate, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_rate_limit_free, limit, uvhttp_rate_limit_free(NULL));
    NULL_ROW(uvhttp_rate_limit_handle_request, limit,
             uvhttp_rate_limit_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_size_limit_new, limit,
             uvhttp_size_limit_new(NULL, &small, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_size_limit_new, options,
             uvhttp_size_limit_new(&size, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_size_limit_new, error,
             uvhttp_size_limit_new(&size, &no_size, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_size_limit_free, limit, uvhttp_size_limit_free(NULL));
    NULL_ROW(uvhttp_size_limit_handle_request, limit,
             uvhttp_size_limit_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_address_rules_free(rules);
}

static void functions_that_use_middleware_check_null(void **state)
{
    (void)state;
    const uvhttp_address_rules_options_t some = {UVHTTP_ADDRESS_RULES({"10.0.0.0/8", true})};
    const uvhttp_auth_options_t token_auth = {.token = "secret"};
    const uvhttp_rate_limit_options_t one = {.requests = 1};
    const uvhttp_size_limit_options_t small = {.max_request_body = 1};
    const uvhttp_cors_options_t any_origin = {.origins = "*"};
    const uvhttp_access_log_options_t log = {.path = "/dev/null"};
    const int made = UVHTTP_TESTS_COMPRESSION ? UVHTTP_ENOMEM : UVHTTP_ENOTSUP;
    const int compressed = UVHTTP_TESTS_COMPRESSION ? 0 : UVHTTP_ENOTSUP;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server);
    null_rows_begin();
    NULL_ROW(uvhttp_address_rules_use, router,
             uvhttp_address_rules_use(NULL, &some) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_address_rules_use, options,
             uvhttp_address_rules_use(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_auth_use, router, uvhttp_auth_use(NULL, &token_auth) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_auth_use, options, uvhttp_auth_use(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_rate_limit_use, router, uvhttp_rate_limit_use(NULL, &one) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_rate_limit_use, options, uvhttp_rate_limit_use(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_size_limit_use, router, uvhttp_size_limit_use(NULL, &small) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_size_limit_use, options, uvhttp_size_limit_use(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cors_use, router, uvhttp_cors_use(NULL, &any_origin) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_cors_use, options, uvhttp_cors_use(router, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_ids_use, router, uvhttp_request_ids_use(NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_request_ids_use, options, uvhttp_request_ids_use(router, NULL) == 0);
    NULL_ROW(uvhttp_security_headers_use, router,
             uvhttp_security_headers_use(NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_security_headers_use, options, uvhttp_security_headers_use(router, NULL) == 0);
    NULL_ROW(uvhttp_compress_use, router, uvhttp_compress_use(NULL, NULL) == made);
    NULL_ROW(uvhttp_compress_use, options, uvhttp_compress_use(router, NULL) == compressed);
    NULL_ROW(uvhttp_access_log_use, server, uvhttp_access_log_use(NULL, &log) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_access_log_use, options, uvhttp_access_log_use(server, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_use_owned, router,
             uvhttp_router_use_owned(NULL, handler, text, release) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_use_owned, middleware,
             uvhttp_router_use_owned(router, NULL, text, release) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_router_use_owned, arg,
             uvhttp_router_use_owned(router, handler, NULL, release) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_router_use_owned, release,
             uvhttp_router_use_owned(router, handler, text, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_server_free(server);
}

static void file_functions_check_null(void **state)
{
    (void)state;
    char *data;
    null_rows_begin();
    NULL_ROW(uvhttp_file_load, path,
             uvhttp_file_load(NULL, &data, &number) == UVHTTP_EINVAL && data == NULL);
    NULL_ROW(uvhttp_file_load, data, uvhttp_file_load("/dev/null", NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_file_load, size,
             uvhttp_file_load("/dev/null", &data, NULL) == UVHTTP_ENOTREG && data == NULL);
    NULL_CALL(uvhttp_file_release, data, uvhttp_file_release(NULL));
    NULL_ROW(uvhttp_file_save, path, uvhttp_file_save(NULL, "a", 1, 0) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_file_save, data, uvhttp_file_save("a", NULL, 1, 0) == UVHTTP_EINVAL);
    null_rows_end();
}

static void template_functions_check_null(void **state)
{
    (void)state;
    uvhttp_template_t *made = NULL;
    const uvhttp_template_options_t valid = {.text = "x"}, invalid = {.text = "{x}"};
    null_rows_begin();
    NULL_ROW(uvhttp_template_new, made, uvhttp_template_new(NULL, &valid, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_template_new, options,
             uvhttp_template_new(&made, NULL, &error) == UVHTTP_EINVAL && made == NULL);
    NULL_ROW(uvhttp_template_new, error,
             uvhttp_template_new(&made, &invalid, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_template_free, made, uvhttp_template_free(NULL));
    NULL_ROW(uvhttp_template_is_dynamic, made, !uvhttp_template_is_dynamic(NULL));
    null_rows_end();
}

static void response_middleware_checks_null(void **state)
{
    (void)state;
    uvhttp_compress_t *compress = NULL;
    uvhttp_cors_t *cors = NULL;
    uvhttp_request_ids_t *ids = NULL;
    uvhttp_security_headers_t *headers = NULL;
    void *out = NULL;
    const int created = UVHTTP_TESTS_COMPRESSION ? 0 : UVHTTP_ENOTSUP;
    const uvhttp_compress_options_t invalid_compress = {.gzip_level = 10};
    const uvhttp_cors_options_t invalid_cors = {.origins = "x"};
    const uvhttp_request_ids_options_t invalid_ids = {.max_length = 257};
    const uvhttp_security_headers_options_t invalid_headers = {.referrer_policy = "\x01"};
    null_rows_begin();
    NULL_ROW(uvhttp_compress_new, compress,
             uvhttp_compress_new(NULL, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_compress_new, options,
             IS_MADE(compress, compress, uvhttp_compress_new(&compress, NULL, &error)) ==
                 (created == 0));
    NULL_ROW(uvhttp_compress_new, error,
             uvhttp_compress_new(&compress, &invalid_compress, NULL) ==
                 (created == 0 ? UVHTTP_ECONFIG : UVHTTP_ENOTSUP));
    NULL_CALL(uvhttp_compress_free, compress, uvhttp_compress_free(NULL));
    NULL_ROW(uvhttp_compress_handle_request, compress,
             uvhttp_compress_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_compress_bytes, allocator,
             uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 1, "abc", 3, 1000, &out, &number) ==
                 created);
    NULL_CALL(uvhttp_compress_release, allocator, uvhttp_compress_release(NULL, out));
    NULL_ROW(uvhttp_compress_bytes, data,
             uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 1, NULL, 3, 1000, &out, &number) ==
                     UVHTTP_EINVAL &&
                 out == NULL && number == 0);
    NULL_ROW(uvhttp_compress_bytes, out,
             uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 1, "abc", 3, 1000, NULL, &number) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_compress_bytes, out_size,
             uvhttp_compress_bytes(NULL, UVHTTP_CODING_GZIP, 1, "abc", 3, 1000, &out, NULL) ==
                 UVHTTP_EINVAL);
    NULL_CALL(uvhttp_compress_release, out, uvhttp_compress_release(NULL, NULL));
    NULL_ROW(uvhttp_compress_suits_file, name, !uvhttp_compress_suits_file(NULL));
    NULL_ROW(uvhttp_cors_new, cors, uvhttp_cors_new(NULL, &invalid_cors, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cors_new, options, uvhttp_cors_new(&cors, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cors_new, error, uvhttp_cors_new(&cors, &invalid_cors, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_cors_free, cors, uvhttp_cors_free(NULL));
    NULL_ROW(uvhttp_cors_handle_request, cors,
             uvhttp_cors_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_ids_new, ids,
             uvhttp_request_ids_new(NULL, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_ids_new, options,
             IS_MADE(request_ids, ids, uvhttp_request_ids_new(&ids, NULL, &error)));
    NULL_ROW(uvhttp_request_ids_new, error,
             uvhttp_request_ids_new(&ids, &invalid_ids, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_request_ids_free, ids, uvhttp_request_ids_free(NULL));
    NULL_ROW(uvhttp_request_ids_handle_request, ids,
             uvhttp_request_ids_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_security_headers_new, headers,
             uvhttp_security_headers_new(NULL, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(
        uvhttp_security_headers_new, options,
        IS_MADE(security_headers, headers, uvhttp_security_headers_new(&headers, NULL, &error)));
    NULL_ROW(uvhttp_security_headers_new, error,
             uvhttp_security_headers_new(&headers, &invalid_headers, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_security_headers_free, headers, uvhttp_security_headers_free(NULL));
    NULL_ROW(uvhttp_security_headers_handle_request, headers,
             uvhttp_security_headers_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    null_rows_end();
}

static void cookie_signer_checks_null(void **state)
{
    (void)state;
    static const char key[32] = "not random at all, but 32 bytes";
    const uvhttp_cookie_signer_options_t config = {UVHTTP_SIGNING_KEYS({key, sizeof(key)})};
    const uvhttp_cookie_signer_options_t invalid = {UVHTTP_SIGNING_KEYS({key, 1})};
    uvhttp_cookie_signer_t *signer = NULL, *created = NULL;
    bool available = uvhttp_cookie_signer_new(&signer, &config, NULL) == 0;
    null_rows_begin();
    NULL_ROW(uvhttp_cookie_signer_new, signer,
             uvhttp_cookie_signer_new(NULL, &config, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_signer_new, options,
             uvhttp_cookie_signer_new(&created, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_signer_new, error,
             uvhttp_cookie_signer_new(&created, &invalid, NULL) == UVHTTP_ECONFIG);
    NULL_CALL(uvhttp_cookie_signer_free, signer, uvhttp_cookie_signer_free(NULL));
    NULL_ROW(uvhttp_cookie_sign, signer,
             uvhttp_cookie_sign(NULL, "a", SLICE("b"), 0, text, 256, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_sign, name,
             uvhttp_cookie_sign(signer, NULL, SLICE("b"), 0, text, 256, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_sign, out,
             uvhttp_cookie_sign(signer, "a", SLICE("b"), 0, NULL, 256, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_sign, length,
             uvhttp_cookie_sign(signer, "a", SLICE("b"), 0, text, 256, NULL) ==
                 (available ? 0 : UVHTTP_EINVAL));
    const uvhttp_slice_t signed_text = {text, available ? strlen(text) : 0};
    static char out[256];
    NULL_ROW(uvhttp_cookie_verify, signer,
             uvhttp_cookie_verify(NULL, "a", signed_text, 0, out, 256, &number) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_verify, name,
             uvhttp_cookie_verify(signer, NULL, signed_text, 0, out, 256, &number) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_verify, out,
             uvhttp_cookie_verify(signer, "a", signed_text, 0, NULL, 256, &number) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_cookie_verify, length,
             uvhttp_cookie_verify(signer, "a", signed_text, 0, out, 256, NULL) ==
                 (available ? 0 : UVHTTP_EINVAL));
    null_rows_end();
    uvhttp_cookie_signer_free(signer);
}

static void static_file_functions_check_null(void **state)
{
    (void)state;
    const uvhttp_static_options_t config = {.root = UVHTTP_TESTS_DIR};
    const uvhttp_static_options_t invalid = {.root = UVHTTP_TESTS_DIR, .upload_sync = true};
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_static_t *files = NULL, *created = NULL;
    uvhttp_static_stats_t stats;
    uvhttp_static_prewarmed_t found;
    const uvhttp_static_prewarm_options_t few = {.directory = "/vectors"};
    assert_int_equal(uvhttp_static_new(&files, &config, NULL), 0);
    null_rows_begin();
    NULL_ROW(uvhttp_static_check, options, uvhttp_static_check(NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_check, error, uvhttp_static_check(&invalid, NULL) == UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_static_new, context, uvhttp_static_new(NULL, &config, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_new, options,
             uvhttp_static_new(&created, NULL, NULL) == UVHTTP_EINVAL && created == NULL);
    NULL_ROW(uvhttp_static_new, error,
             uvhttp_static_new(&created, &invalid, NULL) != 0 && created == NULL);
    NULL_CALL(uvhttp_static_free, context, uvhttp_static_free(NULL));
    NULL_ROW(uvhttp_static_handle_request, context,
             uvhttp_static_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_send, context,
             uvhttp_static_send(NULL, NULL, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_send, path,
             uvhttp_static_send(files, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_send, options,
             uvhttp_static_send(NULL, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_handle_upload, context,
             uvhttp_static_handle_upload(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_static_invalidate, context, uvhttp_static_invalidate(NULL, "/"));
    NULL_CALL(uvhttp_static_invalidate, path, uvhttp_static_invalidate(files, NULL));
    NULL_ROW(uvhttp_static_prewarm_cache, context,
             uvhttp_static_prewarm_cache(NULL, "/") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_prewarm_cache, path,
             uvhttp_static_prewarm_cache(files, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_prewarm_directory, context,
             uvhttp_static_prewarm_directory(NULL, &few, &found) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_prewarm_directory, options,
             uvhttp_static_prewarm_directory(files, NULL, &found) == 0);
    NULL_ROW(uvhttp_static_prewarm_directory, found,
             uvhttp_static_prewarm_directory(files, &few, NULL) == 0);
    NULL_ROW(uvhttp_static_read_stats, context,
             uvhttp_static_read_stats(NULL, &stats) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_read_stats, stats,
             uvhttp_static_read_stats(files, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_mount, server,
             uvhttp_static_mount(NULL, "/", &config, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_mount, prefix,
             uvhttp_static_mount(server, NULL, &config, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_mount, options,
             uvhttp_static_mount(server, "/", NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_mount, error,
             uvhttp_static_mount(server, "/", NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_mount_context, server,
             uvhttp_static_mount_context(NULL, "/", files, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_mount_context, prefix,
             uvhttp_static_mount_context(server, NULL, files, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_static_mount_context, context,
             uvhttp_static_mount_context(server, "/", NULL, &error) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_static_mount_context, error,
             uvhttp_static_mount_context(server, "no slash", files, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    uvhttp_server_free(server);
    uvhttp_static_free(files);
}

static void hub_form_and_prepared_functions_check_null(void **state)
{
    (void)state;
    const uvhttp_sse_event_t event = {.data = SLICE("x")};
    const uvhttp_form_part_t part = {.name = "a"}, nameless = {.next = &part};
    const uvhttp_form_data_t form = {.parts = &nameless, .count = 2};
    static uvhttp_event_hub_t *hub;
    static uvhttp_prepared_t *prepared;
    uvhttp_prepared_t *empty = uvhttp_prepared_new(NULL);
    null_rows_begin();
    NULL_ROW(uvhttp_event_hub_new, hub, uvhttp_event_hub_new(NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_event_hub_new, options, uvhttp_event_hub_new(&hub, NULL, NULL) == 0);
    NULL_ROW(uvhttp_event_hub_new, error, hub != NULL);
    NULL_CALL(uvhttp_event_hub_free, hub, uvhttp_event_hub_free(NULL));
    NULL_ROW(uvhttp_event_hub_publish, hub,
             uvhttp_event_hub_publish(NULL, &event) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_event_hub_publish, event, uvhttp_event_hub_publish(hub, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_event_hub_end, hub, uvhttp_event_hub_end(NULL));
    NULL_ROW(uvhttp_event_hub_count, hub, uvhttp_event_hub_count(NULL) == 0);
    NULL_ROW(uvhttp_event_hub_dropped, hub, uvhttp_event_hub_dropped(NULL) == 0);
    NULL_ROW(uvhttp_form_data_part, form, uvhttp_form_data_part(NULL, "a") == NULL);
    NULL_ROW(uvhttp_form_data_part, name,
             uvhttp_form_data_part(&form, NULL) == NULL &&
                 uvhttp_form_data_part(&form, "a") == &part);
    NULL_ROW(uvhttp_form_part_keep, part, uvhttp_form_part_keep(NULL, "a") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_form_part_keep, path, uvhttp_form_part_keep(&part, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_header_check, name, uvhttp_header_check(NULL, "b") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_header_check, value,
             uvhttp_header_check("a", NULL) == UVHTTP_EINVAL &&
                 uvhttp_header_check("a", "b") == 0 &&
                 uvhttp_header_check("Date", "b") == UVHTTP_EHEADER);
    NULL_ROW(uvhttp_prepared_new, allocator, (prepared = uvhttp_prepared_new(NULL)) != NULL);
    NULL_CALL(uvhttp_prepared_free, prepared, uvhttp_prepared_free(NULL));
    NULL_ROW(uvhttp_prepared_add, prepared, uvhttp_prepared_add(NULL, "a", "b") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_prepared_add, name, uvhttp_prepared_add(prepared, NULL, "b") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_prepared_add, value, uvhttp_prepared_add(prepared, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_prepared_add_all, prepared,
             uvhttp_prepared_add_all(NULL, prepared, "a") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_prepared_add_all, from,
             uvhttp_prepared_add_all(prepared, NULL, "a") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_prepared_add_all, except, uvhttp_prepared_add_all(prepared, empty, NULL) == 0);
    NULL_CALL(uvhttp_prepared_set_body, prepared, uvhttp_prepared_set_body(NULL, "a", 1));
    NULL_CALL(uvhttp_prepared_set_body, data, uvhttp_prepared_set_body(prepared, NULL, 1));
    NULL_CALL(uvhttp_prepared_set_descriptor, prepared,
              uvhttp_prepared_set_descriptor(NULL, 0, 0, 1));
    null_rows_end();
    uvhttp_event_hub_free(hub);
    uvhttp_prepared_free(prepared);
    uvhttp_prepared_free(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tls_functions_check_null),
        cmocka_unit_test(config_functions_check_null),
        cmocka_unit_test(server_functions_check_null),
        cmocka_unit_test(listen_functions_check_null),
        cmocka_unit_test(test_client_checks_null),
        cmocka_unit_test(router_functions_check_null),
        cmocka_unit_test(log_and_metrics_functions_check_null),
        cmocka_unit_test(access_middleware_checks_null),
        cmocka_unit_test(functions_that_use_middleware_check_null),
        cmocka_unit_test(file_functions_check_null),
        cmocka_unit_test(template_functions_check_null),
        cmocka_unit_test(response_middleware_checks_null),
        cmocka_unit_test(cookie_signer_checks_null),
        cmocka_unit_test(static_file_functions_check_null),
        cmocka_unit_test(hub_form_and_prepared_functions_check_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
