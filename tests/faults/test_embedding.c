/* Functions for programs that embed a server: trusted proxies, data of connections and servers, log
 * levels, a custom clock, and several servers on one loop. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client = {.socket = -1};

/* "client|peer|scheme|host" */
static int send_origin(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    char text[256];
    (void)arg;
    snprintf(text, sizeof text, "%s|%s|%s|%s", uvhttp_request_client_address(request),
             uvhttp_request_peer_address(request), uvhttp_request_scheme(request),
             uvhttp_request_host(request));
    return uvhttp_response_send_text(response, 200, text);
}

static int released;

static void release(void *data)
{
    released += *(int *)data;
}

/* Sends "id first" or "id again", depending on the connection's data. */
static int count_requests(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static int one = 1;
    char text[64];
    int *count = uvhttp_request_connection_data(request);
    (void)arg;
    if (count == NULL) {
        int err = uvhttp_request_set_connection_data(request, &one, release);
        if (err != 0)
            return err;
    }
    snprintf(text, sizeof text, "%llu %s",
             (unsigned long long)uvhttp_request_connection_id(request),
             count == NULL ? "first" : "again");
    return uvhttp_response_send_text(response, 200, text);
}

static int replace_data(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static int hundred = 100;
    (void)arg;
    int err = uvhttp_request_set_connection_data(request, &hundred, release);
    return err != 0 ? err : uvhttp_response_send_text(response, 200, "replaced");
}

static int send_server_data(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const char *data = uvhttp_server_data(uvhttp_request_server(request));
    return uvhttp_response_send_text(response, 200, data == NULL ? "none" : data);
}

static void begin(void)
{
    stage_begin(&stage);
    client.socket = -1;
    released = 0;
}

static void add_routes(uvhttp_server_t *server)
{
    assert_int_equal(uvhttp_server_route(server, "GET", "/origin", send_origin, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/count", count_requests, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/replace", replace_data, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/data", send_server_data, NULL), 0);
}

static void make_server(void)
{
    assert_non_null(stage_new_server(&stage));
    add_routes(stage.server);
}

static void connect_client(void)
{
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static struct raw_response last_response;

static void send_request(const char *target, const char *fields)
{
    size_t offset = 0;
    char request[512];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%s\r\n", target, fields);
    client.received = 0;
    raw_client_send_text(&client, request);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &last_response));
}

static void assert_body(const char *expected)
{
    char body[256];
    snprintf(body, sizeof body, "%.*s", (int)last_response.body_length, last_response.body);
    assert_string_equal(body, expected);
}

/* ---- trusted proxies ---- */

static void forwarded_fields_ignored_without_trusted_proxies(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    send_request("/origin", "Host: h\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: "
                            "https\r\nX-Forwarded-Host: x\r\n"
                            "Forwarded: for=192.0.2.1;proto=https;host=x\r\n");
    assert_body("127.0.0.1|127.0.0.1|http|h");
    end();
}

static const char *const loopback[] = {"10.0.0.0/8", "127.0.0.1"};

static void x_forwarded_fields_of_trusted_proxy_used(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "127.0.0.1|http|h"},
        {"X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1|http|h"},
        {"X-Forwarded-For: 1.1.1.1, 192.0.2.1, 10.0.0.1\r\n", "192.0.2.1|http|h"},
        {"X-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: 192.0.2.1\r\n", "192.0.2.1|http|h"},
        {"X-Forwarded-For: 2001:DB8::1\r\nX-Forwarded-Proto: HTTPS\r\n", "2001:db8::1|https|h"},
        {"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http, https\r\n", "192.0.2.1|https|h"},
        {"X-Forwarded-For: 192.0.2.1, 10.0.0.1\r\nX-Forwarded-Proto: x, https, http\r\n",
         "192.0.2.1|https|h"},
        {"X-Forwarded-For: 192.0.2.1, 10.0.0.1\r\nX-Forwarded-Proto: https\r\n",
         "192.0.2.1|https|h"},
        {"X-Forwarded-Proto: https\r\n", "127.0.0.1|https|h"},
        {"X-Forwarded-Proto: ftp\r\n", "127.0.0.1|http|h"},
        {"X-Forwarded-Host: a.example:8443\r\n", "127.0.0.1|http|a.example:8443"},
        {"X-Forwarded-Host: bad host\r\n", "127.0.0.1|http|h"},
        {"X-Forwarded-Host: a/b\r\n", "127.0.0.1|http|h"},
        {"X-Forwarded-For: unknown\r\n", "127.0.0.1|http|h"},
        {"X-Forwarded-For: 192.0.2.1, nonsense, 10.0.0.1\r\n", "10.0.0.1|http|h"},
        {"Forwarded: for=192.0.2.1;proto=https\r\n", "127.0.0.1|http|h"},
    };
    begin();
    make_server();
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_X),
                     0);
    connect_client();
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        char fields[256], expected[128];
        const char *rest = strchr(rows[i][1], '|');
        snprintf(fields, sizeof fields, "Host: h\r\n%s", rows[i][0]);
        snprintf(expected, sizeof expected, "%.*s|127.0.0.1%s", (int)(rest - rows[i][1]),
                 rows[i][1], rest);
        send_request("/origin", fields);
        assert_body(expected);
    }
    end();
}

static void hsts_header_only_for_https_scheme(void **state)
{
    (void)state;
    uvhttp_security_headers_t *headers;
    char value[64];
    assert_int_equal(uvhttp_security_headers_new(&headers, NULL, NULL), 0);
    begin();
    make_server();
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_X),
                     0);
    assert_int_equal(
        uvhttp_server_use(stage.server, uvhttp_security_headers_handle_request, headers), 0);
    connect_client();
    send_request("/origin", "Host: h\r\nX-Forwarded-Proto: https\r\n");
    assert_true(
        raw_response_field(&last_response, "Strict-Transport-Security", value, sizeof value));
    send_request("/origin", "Host: h\r\nX-Forwarded-Proto: http\r\n");
    assert_false(
        raw_response_field(&last_response, "Strict-Transport-Security", value, sizeof value));
    assert_true(raw_response_field(&last_response, "X-Content-Type-Options", value, sizeof value));
    end();
    uvhttp_security_headers_free(headers);
}

static void forwarded_field_of_trusted_proxy_used(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"Forwarded: for=192.0.2.1;proto=https;host=a.example\r\n",
         "192.0.2.1|127.0.0.1|https|a.example"},
        {"Forwarded: for=1.1.1.1;proto=http, for=\"[2001:db8::1]:80\";proto=https, "
         "for=10.0.0.1;proto=http\r\n",
         "2001:db8::1|127.0.0.1|https|h"},
        {"Forwarded: for=\"\r\nForwarded: for=192.0.2.1\r\n", "192.0.2.1|127.0.0.1|http|h"},
        {"Forwarded: for=_hidden;proto=https\r\n", "127.0.0.1|127.0.0.1|https|h"},
        {"Forwarded: for=192.0.2.1;for=192.0.2.2\r\n", "127.0.0.1|127.0.0.1|http|h"},
        {"X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1|127.0.0.1|http|h"},
    };
    begin();
    make_server();
    assert_int_equal(
        uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_STANDARD), 0);
    connect_client();
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        char fields[256];
        snprintf(fields, sizeof fields, "Host: h\r\n%s", rows[i][0]);
        send_request("/origin", fields);
        assert_body(rows[i][1]);
    }
    end();
}

static void untrusted_peer_is_client_address(void **state)
{
    (void)state;
    static const char *const others[] = {"10.0.0.0/8", "::/0", "unix"};
    begin();
    make_server();
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, others, 3, UVHTTP_FORWARDING_X), 0);
    connect_client();
    send_request("/origin",
                 "Host: h\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n");
    assert_body("127.0.0.1|127.0.0.1|http|h");
    end();
}

static void trusted_unix_proxy_sets_client_address(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"unix", "10.0.0.0/8"};
    for (size_t count = 0; count <= 2; count++) {
        int pair[2];
        begin();
        make_server();
        assert_int_equal(
            uvhttp_server_trust_proxies(stage.server, prefixes, count, UVHTTP_FORWARDING_X), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                         0);
        assert_int_equal(uvhttp_server_adopt(stage.server, pair[0]), 0);
        client = (struct raw_client){.socket = pair[1]};
        send_request("/origin", "Host: h\r\nX-Forwarded-For: 192.0.2.1, 10.0.0.1\r\n");
        static const char *const expected[] = {"unix:|unix:|http|h", "10.0.0.1|unix:|http|h",
                                               "192.0.2.1|unix:|http|h"};
        assert_body(expected[count]);
        end();
    }
}

static void invalid_trusted_proxies_get_einval(void **state)
{
    (void)state;
    static const char *const invalid[] = {"10.0.0.1/8",  "",     "localhost",
                                          "10.0.0.0/33", "UNIX", NULL};
    begin();
    make_server();
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        stage.last_error[0] = '\0';
        assert_int_equal(
            uvhttp_server_trust_proxies(stage.server, &invalid[i], 1, UVHTTP_FORWARDING_X),
            UVHTTP_EINVAL);
        assert_non_null(strstr(stage.last_error, invalid[i] == NULL ? "''" : invalid[i]));
    }
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, NULL, 1, UVHTTP_FORWARDING_X),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, loopback, 2, (uvhttp_forwarding_t)2),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_trust_proxies(NULL, loopback, 2, UVHTTP_FORWARDING_X),
                     UVHTTP_ENOMEM);
    for (size_t n = 1; n <= 2; n++) {
        fault_heap_arm(&stage.heap, n, false);
        assert_int_equal(
            uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_X),
            UVHTTP_ENOMEM);
    }
    fault_heap_arm(&stage.heap, 0, false);
    /* The last call wins. */
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_X),
                     0);
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, NULL, 0, UVHTTP_FORWARDING_X), 0);
    connect_client();
    assert_int_equal(uvhttp_server_trust_proxies(stage.server, loopback, 2, UVHTTP_FORWARDING_X),
                     UVHTTP_EFROZEN);
    send_request("/origin", "Host: h\r\nX-Forwarded-For: 192.0.2.1\r\n");
    assert_body("127.0.0.1|127.0.0.1|http|h");
    end();
}

static void missing_host_in_http_1_0_is_allowed(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    raw_client_send_text(&client, "GET /origin HTTP/1.0\r\n\r\n");
    stage_drive_to_end(&stage, &client, 1000);
    assert_non_null(strstr(client.data, "\r\n\r\n127.0.0.1|127.0.0.1|http|"));
    end();
}

/* ---- data of connections and servers ---- */

static void connection_data_released_with_connection(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    send_request("/count", "Host: h\r\n");
    assert_body("1 first");
    send_request("/count", "Host: h\r\n");
    assert_body("1 again");
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
    assert_int_equal(released, 1);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("/count", "Host: h\r\n");
    assert_body("2 first");
    send_request("/replace", "Host: h\r\n");
    assert_int_equal(released, 2);
    end();
    assert_int_equal(released, 102);
}

static void connection_data_without_memory_gets_enomem(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    send_request("/data", "Host: h\r\n"); /* allocates what the connection needs */
    fault_heap_arm(&stage.heap, 1, true);
    send_request("/count", "Host: h\r\n");
    assert_int_equal(last_response.status, 503);
    fault_heap_arm(&stage.heap, 0, false);
    end();
    assert_int_equal(released, 0);
}

static void server_data_set_and_read(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    assert_null(uvhttp_server_data(stage.server));
    send_request("/data", "Host: h\r\n");
    assert_body("none");
    static char text[] = "the server's";
    uvhttp_server_set_data(stage.server, text);
    send_request("/data", "Host: h\r\n");
    assert_body("the server's");
    uvhttp_server_set_data(NULL, text);
    assert_null(uvhttp_server_data(NULL));
    end();
}

/* ---- log and clock ---- */

static struct {
    size_t lines;
    uvhttp_log_level_t highest;
    char text[4096];
} logged;

static void log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    logged.lines++;
    logged.highest = level > logged.highest ? level : logged.highest;
    size_t used = strlen(logged.text);
    snprintf(logged.text + used, sizeof logged.text - used, "%s\n", message);
}

static void send_invalid_header(void)
{
    make_server();
    connect_client();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\nBad\x01 Name: x\r\n\r\n");
    stage_drive_responses(&stage, &client, 1000, 1);
    raw_client_close(&client, true);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 5);
}

static void log_level_filters_lines(void **state)
{
    (void)state;
    for (int level = UVHTTP_LOG_ERROR; level <= UVHTTP_LOG_DEBUG; level++) {
        memset(&logged, 0, sizeof logged);
        begin();
        assert_int_equal(stage.config->log_level, UVHTTP_LOG_INFO); /* default */
        stage.config->log = log_line;
        stage.config->log_level = (uvhttp_log_level_t)level;
        send_invalid_header();
        assert_true((int)logged.highest <= level);
        assert_int_equal(strstr(logged.text, "stopping") != NULL, level >= UVHTTP_LOG_INFO);
        assert_int_equal(strstr(logged.text, "127.0.0.1 refused with 400: ") != NULL,
                         level == UVHTTP_LOG_DEBUG);
        end();
    }
}

static void debug_log_reports_timeout(void **state)
{
    (void)state;
    memset(&logged, 0, sizeof logged);
    begin();
    stage.config->log = log_line;
    stage.config->log_level = UVHTTP_LOG_DEBUG;
    stage.config->keep_alive_timeout = 1;
    make_server();
    connect_client();
    stage_drive_to_end(&stage, &client, 1000);
    assert_non_null(strstr(logged.text, "connection from 127.0.0.1 closed by keep_alive_timeout"));
    end();
}

static void invalid_log_level_gets_econfig(void **state)
{
    (void)state;
    begin();
    stage.config->log_level = (uvhttp_log_level_t)4;
    make_server();
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UVHTTP_ECONFIG);
    assert_non_null(strstr(stage.last_error, "log_level is 4; allowed are 0 to 3"));
    end();
}

/* Calls `function` and returns what it writes to standard error. */
static const char *captured(void (*function)(void))
{
    static char text[4096];
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    function();
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    close(pipes[1]);
    ssize_t size = read(pipes[0], text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    close(pipes[0]);
    return text;
}

static void null_log_writes_nothing(void **state)
{
    (void)state;
    begin();
    stage.config->log = NULL;
    stage.config->log_level = UVHTTP_LOG_DEBUG;
    assert_string_equal(captured(send_invalid_header), "");
    end();
}

static int fail_with_code(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)response, (void)arg;
    return UVHTTP_EHEADER;
}

static void send_failing_request(void)
{
    make_server();
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/fails", fail_with_code, NULL), 0);
    connect_client();
    raw_client_send_text(&client, "GET /fails HTTP/1.1\r\nHost: h\r\n\r\n");
    stage_drive_responses(&stage, &client, 1000, 1);
    raw_client_close(&client, true);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 5);
}

/* The log of a configuration that is not changed. */
static void default_log_writes_only_problems(void **state)
{
    (void)state;
    uvhttp_config_t *defaults = uvhttp_config_new();
    assert_non_null(defaults);
    begin();
    stage.config->log = defaults->log;
    stage.config->log_level = defaults->log_level;
    const char *text = captured(send_failing_request);
    assert_non_null(strstr(text, "Z error "));
    assert_non_null(strstr(text, "/fails"));
    assert_null(strstr(text, "Z info ")); /* the stop */
    end();
    uvhttp_config_free(defaults);
}

static uvhttp_log_level_t threshold = UVHTTP_LOG_WARNING;

static void write_lines(void)
{
    uvhttp_log_to_stderr(UVHTTP_LOG_ERROR, "one", NULL);
    uvhttp_log_to_stderr(UVHTTP_LOG_DEBUG, "two", NULL);
    uvhttp_log_to_stderr(UVHTTP_LOG_WARNING, "three", &threshold);
    uvhttp_log_to_stderr(UVHTTP_LOG_INFO, "four", &threshold);
}

static void log_to_stderr_filters_and_formats_lines(void **state)
{
    (void)state;
    char kinds[3][32];
    int year, end_of_lines = -1;
    const char *text = captured(write_lines);
    int found = sscanf(text, "%d-%*d-%*dT%*d:%*d:%*dZ %31[^\n]\n%*s %31[^\n]\n%*s %31[^\n]\n%n",
                       &year, kinds[0], kinds[1], kinds[2], &end_of_lines);
    assert_int_equal(found, 4);
    assert_true(year > 2000 && text[end_of_lines] == '\0');
    assert_string_equal(kinds[0], "error one");
    assert_string_equal(kinds[1], "debug two");
    assert_string_equal(kinds[2], "warning three");
}

static int64_t now_ms;

static int64_t custom_clock(void *arg)
{
    assert_ptr_equal(arg, &now_ms);
    return now_ms;
}

static int64_t finished_ms;

static void on_finished(uvhttp_request_t *request, uvhttp_response_t *response,
                        const uvhttp_outcome_t *outcome, void *arg)
{
    (void)request, (void)response, (void)arg;
    finished_ms = outcome->unix_ms;
}

static void assert_date(const char *expected)
{
    char date[64];
    send_request("/data", "Host: h\r\n");
    assert_true(raw_response_field(&last_response, "Date", date, sizeof date));
    assert_string_equal(date, expected);
}

static void custom_clock_sets_date(void **state)
{
    (void)state;
    begin();
    stage.config->clock = custom_clock;
    stage.config->clock_arg = &now_ms;
    make_server();
    uvhttp_server_on_finished(stage.server, on_finished, NULL);
    connect_client();
    now_ms = 784111777000;
    assert_date("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_true(finished_ms <= now_ms && finished_ms > now_ms - 60000);
    now_ms += 1000;
    assert_date("Sun, 06 Nov 1994 08:49:38 GMT");
    now_ms = 0;
    assert_date("Thu, 01 Jan 1970 00:00:00 GMT");
    assert_int_equal(uvhttp_server_unix_ms(stage.server), 0);
    assert_int_equal(uvhttp_server_unix_ms(NULL), 0);
    end();
}

/* ---- several servers ---- */

static void create_and_free_server(uvhttp_server_t *other, int cycle)
{
    struct raw_client clients[3];
    int pair[2];
    uvhttp_server_t *server = uvhttp_server_new_with(&stage.loop, stage.config);
    assert_non_null(server);
    add_routes(server);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    char name[64];
    snprintf(name, sizeof name, "@uvhttp-test-%ld", (long)getpid());
    assert_int_equal(uvhttp_server_listen_unix(server, name, 0), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(uvhttp_server_adopt(server, pair[0]), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(clients); i++)
        raw_client_connect(&clients[i], uvhttp_server_port(server), 0);
    raw_client_send_text(&clients[0], "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_send_text(&clients[1], "GET /count HTTP/1.1\r\nHo");
    assert_int_equal(stage_drive_responses(&stage, &clients[0], 1000, 1), 1);
    raw_client_step(&clients[1], 100);
    stage_iterate(&stage);
    if (cycle % 2 == 0) { /* graceful, or immediate */
        uvhttp_server_stop(server);
        stage_iterations(&stage, 3);
    }
    uvhttp_server_free(server);
    stage_iterations(&stage, 3);
    for (size_t i = 0; i < UVH_COUNT_OF(clients); i++)
        raw_client_close(&clients[i], cycle % 3 == 0);
    close(pair[1]);
    assert_int_equal(uvhttp_server_stats(other)->active_connections, 1);
}

static void repeated_servers_on_one_loop_leak_nothing(void **state)
{
    (void)state;
    begin();
    make_server();
    connect_client();
    send_request("/count", "Host: h\r\n");
    size_t descriptors = 0, blocks = 0;
    for (int cycle = 0; cycle < 200; cycle++) {
        create_and_free_server(stage.server, cycle);
        send_request("/data", "Host: h\r\n");
        assert_int_equal(last_response.status, 200);
        if (cycle == 0) {
            descriptors = stage_descriptors();
            blocks = atomic_load(&stage.heap.live);
        }
        assert_int_equal(stage_descriptors(), descriptors);
        assert_int_equal(atomic_load(&stage.heap.live), blocks);
    }
    assert_int_equal(released, 200);
    end();
}

/* ---- uvhttp_server_free ---- */

static int stopped_calls;

/* As in docs/embedding.md. */
static void free_on_stopped(uvhttp_server_t *server, void *arg)
{
    (void)arg;
    stopped_calls++;
    uvhttp_server_free(server);
    stage.server = NULL;
}

static void count_free(void *arg)
{
    ++*(int *)arg;
}

/* Frees a server with one connection `frees` times, after `stops` stops, before the loop runs
 * again. */
static void free_before_stopped(int stops, int frees)
{
    int freed = 0;
    begin();
    make_server();
    assert_int_equal(uvhttp_server_own(stage.server, count_free, &freed), 0);
    connect_client();
    send_request("/data", "Host: h\r\n");
    stopped_calls = 0;
    uvhttp_server_on_stopped(stage.server, free_on_stopped, NULL);
    while (stops-- > 0)
        uvhttp_server_stop(stage.server);
    while (frees-- > 0)
        uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 5);
    assert_int_equal(freed, 1);
    assert_int_equal(stopped_calls, 0);
    assert_int_equal(atomic_load(&stage.heap.live), 0);
    end();
}

static void free_cancels_on_stopped(void **state)
{
    (void)state;
    free_before_stopped(0, 1);
    free_before_stopped(1, 1);
    free_before_stopped(2, 1);
}

static void repeated_free_releases_once(void **state)
{
    (void)state;
    free_before_stopped(0, 2);
    free_before_stopped(1, 3);
}

static void free_cancels_on_stopped_without_listening(void **state)
{
    (void)state;
    begin();
    make_server();
    stopped_calls = 0;
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    uvhttp_server_on_stopped(stage.server, free_on_stopped, NULL);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 5);
    assert_int_equal(stopped_calls, 0);
    end();
}

static void free_cancels_on_stopped_with_own_loop(void **state)
{
    (void)state;
    begin();
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, stage.config);
    assert_non_null(server);
    add_routes(server);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    stopped_calls = 0;
    uvhttp_server_on_stopped(server, free_on_stopped, NULL);
    uvhttp_server_stop(server);
    uvhttp_server_free(server);
    assert_int_equal(stopped_calls, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwarded_fields_ignored_without_trusted_proxies),
        cmocka_unit_test(x_forwarded_fields_of_trusted_proxy_used),
        cmocka_unit_test(hsts_header_only_for_https_scheme),
        cmocka_unit_test(forwarded_field_of_trusted_proxy_used),
        cmocka_unit_test(untrusted_peer_is_client_address),
        cmocka_unit_test(trusted_unix_proxy_sets_client_address),
        cmocka_unit_test(invalid_trusted_proxies_get_einval),
        cmocka_unit_test(missing_host_in_http_1_0_is_allowed),
        cmocka_unit_test(connection_data_released_with_connection),
        cmocka_unit_test(connection_data_without_memory_gets_enomem),
        cmocka_unit_test(server_data_set_and_read),
        cmocka_unit_test(log_level_filters_lines),
        cmocka_unit_test(debug_log_reports_timeout),
        cmocka_unit_test(invalid_log_level_gets_econfig),
        cmocka_unit_test(null_log_writes_nothing),
        cmocka_unit_test(default_log_writes_only_problems),
        cmocka_unit_test(log_to_stderr_filters_and_formats_lines),
        cmocka_unit_test(custom_clock_sets_date),
        cmocka_unit_test(repeated_servers_on_one_loop_leak_nothing),
        cmocka_unit_test(free_cancels_on_stopped),
        cmocka_unit_test(repeated_free_releases_once),
        cmocka_unit_test(free_cancels_on_stopped_without_listening),
        cmocka_unit_test(free_cancels_on_stopped_with_own_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
