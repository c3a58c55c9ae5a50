/* Patterns and topics: each matching subscriber is visited once, compared with a slow reference;
 * removal leaves nothing; failed allocations change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/fault_heap.h"
#include "websocket/topic_tree.h"

enum { SUBSCRIBERS = 12, PATTERN_SIZE = 64, KNOWN = 64, ROUNDS = 20000 };

/* Whether a pattern matches a topic: a slow reference, level by level, by recursion. */
static bool reference_matches(const char *pattern, const char *topic)
{
    if (strcmp(pattern, "#") == 0)
        return true;
    size_t level = strcspn(pattern, "/");
    size_t topic_level = strcspn(topic, "/");
    bool same = strncmp(pattern, "+", level) == 0 && level == 1;
    if (!same && (level != topic_level || memcmp(pattern, topic, level) != 0))
        return false;
    if (pattern[level] == '\0')
        return topic[topic_level] == '\0';
    if (topic[topic_level] == '\0')
        return strcmp(pattern + level, "/#") == 0;
    return reference_matches(pattern + level + 1, topic + topic_level + 1);
}

struct one {
    struct uvh_topic_subscriber base;
    char patterns[KNOWN][PATTERN_SIZE];
    size_t count;
    unsigned visited;
};

static struct fault_heap heap;
static struct uvh_topic_tree tree;
static struct one all[SUBSCRIBERS];
static uint32_t state_of_random;

static uint32_t random_below(uint32_t below)
{
    state_of_random = state_of_random * 1664525 + 1013904223;
    return (state_of_random >> 8) % below;
}

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_topic_tree_init(&tree, &heap.allocator, 42);
    memset(all, 0, sizeof(all));
    for (size_t i = 0; i < SUBSCRIBERS; i++)
        uvh_topic_subscriber_init(&all[i].base);
    state_of_random = 7;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBSCRIBERS; i++) {
        struct uvh_topic_subscription *first;
        while ((first = uvh_topic_subscriber_first(&all[i].base)) != NULL)
            uvh_topic_tree_remove(&tree, first);
    }
    bool empty = tree.memory == 0 && tree.root == NULL && tree.nodes.count == 0;
    uvh_topic_tree_release(&tree);
    return empty && heap.live == 0 ? 0 : -1;
}

static void visit(struct uvh_topic_subscriber *subscriber, void *arg)
{
    (void)arg;
    UVH_CONTAINER_OF(subscriber, struct one, base)->visited++;
}

/* The subscribers visited for a topic, as digits. */
static const char *visited_by(const char *topic)
{
    static char text[SUBSCRIBERS + 1];
    size_t used = 0;
    for (size_t i = 0; i < SUBSCRIBERS; i++)
        all[i].visited = 0;
    uvh_topic_tree_match(&tree, topic, strlen(topic), visit, NULL);
    for (size_t i = 0; i < SUBSCRIBERS; i++) {
        assert_true(all[i].visited <= 1);
        if (all[i].visited == 1)
            text[used++] = (char)('0' + i);
    }
    text[used] = '\0';
    return text;
}

static struct uvh_topic_subscription *add(size_t i, const char *pattern)
{
    return uvh_topic_tree_add(&tree, &all[i].base, pattern, strlen(pattern));
}

static struct uvh_topic_subscription *find(size_t i, const char *pattern)
{
    return uvh_topic_tree_find(&tree, &all[i].base, pattern, strlen(pattern));
}

static void patterns_match_topics(void **state)
{
    (void)state;
    assert_non_null(add(0, "room/7"));
    assert_non_null(add(1, "room/+"));
    assert_non_null(add(2, "room/#"));
    assert_non_null(add(3, "#"));
    assert_non_null(add(4, "+/7/typing"));
    assert_non_null(add(5, "room//typing"));
    assert_non_null(add(6, "+"));
    assert_string_equal(visited_by("room/7"), "0123");
    assert_string_equal(visited_by("room/8"), "123");
    assert_string_equal(visited_by("room"), "236");
    assert_string_equal(visited_by("room/7/typing"), "234");
    assert_string_equal(visited_by("room//typing"), "235");
    assert_string_equal(visited_by("room/"), "123");
    assert_string_equal(visited_by("rooms/7"), "3");
    assert_string_equal(visited_by("/"), "3");
}

static void subscriber_is_visited_once_per_topic(void **state)
{
    (void)state;
    const char *patterns[] = {"a/b/c", "a/+/c", "+/+/+", "a/#", "a/b/#", "#", "a/b/c/#"};
    for (size_t i = 0; i < UVH_COUNT_OF(patterns); i++)
        assert_non_null(add(0, patterns[i]));
    assert_int_equal(all[0].base.count, UVH_COUNT_OF(patterns));
    /* visited_by() also checks that it is visited once */
    assert_string_equal(visited_by("a/b/c"), "0");
    for (size_t i = 0; i < UVH_COUNT_OF(patterns); i++) {
        struct uvh_topic_subscription *one = find(0, patterns[i]);
        assert_non_null(one);
        assert_string_equal(visited_by("a/b/c"), "0");
        uvh_topic_tree_remove(&tree, one);
        assert_null(find(0, patterns[i]));
    }
    assert_string_equal(visited_by("a/b/c"), "");
}

static void pattern_and_topic_syntax_is_checked(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool pattern, topic;
    } cases[] = {
        {"", false, false},     {"a", true, true},      {"/", true, true},
        {"a//b/", true, true},  {"+", true, false},     {"#", true, false},
        {"a/+/b", true, false}, {"+/#", true, false},   {"a/#/b", false, false},
        {"a#", false, false},   {"a/b+", false, false}, {"++", false, false},
        {"a/##", false, false}, {"#/", false, false},   {"\xc3\xa4/\xf0\x9f\x98\x80", true, true},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        size_t length = strlen(cases[i].text);
        assert_int_equal(uvh_topic_is_pattern(cases[i].text, length), cases[i].pattern);
        assert_int_equal(uvh_topic_is_topic(cases[i].text, length), cases[i].topic);
    }
}

/* Few names and few levels, so that many patterns overlap. */
static void random_text(char text[PATTERN_SIZE], bool pattern)
{
    const char *const names[] = {"a", "b", "ab", "", "+", "#"};
    uint32_t levels = 1 + random_below(4);
    size_t used = 0;
    for (uint32_t i = 0; i < levels; i++) {
        const char *name = names[random_below(pattern ? 5 : 4)];
        if (pattern && i == levels - 1 && random_below(4) == 0)
            name = names[5];
        used += (size_t)snprintf(text + used, PATTERN_SIZE - used, "%s%s", i == 0 ? "" : "/", name);
    }
    if (used == 0)
        (void)snprintf(text, PATTERN_SIZE, "a");
}

static void change_at_random(void)
{
    char pattern[PATTERN_SIZE];
    struct one *one = &all[random_below(SUBSCRIBERS)];
    size_t known = 0;
    random_text(pattern, true);
    assert_true(uvh_topic_is_pattern(pattern, strlen(pattern)));
    while (known < one->count && strcmp(one->patterns[known], pattern) != 0)
        known++;
    struct uvh_topic_subscription *found = find((size_t)(one - all), pattern);
    assert_int_equal(found != NULL, known < one->count);
    if (found != NULL) {
        uvh_topic_tree_remove(&tree, found);
        memmove(one->patterns[known], one->patterns[--one->count], PATTERN_SIZE);
    } else if (one->count < KNOWN) {
        assert_non_null(add((size_t)(one - all), pattern));
        (void)snprintf(one->patterns[one->count++], PATTERN_SIZE, "%s", pattern);
    }
}

static void random_subscriptions_match_reference(void **state)
{
    (void)state;
    char topic[PATTERN_SIZE];
    for (int round = 0; round < ROUNDS; round++) {
        change_at_random();
        random_text(topic, false);
        char expected[SUBSCRIBERS + 1];
        size_t used = 0;
        for (size_t i = 0; i < SUBSCRIBERS; i++) {
            bool matches = false;
            for (size_t k = 0; k < all[i].count; k++)
                matches = matches || reference_matches(all[i].patterns[k], topic);
            if (matches)
                expected[used++] = (char)('0' + i);
        }
        expected[used] = '\0';
        assert_string_equal(visited_by(topic), expected);
    }
}

static void topic_table_grows(void **state)
{
    (void)state;
    char topic[PATTERN_SIZE];
    for (size_t i = 0; i < 5000; i++) {
        (void)snprintf(topic, sizeof(topic), "user/%zu/inbox", i);
        assert_non_null(add(i % SUBSCRIBERS, topic));
    }
    for (size_t i = 0; i < 5000; i++) {
        char expected[2] = {(char)('0' + i % SUBSCRIBERS), '\0'};
        (void)snprintf(topic, sizeof(topic), "user/%zu/inbox", i);
        assert_string_equal(visited_by(topic), expected);
    }
}

static void failed_add_changes_nothing(void **state)
{
    (void)state;
    assert_non_null(add(0, "a/b"));
    assert_non_null(add(1, "#"));
    size_t memory = tree.memory;
    /* three nodes and the subscription, besides tables that would grow */
    for (size_t n = 1; n <= 4; n++) {
        fault_heap_arm(&heap, n, true);
        assert_null(add(0, "a/c/d/e"));
        fault_heap_arm(&heap, 0, false);
        assert_int_equal(tree.memory, memory);
        assert_string_equal(visited_by("a/b"), "01");
    }
    assert_non_null(add(0, "a/c/d/e"));
    assert_string_equal(visited_by("a/c/d/e"), "01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patterns_match_topics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(subscriber_is_visited_once_per_topic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pattern_and_topic_syntax_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_subscriptions_match_reference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topic_table_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_add_changes_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
