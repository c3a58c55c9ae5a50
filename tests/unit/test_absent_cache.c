/* The cache of absent files (files/absent_cache.h): lookup by path, eviction of the least recently
 * used entry, limits and failed allocations; compared with a plain list. */
#include "files/absent_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

static struct fault_heap heap;

static uvhttp_slice_t slice(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static void assert_sane(const struct uvh_absent_cache *cache)
{
    size_t listed = 0;
    size_t in_table = 0;
    for (const struct uvh_list *at = cache->recent.next; at != &cache->recent; at = at->next) {
        assert_true(at->next->previous == at);
        listed++;
    }
    const struct uvh_hash_link *link = NULL;
    while ((link = uvh_hash_table_walk(&cache->table, link)) != NULL)
        in_table++;
    assert_int_equal(listed, cache->table.count);
    assert_int_equal(in_table, cache->table.count);
    assert_true(cache->table.count <= cache->limit);
}

static void test_put_evicts_least_recently_used(void **state)
{
    struct uvh_absent_cache cache;
    (void)state;
    uvh_absent_cache_init(&cache, &heap.allocator, 3, 42);
    assert_int_equal(heap.live, 0);
    assert_null(uvh_absent_cache_find(&cache, slice("a")));
    uvh_absent_cache_remove(&cache, slice("a"));
    for (const char *name = "abc"; *name != '\0'; name++) {
        struct uvh_absent_entry *entry = uvh_absent_cache_put(&cache, (uvhttp_slice_t){name, 1});
        assert_non_null(entry);
        entry->error = -ENOENT - *name;
    }
    assert_int_equal(uvh_absent_cache_find(&cache, slice("a"))->error, -ENOENT - 'a');
    assert_ptr_equal(uvh_absent_cache_put(&cache, slice("c")),
                     uvh_absent_cache_find(&cache, slice("c")));
    assert_int_equal(cache.table.count, 3);
    assert_non_null(uvh_absent_cache_put(&cache, slice("")));
    assert_null(uvh_absent_cache_find(&cache, slice("b")));
    assert_non_null(uvh_absent_cache_find(&cache, slice("a")));
    assert_non_null(uvh_absent_cache_find(&cache, slice("")));
    assert_sane(&cache);
    uvh_absent_cache_release(&cache);
    assert_int_equal(heap.live, 0);
}

static void test_key_and_entry_limits_are_exact(void **state)
{
    struct uvh_absent_cache cache;
    char longest[UVH_ABSENT_CACHE_MAX_KEY + 1];
    (void)state;
    memset(longest, 'x', sizeof(longest));
    uvh_absent_cache_init(&cache, &heap.allocator, 3, 42);
    assert_null(uvh_absent_cache_put(&cache, (uvhttp_slice_t){longest, sizeof(longest)}));
    assert_null(uvh_absent_cache_find(&cache, (uvhttp_slice_t){longest, sizeof(longest)}));
    assert_non_null(uvh_absent_cache_put(&cache, (uvhttp_slice_t){longest, sizeof(longest) - 1}));
    assert_non_null(uvh_absent_cache_find(&cache, (uvhttp_slice_t){longest, sizeof(longest) - 1}));
    uvh_absent_cache_release(&cache);
    uvh_absent_cache_init(&cache, &heap.allocator, 0, 42);
    assert_null(uvh_absent_cache_put(&cache, slice("a")));
    uvh_absent_cache_release(&cache);
    assert_int_equal(heap.live, 0);
}

static void test_random_operations_match_list(void **state)
{
    enum { LIMIT = 20, NAMES = 60, STEPS = 50000 };
    struct uvh_absent_cache cache;
    int order[NAMES]; /* step of the last use; 0: absent */
    unsigned random = 3;
    (void)state;
    memset(order, 0, sizeof(order));
    uvh_absent_cache_init(&cache, &heap.allocator, LIMIT, 42);
    for (int i = 1; i <= STEPS; i++) {
        char name[8];
        random = random * 1103515245u + 12345u;
        unsigned which = random / 65536 % NAMES;
        snprintf(name, sizeof(name), "n%u", which);
        random = random * 1103515245u + 12345u;
        unsigned what = random / 65536 % 8;
        if (what == 0) {
            uvh_absent_cache_remove(&cache, slice(name));
            order[which] = 0;
        } else if (what < 4) {
            size_t oldest = 0;
            size_t count = 0;
            for (size_t j = 0; j < NAMES; j++) {
                count += order[j] != 0;
                if (order[j] != 0 && (order[oldest] == 0 || order[j] < order[oldest]))
                    oldest = j;
            }
            if (order[which] == 0 && count == LIMIT)
                order[oldest] = 0;
            assert_non_null(uvh_absent_cache_put(&cache, slice(name)));
            order[which] = i;
        } else {
            assert_int_equal(uvh_absent_cache_find(&cache, slice(name)) != NULL, order[which] != 0);
            if (order[which] != 0)
                order[which] = i;
        }
        assert_sane(&cache);
    }
    assert_int_equal(cache.table.count, LIMIT);
    uvh_absent_cache_release(&cache);
    assert_int_equal(heap.live, 0);
}

static void test_put_fails_without_memory(void **state)
{
    struct uvh_absent_cache cache;
    (void)state;
    for (size_t fail_at = 1; fail_at <= 3; fail_at++) {
        uvh_absent_cache_init(&cache, &heap.allocator, 2, 42);
        fault_heap_arm(&heap, fail_at, false); /* the first entry, the second, the table */
        assert_true((uvh_absent_cache_put(&cache, slice("a")) == NULL) == (fail_at == 1));
        assert_true((uvh_absent_cache_put(&cache, slice("b")) == NULL) == (fail_at == 2));
        assert_sane(&cache);
        assert_non_null(uvh_absent_cache_put(&cache, slice("a")));
        assert_non_null(uvh_absent_cache_put(&cache, slice("b")));
        assert_sane(&cache);
        uvh_absent_cache_release(&cache);
        assert_int_equal(heap.live, 0);
    }
}

int main(void)
{
    fault_heap_init(&heap);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_evicts_least_recently_used),
        cmocka_unit_test(test_key_and_entry_limits_are_exact),
        cmocka_unit_test(test_random_operations_match_list),
        cmocka_unit_test(test_put_fails_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
