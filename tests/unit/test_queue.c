/* A queue of bytes (base/queue.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/queue.h"

enum { PIECE = 100, ROUNDS = 100000 };

static void bytes_leave_in_order(void **state)
{
    struct uvh_queue queue;
    unsigned char in[PIECE], next_in = 0, next_out = 0;
    (void)state;
    uvh_queue_init(&queue, uvh_alloc_default());
    for (int round = 0; round < 1000; round++) {
        size_t size = (size_t)(round * 7 % PIECE);
        for (size_t i = 0; i < size; i++)
            in[i] = next_in++;
        assert_int_equal(uvh_queue_append(&queue, in, size), 0);
        size_t taken = uvh_queue_size(&queue) * (size_t)(round % 4) / 3;
        const unsigned char *front = (const unsigned char *)uvh_queue_front(&queue);
        for (size_t i = 0; i < taken; i++)
            assert_int_equal(front[i], next_out++);
        uvh_queue_take(&queue, taken);
        assert_int_equal((unsigned char)(next_in - next_out),
                         (unsigned char)uvh_queue_size(&queue));
    }
    uvh_queue_release(&queue);
}

static void queue_that_is_never_empty_stays_small(void **state)
{
    struct uvh_queue queue;
    char piece[PIECE] = {0};
    (void)state;
    uvh_queue_init(&queue, uvh_alloc_default());
    assert_int_equal(uvh_queue_append(&queue, "x", 1), 0);
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(uvh_queue_append(&queue, piece, PIECE), 0);
        uvh_queue_take(&queue, PIECE);
        assert_int_equal(uvh_queue_size(&queue), 1);
    }
    assert_true(queue.bytes.capacity <= 8 * PIECE);
    uvh_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_leave_in_order),
        cmocka_unit_test(queue_that_is_never_empty_stays_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
