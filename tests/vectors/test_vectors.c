/* Runs every vector of tests/vectors as its own test, on every back end the processor supports.
 *
 * Heads and bodies are parsed whole, byte by byte, and with every two-way split. Message heads are
 * also parsed from two slices split at any offset and from three slices, growing between calls.
 * Chunked bodies are also decoded in place. Each input and each slice ends at a protected page, so
 * that an out-of-bounds read crashes, and moves between two calls, which the parser allows.
 *
 * The result is formatted as text and compared with the vector's second block as a whole. The
 * directory can be given as the first argument. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "support/backends.h"
#include "support/guarded.h"
#include "vectors/vector_file.h"
#include "vectors/vector_result.h"

#define VECTORS_DIR UVHTTP_TESTS_DIR "/vectors"

/* SHORT: inputs up to this size are tested with all three-way splits. FILLER: overwrites bytes that
 * must be neither read nor written. */
enum { CAPACITY = 64 * 1024, SLICES = 3, SHORT = 40, FILLER = 0x5a };

/* How an input grows: from `first` bytes to all bytes, in steps of `step`. */
struct growth {
    size_t first;
    size_t step;
};

/* Offsets at which an input is split into slices; `second` is at or after `first`. */
struct splits {
    size_t first;
    size_t second;
};

static struct guarded areas[SLICES];
static struct guarded gather_area;

static bool is_kind(const struct vector *vector, const char *kind)
{
    size_t length = strlen(kind);
    return strncmp(vector->kind, kind, length) == 0 &&
           (vector->kind[length] == '\0' || vector->kind[length] == ' ');
}

static uint32_t option_of(const struct vector *vector, const char *name, uint32_t fallback)
{
    const char *at = strstr(vector->kind, name);
    return at == NULL ? fallback : (uint32_t)strtoul(at + strlen(name), NULL, 10);
}

/* The method of the request that a response belongs to. */
static uvhttp_method_t request_method_of(const struct vector *vector)
{
    const char *at = strstr(vector->kind, "method=");
    if (at == NULL)
        return UVHTTP_METHOD_GET;
    at += strlen("method=");
    return method_of(at, strcspn(at, " "));
}

static uvhttp_head_limits_t limits_of(const struct vector *vector)
{
    return (uvhttp_head_limits_t){option_of(vector, "max_size=", 16384),
                                  option_of(vector, "max_target=", 8192),
                                  option_of(vector, "max_fields=", 100)};
}

/* The first `length` bytes of the vector, directly before the protected page. */
static const char *place_input(const struct vector *vector, size_t length)
{
    return guarded_copy(&areas[0], vector->bytes, length);
}

static void compare(const struct vector *vector, const char *how, size_t a, size_t b)
{
    if (strcmp(result.bytes, vector->expected) != 0)
        print_error("%s, %zu, %zu\n", how, a, b);
    assert_string_equal(result.bytes, vector->expected);
}

static void begin_head(uvhttp_head_t *head)
{
    memset(head, 0xa5, sizeof *head);
    uvhttp_head_init(head, NULL, 0);
    result.size = 0;
}

static void print_head(const struct vector *vector, const uvhttp_head_t *head,
                       uvhttp_parse_result_t outcome)
{
    if (outcome == UVHTTP_PARSE_BAD) {
        print_refused(head->reason);
        print("offset %u\n", head->reason_offset);
        return;
    }
    if (outcome == UVHTTP_PARSE_MORE) {
        print("more\n");
        return;
    }
    if (is_kind(vector, "request")) {
        print_request(head);
    } else if (is_kind(vector, "response")) {
        print_response(head, request_method_of(vector));
    } else {
        print("size %u\n", head->size);
        print_fields(head);
    }
    check_known(head);
}

static uvhttp_parse_result_t parse(const struct vector *vector, uvhttp_head_t *head,
                                   const char *data, size_t length)
{
    uvhttp_head_limits_t limits = limits_of(vector);
    if (is_kind(vector, "request"))
        return uvhttp_request_head_parse(head, data, length, &limits);
    if (is_kind(vector, "response"))
        return uvhttp_response_head_parse(head, data, length, &limits);
    return uvhttp_trailers_parse(head, data, length, &limits);
}

static void run_head(const struct vector *vector, struct growth growth)
{
    uvhttp_head_t head;
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    begin_head(&head);
    for (size_t length = growth.first; outcome == UVHTTP_PARSE_MORE; length += growth.step) {
        length = length < vector->size ? length : vector->size;
        outcome = parse(vector, &head, place_input(vector, length), length);
        if (outcome == UVHTTP_PARSE_MORE)
            assert_int_equal(head.scanned, length);
        if (length == vector->size)
            break;
    }
    print_head(vector, &head, outcome);
    compare(vector, "whole input, first and step", growth.first, growth.step);
}

/* An out-of-bounds read before the input crashes here. */
static void run_head_after_page(const struct vector *vector)
{
    uvhttp_head_t head;
    begin_head(&head);
    const char *data = guarded_copy_front(&areas[0], vector->bytes, vector->size);
    print_head(vector, &head, parse(vector, &head, data, vector->size));
    compare(vector, "after a protected page", 0, 0);
}

/* Splits the first `length` bytes of the vector into slices. Bytes that were gathered before are
 * overwritten, because the parser does not need them any more. */
static void split_input(const struct vector *vector, size_t gathered, size_t length,
                        struct splits splits, uvhttp_slice_t chunks[SLICES])
{
    size_t first = splits.first < length ? splits.first : length;
    size_t second = splits.second < length ? splits.second : length;
    const size_t ends[SLICES] = {first, second, length};
    size_t start = 0;
    for (size_t i = 0; i < SLICES; i++) {
        size_t size = ends[i] - start;
        size_t gathered_size = gathered < start ? 0 : gathered - start;
        char *copy = guarded_copy(&areas[i], vector->bytes + start, size);
        memset(copy, FILLER, gathered_size < size ? gathered_size : size);
        chunks[i] = (uvhttp_slice_t){copy, size};
        start = ends[i];
    }
}

static uvhttp_parse_result_t parse_slices(const struct vector *vector, uvhttp_head_t *head,
                                          size_t length, struct splits splits)
{
    uvhttp_slice_t chunks[SLICES];
    uvhttp_head_limits_t limits = limits_of(vector);
    char *gather = gather_area.end - limits.max_size;
    size_t most = vector->size < limits.max_size ? vector->size : limits.max_size;
    bool fresh = head->scanned == 0;
    split_input(vector, head->gathered, length, splits, chunks);
    memset(gather + head->gathered, FILLER, most - head->gathered);
    uvhttp_parse_result_t outcome =
        is_kind(vector, "request")
            ? uvhttp_request_head_parse_slices(head, chunks, SLICES, gather, &limits)
            : uvhttp_response_head_parse_slices(head, chunks, SLICES, gather, &limits);
    if (outcome != UVHTTP_PARSE_DONE)
        return outcome;
    /* A head within the first slice is not copied; of a gathered head nothing after its empty
     * line is copied. */
    if (fresh && head->size <= chunks[0].length)
        assert_ptr_equal(head->base, chunks[0].base);
    if (head->base == gather && head->size < most)
        assert_int_equal(gather[head->size], FILLER);
    return outcome;
}

static void run_slices(const struct vector *vector, struct splits splits)
{
    uvhttp_head_t head;
    begin_head(&head);
    print_head(vector, &head, parse_slices(vector, &head, vector->size, splits));
    compare(vector, "slices, split at", splits.first, splits.second);
}

/* First `length` bytes with one split, then, if the head is incomplete, all bytes with another. */
static void run_grown_slices(const struct vector *vector, size_t length, size_t split,
                             size_t last_split)
{
    uvhttp_head_t head;
    begin_head(&head);
    uvhttp_parse_result_t outcome =
        parse_slices(vector, &head, length, (struct splits){split, length});
    if (outcome == UVHTTP_PARSE_MORE)
        outcome =
            parse_slices(vector, &head, vector->size, (struct splits){last_split, vector->size});
    print_head(vector, &head, outcome);
    compare(vector, "slices, first length and last split", length, last_split);
}

static void run_slices_byte_by_byte(const struct vector *vector, struct splits splits)
{
    uvhttp_head_t head;
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    begin_head(&head);
    for (size_t length = 0; outcome == UVHTTP_PARSE_MORE && length <= vector->size; length++)
        outcome = parse_slices(vector, &head, length, splits);
    print_head(vector, &head, outcome);
    compare(vector, "slices byte by byte, split at", splits.first, splits.second);
}

/* Two slices that arrive one after the other, split at `at` or elsewhere in the first call. */
static void run_growing_slices(const struct vector *vector, size_t at)
{
    size_t size = vector->size;
    run_grown_slices(vector, at, at, at);                  /* the second slice is new */
    run_grown_slices(vector, (at + size) / 2, at, at);     /* the second slice grows */
    run_grown_slices(vector, (at + size) / 2, at / 2, at); /* split elsewhere in the second call */
    run_grown_slices(vector, at, size, (at + size) / 2);   /* one slice in the first call */
    run_grown_slices(vector, at, at / 2, size);            /* one slice in the last call */
}

/* Every two-way split; of a long input about 256 growing ones, and three-way splits with a short
 * middle slice. */
static void run_all_slices(const struct vector *vector)
{
    size_t size = vector->size;
    size_t stride = 1 + size / 256;
    for (size_t at = 0; at <= size; at++) {
        size_t last = size <= SHORT ? size : at + 2;
        for (size_t more = at; more <= last && more <= size; more++)
            run_slices(vector, (struct splits){at, more});
        if (at % stride == 0)
            run_growing_slices(vector, at);
    }
    run_slices_byte_by_byte(vector, (struct splits){0, size});
    run_slices_byte_by_byte(vector, (struct splits){1, 2});
    run_slices_byte_by_byte(vector, (struct splits){size / 3, size / 2});
    run_slices_byte_by_byte(vector, (struct splits){size, size});
}

struct body {
    size_t used;
    size_t size;
    char bytes[CAPACITY];
};

/* Decodes all of one read, in as many calls as needed. */
static uvhttp_parse_result_t decode(uvhttp_chunked_t *decoder, char *data, size_t length,
                                    struct body *body, bool in_place)
{
    size_t done = 0;
    uvhttp_parse_result_t outcome;
    size_t consumed;
    do {
        uvhttp_slice_t chunk = {data + done, 0};
        outcome =
            in_place
                ? uvhttp_chunked_decode_in_place(decoder, data, length, &consumed, &chunk.length)
                : uvhttp_chunked_decode(decoder, data + done, length - done, &consumed, &chunk);
        assert_true(consumed <= length - done && chunk.length <= consumed);
        assert_true(!in_place || outcome != UVHTTP_PARSE_MORE || consumed == length);
        memcpy(body->bytes + body->size, chunk.length > 0 ? chunk.base : "", chunk.length);
        body->size += chunk.length;
        done += consumed;
    } while (outcome == UVHTTP_PARSE_MORE && consumed > 0 && done < length);
    /* all received bytes are consumed */
    assert_true(outcome != UVHTTP_PARSE_MORE || done == length);
    body->used += done;
    return outcome;
}

static void run_chunked(const struct vector *vector, struct growth growth, bool in_place)
{
    static struct body body;
    uvhttp_chunked_t decoder;
    uvhttp_chunked_init(&decoder, option_of(vector, "max_extension=", 256));
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    size_t length = growth.first;
    body.used = body.size = result.size = 0;
    for (; outcome == UVHTTP_PARSE_MORE; length += growth.step) {
        length = length < vector->size ? length : vector->size;
        size_t fresh = length - body.used;
        char *data = guarded_copy(&areas[0], vector->bytes + body.used, fresh);
        outcome = decode(&decoder, data, fresh, &body, in_place);
        if (length == vector->size)
            break;
    }
    if (outcome == UVHTTP_PARSE_BAD)
        print_refused(decoder.reason);
    else
        print(outcome == UVHTTP_PARSE_DONE ? "done\n" : "more\n");
    print("consumed %zu\n", body.used);
    print_bytes("data", body.bytes, body.size);
    compare(vector, in_place ? "in place, first and step" : "first and step", growth.first,
            growth.step);
}

static void run_path(const struct vector *vector)
{
    char output[256];
    size_t length = 0;
    uvhttp_slice_t raw = {place_input(vector, vector->size), vector->size};
    assert_true(vector->size <= sizeof output);
    uvhttp_reason_t reason = uvhttp_path_normalize(raw, output, &length);
    if (reason != UVHTTP_REASON_NONE)
        print_refused(reason);
    else
        print_bytes("path", output, length);
    bool unchanged = reason == UVHTTP_REASON_NONE && length == raw.length &&
                     memcmp(output, raw.base, length) == 0;
    bool has_escape = memchr(vector->bytes, '%', vector->size) != NULL;
    assert_int_equal(uvhttp_path_is_normal(raw), unchanged && !has_escape);
}

/* Into a separate buffer, in place, and in chunks. */
static void run_percent(const struct vector *vector)
{
    bool plus = strstr(vector->kind, "plus") != NULL;
    char output[256];
    uvhttp_slice_t text = {place_input(vector, vector->size), vector->size};
    assert_true(vector->size <= sizeof output);
    ptrdiff_t length = uvhttp_percent_decode(text, output, plus);
    char *in_place = guarded_copy(&areas[1], vector->bytes, vector->size);
    assert_int_equal(
        uvhttp_percent_decode((uvhttp_slice_t){in_place, vector->size}, in_place, plus), length);
    assert_true(length <= 0 || memcmp(in_place, output, (size_t)length) == 0);
    uvhttp_slice_t rest = text;
    uvhttp_slice_t chunk;
    size_t done = 0;
    int more;
    while ((more = uvhttp_percent_next(&rest, plus, &chunk)) > 0) {
        assert_true(chunk.length > 0);
        assert_true(length < 0 || done + chunk.length <= (size_t)length);
        assert_true(length < 0 || memcmp(output + done, chunk.base, chunk.length) == 0);
        done += chunk.length;
    }
    assert_int_equal(more < 0, length < 0);
    assert_true(length < 0 || (done == (size_t)length && rest.length == 0));
    if (more < 0)
        print("malformed %td\n", rest.base - text.base);
    else
        print_bytes("data", output, done);
}

static void run_pairs(const struct vector *vector)
{
    uvhttp_slice_t rest = {place_input(vector, vector->size), vector->size};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    bool cookie = is_kind(vector, "cookie");
    while (cookie ? uvhttp_cookie_next(&rest, &name, &value)
                  : uvhttp_query_next(&rest, &name, &value))
        print_pair(name, value);
    assert_int_equal(rest.length, 0);
    print("done\n");
}

static void run_form(const struct vector *vector, bool in_place)
{
    char *form = guarded_copy(&areas[0], vector->bytes, vector->size);
    uvhttp_slice_t rest = {form, vector->size};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    int more;
    do {
        char *scratch = in_place ? form + (vector->size - rest.length) : areas[1].end - rest.length;
        more = uvhttp_form_next(&rest, scratch, &name, &value);
        if (more > 0)
            print_pair(name, value);
    } while (more > 0);
    print(more == 0 ? "done\n" : "malformed\n");
}

static void run_text(const struct vector *vector)
{
    result.size = 0;
    if (is_kind(vector, "path"))
        run_path(vector);
    else if (is_kind(vector, "percent"))
        run_percent(vector);
    else if (is_kind(vector, "form"))
        run_form(vector, false);
    else
        run_pairs(vector);
    compare(vector, "whole", 0, 0);
    if (is_kind(vector, "form")) {
        result.size = 0;
        run_form(vector, true);
        compare(vector, "in place", 0, 0);
    }
}

static void run_growths(const struct vector *vector,
                        void (*run)(const struct vector *, struct growth))
{
    run(vector, (struct growth){vector->size, 1});
    run(vector, (struct growth){0, 1});
    for (size_t at = 1; at < vector->size; at++)
        run(vector, (struct growth){at, vector->size});
}

static void run_chunked_streaming(const struct vector *vector, struct growth growth)
{
    run_chunked(vector, growth, false);
}

static void run_chunked_in_place(const struct vector *vector, struct growth growth)
{
    run_chunked(vector, growth, true);
}

/* Whole, byte by byte and split, on every back end the processor supports. */
static void run_head_vector(const struct vector *vector)
{
    for (size_t at = 0; backends_next(&at);) {
        run_growths(vector, run_head);
        run_head_after_page(vector);
        if (!is_kind(vector, "trailers"))
            run_all_slices(vector);
    }
}

static void run_vector(void **state)
{
    static const char *const texts[] = {"path", "percent", "query", "form", "cookie"};
    const struct vector *vector = *state;
    assert_true(vector->size <= CAPACITY);
    assert_non_null(vector->expected);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (is_kind(vector, texts[i])) {
            run_text(vector);
            return;
        }
    }
    if (is_kind(vector, "chunked")) {
        run_growths(vector, run_chunked_streaming);
        run_growths(vector, run_chunked_in_place);
        return;
    }
    assert_true(is_kind(vector, "request") || is_kind(vector, "response") ||
                is_kind(vector, "trailers"));
    run_head_vector(vector);
}

static void read_directory(struct vector_list *list, const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    if (count < 0)
        vector_file_die("cannot be read", directory);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const char *dot = strrchr(name, '.');
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", directory, name);
        bool fits = length > 0 && (size_t)length < sizeof path;
        if (fits && dot != NULL && strcmp(dot, ".md") == 0 && strcmp(name, "README.md") != 0)
            vector_file_read(list, path, name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    struct vector_list list = {NULL, 0};
    read_directory(&list, argc > 1 ? argv[1] : VECTORS_DIR);
    if (list.count < 400)
        vector_file_die("holds fewer than 400 vectors", "tests/vectors");
    for (size_t i = 0; i < SLICES; i++)
        areas[i] = guarded_make(CAPACITY);
    gather_area = guarded_make(CAPACITY);
    struct CMUnitTest *tests = calloc(list.count, sizeof *tests);
    if (tests == NULL)
        return 2;
    for (size_t i = 0; i < list.count; i++)
        tests[i] = (struct CMUnitTest){list.items[i].name, run_vector, NULL, NULL, &list.items[i]};
    int failed = _cmocka_run_group_tests("vectors", tests, list.count, NULL, NULL);
    free(tests);
    vector_file_release(&list);
    return failed > 0;
}
