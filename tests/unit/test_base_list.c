/* The intrusive circular list: order, removal, moving all. Every operation is followed by a check
 * of the list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

enum { MEMBERS = 5 };

/* Every link has its counterpart, and there are `count` members. */
static void assert_sane(const struct uvh_list *head, size_t count)
{
    size_t seen = 0;
    for (const struct uvh_list *node = head; node->next != head; node = node->next) {
        assert_ptr_equal(node->next->previous, node);
        assert_true(++seen <= count);
    }
    assert_ptr_equal(head->previous->next, head);
    assert_int_equal(seen, count);
    assert_int_equal(uvh_list_empty(head), count == 0);
}

static void assert_order(const struct uvh_list *head, const struct uvh_list *nodes,
                         const char *order)
{
    const struct uvh_list *node = head->next;
    for (; *order != '\0'; order++, node = node->next)
        assert_ptr_equal(node, &nodes[*order - '0']);
    assert_ptr_equal(node, head);
}

static void init_all(struct uvh_list *head, struct uvh_list nodes[MEMBERS])
{
    uvh_list_init(head);
    assert_sane(head, 0);
    for (size_t i = 0; i < MEMBERS; i++)
        uvh_list_init(&nodes[i]);
}

static void append_keeps_order_and_prepend_is_first(void **state)
{
    (void)state;
    struct uvh_list head, nodes[MEMBERS];
    init_all(&head, nodes);
    for (size_t i = 0; i < 3; i++) {
        uvh_list_append(&head, &nodes[i]);
        assert_sane(&head, i + 1);
    }
    uvh_list_prepend(&head, &nodes[3]);
    assert_sane(&head, 4);
    assert_order(&head, nodes, "3012");
}

static void remove_works_anywhere_and_twice(void **state)
{
    (void)state;
    static const char *const left[] = {"1234", "0234", "0134", "0124", "0123"};
    for (size_t removed = 0; removed < MEMBERS; removed++) {
        struct uvh_list head, nodes[MEMBERS];
        init_all(&head, nodes);
        for (size_t i = 0; i < MEMBERS; i++)
            uvh_list_append(&head, &nodes[i]);
        for (int times = 0; times < 2; times++) {
            uvh_list_remove(&nodes[removed]);
            assert_sane(&head, MEMBERS - 1);
            assert_sane(&nodes[removed], 0);
            assert_order(&head, nodes, left[removed]);
        }
    }
}

static void take_all_moves_members_in_order(void **state)
{
    (void)state;
    struct uvh_list head, target, nodes[MEMBERS];
    init_all(&head, nodes);
    uvh_list_init(&target);
    uvh_list_take_all(&target, &head);
    assert_sane(&target, 0);
    for (size_t count = 1; count <= MEMBERS; count++) {
        for (size_t i = 0; i < count; i++)
            uvh_list_append(&head, &nodes[i]);
        uvh_list_take_all(&target, &head);
        assert_sane(&head, 0);
        assert_sane(&target, count);
        for (size_t i = 0; i < count; i++) {
            assert_ptr_equal(target.next, &nodes[i]);
            uvh_list_remove(&nodes[i]);
            assert_sane(&target, count - i - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_keeps_order_and_prepend_is_first),
        cmocka_unit_test(remove_works_anywhere_and_twice),
        cmocka_unit_test(take_all_moves_members_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
