/* Rate limits of a server: which requests count together, the fields of responses, and invalid
 * options. Limits refill one request per day, so that no test depends on the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { DAY = 86400, DAY_MS = DAY * 1000 };

static struct stage stage;
static struct raw_client client;
static uvhttp_rate_limit_t *limit;
static struct raw_response reply;
static size_t offset;

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int return_error(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return UVHTTP_EINVAL;
}

/* "none": not counted; "fail": an error; "": the client's address. */
static int key_of(uvhttp_request_t *request, uvhttp_slice_t *key, void *arg)
{
    const char *text = uvhttp_request_header(request, "X-Key");
    assert_ptr_equal(arg, &stage);
    assert_null(key->base);
    if (text != NULL && strcmp(text, "none") == 0)
        return UVHTTP_DECLINED;
    if (text != NULL && strcmp(text, "fail") == 0)
        return UVHTTP_EINVAL;
    if (text != NULL && strcmp(text, "bytes") == 0) /* those of 127.0.0.1 */
        *key = (uvhttp_slice_t){"\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16};
    else if (text != NULL)
        *key = (uvhttp_slice_t){text, strlen(text)};
    return 0;
}

static void begin(uvhttp_rate_limit_options_t config)
{
    uvhttp_error_t error;
    stage_begin(&stage);
    config.allocator = &stage.heap.allocator;
    assert_int_equal(uvhttp_rate_limit_new(&limit, &config, &error), 0);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_use(stage.server, uvhttp_rate_limit_handle_request, limit), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_hello, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/fails", return_error, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
}

static void end(void)
{
    raw_client_close(&client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 20);
    uvhttp_rate_limit_free(limit);
    stage_end(&stage);
}

static int send_request(const char *target, const char *key)
{
    char request[256];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n", target,
             key == NULL ? "X-Nothing: " : "X-Key: ", key == NULL ? "1" : key);
    raw_client_send_text(&client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(&client, 10000);
        if (raw_client_response(&client, &offset, false, &reply))
            return reply.status;
        stage_iterate(&stage);
    }
    fail_msg("no response to %s", target);
    return 0;
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&reply, name, value, sizeof(value)) ? value : NULL;
}

static void exceeded_limit_gets_429(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .burst = 2});
    assert_int_equal(send_request("/", NULL), 200);
    assert_string_equal(field("RateLimit-Policy"), "\"default\";q=2;w=172800");
    assert_string_equal(field("RateLimit"), "\"default\";r=1;t=86400");
    assert_null(field("Retry-After"));
    assert_int_equal(send_request("/", NULL), 200);
    assert_memory_equal(field("RateLimit"), "\"default\";r=0;t=86", 18);
    assert_int_equal(send_request("/", NULL), 429);
    assert_memory_equal(field("RateLimit"), "\"default\";r=0;t=86", 18);
    long wait = strtol(field("Retry-After"), NULL, 10);
    assert_true(wait > DAY - 600 && wait <= DAY);
    assert_int_equal(reply.body_length, strlen("429 Too Many Requests\n"));
    assert_int_equal(send_request("/nowhere", NULL), 429); /* refused before the route is known */
    end();
}

static void error_responses_have_ratelimit_fields(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 9, .period_ms = DAY_MS, .name = "api"});
    assert_int_equal(send_request("/nowhere", NULL), 404);
    assert_string_equal(field("RateLimit"), "\"api\";r=8;t=9600");
    assert_int_equal(send_request("/fails", NULL), 500);
    assert_memory_equal(field("RateLimit"), "\"api\";r=7;t=9", 13);
    end();
}

static void silent_limit_only_sends_retry_after(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .silent = true});
    assert_int_equal(send_request("/", NULL), 200);
    assert_null(field("RateLimit"));
    assert_int_equal(send_request("/", NULL), 429);
    assert_null(field("RateLimit"));
    assert_null(field("RateLimit-Policy"));
    assert_non_null(field("Retry-After"));
    end();
}

static void keys_are_counted_separately(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){
        .requests = 1, .period_ms = DAY_MS, .key = key_of, .key_arg = &stage});
    assert_int_equal(send_request("/", "a"), 200);
    assert_int_equal(send_request("/", "a"), 429);
    assert_int_equal(send_request("/", "b"), 200);
    assert_int_equal(send_request("/", ""), 200); /* an empty key is a key */
    assert_int_equal(send_request("/", NULL), 200);
    assert_int_equal(send_request("/", NULL), 429);
    assert_int_equal(send_request("/", "127.0.0.1"), 200); /* not the client of that address */
    assert_int_equal(send_request("/", "bytes"), 200);
    assert_int_equal(send_request("/", "none"), 200);
    assert_null(field("RateLimit"));
    assert_int_equal(send_request("/", "none"), 200);
    assert_int_equal(send_request("/", "fail"), 500);
    end();
}

/* Connects from another address of this machine. */
static void connect_from(const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)uvhttp_server_port(stage.server))};
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    close(client.socket);
    client.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_int_equal(
        bind(client.socket, (const struct sockaddr *)(const void *)&from, sizeof(from)), 0);
    assert_int_equal(connect(client.socket, (const struct sockaddr *)(const void *)&to, sizeof(to)),
                     0);
    assert_int_equal(fcntl(client.socket, F_SETFL, O_NONBLOCK), 0);
    offset = 0;
}

static void addresses_are_counted_separately(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS});
    assert_int_equal(send_request("/", NULL), 200);
    assert_int_equal(send_request("/", NULL), 429);
    connect_from("127.0.0.2");
    assert_int_equal(send_request("/", NULL), 200);
    connect_from("127.0.0.1");
    assert_int_equal(send_request("/", NULL), 429);
    end();
}

static void ipv4_prefix_counts_network_as_one(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .ipv4_prefix = 24});
    assert_int_equal(send_request("/", NULL), 200);
    connect_from("127.0.0.200");
    assert_int_equal(send_request("/", NULL), 429);
    connect_from("127.0.1.1");
    assert_int_equal(send_request("/", NULL), 200);
    end();
}

static void global_limit_counts_all_clients(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 2, .period_ms = DAY_MS, .global = true});
    assert_int_equal(send_request("/", NULL), 200);
    connect_from("127.0.0.2");
    assert_int_equal(send_request("/", NULL), 200);
    connect_from("127.0.0.3");
    assert_int_equal(send_request("/", NULL), 429);
    end();
}

static void limited_request_does_not_allocate(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1000, .period_ms = DAY_MS});
    for (int i = 0; i < 20; i++)
        assert_int_equal(send_request("/", NULL), 200);
    size_t before = atomic_load(&stage.heap.calls);
    for (int i = 0; i < 20; i++)
        assert_int_equal(send_request("/", NULL), 200);
    assert_int_equal(atomic_load(&stage.heap.calls), before);
    end();
}

static void two_limits_send_both_policies(void **state)
{
    (void)state;
    uvhttp_rate_limit_t *second;
    stage_begin(&stage);
    assert_int_equal(uvhttp_rate_limit_new(&limit,
                                           &(uvhttp_rate_limit_options_t){
                                               .requests = 5, .period_ms = DAY_MS, .name = "day"},
                                           NULL),
                     0);
    assert_int_equal(
        uvhttp_rate_limit_new(
            &second,
            &(uvhttp_rate_limit_options_t){.requests = 7, .name = "second", .global = true}, NULL),
        0);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_use(stage.server, uvhttp_rate_limit_handle_request, limit), 0);
    assert_int_equal(uvhttp_server_use(stage.server, uvhttp_rate_limit_handle_request, second), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
    assert_int_equal(send_request("/", NULL), 404);
    const char *policies[] = {"\"day\";q=5;w=86400", "\"second\";q=7;w=1"};
    for (size_t i = 0; i < 2; i++) {
        char line[128];
        snprintf(line, sizeof(line), "\r\nRateLimit-Policy: %s\r\n", policies[i]);
        assert_non_null(memmem(reply.head, reply.head_length, line, strlen(line)));
    }
    end();
    uvhttp_rate_limit_free(second);
}

/* ---- options ---- */

static void invalid_options_are_named_in_error(void **state)
{
    (void)state;
    static char long_name[66];
    memset(long_name, 'n', 65);
    const struct {
        uvhttp_rate_limit_options_t config;
        const char *message;
    } cases[] = {
        {{.period_ms = 1000}, "requests is 0; allowed are 1 to 1000000 requests"},
        {{.requests = 1000001}, "requests is 1000001; allowed are 1 to 1000000 requests"},
        {{.requests = 1, .period_ms = 86400001},
         "period_ms is 86400001; allowed are 1000 to 86400000 milliseconds"},
        {{.requests = 1, .period_ms = 999},
         "period_ms is 999; allowed are 1000 to 86400000 milliseconds"},
        {{.requests = 1, .burst = 1000001}, "burst is 1000001; allowed are 1 to 1000000 requests"},
        {{.requests = 1, .period_ms = DAY_MS, .burst = 366},
         "burst is 366; it must refill within 365 days, which takes longer with 1 requests in "
         "86400000 milliseconds"},
        {{.requests = 1, .max_clients = 16777217},
         "max_clients is 16777217; allowed are 1 to 16777216 addresses"},
        {{.requests = 1, .ipv4_prefix = 33}, "ipv4_prefix is 33; allowed are 1 to 32 bits"},
        {{.requests = 1, .ipv6_prefix = 129}, "ipv6_prefix is 129; allowed are 1 to 128 bits"},
        {{.requests = 1, .name = ""},
         "name is ''; allowed are 1 to 64 visible ASCII characters except '\"' and '\\'"},
        {{.requests = 1, .name = "a b"},
         "name is 'a b'; allowed are 1 to 64 visible ASCII characters except '\"' and '\\'"},
        {{.requests = 1, .name = "a\""}, NULL},
        {{.requests = 1, .name = "a\\"}, NULL},
        {{.requests = 1, .name = "\xc3\xa4"}, NULL},
        {{.requests = 1, .name = long_name}, NULL},
        {{.requests = 1, .global = true, .key = key_of},
         "key and global are both set; only one is allowed"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_error_t error;
        uvhttp_rate_limit_t *created = limit;
        assert_int_equal(uvhttp_rate_limit_new(&created, &cases[i].config, &error), UVHTTP_ECONFIG);
        assert_null(created);
        if (cases[i].message != NULL)
            assert_string_equal(error.text, cases[i].message);
        assert_int_equal(uvhttp_rate_limit_new(&created, &cases[i].config, NULL), UVHTTP_ECONFIG);
    }
}

static void largest_options_are_accepted(void **state)
{
    (void)state;
    static const uvhttp_rate_limit_options_t cases[] = {
        {.requests = 1000000, .burst = 1000000},
        {.requests = 1, .period_ms = DAY_MS, .burst = 365},
        {.requests = 1, .ipv4_prefix = 1, .ipv6_prefix = 128, .name = "!#[]~"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_rate_limit_t *created;
        assert_int_equal(uvhttp_rate_limit_new(&created, &cases[i], NULL), 0);
        uvhttp_rate_limit_free(created);
    }
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    struct fault_heap heap;
    uvhttp_rate_limit_t *created;
    fault_heap_init(&heap);
    const uvhttp_rate_limit_options_t config = {.requests = 1, .allocator = &heap.allocator};
    for (size_t n = 1; n <= 3; n++) {
        fault_heap_arm(&heap, n, false);
        assert_int_equal(uvhttp_rate_limit_new(&created, &config, NULL), UVHTTP_ENOMEM);
        assert_null(created);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    uvhttp_rate_limit_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exceeded_limit_gets_429),
        cmocka_unit_test(error_responses_have_ratelimit_fields),
        cmocka_unit_test(silent_limit_only_sends_retry_after),
        cmocka_unit_test(keys_are_counted_separately),
        cmocka_unit_test(addresses_are_counted_separately),
        cmocka_unit_test(ipv4_prefix_counts_network_as_one),
        cmocka_unit_test(global_limit_counts_all_clients),
        cmocka_unit_test(limited_request_does_not_allocate),
        cmocka_unit_test(two_limits_send_both_policies),
        cmocka_unit_test(invalid_options_are_named_in_error),
        cmocka_unit_test(largest_options_are_accepted),
        cmocka_unit_test(new_fails_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
