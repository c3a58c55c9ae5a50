/* The state of a rate limit is in the memory of its exchange and must not be used after the
 * exchange. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/stage.h"

enum { STEP = 1 << 20, BLOCK = 2000 };
static struct stage stage;
static struct raw_client client;
static char body[10000];
static unsigned char *memory;
static uvhttp_response_t *pending;
static int send_with_rate_limit(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_limit_rate(response, 1000000, 1000000);
    return err != 0 ? err
                    : uvhttp_response_send_static(response, 200, "text/plain", body, sizeof(body));
}
static int begin_response(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    memory = uvhttp_request_allocate(request, BLOCK);
    memset(memory, 0x01, BLOCK);
    pending = response;
    return uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
}
static void rate_limit_leaves_next_exchange_memory(void **state)
{
    (void)state;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    uvhttp_server_route(stage.server, "GET", "/paced", send_with_rate_limit, NULL);
    uvhttp_server_route(stage.server, "GET", "/", begin_response, NULL);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET /paced HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 1), 1);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 50; i++) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
    size_t changed = 0;
    for (size_t i = 0; i < BLOCK; i++)
        changed += memory[i] != 0x01;
    uvhttp_response_end(pending);
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_int_equal(changed, 0);
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rate_limit_leaves_next_exchange_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
