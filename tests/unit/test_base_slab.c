/* The slab: objects at fixed addresses, zeroed, reused before a new page is allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/slab.h"
#include "support/fault_heap.h"

enum { OBJECT = 40, PER_PAGE = 4, MANY = 50 };

static struct fault_heap heap;
static struct uvh_slab slab;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_slab_init(&slab, &heap.allocator, OBJECT, PER_PAGE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_slab_release(&slab);
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

/* Free and taken objects together fill the pages. */
static void assert_sane(size_t taken)
{
    size_t available = 0;
    assert_int_equal(slab.taken, taken);
    for (void *object = slab.free; object != NULL; available++) {
        void *next;
        UVH_UNPOISON(object, slab.object_size);
        memcpy(&next, object, sizeof(next));
        UVH_POISON(object, slab.object_size);
        object = next;
    }
    assert_int_equal(available + taken, atomic_load(&heap.live) * PER_PAGE);
}

static void objects_are_zeroed_aligned_and_disjoint(void **state)
{
    (void)state;
    unsigned char *objects[MANY];
    static const unsigned char zeros[OBJECT];
    assert_int_equal(slab.object_size, 48);
    for (size_t i = 0; i < MANY; i++) {
        objects[i] = uvh_slab_take(&slab);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 16, 0);
        assert_memory_equal(objects[i], zeros, OBJECT);
        memset(objects[i], (int)i + 1, OBJECT);
        assert_sane(i + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        for (size_t k = 0; k < OBJECT; k++)
            assert_int_equal(objects[i][k], i + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        uvh_slab_give(&slab, objects[i]);
        assert_sane(MANY - i - 1);
    }
}

static void given_objects_are_reused_before_new_page(void **state)
{
    (void)state;
    void *objects[PER_PAGE];
    static const unsigned char zeros[OBJECT];
    for (size_t i = 0; i < PER_PAGE; i++)
        objects[i] = uvh_slab_take(&slab);
    assert_sane(PER_PAGE);
    memset(objects[2], 0xff, OBJECT);
    uvh_slab_give(&slab, objects[2]);
    assert_sane(PER_PAGE - 1);
    fault_heap_arm(&heap, 1, true);
    void *again = uvh_slab_take(&slab);
    assert_ptr_equal(again, objects[2]);
    assert_memory_equal(again, zeros, OBJECT);
    assert_null(uvh_slab_take(&slab));
    assert_sane(PER_PAGE);
    fault_heap_arm(&heap, 0, false);
    assert_non_null(uvh_slab_take(&slab));
    assert_sane(PER_PAGE + 1);
}

#if defined(UVH_ASAN)
static void given_objects_are_poisoned(void **state)
{
    (void)state;
    char *object = uvh_slab_take(&slab);
    assert_false(__asan_address_is_poisoned(object));
    uvh_slab_give(&slab, object);
    assert_true(__asan_address_is_poisoned(object));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(objects_are_zeroed_aligned_and_disjoint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(given_objects_are_reused_before_new_page, set_up,
                                        tear_down),
#if defined(UVH_ASAN)
        cmocka_unit_test_setup_teardown(given_objects_are_poisoned, set_up, tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
