/* NULL for each pointer parameter of uvhttp_redis. No broker is contacted: the loop does not run
 * before the server is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uvhttp/redis.h>

#include "support/null_rows.h"

static uvhttp_topics_t *new_topics(uvhttp_server_t *server)
{
    uvhttp_topics_t *topics = NULL;
    assert_int_equal(uvhttp_topics_new(&topics, server, NULL, NULL), 0);
    return topics;
}

static void redis_functions_check_null(void **state)
{
    (void)state;
    const uvhttp_redis_options_t options = {.path = "/nowhere/at all"};
    uvhttp_server_t *server = uvhttp_server_new(NULL), *other = uvhttp_server_new(NULL);
    uvhttp_topics_t *topics = new_topics(server), *others = new_topics(other);
    static uvhttp_redis_t *redis;
    static uvhttp_redis_stats_t stats;
    uvhttp_error_t error;
    null_rows_begin();
    NULL_ROW(uvhttp_redis_new, redis,
             uvhttp_redis_new(NULL, topics, server, &options, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_redis_new, topics,
             uvhttp_redis_new(&redis, NULL, server, &options, &error) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_redis_new, server,
             uvhttp_redis_new(&redis, topics, NULL, &options, &error) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_redis_new, error, uvhttp_redis_new(&redis, others, other, &options, NULL) == 0);
    NULL_ROW(uvhttp_redis_new, options,
             uvhttp_redis_new(&redis, topics, server, NULL, &error) == 0);
    stats.received = 7;
    NULL_ROW(uvhttp_redis_read_stats, redis,
             (uvhttp_redis_read_stats(NULL, &stats), stats.received == 0));
    NULL_CALL(uvhttp_redis_read_stats, stats, uvhttp_redis_read_stats(redis, NULL));
    null_rows_end();
    const uvhttp_redis_options_t wrong = {.port = 65536};
    assert_int_equal(uvhttp_redis_new(&redis, topics, server, &wrong, &error), UVHTTP_ECONFIG);
    assert_null(redis);
    assert_string_equal(error.text, "port is 65536; allowed are 0 to 65535");
    assert_int_equal(uvhttp_redis_new(&redis, topics, server, NULL, &error), UVHTTP_EINVAL);
    assert_null(redis);
    assert_string_equal(error.field, "topics");
    assert_string_equal(error.text, "the topics have an adapter already");
    uvhttp_server_free(server);
    uvhttp_server_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(redis_functions_check_null)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
