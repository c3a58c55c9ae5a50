/* The account of a limited rate is in its exchange's memory, and ends with it. */
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
static uvhttp_response_t *kept;
static int paced(uvhttp_request_t *q, uvhttp_response_t *r, void *arg)
{
    (void)q;
    (void)arg;
    int err = uvhttp_response_limit_rate(r, 1000000, 1000000);
    return err != 0 ? err : uvhttp_response_send_static(r, 200, "text/plain", body, sizeof(body));
}
static int second(uvhttp_request_t *q, uvhttp_response_t *r, void *arg)
{
    (void)arg;
    memory = uvhttp_request_allocate(q, BLOCK);
    memset(memory, 0x01, BLOCK);
    kept = r;
    return uvhttp_response_begin(r, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
}
static void memory_of_the_next_exchange_is_left_alone(void **state)
{
    (void)state;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    uvhttp_server_route(stage.server, "GET", "/paced", paced, NULL);
    uvhttp_server_route(stage.server, "GET", "/", second, NULL);
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
    uvhttp_response_end(kept);
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_int_equal(changed, 0);
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_of_the_next_exchange_is_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
