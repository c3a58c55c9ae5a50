/* Runs every vector of tests/vectors, each as a test of its own, on every back end that the
 * processor has.
 *
 * Heads and bodies are fed whole, byte by byte, and at every two-way split; heads of messages also
 * from two pieces cut anywhere and from three, growing between calls; chunked bodies also decoded
 * in place. Each input, and each piece of one, ends at a protected page, so that reading one byte
 * too many is a crash, and moves between two calls, as the parser allows.
 *
 * The result is written as text and compared with the vector's second block as a whole: nothing the
 * parser reports goes unchecked. The folder can be given as the first argument. */
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

/* SHORT: of inputs up to this size all three-way cuts are tried. GONE stands where bytes are that
 * should neither be read nor written. */
enum { ROOM = 64 * 1024, PIECES = 3, SHORT = 40, GONE = 0x5a };

/* How an input is cut: the length at hand grows from `first` to all, in steps. */
struct cut {
    size_t first;
    size_t step;
};

/* Where an input is cut into pieces, the second seam at or behind the first. */
struct seams {
    size_t first;
    size_t second;
};

static struct guarded areas[PIECES];
static struct guarded gather_area;

static bool is_kind(const struct vector *vector, const char *kind)
{
    size_t length = strlen(kind);
    return strncmp(vector->kind, kind, length) == 0 &&
           (vector->kind[length] == '\0' || vector->kind[length] == ' ');
}

static uint32_t option_of(const struct vector *vector, const char *name, uint32_t otherwise)
{
    const char *at = strstr(vector->kind, name);
    return at == NULL ? otherwise : (uint32_t)strtoul(at + strlen(name), NULL, 10);
}

/* The method of the request that a response answers. */
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

/* The first `length` bytes of the vector, right in front of the protected page. */
static const char *place(const struct vector *vector, size_t length)
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

static void say_head(const struct vector *vector, const uvhttp_head_t *head,
                     uvhttp_parse_result_t outcome)
{
    if (outcome == UVHTTP_PARSE_BAD) {
        say_refused(head->reason);
        say("offset %u\n", head->reason_offset);
        return;
    }
    if (outcome == UVHTTP_PARSE_MORE) {
        say("more\n");
        return;
    }
    if (is_kind(vector, "request")) {
        say_request(head);
    } else if (is_kind(vector, "response")) {
        say_response(head, request_method_of(vector));
    } else {
        say("size %u\n", head->size);
        say_fields(head);
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

static void run_head(const struct vector *vector, struct cut cut)
{
    uvhttp_head_t head;
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    begin_head(&head);
    for (size_t length = cut.first; outcome == UVHTTP_PARSE_MORE; length += cut.step) {
        length = length < vector->size ? length : vector->size;
        outcome = parse(vector, &head, place(vector, length), length);
        if (outcome == UVHTTP_PARSE_MORE)
            assert_int_equal(head.scanned, length);
        if (length == vector->size)
            break;
    }
    say_head(vector, &head, outcome);
    compare(vector, "one piece, at first and then more", cut.first, cut.step);
}

/* Reading one byte too early is a crash here. */
static void run_head_behind_page(const struct vector *vector)
{
    uvhttp_head_t head;
    begin_head(&head);
    const char *data = guarded_copy_front(&areas[0], vector->bytes, vector->size);
    say_head(vector, &head, parse(vector, &head, data, vector->size));
    compare(vector, "behind a protected page", 0, 0);
}

/* The first `length` bytes of the vector in pieces. Those that were gathered before are not there
 * any more: nobody needs them. */
static void cut_pieces(const struct vector *vector, size_t gathered, size_t length,
                       struct seams seams, uvhttp_slice_t chunks[PIECES])
{
    size_t first = seams.first < length ? seams.first : length;
    size_t second = seams.second < length ? seams.second : length;
    const size_t ends[PIECES] = {first, second, length};
    size_t start = 0;
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = ends[i] - start;
        size_t gone = gathered < start ? 0 : gathered - start;
        char *copy = guarded_copy(&areas[i], vector->bytes + start, size);
        memset(copy, GONE, gone < size ? gone : size);
        chunks[i] = (uvhttp_slice_t){copy, size};
        start = ends[i];
    }
}

static uvhttp_parse_result_t parse_pieces(const struct vector *vector, uvhttp_head_t *head,
                                          size_t length, struct seams seams)
{
    uvhttp_slice_t chunks[PIECES];
    uvhttp_head_limits_t limits = limits_of(vector);
    char *gather = gather_area.end - limits.max_size;
    size_t most = vector->size < limits.max_size ? vector->size : limits.max_size;
    bool fresh = head->scanned == 0;
    cut_pieces(vector, head->gathered, length, seams, chunks);
    memset(gather + head->gathered, GONE, most - head->gathered);
    uvhttp_parse_result_t outcome =
        is_kind(vector, "request")
            ? uvhttp_request_head_parse_slices(head, chunks, PIECES, gather, &limits)
            : uvhttp_response_head_parse_slices(head, chunks, PIECES, gather, &limits);
    if (outcome != UVHTTP_PARSE_DONE)
        return outcome;
    /* What lies in the first piece stays where it is; of another head nothing is copied behind its
     * empty line. */
    if (fresh && head->size <= chunks[0].length)
        assert_ptr_equal(head->base, chunks[0].base);
    if (head->base == gather && head->size < most)
        assert_int_equal(gather[head->size], GONE);
    return outcome;
}

static void run_pieces(const struct vector *vector, struct seams seams)
{
    uvhttp_head_t head;
    begin_head(&head);
    say_head(vector, &head, parse_pieces(vector, &head, vector->size, seams));
    compare(vector, "pieces with seams at", seams.first, seams.second);
}

/* First `length` bytes with one seam, then, if that was not enough, all with another one. */
static void run_pieces_grown(const struct vector *vector, size_t length, size_t seam,
                             size_t last_seam)
{
    uvhttp_head_t head;
    begin_head(&head);
    uvhttp_parse_result_t outcome =
        parse_pieces(vector, &head, length, (struct seams){seam, length});
    if (outcome == UVHTTP_PARSE_MORE)
        outcome =
            parse_pieces(vector, &head, vector->size, (struct seams){last_seam, vector->size});
    say_head(vector, &head, outcome);
    compare(vector, "pieces, at first and then with a seam at", length, last_seam);
}

static void run_pieces_byte_by_byte(const struct vector *vector, struct seams seams)
{
    uvhttp_head_t head;
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    begin_head(&head);
    for (size_t length = 0; outcome == UVHTTP_PARSE_MORE && length <= vector->size; length++)
        outcome = parse_pieces(vector, &head, length, seams);
    say_head(vector, &head, outcome);
    compare(vector, "pieces byte by byte with seams at", seams.first, seams.second);
}

/* Two pieces that arrive one after the other, cut at `at` or elsewhere at first. */
static void run_growing_pieces(const struct vector *vector, size_t at)
{
    size_t size = vector->size;
    run_pieces_grown(vector, at, at, at);                  /* the second piece is new */
    run_pieces_grown(vector, (at + size) / 2, at, at);     /* the second piece grows */
    run_pieces_grown(vector, (at + size) / 2, at / 2, at); /* cut elsewhere the next time */
    run_pieces_grown(vector, at, size, (at + size) / 2);   /* in one piece at first */
    run_pieces_grown(vector, at, at / 2, size);            /* in one piece at last */
}

/* Every cut into two; of a long input some hundred growing ones, and those into three with a short
 * one in the middle. */
static void run_all_pieces(const struct vector *vector)
{
    size_t size = vector->size;
    size_t stride = 1 + size / 256;
    for (size_t at = 0; at <= size; at++) {
        size_t last = size <= SHORT ? size : at + 2;
        for (size_t more = at; more <= last && more <= size; more++)
            run_pieces(vector, (struct seams){at, more});
        if (at % stride == 0)
            run_growing_pieces(vector, at);
    }
    run_pieces_byte_by_byte(vector, (struct seams){0, size});
    run_pieces_byte_by_byte(vector, (struct seams){1, 2});
    run_pieces_byte_by_byte(vector, (struct seams){size / 3, size / 2});
    run_pieces_byte_by_byte(vector, (struct seams){size, size});
}

struct body {
    size_t used;
    size_t size;
    char bytes[ROOM];
};

/* All there is of one receipt, as often as it takes. */
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
    assert_true(outcome != UVHTTP_PARSE_MORE || done == length); /* all that came is used up */
    body->used += done;
    return outcome;
}

static void run_chunked(const struct vector *vector, struct cut cut, bool in_place)
{
    static struct body body;
    uvhttp_chunked_t decoder;
    uvhttp_chunked_init(&decoder, option_of(vector, "max_extension=", 256));
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    size_t length = cut.first;
    body.used = body.size = result.size = 0;
    for (; outcome == UVHTTP_PARSE_MORE; length += cut.step) {
        length = length < vector->size ? length : vector->size;
        size_t fresh = length - body.used;
        char *data = guarded_copy(&areas[0], vector->bytes + body.used, fresh);
        outcome = decode(&decoder, data, fresh, &body, in_place);
        if (length == vector->size)
            break;
    }
    if (outcome == UVHTTP_PARSE_BAD)
        say_refused(decoder.reason);
    else
        say(outcome == UVHTTP_PARSE_DONE ? "done\n" : "more\n");
    say("consumed %zu\n", body.used);
    say_bytes("data", body.bytes, body.size);
    compare(vector, in_place ? "in place, at first and then more" : "at first and then more",
            cut.first, cut.step);
}

static void run_path(const struct vector *vector)
{
    char output[256];
    size_t length = 0;
    uvhttp_slice_t raw = {place(vector, vector->size), vector->size};
    assert_true(vector->size <= sizeof output);
    uvhttp_reason_t reason = uvhttp_path_normalize(raw, output, &length);
    if (reason != UVHTTP_REASON_NONE)
        say_refused(reason);
    else
        say_bytes("path", output, length);
    bool unchanged = reason == UVHTTP_REASON_NONE && length == raw.length &&
                     memcmp(output, raw.base, length) == 0;
    bool has_escape = memchr(vector->bytes, '%', vector->size) != NULL;
    assert_int_equal(uvhttp_path_is_normal(raw), unchanged && !has_escape);
}

/* Beside the text, in place, and in pieces. */
static void run_percent(const struct vector *vector)
{
    bool plus = strstr(vector->kind, "plus") != NULL;
    char output[256];
    uvhttp_slice_t text = {place(vector, vector->size), vector->size};
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
        say("malformed %td\n", rest.base - text.base);
    else
        say_bytes("data", output, done);
}

static void run_pairs(const struct vector *vector)
{
    uvhttp_slice_t rest = {place(vector, vector->size), vector->size};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    bool cookie = is_kind(vector, "cookie");
    while (cookie ? uvhttp_cookie_next(&rest, &name, &value)
                  : uvhttp_query_next(&rest, &name, &value))
        say_pair(name, value);
    assert_int_equal(rest.length, 0);
    say("done\n");
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
            say_pair(name, value);
    } while (more > 0);
    say(more == 0 ? "done\n" : "malformed\n");
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

static void run_cuts(const struct vector *vector, void (*run)(const struct vector *, struct cut))
{
    run(vector, (struct cut){vector->size, 1});
    run(vector, (struct cut){0, 1});
    for (size_t at = 1; at < vector->size; at++)
        run(vector, (struct cut){at, vector->size});
}

static void run_chunked_streaming(const struct vector *vector, struct cut cut)
{
    run_chunked(vector, cut, false);
}

static void run_chunked_in_place(const struct vector *vector, struct cut cut)
{
    run_chunked(vector, cut, true);
}

/* Whole, byte by byte and cut, on every back end that this processor has. */
static void run_head_vector(const struct vector *vector)
{
    for (size_t at = 0; backends_next(&at);) {
        run_cuts(vector, run_head);
        run_head_behind_page(vector);
        if (!is_kind(vector, "trailers"))
            run_all_pieces(vector);
    }
}

static void run_vector(void **state)
{
    static const char *const texts[] = {"path", "percent", "query", "form", "cookie"};
    const struct vector *vector = *state;
    assert_true(vector->size <= ROOM);
    assert_non_null(vector->expected);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (is_kind(vector, texts[i])) {
            run_text(vector);
            return;
        }
    }
    if (is_kind(vector, "chunked")) {
        run_cuts(vector, run_chunked_streaming);
        run_cuts(vector, run_chunked_in_place);
        return;
    }
    assert_true(is_kind(vector, "request") || is_kind(vector, "response") ||
                is_kind(vector, "trailers"));
    run_head_vector(vector);
}

static void read_folder(struct vector_list *list, const char *directory)
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
    read_folder(&list, argc > 1 ? argv[1] : VECTORS_DIR);
    if (list.count < 400)
        vector_file_die("holds fewer than 400 vectors", "tests/vectors");
    for (size_t i = 0; i < PIECES; i++)
        areas[i] = guarded_make(ROOM);
    gather_area = guarded_make(ROOM);
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
