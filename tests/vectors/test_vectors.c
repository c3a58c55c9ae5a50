/* Runs every vector of tests/vectors, each as a test of its own: whole, byte by byte, and at every two-way
 * split. Each input ends at a protected page, so that reading one byte too many is a crash, and moves
 * between two calls, as the parser allows.
 *
 * The result is written as text and compared with the vector's second block as a whole: nothing the parser
 * reports goes unchecked. The folder can be given as the first argument. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "vectors/vector_file.h"

#define VECTORS_DIR UVHTTP_TESTS_DIR "/vectors"

enum { ROOM = 64 * 1024, TEXT_SIZE = 64 * 1024 };

struct text {
    size_t size;
    char bytes[TEXT_SIZE];
};

/* How an input is cut: the length at hand grows from `first` to all, in steps. */
struct cut {
    size_t first;
    size_t step;
};

static char *page_end; /* the first protected byte */
static struct text result;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(result.bytes + result.size, TEXT_SIZE - result.size, format, arguments);
    va_end(arguments);
    assert_true(written >= 0 && (size_t)written < TEXT_SIZE - result.size);
    result.size += (size_t)written;
}

static void say_bytes(const char *label, const char *bytes, size_t length)
{
    say("%s ", label);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c >= 0x7f)
            say("\\x%02x", (unsigned)c);
        else
            say(c == '\\' ? "\\%c" : "%c", c);
    }
    result.size -= length == 0; /* no space at a line's end */
    say("\n");
}

/* The first `length` bytes of the vector, right in front of the protected page. */
static const char *place(const struct vector *vector, size_t length)
{
    char *start = page_end - length;
    memcpy(start, vector->bytes, length);
    return start;
}

static uint32_t option_of(const struct vector *vector, const char *name, uint32_t otherwise)
{
    const char *at = strstr(vector->kind, name);
    return at == NULL ? otherwise : (uint32_t)strtoul(at + strlen(name), NULL, 10);
}

static void say_fields(const uvhttp_head_t *head)
{
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        say("field %u %.*s", field->name_offset, (int)field->name_length, head->base + field->name_offset);
        say_bytes(" =", head->base + field->value_offset, field->value_length);
    }
}

/* The table of known fields has to agree with the list of fields. */
static void check_known(const uvhttp_head_t *head)
{
    assert_null(uvhttp_head_find(head, UVHTTP_FIELD_OTHER));
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        const uvhttp_field_t *first =
            uvhttp_head_find_name(head, head->base + field->name_offset, field->name_length);
        assert_non_null(first);
        assert_true(first <= field);
        assert_int_equal(first->id, field->id);
        if (field->id != UVHTTP_FIELD_OTHER) {
            assert_ptr_equal(uvhttp_head_find(head, (uvhttp_field_id_t)field->id), first);
            assert_true(first == field || first->repeated);
        }
    }
}

static void say_refused(unsigned reason)
{
    say("refused %s %d\n", uvhttp_reason_name((uvhttp_reason_t)reason),
        uvhttp_reason_status((uvhttp_reason_t)reason));
}

static void say_framing(const uvhttp_head_t *head)
{
    static const char *const forms[] = {"origin", "absolute", "authority", "asterisk"};
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = uvhttp_request_framing(head, &framing);
    if (reason != UVHTTP_REASON_NONE) {
        say_refused(reason);
        return;
    }
    say("form %s\n", forms[framing.target_form]);
    if (framing.authority.base != NULL)
        say_bytes("authority", framing.authority.base, framing.authority.length);
    say_bytes("path", framing.path.base, framing.path.length);
    if (framing.query.base != NULL)
        say_bytes("query", framing.query.base, framing.query.length);
    if (framing.body == UVHTTP_BODY_LENGTH)
        say("body length %llu\n", (unsigned long long)framing.content_length);
    else
        say("body %s\n", framing.body == UVHTTP_BODY_CHUNKED ? "chunked" : "none");
    say("connection %s\n", framing.keep_alive ? "keep-alive" : "close");
    if (framing.expect_continue)
        say("expect-continue\n");
    if (framing.upgrade)
        say("upgrade\n");
}

/* The method's number has to agree with its name. */
static void check_method(const uvhttp_head_t *head)
{
#define METHOD_NAME(id, name) [UVHTTP_METHOD_##id] = (name),
    static const char *const names[] = {[UVHTTP_METHOD_OTHER] = "", UVHTTP_METHOD_MAP(METHOD_NAME)};
#undef METHOD_NAME
    unsigned number = 0;
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if (strlen(names[i]) == head->method_length &&
            memcmp(names[i], head->base + head->start, head->method_length) == 0)
            number = i;
    }
    assert_int_equal(head->method, number);
}

static void say_head(const struct vector *vector, const uvhttp_head_t *head)
{
    char request = vector->kind[0] == 'r' && vector->kind[2] == 'q';
    say("size %u\n", head->size);
    if (request) {
        say("method %.*s\n", (int)head->method_length, head->base + head->start);
        say_bytes("target", head->base + head->target_offset, head->target_length);
        say("version 1.%u\n", head->minor_version);
    } else if (vector->kind[0] == 'r') {
        say("version 1.%u\nstatus %u\n", head->minor_version, head->status);
        say_bytes("phrase", head->base + head->reason_phrase_offset, head->reason_phrase_length);
    }
    say_fields(head);
    check_known(head);
    if (request) {
        check_method(head);
        say_framing(head);
    }
}

static void run_head(const struct vector *vector, struct cut cut)
{
    uvhttp_parse_result_t (*parse)(uvhttp_head_t *, const char *, size_t, const uvhttp_head_limits_t *) =
        strncmp(vector->kind, "request", 7) == 0    ? uvhttp_request_head_parse
        : strncmp(vector->kind, "response", 8) == 0 ? uvhttp_response_head_parse
                                                    : uvhttp_trailers_parse;
    uvhttp_head_limits_t limits = {option_of(vector, "max_size=", 16384),
                                   option_of(vector, "max_target=", 8192),
                                   option_of(vector, "max_fields=", 100)};
    uvhttp_head_t head;
    memset(&head, 0xa5, sizeof head);
    uvhttp_head_init(&head, NULL, 0);
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    for (size_t length = cut.first; outcome == UVHTTP_PARSE_MORE; length += cut.step) {
        length = length < vector->size ? length : vector->size;
        outcome = parse(&head, place(vector, length), length, &limits);
        if (outcome == UVHTTP_PARSE_MORE)
            assert_int_equal(head.scanned, length);
        if (length == vector->size)
            break;
    }
    if (outcome == UVHTTP_PARSE_DONE) {
        say_head(vector, &head);
    } else if (outcome == UVHTTP_PARSE_BAD) {
        say_refused(head.reason);
        say("offset %u\n", head.reason_offset);
    } else {
        say("more\n");
    }
}

static void run_chunked(const struct vector *vector, struct cut cut)
{
    static struct text body;
    uvhttp_chunked_t decoder;
    uvhttp_chunked_init(&decoder, option_of(vector, "max_extension=", 256));
    uvhttp_parse_result_t outcome = UVHTTP_PARSE_MORE;
    size_t used = 0;
    size_t length = cut.first;
    body.size = 0;
    for (;;) {
        length = length < vector->size ? length : vector->size;
        const char *data = place(vector, length);
        for (bool going = true; going && outcome == UVHTTP_PARSE_MORE;) {
            size_t consumed;
            uvhttp_slice_t piece;
            outcome = uvhttp_chunked_decode(&decoder, data + used, length - used, &consumed, &piece);
            assert_true(consumed <= length - used && piece.length <= consumed);
            memcpy(body.bytes + body.size, piece.length > 0 ? piece.base : "", piece.length);
            body.size += piece.length;
            used += consumed;
            going = consumed > 0 && used < length;
        }
        if (length == vector->size || outcome != UVHTTP_PARSE_MORE)
            break;
        assert_int_equal(used, length); /* all that came is used up */
        length += cut.step;
    }
    if (outcome == UVHTTP_PARSE_BAD)
        say_refused(decoder.reason);
    else
        say(outcome == UVHTTP_PARSE_DONE ? "done\n" : "more\n");
    say("consumed %zu\n", used);
    say_bytes("data", body.bytes, body.size);
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
    bool unchanged =
        reason == UVHTTP_REASON_NONE && length == raw.length && memcmp(output, raw.base, length) == 0;
    bool has_escape = memchr(vector->bytes, '%', vector->size) != NULL;
    assert_int_equal(uvhttp_path_is_normal(raw), unchanged && !has_escape);
}

static void run_once(const struct vector *vector, struct cut cut)
{
    result.size = 0;
    if (strncmp(vector->kind, "chunked", 7) == 0)
        run_chunked(vector, cut);
    else if (strncmp(vector->kind, "path", 4) == 0)
        run_path(vector);
    else
        run_head(vector, cut);
    if (strcmp(result.bytes, vector->expected) != 0)
        print_error("first %zu bytes, then steps of %zu\n", cut.first, cut.step);
    assert_string_equal(result.bytes, vector->expected);
}

static void run_cuts(const struct vector *vector)
{
    run_once(vector, (struct cut){vector->size, 1});
    run_once(vector, (struct cut){0, 1});
    for (size_t at = 1; at < vector->size; at++)
        run_once(vector, (struct cut){at, vector->size});
}

/* Whole, byte by byte and in two pieces, on every back end that this processor has. */
static void run_vector(void **state)
{
    static const char *const backends[] = {"swar", "sse42", "avx2", "avx512"};
    const struct vector *vector = *state;
    assert_true(vector->size <= ROOM);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (!uvhttp_parser_use_backend(backends[i]))
            continue;
        assert_string_equal(uvhttp_parser_backend(), backends[i]);
        run_cuts(vector);
    }
    assert_true(uvhttp_parser_use_backend(NULL));
}

static void make_protected_page(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (ROOM + page - 1) / page * page;
    char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0)
        vector_file_die("no protected page", "test_vectors");
    page_end = memory + size;
}

static void read_folder(struct vector_list *list, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0)
        vector_file_die("cannot be read", folder);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const char *dot = strrchr(name, '.');
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", folder, name);
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
    if (list.count < 150)
        vector_file_die("holds fewer than 150 vectors", "tests/vectors");
    make_protected_page();
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
