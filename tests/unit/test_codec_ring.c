/* Random operations have the same results on the ring buffer and on a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <cmocka.h>

#include <uvhttp/ring.h>

enum { MAX_CAPACITY = 300, ROUNDS = 20000 };

/* The content of a ring, in order. */
struct model {
    char bytes[MAX_CAPACITY];
    size_t length;
};

static uint32_t seed = 11;

static size_t random_below(size_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static void model_append(struct model *model, const char *bytes, size_t length)
{
    if (length > 0)
        memcpy(model->bytes + model->length, bytes, length);
    model->length += length;
}

static void model_consume(struct model *model, size_t length)
{
    model->length -= length;
    memmove(model->bytes, model->bytes + length, model->length);
}

/* Checks that the readable slices have the content of the model, that all other bytes of the memory
 * are writable, and that second slices begin at the start of the memory. */
static void check(const uvhttp_ring_t *ring, const struct model *model)
{
    /* Both calls must set both elements, so these values must not remain. */
    uvhttp_slice_t readable[2] = {{"x", 9}, {"x", 9}};
    uvhttp_span_t space[2] = {{NULL, 9}, {NULL, 9}};
    size_t readable_count = uvhttp_ring_readable(ring, readable);
    size_t space_count = uvhttp_ring_writable(ring, space);
    char touched[MAX_CAPACITY] = {0};
    size_t at = 0;
    assert_true(ring->length <= ring->capacity &&
                (ring->start < ring->capacity || ring->start == 0));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(readable[i].length > 0, i < readable_count);
        assert_int_equal(readable[i].base != NULL, i < readable_count);
        assert_true(at + readable[i].length <= model->length);
        if (i < readable_count) {
            assert_memory_equal(readable[i].base, model->bytes + at, readable[i].length);
            assert_true(readable[i].base >= ring->memory);
            assert_true(readable[i].base + readable[i].length <= ring->memory + ring->capacity);
            memset(touched + (readable[i].base - ring->memory), 1, readable[i].length);
        }
        at += readable[i].length;
    }
    assert_int_equal(at, model->length);
    at = 0;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(space[i].length > 0, i < space_count);
        assert_int_equal(space[i].base != NULL, i < space_count);
        if (i < space_count) {
            assert_true(space[i].base >= ring->memory);
            assert_true(space[i].base + space[i].length <= ring->memory + ring->capacity);
        }
        for (size_t k = 0; k < space[i].length; k++)
            touched[space[i].base - ring->memory + (ptrdiff_t)k]++;
        at += space[i].length;
    }
    assert_int_equal(at, ring->capacity - model->length);
    for (size_t i = 0; i < ring->capacity; i++)
        assert_int_equal(touched[i], 1); /* either readable or writable */
    if (readable_count == 2)
        assert_ptr_equal(readable[1].base, ring->memory);
    if (space_count == 2)
        assert_ptr_equal(space[1].base, ring->memory);
}

static void random_bytes(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)random_below(256);
}

/* Fills all writable memory, as readv does, and commits a random number of its bytes. */
static void fill_and_commit(uvhttp_ring_t *ring, struct model *model)
{
    uvhttp_span_t space[2];
    size_t count = uvhttp_ring_writable(ring, space);
    char bytes[MAX_CAPACITY];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(total + space[i].length <= ring->capacity);
        random_bytes(space[i].base, space[i].length);
        memcpy(bytes + total, space[i].base, space[i].length);
        total += space[i].length;
    }
    size_t requested = random_below(ring->capacity + 3);
    size_t taken = requested < total ? requested : total;
    assert_int_equal(uvhttp_ring_commit(ring, requested), taken);
    model_append(model, bytes, taken);
}

static void run_random(size_t capacity, int rounds)
{
    static char guarded[MAX_CAPACITY + 2];
    struct model model = {.length = 0};
    uvhttp_ring_t ring;
    guarded[0] = guarded[capacity + 1] = '#'; /* no operation may overwrite these */
    uvhttp_ring_init(&ring, guarded + 1, capacity);
    for (int round = 0; round < rounds; round++) {
        char bytes[MAX_CAPACITY + 2];
        size_t length = random_below(capacity + 3);
        size_t space = capacity - model.length;
        size_t fits = length < space ? length : space;
        size_t readable = length < model.length ? length : model.length;
        switch (random_below(3)) {
        case 0:
            random_bytes(bytes, length);
            assert_int_equal(uvhttp_ring_write(&ring, bytes, length), fits);
            model_append(&model, bytes, fits);
            break;
        case 1:
            fill_and_commit(&ring, &model);
            break;
        default:
            assert_int_equal(uvhttp_ring_consume(&ring, length), readable);
            model_consume(&model, readable);
            if (model.length == 0)
                assert_int_equal(ring.start, 0);
        }
        check(&ring, &model);
    }
    assert_int_equal(guarded[0], '#');
    assert_int_equal(guarded[capacity + 1], '#');
}

static void random_operations_match_array(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity <= 20; capacity++)
        run_random(capacity, ROUNDS);
    run_random(256, ROUNDS);
    run_random(257, ROUNDS);
}

static void ring_without_memory_is_empty(void **state)
{
    (void)state;
    uvhttp_ring_t ring;
    uvhttp_slice_t readable[2];
    uvhttp_span_t space[2];
    uvhttp_ring_init(&ring, NULL, 0);
    assert_int_equal(uvhttp_ring_readable(&ring, readable), 0);
    assert_int_equal(uvhttp_ring_writable(&ring, space), 0);
    assert_int_equal(uvhttp_ring_write(&ring, "a", 1), 0);
    assert_int_equal(uvhttp_ring_write(&ring, NULL, 0), 0);
    assert_int_equal(uvhttp_ring_commit(&ring, 1), 0);
    assert_int_equal(uvhttp_ring_consume(&ring, 1), 0);
}

static void sizes_beyond_capacity_are_clamped(void **state)
{
    (void)state;
    char memory[4];
    uvhttp_ring_t ring;
    uvhttp_ring_init(&ring, memory, sizeof memory);
    assert_int_equal(uvhttp_ring_write(&ring, "abc", 3), 3);
    assert_int_equal(uvhttp_ring_consume(&ring, 2), 2);
    assert_int_equal(uvhttp_ring_commit(&ring, SIZE_MAX), 3);
    assert_int_equal(uvhttp_ring_consume(&ring, SIZE_MAX), 4);
    assert_int_equal(ring.start, 0);
}

/* An array of slices can be cast for readv and writev. */
static void slices_have_layout_of_iovec(void **state)
{
    (void)state;
    assert_int_equal(sizeof(uvhttp_slice_t), sizeof(struct iovec));
    assert_int_equal(sizeof(uvhttp_span_t), sizeof(struct iovec));
    assert_int_equal(offsetof(uvhttp_slice_t, base), offsetof(struct iovec, iov_base));
    assert_int_equal(offsetof(uvhttp_slice_t, length), offsetof(struct iovec, iov_len));
    assert_int_equal(offsetof(uvhttp_span_t, base), offsetof(struct iovec, iov_base));
    assert_int_equal(offsetof(uvhttp_span_t, length), offsetof(struct iovec, iov_len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_match_array),
        cmocka_unit_test(ring_without_memory_is_empty),
        cmocka_unit_test(sizes_beyond_capacity_are_clamped),
        cmocka_unit_test(slices_have_layout_of_iovec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
