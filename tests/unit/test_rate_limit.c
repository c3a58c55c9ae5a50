/* Rate limits on a server: which requests count together, what clients are told, and which options
 * are refused. Limits give back one request in a day, so that no test depends on the clock. */
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
static struct raw_response answer;
static size_t offset;

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int fails(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return UVHTTP_EINVAL;
}

/* "none": not counted; "fail": an error; "": by the address. */
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
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", hello, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/fails", fails, NULL), 0);
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

static int ask(const char *target, const char *key)
{
    char request[256];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n", target,
             key == NULL ? "X-Nothing: " : "X-Key: ", key == NULL ? "1" : key);
    raw_client_send_text(&client, request);
    for (int turn = 0; turn < STAGE_MAX_ITERATIONS; turn++) {
        raw_client_step(&client, 10000);
        if (raw_client_response(&client, &offset, false, &answer))
            return answer.status;
        stage_iterate(&stage);
    }
    fail_msg("no answer to %s", target);
    return 0;
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&answer, name, value, sizeof(value)) ? value : NULL;
}

static void a_client_is_told_and_refused(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .burst = 2});
    assert_int_equal(ask("/", NULL), 200);
    assert_string_equal(field("RateLimit-Policy"), "\"default\";q=2;w=172800");
    assert_string_equal(field("RateLimit"), "\"default\";r=1;t=86400");
    assert_null(field("Retry-After"));
    assert_int_equal(ask("/", NULL), 200);
    assert_memory_equal(field("RateLimit"), "\"default\";r=0;t=86", 18);
    assert_int_equal(ask("/", NULL), 429);
    assert_memory_equal(field("RateLimit"), "\"default\";r=0;t=86", 18);
    long wait = strtol(field("Retry-After"), NULL, 10);
    assert_true(wait > DAY - 600 && wait <= DAY);
    assert_int_equal(answer.body_length, strlen("429 Too Many Requests\n"));
    assert_int_equal(ask("/nowhere", NULL), 429); /* before it is known that there is none */
    end();
}

static void the_servers_own_answers_tell_as_well(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 9, .period_ms = DAY_MS, .name = "api"});
    assert_int_equal(ask("/nowhere", NULL), 404);
    assert_string_equal(field("RateLimit"), "\"api\";r=8;t=9600");
    assert_int_equal(ask("/fails", NULL), 500);
    assert_memory_equal(field("RateLimit"), "\"api\";r=7;t=9", 13);
    end();
}

static void a_silent_limit_only_says_when_to_come_again(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .silent = true});
    assert_int_equal(ask("/", NULL), 200);
    assert_null(field("RateLimit"));
    assert_int_equal(ask("/", NULL), 429);
    assert_null(field("RateLimit"));
    assert_null(field("RateLimit-Policy"));
    assert_non_null(field("Retry-After"));
    end();
}

static void keys_are_counted_apart(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){
        .requests = 1, .period_ms = DAY_MS, .key = key_of, .key_arg = &stage});
    assert_int_equal(ask("/", "a"), 200);
    assert_int_equal(ask("/", "a"), 429);
    assert_int_equal(ask("/", "b"), 200);
    assert_int_equal(ask("/", ""), 200); /* an empty key is one */
    assert_int_equal(ask("/", NULL), 200);
    assert_int_equal(ask("/", NULL), 429);
    assert_int_equal(ask("/", "127.0.0.1"), 200); /* which is not the client of that address */
    assert_int_equal(ask("/", "bytes"), 200);
    assert_int_equal(ask("/", "none"), 200);
    assert_null(field("RateLimit"));
    assert_int_equal(ask("/", "none"), 200);
    assert_int_equal(ask("/", "fail"), 500);
    end();
}

/* Goes on from another address of this machine. */
static void move_to(const char *address)
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

static void addresses_are_counted_apart(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS});
    assert_int_equal(ask("/", NULL), 200);
    assert_int_equal(ask("/", NULL), 429);
    move_to("127.0.0.2");
    assert_int_equal(ask("/", NULL), 200);
    move_to("127.0.0.1");
    assert_int_equal(ask("/", NULL), 429);
    end();
}

static void addresses_of_one_network_count_together_when_told_so(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1, .period_ms = DAY_MS, .ipv4_prefix = 24});
    assert_int_equal(ask("/", NULL), 200);
    move_to("127.0.0.200");
    assert_int_equal(ask("/", NULL), 429);
    move_to("127.0.1.1");
    assert_int_equal(ask("/", NULL), 200);
    end();
}

static void a_global_limit_counts_everybody(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 2, .period_ms = DAY_MS, .global = true});
    assert_int_equal(ask("/", NULL), 200);
    move_to("127.0.0.2");
    assert_int_equal(ask("/", NULL), 200);
    move_to("127.0.0.3");
    assert_int_equal(ask("/", NULL), 429);
    end();
}

static void a_warm_server_takes_no_memory_for_it(void **state)
{
    (void)state;
    begin((uvhttp_rate_limit_options_t){.requests = 1000, .period_ms = DAY_MS});
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask("/", NULL), 200);
    size_t before = atomic_load(&stage.heap.calls);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask("/", NULL), 200);
    assert_int_equal(atomic_load(&stage.heap.calls), before);
    end();
}

static void two_limits_tell_both(void **state)
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
    assert_int_equal(ask("/", NULL), 404);
    const char *policies[] = {"\"day\";q=5;w=86400", "\"second\";q=7;w=1"};
    for (size_t i = 0; i < 2; i++) {
        char line[128];
        snprintf(line, sizeof(line), "\r\nRateLimit-Policy: %s\r\n", policies[i]);
        assert_non_null(memmem(answer.head, answer.head_length, line, strlen(line)));
    }
    end();
    uvhttp_rate_limit_free(second);
}

/* ---- options ---- */

static void wrong_options_are_named(void **state)
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
        uvhttp_rate_limit_t *made = limit;
        assert_int_equal(uvhttp_rate_limit_new(&made, &cases[i].config, &error), UVHTTP_ECONFIG);
        assert_null(made);
        if (cases[i].message != NULL)
            assert_string_equal(error.text, cases[i].message);
        assert_int_equal(uvhttp_rate_limit_new(&made, &cases[i].config, NULL), UVHTTP_ECONFIG);
    }
}

static void the_largest_options_are_taken(void **state)
{
    (void)state;
    static const uvhttp_rate_limit_options_t cases[] = {
        {.requests = 1000000, .burst = 1000000},
        {.requests = 1, .period_ms = DAY_MS, .burst = 365},
        {.requests = 1, .ipv4_prefix = 1, .ipv6_prefix = 128, .name = "!#[]~"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_rate_limit_t *made;
        assert_int_equal(uvhttp_rate_limit_new(&made, &cases[i], NULL), 0);
        uvhttp_rate_limit_free(made);
    }
}

static void out_of_memory_leaves_nothing(void **state)
{
    (void)state;
    struct fault_heap heap;
    uvhttp_rate_limit_t *made;
    fault_heap_init(&heap);
    const uvhttp_rate_limit_options_t config = {.requests = 1, .allocator = &heap.allocator};
    for (size_t n = 1; n <= 3; n++) {
        fault_heap_arm(&heap, n, false);
        assert_int_equal(uvhttp_rate_limit_new(&made, &config, NULL), UVHTTP_ENOMEM);
        assert_null(made);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    uvhttp_rate_limit_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_told_and_refused),
        cmocka_unit_test(the_servers_own_answers_tell_as_well),
        cmocka_unit_test(a_silent_limit_only_says_when_to_come_again),
        cmocka_unit_test(keys_are_counted_apart),
        cmocka_unit_test(addresses_are_counted_apart),
        cmocka_unit_test(addresses_of_one_network_count_together_when_told_so),
        cmocka_unit_test(a_global_limit_counts_everybody),
        cmocka_unit_test(a_warm_server_takes_no_memory_for_it),
        cmocka_unit_test(two_limits_tell_both),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(the_largest_options_are_taken),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
