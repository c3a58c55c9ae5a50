/* Routes for test_guards.py: the shipped middleware, per server (here: per host), group and route.
 * Each kind has its own hosts, so that no other test uses it. */
#include "wire_server.h"

#include <string.h>

static unsigned long runs; /* of the handler after the middleware */

/* Reports the user of the request, and the number of runs. */
static int who(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[512];
    const char *user = uvhttp_auth_user(req), *id = uvhttp_request_id(req);
    (void)arg;
    (void)snprintf(text, sizeof text, "run=%lu user=%s id=%s", ++runs, user != NULL ? user : "-",
                   id != NULL ? id : "-");
    return uvhttp_response_send_text(res, 200, text);
}

/* Reports the number of runs, without counting. */
static int count_runs(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    (void)req, (void)arg;
    (void)snprintf(text, sizeof text, "%lu", runs);
    return uvhttp_response_send_text(res, 200, text);
}

/* Fields set by the handler, which middleware must not change. */
static int own_fields(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char *const fields[][2] = {
        {"Vary", "Accept-Encoding, origin"},
        {"Access-Control-Allow-Origin", "https://other.example"},
        {"X-Frame-Options", "DENY"},
        {"Content-Security-Policy", "default-src 'none'"},
        {"X-Request-Id", "overwritten by the middleware"},
    };
    int err = 0;
    (void)req, (void)arg;
    for (size_t i = 0; err == 0 && i < sizeof fields / sizeof *fields; i++)
        err = uvhttp_response_set_header(res, fields[i][0], fields[i][1]);
    return err != 0 ? err : uvhttp_response_send_text(res, 200, "own");
}

static int prepared_fields(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_prepared_t *prepared = uvhttp_prepared_new(NULL);
    (void)req, (void)arg;
    int err =
        prepared == NULL ? UVHTTP_ENOMEM : uvhttp_prepared_add(prepared, "x-frame-options", "DENY");
    uvhttp_response_use_prepared(res, prepared);
    if (err == 0)
        err = uvhttp_response_send_text(res, 200, "prepared");
    uvhttp_response_use_prepared(res, NULL);
    uvhttp_prepared_free(prepared);
    return err;
}

static int fails(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return UVHTTP_EINVAL;
}

/* The routes of every host of this file. */
static int add_routes(uvhttp_router_t *router)
{
    static const uvhttp_route_t routes[] = {
        {.method = "GET", .pattern = "/who", .handler = who},
        {.method = "PUT", .pattern = "/who", .handler = who},
        {.method = "POST", .pattern = "/who", .handler = who, .max_body_size = 16},
        {.method = "OPTIONS", .pattern = "/options", .handler = who},
        {.method = "GET", .pattern = "/own", .handler = own_fields},
        {.method = "GET", .pattern = "/prepared", .handler = prepared_fields},
        {.method = "GET", .pattern = "/fail", .handler = fails},
        {.method = "GET", .pattern = "/file", .handler = send_file},
        {.method = "GET", .pattern = "/pieces", .handler = stream_of_length},
    };
    int err = 0;
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err = uvhttp_router_add(router, &routes[i]);
    return err;
}

/* A middleware for all requests of a host, which the server frees. */
static int guard_host(uvhttp_server_t *server, const char *name, uvhttp_handler_cb middleware,
                      void *guard, uvhttp_release_cb free_guard, int err)
{
    uvhttp_router_t *host = NULL;
    if (err == 0)
        err = uvhttp_server_own(server, free_guard, guard);
    if (err == 0)
        err = uvhttp_router_host(uvhttp_server_router(server), name, &host);
    if (err == 0)
        err = uvhttp_router_use(host, middleware, guard);
    return err != 0 ? err : add_routes(host);
}

/* ---- CORS ---- */

static bool allow_tests(uvhttp_request_t *req, const char *origin, void *arg)
{
    (void)arg;
    return strstr(origin, ".test") != NULL && uvhttp_request_header(req, "X-Nobody") == NULL;
}

static int add_cors_host(uvhttp_server_t *server, const char *host,
                         const uvhttp_cors_options_t *config)
{
    uvhttp_cors_t *cors;
    int err = uvhttp_cors_new(&cors, config, NULL);
    return guard_host(server, host, uvhttp_cors_handle_request, cors, uvhttp_cors_free, err);
}

/* In a group and at a single route, where a preflight has no route of its own. */
static int add_cors_group(uvhttp_server_t *server)
{
    uvhttp_router_t *host = NULL, *group = NULL;
    uvhttp_cors_t *cors;
    int err = uvhttp_cors_new(
        &cors,
        &(uvhttp_cors_options_t){
            .origins = "https://app.example", .methods = "*", .headers = "*", .credentials = true},
        NULL);
    err = err ? err : uvhttp_server_own(server, uvhttp_cors_free, cors);
    err = err ? err : uvhttp_router_host(uvhttp_server_router(server), "group.cors.test", &host);
    err = err ? err : uvhttp_router_group(host, "/group/:name", &group);
    err = err ? err : uvhttp_router_use(group, uvhttp_cors_handle_request, cors);
    err = err ? err : add_routes(group);
    uvhttp_middleware_t own = {uvhttp_cors_handle_request, cors};
    err = err ? err
              : uvhttp_router_add(host, &(uvhttp_route_t){.method = "PUT",
                                                          .pattern = "/mixed",
                                                          .handler = who,
                                                          .middleware = &own,
                                                          .middleware_count = 1});
    err = err ? err
              : uvhttp_router_add(
                    host, &(uvhttp_route_t){.method = "GET", .pattern = "/mixed", .handler = who});
    /* Here the rest of the host is open to every origin. */
    err = err ? err : uvhttp_router_host(uvhttp_server_router(server), "any.cors.test", &host);
    err = err ? err : uvhttp_router_group(host, "/closed", &group);
    err = err ? err : uvhttp_router_use(group, uvhttp_cors_handle_request, cors);
    return err ? err : add_routes(group);
}

static int add_cors(uvhttp_server_t *server)
{
    int err = add_cors_host(
        server, "cors.test",
        &(uvhttp_cors_options_t){.origins = "https://app.example, http://localhost:3000 "
                                            "https://*.sub.example:8443",
                                 .credentials = true,
                                 .headers = "Content-Type,  X-Token",
                                 .exposed = "X-Total, ETag",
                                 .max_age = 600});
    err = err ? err
              : add_cors_host(server, "any.cors.test",
                              &(uvhttp_cors_options_t){.origins = "*", .exposed = "*"});
    err = err ? err
              : add_cors_host(
                    server, "ask.cors.test",
                    &(uvhttp_cors_options_t){
                        .origins = "null", .allow = allow_tests, .methods = "GET", .headers = "*"});
    return err ? err : add_cors_group(server);
}

/* ---- authentication ---- */

static void do_nothing(void *arg)
{
    (void)arg;
}

static int verdict_of(const char *text)
{
    static const char *const verdicts[] = {"no", "yes", "weak"};
    for (int i = 0; i < 3; i++) {
        if (strstr(text, verdicts[i]) != NULL)
            return i;
    }
    return strstr(text, "fail") != NULL ? UVHTTP_ENOMEM : 77;
}

static int decide_now(uvhttp_response_t *res, void *arg)
{
    return uvhttp_auth_decide(res, (uvhttp_auth_verdict_t)verdict_of(arg));
}

/* The name or token selects the decision: "yes", "no", "weak", "fail" (an error), others are
 * invalid. With the prefix "later" it is made on the thread pool. */
static int check(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_credentials_t *given,
                 void *arg)
{
    const char *text = given->token != NULL ? given->token : given->user;
    (void)arg;
    if (given->token != NULL && uvhttp_auth_set_user(req, text) != 0)
        return UVHTTP_ENOMEM;
    if (strncmp(text, "later", 5) != 0)
        return verdict_of(text);
    if (uvhttp_auth_decide(res, UVHTTP_AUTH_ACCEPT) != UVHTTP_EINVAL) /* too early */
        return UVHTTP_EDISCONNECTED;
    int err = uvhttp_response_defer(res, do_nothing, decide_now, (void *)(uintptr_t)text);
    return err != 0 ? err : UVHTTP_AUTH_LATER;
}

static int add_auth_host(uvhttp_server_t *server, const char *host,
                         const uvhttp_auth_options_t *config)
{
    uvhttp_auth_t *auth;
    int err = uvhttp_auth_new(&auth, config, NULL);
    return guard_host(server, host, uvhttp_auth_handle_request, auth, uvhttp_auth_free, err);
}

static int add_auth(uvhttp_server_t *server)
{
    static const uvhttp_auth_user_t users[] = {
        {"ada", "pa:ss w\xc3\xb6rd"}, {"J\xc3\xbcrgen", "geheim"}, {"", "nameless"}};
    int err = add_auth_host(server, "table.auth.test",
                            &(uvhttp_auth_options_t){
                                .realm = "a \"quoted\" \\ realm", .users = users, .user_count = 3});
    err = err ? err
              : add_auth_host(server, "basic.auth.test",
                              &(uvhttp_auth_options_t){.check_basic = check});
    err =
        err ? err
            : add_auth_host(server, "bearer.auth.test",
                            &(uvhttp_auth_options_t){.check_bearer = check, .scope = "read write"});
    err = err ? err
              : add_auth_host(server, "both.auth.test",
                              &(uvhttp_auth_options_t){
                                  .users = users, .user_count = 3, .check_bearer = check});
    uvhttp_router_t *host = NULL;
    err = err ? err : uvhttp_router_host(uvhttp_server_router(server), "runs.test", &host);
    return err ? err : uvhttp_router_add_route(host, "/", count_runs);
}

/* ---- request ids, security headers, rules by address ---- */

static int add_ids(uvhttp_server_t *server, const char *host,
                   const uvhttp_request_ids_options_t *config)
{
    uvhttp_request_ids_t *ids;
    int err = uvhttp_request_ids_new(&ids, config, NULL);
    return guard_host(server, host, uvhttp_request_ids_handle_request, ids, uvhttp_request_ids_free,
                      err);
}

static int add_headers(uvhttp_server_t *server, const char *host,
                       const uvhttp_security_headers_options_t *config)
{
    uvhttp_security_headers_t *headers;
    int err = uvhttp_security_headers_new(&headers, config, NULL);
    return guard_host(server, host, uvhttp_security_headers_handle_request, headers,
                      uvhttp_security_headers_free, err);
}

static int add_rules(uvhttp_server_t *server, const char *host, const uvhttp_address_rule_t *rules,
                     size_t count, bool others)
{
    uvhttp_address_rules_t *made;
    int err =
        uvhttp_address_rules_new(&made,
                                 &(uvhttp_address_rules_options_t){
                                     .rules = rules, .rule_count = count, .allow_others = others},
                                 NULL);
    return guard_host(server, host, uvhttp_address_rules_handle_request, made,
                      uvhttp_address_rules_free, err);
}

static int add_others(uvhttp_server_t *server)
{
    static const uvhttp_address_rule_t local[] = {{"127.0.0.0/8", true}};
    static const uvhttp_address_rule_t refused[] = {{"127.0.0.1", false}, {"all", true}};
    int err = add_ids(server, "ids.test", NULL);
    err = err ? err
              : add_ids(server, "trusted.ids.test",
                        &(uvhttp_request_ids_options_t){
                            .header = "X-Correlation-Id", .trusted = true, .max_length = 40});
    err = err ? err : add_headers(server, "headers.test", NULL);
    err = err ? err
              : add_headers(server, "https.headers.test",
                            &(uvhttp_security_headers_options_t){.content_security_policy = "",
                                                                 .frame_options = "DENY",
                                                                 .cross_origin_embedder_policy =
                                                                     "require-corp",
                                                                 .https = true});
    err = err ? err : add_rules(server, "local.rules.test", local, 1, false);
    err = err ? err : add_rules(server, "refused.rules.test", refused, 2, true);
    err = err ? err : add_rules(server, "nobody.rules.test", NULL, 0, false);
    return err ? err : add_rules(server, "everybody.rules.test", NULL, 0, true);
}

/* ---- the cost of middleware that does nothing ---- */

static int pass(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return UVHTTP_DECLINED;
}

static int add_five(uvhttp_server_t *server)
{
    uvhttp_router_t *group = NULL;
    int err = uvhttp_router_group(uvhttp_server_router(server), "/five", &group);
    for (int i = 0; err == 0 && i < 5; i++)
        err = uvhttp_router_use(group, pass, NULL);
    return err ? err
               : uvhttp_router_add(
                     group,
                     &(uvhttp_route_t){.method = "GET", .pattern = "/hello", .handler = hello});
}

int add_guards(uvhttp_server_t *server)
{
    int err = add_five(server);
    err = err ? err : add_cors(server);
    err = err ? err : add_auth(server);
    return err ? err : add_others(server);
}
