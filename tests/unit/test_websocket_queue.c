/* The send queue of a slow peer: compared with a simple list, with exact counters; which entries a
 * removal moves; and which budget a message is charged to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "support/fault_heap.h"
#include "websocket/queue.h"

enum { LIMIT = 1 << 24, LONG = 1000, MOST = 3000, ROUNDS = 200, STEPS = 300, AREAS = 16 };

static struct fault_heap heap;
static struct uvh_ws_memory *memory;
static struct uvh_ws_queue *queue;

/* The expected content of the queue: messages are identified by their first byte. */
struct expected {
    size_t size;
    bool droppable, pong;
    unsigned char name;
};
static struct expected list[MOST];
static size_t count, begun; /* `begun`: bytes of the first one that are sent */
static uint64_t seed = 88172645463325252;

static int set_up(void **state)
{
    (void)state;
    count = begun = 0;
    fault_heap_init(&heap);
    memory = uvh_ws_memory_new(&heap.allocator, LIMIT, false);
    queue = memory == NULL ? NULL : uvh_ws_queue_new(&heap.allocator, memory);
    return queue == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_ws_queue_free(queue);
    bool given_back = memory->budget.taken == 0;
    uvh_ws_memory_unref(memory);
    return given_back && atomic_load(&heap.live) == 0 ? 0 : -1;
}

static size_t random_below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

static void push(size_t size, bool droppable, bool pong)
{
    static unsigned char name;
    struct uvhttp_websocket_message *message = uvh_websocket_message_of(memory, size, droppable);
    assert_non_null(message);
    memset(message->bytes, ++name, size);
    message->pong = pong;
    assert_int_equal(uvh_ws_queue_push(queue, message, false), 0);
    uvhttp_websocket_message_unref(message);
    list[count++] = (struct expected){size, droppable, pong, name};
}

static void remove_at(size_t index)
{
    memmove(&list[index], &list[index + 1], (--count - index) * sizeof(list[0]));
}

static void advance(size_t bytes)
{
    uvh_ws_queue_advance(queue, bytes);
    for (begun += bytes; count > 0 && begun >= list[0].size; remove_at(0))
        begun -= list[0].size;
}

static bool drop_oldest(void)
{
    size_t i = begun > 0 ? 1 : 0;
    while (i < count && !list[i].droppable)
        i++;
    bool found = i < count;
    if (found)
        remove_at(i);
    assert_int_equal(uvh_ws_queue_drop_oldest(queue), found);
    return found;
}

static void drop_pong(void)
{
    size_t least = begun > 0 ? 1 : 0, i = count;
    while (i > least && !list[i - 1].pong)
        i--;
    if (i > least)
        remove_at(i - 1);
    uvh_ws_queue_drop_pong(queue);
}

static void drop_all(void)
{
    uvh_ws_queue_drop_all(queue);
    for (size_t i = count; i > (begun > 0 ? 1u : 0u); i--) {
        if (list[i - 1].droppable)
            remove_at(i - 1);
    }
}

static void check(void)
{
    size_t bytes = 0, droppable = 0;
    uvhttp_slice_t areas[AREAS];
    for (size_t i = 0; i < count; i++) {
        bytes += list[i].size + UVH_WS_QUEUE_ENTRY;
        if (list[i].droppable && (i > 0 || begun == 0))
            droppable += list[i].size + UVH_WS_QUEUE_ENTRY;
    }
    assert_int_equal(queue->count, count);
    assert_int_equal(queue->bytes, bytes - begun);
    assert_int_equal(queue->droppable, droppable);
    size_t first = uvh_ws_queue_areas(queue, areas, AREAS, SIZE_MAX);
    assert_int_equal(first, count < AREAS ? count : AREAS);
    for (size_t i = 0; i < first; i++) {
        assert_int_equal(areas[i].length, list[i].size - (i == 0 ? begun : 0));
        assert_int_equal((unsigned char)areas[i].base[0], list[i].name);
    }
}

static void random_operations_match_list(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (int step = 0; step < STEPS; step++) {
            size_t what = random_below(100);
            if (what < 45) {
                push(2 + random_below(50), random_below(3) > 0, false);
            } else if (what < 55) { /* at most one is queued */
                drop_pong();
                push(2 + random_below(9), false, true);
            } else if (what < 80) {
                advance(random_below(queue->bytes - queue->count * UVH_WS_QUEUE_ENTRY + 1) /
                        (1 + random_below(20)));
            } else if (what < 99) {
                (void)drop_oldest();
            } else {
                drop_all();
            }
            check();
        }
        while (drop_oldest())
            check();
        advance(queue->bytes - queue->count * UVH_WS_QUEUE_ENTRY);
        check();
        assert_int_equal(count, 0);
    }
}

/* A peer that does not read but sends pings must not make each pong cost a move of the whole
 * queue. */
static void removal_moves_shorter_side(void **state)
{
    (void)state;
    for (int i = 0; i < LONG; i++)
        push(10, true, false);
    uint32_t first = queue->first;
    for (int i = 0; i < 3; i++) {
        push(2, false, true);
        drop_pong();
        assert_int_equal(queue->first, first); /* no entry before it has moved */
        check();
    }
    push(2, false, true);
    for (int i = 0; i < 3; i++)
        push(10, true, false);
    drop_pong();
    assert_int_equal(queue->first, first);
    check();
    for (int i = 0; i < 3; i++) {
        assert_true(drop_oldest());
        /* no entry after it has moved */
        assert_int_equal(queue->first, ++first & (queue->capacity - 1));
        check();
    }
    drop_all();
    check();
    assert_int_equal(queue->droppable, 0);
}

static void passing_message_is_charged_to_queue(void **state)
{
    (void)state;
    struct uvh_ws_memory *passing = uvh_ws_memory_new(&heap.allocator, LIMIT, true);
    struct uvh_ws_memory *small = uvh_ws_memory_new(&heap.allocator, 500, false);
    struct uvh_ws_queue *others = uvh_ws_queue_new(&heap.allocator, small);
    assert_true(passing != NULL && others != NULL);
    size_t before = memory->budget.taken, ring = small->budget.taken;
    struct uvhttp_websocket_message *message = uvh_websocket_message_of(passing, 1000, true);
    assert_true(passing->budget.taken >= 1000);
    /* A queue without budget refuses it, which changes nothing. */
    assert_int_equal(uvh_ws_queue_push(others, message, false), UVHTTP_ENOMEM);
    assert_true(small->budget.taken == ring && others->count == 0);
    assert_true(passing->budget.taken >= 1000);
    assert_int_equal(uvh_ws_queue_push(queue, message, false), 0);
    assert_int_equal(passing->budget.taken, 0);
    size_t paid = memory->budget.taken - before;
    assert_true(paid >= 1000);
    /* It is charged once. */
    assert_int_equal(uvh_ws_queue_push(queue, message, false), 0);
    assert_int_equal(uvh_ws_queue_push(others, message, false), 0);
    assert_int_equal(memory->budget.taken, before + paid);
    assert_int_equal(small->budget.taken, ring);
    uvhttp_websocket_message_unref(message);
    uvh_ws_queue_drop_all(queue);
    assert_int_equal(memory->budget.taken, before + paid); /* the other queue still refers to it */
    uvh_ws_queue_free(others);
    assert_int_equal(memory->budget.taken, before);
    uvh_ws_memory_unref(small);
    uvh_ws_memory_unref(passing);
}

static void message_keeps_its_memory_account(void **state)
{
    (void)state;
    struct uvh_ws_memory *released = uvh_ws_memory_new(&heap.allocator, LIMIT, false);
    struct uvhttp_websocket_message *message = uvh_websocket_message_of(released, 1000, true);
    assert_non_null(message);
    uvh_ws_memory_unref(released);
    uvhttp_websocket_message_ref(message);
    uvhttp_websocket_message_unref(message);
    assert_int_equal(uvh_websocket_message_frame(message, false).length, 1000);
    uvhttp_websocket_message_unref(message);
}

static void failed_allocations_change_nothing(void **state)
{
    (void)state;
    fault_heap_arm(&heap, 1, false);
    assert_null(uvh_ws_memory_new(&heap.allocator, LIMIT, false));
    for (size_t i = 1; i <= 2; i++) {
        fault_heap_arm(&heap, i, false);
        assert_null(uvh_ws_queue_new(&heap.allocator, memory));
    }
    size_t before = memory->budget.taken;
    fault_heap_arm(&heap, 1, false);
    assert_null(uvh_websocket_message_of(memory, 10, true));
    assert_int_equal(memory->budget.taken, before);
    assert_null(uvh_websocket_message_of(memory, LIMIT, true));
    fault_heap_arm(&heap, 0, false);
    while (count < queue->capacity)
        push(2, true, false);
    struct uvhttp_websocket_message *message = uvh_websocket_message_of(memory, 10, true);
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(uvh_ws_queue_push(queue, message, false), UVHTTP_ENOMEM);
    check();
    assert_int_equal(uvh_ws_queue_push(queue, message, false), 0);
    uvhttp_websocket_message_unref(message);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_operations_match_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removal_moves_shorter_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(passing_message_is_charged_to_queue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(message_keeps_its_memory_account, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_allocations_change_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
