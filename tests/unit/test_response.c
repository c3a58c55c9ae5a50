/* The response as a value: status, fields, prepared fields, and refused input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "http/response.h"
#include "support/fault_heap.h"

static struct fault_heap heap;
static struct uvh_arena_pool pool;
static struct uvh_arena arena;
static struct uvhttp_response response;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_arena_pool_init(&pool, &heap.allocator);
    response = (struct uvhttp_response){.arena = &arena, .status = 200};
    return uvh_arena_begin(&arena, &pool, 16) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_arena_release(&arena);
    uvh_arena_pool_release(&pool);
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

/* The fields as text; also checks that each is well-formed. */
static const char *fields(void)
{
    static char text[1024];
    size_t length = 0;
    text[0] = '\0';
    assert_true(response.headers.count <= response.headers.capacity);
    for (size_t i = 0; i < response.headers.count; i++) {
        const struct uvh_header *header = &response.headers.items[i];
        assert_int_equal(strlen(header->name.base), header->name.length);
        assert_int_equal(strlen(header->value.base), header->value.length);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s=%s;",
                                   header->name.base, header->value.base);
    }
    return text;
}

static void set_header_replaces_and_add_header_adds(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_response_set_header(&response, "X-A", "1"), 0);
    assert_int_equal(uvhttp_response_add_header(&response, "Set-Cookie", "a=b"), 0);
    assert_int_equal(uvhttp_response_add_header(&response, "Set-Cookie", "c=d"), 0);
    assert_string_equal(fields(), "X-A=1;Set-Cookie=a=b;Set-Cookie=c=d;");
    assert_int_equal(uvhttp_response_set_header(&response, "x-a", "2"), 0);
    assert_string_equal(fields(), "Set-Cookie=a=b;Set-Cookie=c=d;x-a=2;");
    assert_int_equal(uvhttp_response_set_header(&response, "SET-COOKIE", ""), 0);
    assert_string_equal(fields(), "x-a=2;SET-COOKIE=;");
    assert_int_equal(uvhttp_response_add_header(&response, "X-A", "3"), 0);
    assert_string_equal(fields(), "x-a=2;SET-COOKIE=;X-A=3;");
}

static void header_name_and_value_are_copied(void **state)
{
    (void)state;
    char name[] = "X-A", value[] = "one";
    assert_int_equal(uvhttp_response_set_header(&response, name, value), 0);
    memset(name, '!', 3);
    memset(value, '!', 3);
    assert_string_equal(fields(), "X-A=one;");
}

static const struct {
    const char *name, *value;
    int err;
} cases[] = {
    {"X-A", "", 0},
    {"X-A", "\t b \xff", 0},
    {"!#$%&'*+-.^_`|~09azAZ", "1", 0},
    {"", "1", UVHTTP_EHEADER},
    {"X A", "1", UVHTTP_EHEADER},
    {"X-A:", "1", UVHTTP_EHEADER},
    {"X-A\r\nX-B", "1", UVHTTP_EHEADER},
    {"X-\xc3\xa9", "1", UVHTTP_EHEADER},
    {"X-A", "1\r\nX-B: 2", UVHTTP_EHEADER},
    {"X-A", "1\n", UVHTTP_EHEADER},
    {"X-A", "\r", UVHTTP_EHEADER},
    {"X-A", "a\x01", UVHTTP_EHEADER},
    {"X-A", "a\x7f", UVHTTP_EHEADER},
    {"Content-Length", "5", UVHTTP_EHEADER},
    {"content-length", "5", UVHTTP_EHEADER},
    {"Transfer-Encoding", "chunked", UVHTTP_EHEADER},
    {"Connection", "close", UVHTTP_EHEADER},
    {"DATE", "today", UVHTTP_EHEADER},
    {NULL, "1", UVHTTP_EINVAL},
    {"X-A", NULL, UVHTTP_EINVAL},
};

static void invalid_fields_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint16_t before = response.headers.count;
        assert_int_equal(uvhttp_response_add_header(&response, cases[i].name, cases[i].value),
                         cases[i].err);
        assert_int_equal(response.headers.count, before + (cases[i].err == 0 ? 1 : 0));
        before = response.headers.count;
        if (cases[i].err != 0) {
            assert_int_equal(uvhttp_response_set_header(&response, cases[i].name, cases[i].value),
                             cases[i].err);
            assert_int_equal(response.headers.count, before);
        }
    }
}

static void status_range_is_checked(void **state)
{
    (void)state;
    static const int good[] = {200, 204, 304, 404, 599};
    static const int bad[] = {-1, 0, 99, 100, 101, 199, 600, 1000, 65736};
    assert_int_equal(uvhttp_response_status(&response), 200);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(uvhttp_response_set_status(&response, good[i]), 0);
        assert_int_equal(uvhttp_response_status(&response), good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(uvhttp_response_set_status(&response, bad[i]), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_response_status(&response), 599);
    }
}

static void closed_response_refuses_changes(void **state)
{
    (void)state;
    static const struct {
        unsigned char state;
        int err;
    } ends[] = {
        {UVH_RESPONSE_SENT, UVHTTP_ERESPONDED},
        {UVH_RESPONSE_DISCONNECTED, UVHTTP_EDISCONNECTED},
    };
    assert_true(uvhttp_response_open(&response));
    for (size_t i = 0; i < 2; i++) {
        response.state = ends[i].state;
        assert_false(uvhttp_response_open(&response));
        assert_int_equal(uvhttp_response_set_status(&response, 201), ends[i].err);
        assert_int_equal(uvhttp_response_set_header(&response, "X-A", "1"), ends[i].err);
        assert_int_equal(uvhttp_response_add_header(&response, "X-A", "1"), ends[i].err);
        assert_int_equal(uvhttp_response_status(&response), 200);
        assert_string_equal(fields(), "");
    }
}

static void header_limit_is_1024_fields(void **state)
{
    (void)state;
    char name[16];
    int err = 0;
    int count = 0;
    for (; err == 0 && count < 5000; count++) {
        snprintf(name, sizeof(name), "X-%d", count);
        err = uvhttp_response_add_header(&response, name, "v");
    }
    assert_int_equal(err, UVHTTP_ENOMEM);
    assert_int_equal(response.headers.count, 1024);
    assert_string_equal(response.headers.items[0].name.base, "X-0");
    assert_string_equal(response.headers.items[1023].name.base, "X-1023");
}

static void failed_allocation_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_response_set_header(&response, "X-A", "1"), 0);
    char large[8000];
    memset(large, 'v', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    fault_heap_arm(&heap, 1, true);
    assert_int_equal(uvhttp_response_set_header(&response, "X-A", large), UVHTTP_ENOMEM);
    assert_string_equal(fields(), "X-A=1;");
    fault_heap_arm(&heap, 0, false);
    assert_int_equal(uvhttp_response_set_header(&response, "X-A", "2"), 0);
    assert_string_equal(fields(), "X-A=2;");
}

/* Cached responses are found by id, so different content needs a different id. */
static void prepared_body_id_changes_with_content(void **state)
{
    (void)state;
    static const char body[] = "body";
    uvhttp_prepared_t *one = uvhttp_prepared_new(&heap.allocator), *two = uvhttp_prepared_new(NULL);
    assert_true(one != NULL && two != NULL);
    assert_int_equal(uvhttp_prepared_add(one, "X-A", "1"), 0);
    assert_int_equal(one->id, 0);
    uvhttp_prepared_set_body(one, body, 4);
    uvhttp_prepared_set_body(two, body, 4);
    assert_ptr_equal(one->body.base, body);
    assert_int_equal(one->body.length, 4);
    uint64_t first = one->id;
    assert_true(first != 0 && two->id != 0 && first != two->id);
    assert_int_equal(uvhttp_prepared_add(one, "X-B", "1"), 0);
    uint64_t second = one->id;
    assert_true(second != 0 && second != first && second != two->id);
    assert_int_equal(uvhttp_prepared_add_all(one, two, NULL), 0); /* nothing to add */
    assert_int_equal(one->id, second);
    assert_int_equal(uvhttp_prepared_add_all(two, one, NULL), 0);
    assert_true(two->id != 0 && two->id != second);
    uvhttp_prepared_set_body(one, NULL, 0);
    assert_int_equal(one->id, 0);
    assert_null(one->body.base);
    uvhttp_prepared_free(one);
    uvhttp_prepared_free(two);
}

static void prepared_fields_are_encoded_once(void **state)
{
    (void)state;
    uvhttp_prepared_t *prepared = uvhttp_prepared_new(&heap.allocator);
    assert_non_null(prepared);
    assert_int_equal(prepared->lines.length, 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "ETag", "\"1\""), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-A", ""), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].err != 0)
            assert_int_equal(uvhttp_prepared_add(prepared, cases[i].name, cases[i].value),
                             cases[i].err);
    }
    static const char lines[] = "ETag: \"1\"\r\nX-A: \r\n";
    assert_int_equal(prepared->lines.length, strlen(lines));
    assert_memory_equal(prepared->lines.data, lines, strlen(lines));
    char large[1000];
    memset(large, 'v', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    fault_heap_arm(&heap, 1, true);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-B", large), UVHTTP_ENOMEM);
    assert_int_equal(prepared->lines.length, strlen(lines)); /* no partial line */
    assert_null(uvhttp_prepared_new(&heap.allocator));
    fault_heap_arm(&heap, 0, false);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-B", "2"), 0);
    assert_memory_equal(prepared->lines.data, "ETag: \"1\"\r\nX-A: \r\nX-B: 2\r\n",
                        prepared->lines.length);
    uvhttp_prepared_free(prepared);
    uvhttp_prepared_free(NULL);
    prepared = uvhttp_prepared_new(NULL);
    assert_non_null(prepared);
    uvhttp_prepared_free(prepared);
}

static void prepared_add_all_copies_except_one_name(void **state)
{
    (void)state;
    uvhttp_prepared_t *from = uvhttp_prepared_new(NULL);
    uvhttp_prepared_t *to = uvhttp_prepared_new(&heap.allocator);
    assert_true(from != NULL && to != NULL);
    assert_int_equal(uvhttp_prepared_add_all(to, from, NULL), 0);
    assert_int_equal(to->lines.length, 0);
    assert_int_equal(uvhttp_prepared_add(from, "Content-Type", "a/b"), 0);
    assert_int_equal(uvhttp_prepared_add(from, "X-A", "1: 2"), 0);
    assert_int_equal(uvhttp_prepared_add(from, "X-Empty", ""), 0);
    assert_int_equal(uvhttp_prepared_add(from, "X-A", "3"), 0);
    assert_int_equal(uvhttp_prepared_add_all(to, from, "content-type"), 0);
    static const char lines[] = "X-A: 1: 2\r\nX-Empty: \r\nX-A: 3\r\n";
    assert_int_equal(to->lines.length, strlen(lines));
    assert_memory_equal(to->lines.data, lines, strlen(lines));
    assert_false(to->has_content_type);

    char large[1000];
    memset(large, 'v', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    assert_int_equal(uvhttp_prepared_add(from, "X-Large", large), 0);
    fault_heap_arm(&heap, 1, true);
    assert_int_equal(uvhttp_prepared_add_all(to, from, NULL), UVHTTP_ENOMEM);
    fault_heap_arm(&heap, 0, false);
    assert_int_equal(to->lines.length, strlen(lines)); /* nothing was added */
    assert_false(to->has_content_type);
    assert_int_equal(uvhttp_prepared_add_all(to, from, "X-A"), 0);
    assert_true(to->has_content_type);
    assert_memory_equal(to->lines.data + strlen(lines),
                        "Content-Type: a/b\r\nX-Empty: \r\nX-Large: ", 39);
    uvhttp_prepared_free(to);
    uvhttp_prepared_free(from);
}

static void assert_header_slice(const char *name, const char *value)
{
    uvhttp_slice_t found = uvhttp_response_header_slice(&response, name);
    assert_int_equal(found.base != NULL, value != NULL);
    if (value != NULL) {
        assert_int_equal(found.length, strlen(value));
        assert_memory_equal(found.base, value, found.length);
    }
}

static void header_lookup_includes_prepared_fields(void **state)
{
    (void)state;
    uvhttp_prepared_t *prepared = uvhttp_prepared_new(&heap.allocator);
    assert_non_null(prepared);
    uvhttp_response_use_prepared(&response, prepared);
    assert_header_slice("X-A", NULL);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-A", "a: b"), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-Empty", ""), 0);
    assert_header_slice("x-a", "a: b");
    assert_header_slice("X-Empty", "");
    assert_header_slice("X-Empt", NULL);
    assert_header_slice("b", NULL);
    assert_header_slice(NULL, NULL);
    assert_int_equal(uvhttp_response_set_header(&response, "X-A", "set"), 0);
    assert_header_slice("x-a", "set");
    assert_int_equal(uvhttp_response_add_header(&response, "X-A", "y, Tok"), 0);
    assert_true(uvhttp_response_header_lists(&response, "x-a", "set"));
    assert_true(uvhttp_response_header_lists(&response, "x-a", "tok"));
    assert_true(uvhttp_response_header_lists(&response, "x-a", "a: b"));
    assert_false(uvhttp_response_header_lists(&response, "x-a", "to"));
    assert_false(uvhttp_response_header_lists(&response, "x-b", "tok"));
    assert_false(uvhttp_response_header_lists(&response, NULL, "tok"));
    assert_false(uvhttp_response_header_lists(&response, "x-a", NULL));
    response.prepared = NULL;
    assert_false(uvhttp_response_header_lists(&response, "x-a", "a: b"));
    uvhttp_prepared_free(prepared);
    assert_header_slice("X-Empty", NULL);
    assert_header_slice("x-a", "set");
}

static int released;

static void count_release(void *arg)
{
    assert_ptr_equal(arg, &pool);
    released++;
}

static void body_is_released_once(void **state)
{
    (void)state;
    released = 0;
    uvh_response_release_body(&response);
    assert_int_equal(released, 0);
    response.body.release = count_release;
    response.body.release_arg = &pool;
    uvh_response_release_body(&response);
    uvh_response_release_body(&response);
    assert_int_equal(released, 1);
}

static void assert_header(const char *name, const char *value)
{
    uvhttp_slice_t found = uvhttp_response_header_slice(&response, name);
    if (value == NULL) {
        assert_null(found.base);
        return;
    }
    assert_int_equal(found.length, strlen(value));
    assert_memory_equal(found.base, value, found.length);
}

static void prepared_fields_follow_set_fields(void **state)
{
    (void)state;
    uvhttp_prepared_t *prepared = uvhttp_prepared_new(&heap.allocator);
    assert_header("X-A", NULL);
    uvhttp_response_use_prepared(&response, prepared); /* empty */
    assert_header("X-A", NULL);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-A", "a: b"), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-Empty", ""), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-B", "first"), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-B", "second"), 0);
    assert_header("x-a", "a: b");
    assert_header("X-Empty", "");
    assert_header("X-B", "first");
    assert_header("X", NULL);
    assert_header("X-A: a", NULL);
    assert_header(NULL, NULL);
    assert_int_equal(uvhttp_response_set_header(&response, "X-B", "set"), 0);
    assert_header("X-B", "set");
    uvhttp_prepared_free(prepared);
}

static void replace_body_requires_sending(void **state)
{
    (void)state;
    released = 0;
    assert_int_equal(uvhttp_response_replace_body(&response, "x", 1), UVHTTP_EINVAL);
    response.sending = true;
    response.body =
        (struct uvh_body){.base = "old", .size = 3, .release = count_release, .release_arg = &pool};
    char given[] = "new body";
    assert_int_equal(uvhttp_response_replace_body(&response, given, 8), 0);
    assert_int_equal(released, 1);
    memset(given, '!', 8);
    assert_int_equal(uvhttp_response_body(&response).length, 8);
    assert_memory_equal(uvhttp_response_body(&response).base, "new body", 8);
    assert_int_equal(uvhttp_response_replace_body(&response, NULL, 0), 0);
    assert_true(uvhttp_response_body_length(&response) == 0);
    assert_int_equal(released, 1);
    response.body = (struct uvh_body){.source = UVH_BODY_STREAMED};
    assert_int_equal(uvhttp_response_replace_body(&response, "x", 1), UVHTTP_EINVAL);
}

static void smallest_body_limit_applies(void **state)
{
    (void)state;
    uvh_response_forget(&response);
    uvhttp_response_limit_body(&response, 10);
    uvhttp_response_limit_body(&response, 20);
    assert_true(response.body_limit == 10);
    uvhttp_response_limit_body(&response, 0);
    assert_true(response.body_limit == 0);
    uvh_response_forget(&response);
    assert_true(response.body_limit == UINT64_MAX);
}

static void status_texts_are_registered_phrases(void **state)
{
    (void)state;
    assert_string_equal(uvhttp_status_text(200), "OK");
    assert_string_equal(uvhttp_status_text(404), "Not Found");
    assert_string_equal(uvhttp_status_text(413), "Content Too Large");
    assert_string_equal(uvhttp_status_text(505), "HTTP Version Not Supported");
    assert_string_equal(uvhttp_status_text(299), "");
    assert_string_equal(uvhttp_status_text(-1), "");
    /* the space reserved for a status line depends on it */
    for (int status = 0; status < 1000; status++)
        assert_true(strlen(uvhttp_status_text(status)) <= 31);
    assert_true(uvh_response_is_bodiless(204));
    assert_true(uvh_response_is_bodiless(304));
    assert_false(uvh_response_is_bodiless(200));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(set_header_replaces_and_add_header_adds),
        TEST(header_name_and_value_are_copied),
        TEST(invalid_fields_are_refused),
        TEST(status_range_is_checked),
        TEST(closed_response_refuses_changes),
        TEST(header_limit_is_1024_fields),
        TEST(failed_allocation_changes_nothing),
        TEST(prepared_body_id_changes_with_content),
        TEST(prepared_fields_are_encoded_once),
        TEST(prepared_add_all_copies_except_one_name),
        TEST(header_lookup_includes_prepared_fields),
        TEST(body_is_released_once),
        TEST(prepared_fields_follow_set_fields),
        TEST(replace_body_requires_sending),
        TEST(smallest_body_limit_applies),
        TEST(status_texts_are_registered_phrases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
