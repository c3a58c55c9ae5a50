/* The hash table: equal hashes, growth with and without memory, and the walk over all members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/hash_table.h"
#include "support/fault_heap.h"

enum { COUNT = 100 };

static struct fault_heap heap;
static struct uvh_hash_table table;
static struct uvh_hash_link links[COUNT];

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_hash_table_init(&table, &heap.allocator);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_hash_table_release(&table);
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

static void assert_finds_all(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(uvh_hash_table_find(&table, i), &links[i]);
        assert_null(uvh_hash_table_next(&links[i]));
    }
    assert_null(uvh_hash_table_find(&table, COUNT));
    assert_int_equal(table.count, COUNT);
}

static void growth_keeps_all_members(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        uvh_hash_table_add(&table, &links[i], i);
    assert_finds_all();
    assert_true(uvh_hash_table_memory(&table) >= COUNT * sizeof(void *));
}

static void growth_without_memory_still_finds(void **state)
{
    (void)state;
    fault_heap_arm(&heap, 1, true);
    for (size_t i = 0; i < COUNT; i++)
        uvh_hash_table_add(&table, &links[i], i);
    fault_heap_arm(&heap, 0, false);
    assert_int_equal(uvh_hash_table_memory(&table), 0);
    assert_finds_all();
    for (size_t i = 0; i < COUNT; i++) {
        uvh_hash_table_remove(&table, &links[i]);
        assert_null(uvh_hash_table_find(&table, i));
    }
}

static void equal_hashes_are_found_one_after_the_other(void **state)
{
    struct uvh_hash_link *found[2];
    (void)state;
    uvh_hash_table_add(&table, &links[0], 7);
    uvh_hash_table_add(&table, &links[1], 7 + 16); /* the same slot, another hash */
    uvh_hash_table_add(&table, &links[2], 7);
    found[0] = uvh_hash_table_find(&table, 7);
    found[1] = uvh_hash_table_next(found[0]);
    assert_ptr_equal(found[0], &links[2]);
    assert_ptr_equal(found[1], &links[0]);
    assert_null(uvh_hash_table_next(found[1]));
    uvh_hash_table_remove(&table, &links[2]);
    assert_ptr_equal(uvh_hash_table_find(&table, 7), &links[0]);
}

static void walk_visits_each_member_once(void **state)
{
    bool visited[COUNT] = {false};
    size_t count = 0;
    (void)state;
    assert_null(uvh_hash_table_walk(&table, NULL));
    for (size_t i = 0; i < COUNT; i++)
        uvh_hash_table_add(&table, &links[i], i * i);
    for (struct uvh_hash_link *link = NULL; (link = uvh_hash_table_walk(&table, link)) != NULL;) {
        assert_false(visited[link - links]);
        visited[link - links] = true;
        count++;
    }
    assert_int_equal(count, COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(growth_keeps_all_members, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growth_without_memory_still_finds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_hashes_are_found_one_after_the_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(walk_visits_each_member_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
