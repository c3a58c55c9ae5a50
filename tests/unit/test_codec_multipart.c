/* multipart/form-data: the events of valid bodies and the errors of invalid ones. Each body is
 * parsed whole, byte by byte, split in two at every offset, and in steps; every chunk ends at the
 * end of its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/multipart.h>

#include "support/guarded.h"

enum { LOG_SIZE = 16384, BODY_SIZE = 65536 };

#define SLICE(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

struct log {
    char text[LOG_SIZE];
    size_t length;
};

static void add(struct log *log, const char *bytes, size_t length)
{
    assert_true(log->length + length < LOG_SIZE);
    if (length > 0)
        memcpy(log->text + log->length, bytes, length);
    log->length += length;
    log->text[log->length] = '\0';
}

static void add_text(struct log *log, const char *text)
{
    add(log, text, strlen(text));
}

static void add_slice(struct log *log, const char *label, uvhttp_slice_t slice)
{
    if (slice.base == NULL)
        return;
    add_text(log, label);
    add(log, slice.base, slice.length);
}

static void add_part(struct log *log, const uvhttp_multipart_part_t *part)
{
    add_text(log, "[");
    add(log, part->name.base, part->name.length);
    add_slice(log, "|", part->filename);
    add_slice(log, "|type ", part->type);
    add_text(log, ":");
}

/* Logs all events of `chunk`. Returns false once the body is refused. */
static bool feed(uvhttp_multipart_t *form, struct log *log, uvhttp_slice_t chunk)
{
    for (;;) {
        uvhttp_slice_t data;
        uvhttp_slice_t before = chunk;
        uvhttp_multipart_event_t event = uvhttp_multipart_next(form, &chunk, &data);
        assert_true(chunk.base + chunk.length == before.base + before.length);
        assert_true((event == UVHTTP_MULTIPART_DATA) == (data.length > 0));
        switch (event) {
        case UVHTTP_MULTIPART_PART:
            add_part(log, &form->part);
            continue;
        case UVHTTP_MULTIPART_DATA:
            add(log, data.base, data.length);
            continue;
        case UVHTTP_MULTIPART_PART_END:
            add_text(log, "]");
            continue;
        case UVHTTP_MULTIPART_END:
            add_text(log, "end");
            continue;
        case UVHTTP_MULTIPART_BAD:
            assert_int_equal(uvhttp_multipart_next(form, &chunk, &data), UVHTTP_MULTIPART_BAD);
            return false;
        case UVHTTP_MULTIPART_MORE:
            assert_int_equal(chunk.length, 0);
            return true;
        }
    }
}

static const struct guarded *guarded(void)
{
    static struct guarded memory;
    if (memory.end == NULL)
        memory = guarded_make(BODY_SIZE);
    return &memory;
}

/* Parses the body in chunks: `first` bytes, then `step` bytes each. */
static void parse_in_chunks(struct log *log, uvhttp_slice_t boundary,
                            const uvhttp_multipart_limits_t *limits, uvhttp_slice_t body,
                            size_t first, size_t step)
{
    static uvhttp_multipart_t form;
    memset(&form, 0xa5, sizeof form);
    log->length = 0;
    log->text[0] = '\0';
    assert_true(uvhttp_multipart_init(&form, boundary, limits));
    bool good = true;
    for (size_t at = 0; good && at < body.length;) {
        size_t length = at == 0 && first > 0 ? first : step;
        length = length < body.length - at ? length : body.length - at;
        char *copy = guarded_copy(guarded(), body.base + at, length);
        good = feed(&form, log, (uvhttp_slice_t){copy, length});
        at += length;
    }
    if (!uvhttp_multipart_finish(&form)) {
        char text[96];
        snprintf(text, sizeof text, "!%s@%u", uvhttp_multipart_error_name(form.error),
                 (unsigned)form.error_offset);
        add_text(log, text);
        assert_false(uvhttp_multipart_finish(&form));
    }
}

/* The events as text, which must not depend on how the body is split. */
static const struct log *events(uvhttp_slice_t boundary, const uvhttp_multipart_limits_t *limits,
                                uvhttp_slice_t body)
{
    static struct log whole;
    static struct log split;
    parse_in_chunks(&whole, boundary, limits, body, 0, body.length + 1);
    for (size_t first = 1; first < body.length; first++) {
        parse_in_chunks(&split, boundary, limits, body, first, body.length);
        assert_string_equal(split.text, whole.text);
        assert_int_equal(split.length, whole.length);
    }
    for (size_t step = 1; step < 8; step++) {
        parse_in_chunks(&split, boundary, limits, body, 0, step);
        assert_string_equal(split.text, whole.text);
        assert_memory_equal(split.text, whole.text, whole.length);
    }
    return &whole;
}

struct row {
    const char *body;
    const char *expected;
};

static void check_rows(const struct row *rows, size_t count,
                       const uvhttp_multipart_limits_t *limits)
{
    for (size_t i = 0; i < count; i++) {
        uvhttp_slice_t body = {rows[i].body, strlen(rows[i].body)};
        assert_string_equal(events(SLICE("b"), limits, body)->text, rows[i].expected);
    }
}

#define CHECK(rows)                check_rows(rows, sizeof(rows) / sizeof((rows)[0]), NULL)
#define CHECK_LIMITS(rows, limits) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), limits)

/* A part named "a", followed by its data. */
#define PART "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n"
#define END  "\r\n--b--\r\n"

static void parts_are_split_at_delimiters(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {PART "1" END, "[a:1]end"},
        {PART "" END, "[a:]end"},
        {PART "1\r\n" PART "2" END, "[a:1][a:2]end"},
        {PART "\r\n" END, "[a:\r\n]end"},
        {PART "--" END, "[a:--]end"},
        {PART "line\r\nline\r\n" END, "[a:line\r\nline\r\n]end"},
        /* A delimiter directly after the empty line: a part without data. */
        {PART "--b--\r\n", "[a:]end"},
        {PART PART "2" END, "[a:][a:2]end"},
        {PART "\r\n--\r\n--c\r\r\n-\r\n--" END,
         /* Almost a delimiter. */
         "[a:\r\n--\r\n--c\r\r\n-\r\n--]end"},
        {PART "\r" END, "[a:\r]end"},
        {PART "x--b" END, "[a:x--b]end"},
        {PART "\n--b" END, "[a:\n--b]end"},
        {PART "-\r\n-" END, "[a:-\r\n-]end"},
        {PART "--c" END, "[a:--c]end"},
        /* Empty, as browsers send a form without fields. */
        {"--b--\r\n", "end"},
        {"--b--", "end"},
        {"\r\n--b--", "end"},
        {"for old\r\n--\r\nprograms\r\n" PART "1" END "the rest\r\n--b\r\n",
         /* Text before the first and after the last delimiter is skipped. */
         "[a:1]end"},
        {"x--b\r\n" PART "1" END, "[a:1]end"},
        {PART "1\r\n--b--", "[a:1]end"},
        {PART "1\r\n--b-- \t", "[a:1]end"},
        {PART "1\r\n--b-- \t\r\n\r", "[a:1]end"},
        {"--b \t\r\nContent-Disposition:form-data;name=a\r\n\r\n1\r\n--b\t--\r\n",
         /* White space after a boundary is transport padding (RFC 2046 section 5.1.1). */
         "[a:1!DELIMITER@54"},
        {"--b \t\r\nContent-Disposition:form-data;name=a\r\n\r\n1" END, "[a:1]end"},
    };
    CHECK(rows);
}

#define DISPOSITION(rest) "--b\r\nContent-Disposition:" rest "\r\n\r\n" END

static void part_fields_are_parsed(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {DISPOSITION("form-data; name=\"a\""), "[a:]end"},
        {DISPOSITION(" Form-Data ;\tNAME=a ; FileName=b.txt;"), "[a|b.txt:]end"},
        {DISPOSITION("form-data; name=\"\"; filename=\"\""), "[|:]end"},
        {DISPOSITION("form-data; name=\"a;b=c\"; filename=\"d, e.txt\""), "[a;b=c|d, e.txt:]end"},
        {DISPOSITION("form-data; name=\"J\xc3\xbcrgen\""), "[J\xc3\xbcrgen:]end"},
        {DISPOSITION("form-data; filename=\"b\"; name=\"a\""), "[a|b:]end"},
        {DISPOSITION("form-data; name=\"a%22b%0D%0Ac\""),
         /* Both ways to write quotes and line ends: that of browsers, and quoted pairs. */
         "[a\"b\r\nc:]end"},
        {DISPOSITION("form-data; name=\"100%, 50%2, %41 %20%0d%\""),
         "[100%, 50%2, %41 %20%0d%:]end"},
        {DISPOSITION("form-data; name=\"a\\\"b\\\\c\"; filename=\"\\\"\""), "[a\"b\\c|\":]end"},
        {DISPOSITION("form-data; name=a%22b"), "[a%22b:]end"},
        {DISPOSITION("form-data; name=a; filename=\"C:\\docs\\a.txt\""), "[a|C:\\docs\\a.txt:]end"},
        {DISPOSITION("form-data; name=a; filename=\"../../etc/passwd\""),
         "[a|../../etc/passwd:]end"},
        {DISPOSITION("form-data; name=a; filename=\"x\"; filename*=UTF-8''y"), "[a|x:]end"},
        {DISPOSITION("form-data; name=a; filename*=UTF-8''y"), "[a:]end"},
        {"--b\r\nX-One: 1\r\ncontent-type:  text/plain; charset=utf-8 \r\n"
         "content-disposition: form-data; name=a\r\nContent-Transfer-Encoding: BINARY\r\n\r\n" END,
         "[a|type text/plain; charset=utf-8:]end"},
        {"--b\r\nContent-Type:\r\nContent-Disposition: form-data; name=a\r\n\r\n" END,
         "[a|type :]end"},
    };
    CHECK(rows);
}

static void invalid_bodies_are_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", "!TRUNCATED@0"},
        {"--b", "!TRUNCATED@3"},
        {"--b-", "!TRUNCATED@4"},
        {"--b\r", "!TRUNCATED@4"},
        {"--b--\r", "end!TRUNCATED@6"},
        {"nothing", "!TRUNCATED@7"},
        {"--b\r\nContent-Disposition: form-data", "!TRUNCATED@35"},
        {PART "1", "[a:1!TRUNCATED@48"},
        {PART "1\r\n--b", "[a:1!TRUNCATED@53"},
        {PART "1\r\n--b\r\n", "[a:1]!TRUNCATED@55"},
        {PART "1\r\n--b\r\nC", "[a:1]!TRUNCATED@56"},
        {"--b\n", "!LINE_END@3"},
        {"--b \n", "!LINE_END@4"},
        {"--b\rx", "!LINE_END@4"},
        {"--b--\n", "end!LINE_END@5"},
        {"--b--\rx", "end!LINE_END@6"},
        {"--bb\r\n", "!DELIMITER@3"},
        {"--b-x", "!DELIMITER@4"},
        {"--b-\r\n", "!DELIMITER@4"},
        {"--b x", "!DELIMITER@4"},
        {"--b --\r\n", "!DELIMITER@4"},
        {"--b---", "end!DELIMITER@5"},
        {"--b--x", "end!DELIMITER@5"},
        {PART "1\r\n--bx", "[a:1!DELIMITER@53"},
        {"--b\r\n\r\n" END, "!DISPOSITION@5"},
        {"--b\r\nContent-Type: text/plain\r\n\r\n" END, "!DISPOSITION@5"},
        {DISPOSITION(""), "!DISPOSITION@25"},
        {DISPOSITION("attachment; name=a"), "!DISPOSITION@25"},
        {DISPOSITION("form-data name=a"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name=a b"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name =a"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name= a"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name="), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name=\"a"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name=\"a\"b"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name=\"a\\"), "!DISPOSITION@25"},
        {DISPOSITION("form-data; name=\"a\\\""), "!DISPOSITION@25"},
        {DISPOSITION("form-data"), "!NAME@25"},
        {DISPOSITION("form-data; filename=a"), "!NAME@25"},
        {DISPOSITION("form-data; name*=UTF-8''a"), "!NAME@25"},
        {DISPOSITION("form-data; name=a; name=a"), "!NAME@25"},
        {DISPOSITION("form-data; name=a; filename=a; filename=b"), "!NAME@25"},
        {"--b\r\nContent-Disposition: form-data; name=a\n\r\n" END, "!LINE_END@43"},
        {"--b\r\nContent-Disposition: form-data; name=a\r\n\n" END, "!LINE_END@45"},
        {"--b\r\nContent-Disposition: form-data; name=a\rx\r\n\r\n" END, "!FIELD@43"},
        {"--b\r\nContent-Disposition : form-data\r\n\r\n" END, "!FIELD@24"},
        {"--b\r\n: form-data\r\n\r\n" END, "!FIELD@5"},
        {"--b\r\nContent-Disposition\r\n\r\n" END, "!FIELD@24"},
        {"--b\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n" END, "!FIELD@38"},
        {"--b\r\n--b: c\r\nContent-Disposition: form-data; name=a\r\n\r\n" END, "!FIELD@5"},
        {"--b\r\nContent-Disposition: form-data; name=a\r\n--b--\r\n", "!FIELD@45"},
        {"--b\r\nA: \x7f\r\n\r\n" END, "!FIELD@8"},
        {PART "1\r\n--b\r\nContent-Disposition: form-data;name=b\r\ncontent-disposition: "
              "form-data;name=b\r\n\r\n",
         "[a:1]!FIELD_REPEATED@94"},
        {"--b\r\nContent-Type: a/b\r\nContent-Type: a/b\r\n\r\n", "!FIELD_REPEATED@24"},
        {"--b\r\nContent-Transfer-Encoding: base64\r\n\r\n", "!CODING@5"},
    };
    CHECK(rows);
}

static void nul_is_allowed_in_data_only(void **state)
{
    (void)state;
    static const char data[] = PART "\0\r\n\0" END;
    static const char name[] = "--b\r\nContent-Disposition: form-data; name=\"a\0\"\r\n\r\n" END;
    const struct log *log = events(SLICE("b"), NULL, SLICE(data));
    assert_memory_equal(log->text, "[a:\0\r\n\0]end", 11);
    assert_int_equal(log->length, 11);
    assert_string_equal(events(SLICE("b"), NULL, SLICE(name))->text, "!FIELD@44");
}

static void limits_are_enforced(void **state)
{
    (void)state;
    static const struct row parts_rows[] = {
        {PART "1" END, "[a:1]end"},
        {PART "1\r\n" PART "2" END, "[a:1][a:2]end"},
        {PART "1\r\n" PART "2\r\n" PART "3" END, "[a:1][a:2]!TOO_MANY_PARTS@105"},
    };
    static const struct row size_rows[] = {
        {PART "1234" END, "[a:1234]end"},
        {PART "12345" END, "[a:1234!PART_TOO_LARGE@51"},
        {PART "12\r\n5" END, "[a:12\r\n!PART_TOO_LARGE@51"},
        {PART "123\r\n--x" END, "[a:123\r!PART_TOO_LARGE@51"},
        {PART "1234\r\n--x" END, "[a:1234!PART_TOO_LARGE@51"},
        {PART "1234\r\n-" END, "[a:1234!PART_TOO_LARGE@51"},
        {PART "1234\r\n--b", "[a:1234!TRUNCATED@56"},
        {PART "--" END PART "1" END, "[a:--]end"},
        {PART "1234\r\n" PART "1234" END, "[a:1234][a:1234]end"},
    };
    static const struct row header_rows[] = {
        /* 42 bytes */
        {PART "1" END, "[a:1]end"},
        {"--b\r\nContent-Disposition: form-data; name=ab\r\n\r\n" END, "!HEADER_TOO_LARGE@47"},
        {"--b\r\nx\n", "!LINE_END@6"},
        {"--b\r\n123456789012345678901234567890123456789012", "!TRUNCATED@47"},
        {"--b\r\n1234567890123456789012345678901234567890123", "!HEADER_TOO_LARGE@47"},
        {"--b\r\n123456789012345678901234567890123456789012\n", "!HEADER_TOO_LARGE@47"},
    };
    static const struct row field_rows[] = {
        {"--b\r\nA:\r\nContent-Disposition: form-data; name=a\r\n\r\n" END, "[a:]end"},
        {"--b\r\nA:\r\nB:\r\nContent-Disposition: form-data; name=a\r\n\r\n" END,
         "!TOO_MANY_FIELDS@13"},
    };
    static const struct row outside_rows[] = {
        {"1234\r\n" PART "1" END "12", "[a:1]end"},
        {"12345\r\n" PART "1" END, "!OUTSIDE_TOO_LARGE@4"},
        {"12\r\n-\r\n" PART "1" END, "!OUTSIDE_TOO_LARGE@4"},
        {PART "1" END "1234", "[a:1]end"},
        {PART "1" END "12345", "[a:1]end!OUTSIDE_TOO_LARGE@61"},
        {PART "1\r\n--b-- \t \r\n1", "[a:1]end"},
        {PART "1\r\n--b-- \t \r\n12", "[a:1]end!OUTSIDE_TOO_LARGE@61"},
        {PART "1\r\n--b--     ", "[a:1]end!OUTSIDE_TOO_LARGE@59"},
        {"--b    \r\nContent-Disposition: form-data; name=a\r\n\r\n" END, "[a:]end"},
        {"--b     \r\nContent-Disposition: form-data; name=a\r\n\r\n" END, "!OUTSIDE_TOO_LARGE@7"},
    };
    CHECK_LIMITS(parts_rows, (&(uvhttp_multipart_limits_t){.max_parts = 2}));
    CHECK_LIMITS(size_rows, (&(uvhttp_multipart_limits_t){.max_part_size = 4}));
    CHECK_LIMITS(header_rows, (&(uvhttp_multipart_limits_t){.max_header_size = 42}));
    CHECK_LIMITS(field_rows, (&(uvhttp_multipart_limits_t){.max_fields = 2}));
    CHECK_LIMITS(outside_rows, (&(uvhttp_multipart_limits_t){.max_outside = 4}));
}

/* `count` times `byte` between the two texts; the caller frees it. */
static char *repeat_between(const char *prefix, char byte, size_t count, const char *suffix)
{
    size_t length = strlen(prefix) + count + strlen(suffix);
    char *text = malloc(length + 1);
    assert_non_null(text);
    memcpy(text, prefix, strlen(prefix));
    memset(text + strlen(prefix), byte, count);
    memcpy(text + strlen(prefix) + count, suffix, strlen(suffix) + 1);
    return text;
}

static const char *parse_whole(const char *body, const uvhttp_multipart_limits_t *limits)
{
    static struct log log;
    parse_in_chunks(&log, SLICE("b"), limits, (uvhttp_slice_t){body, strlen(body)}, 0, BODY_SIZE);
    return log.text;
}

static void default_limits_are_enforced(void **state)
{
    (void)state;
    static const char prefix[] = "--b\r\nContent-Disposition: form-data; name=\"";
    uvhttp_multipart_limits_t greedy = {.max_header_size = UINT32_MAX, .max_fields = UINT32_MAX};
    /* Escapes everywhere in the largest section: the buffer is large enough. */
    size_t most = UVHTTP_MULTIPART_HEADER_SIZE - (sizeof prefix - 1 - 5) - 5;
    char *body = repeat_between(prefix, '\\', most / 2 * 2, "\"\r\n\r\n" END);
    const char *text = parse_whole(body, &greedy);
    assert_int_equal(strspn(text + 1, "\\"), most / 2);
    assert_string_equal(text + 1 + most / 2, ":]end");
    free(body);
    body = repeat_between(prefix, 'x', most, "\"\r\n\r\n" END);
    assert_non_null(strstr(parse_whole(body, NULL), "x:]end"));
    free(body);
    body = repeat_between(prefix, 'x', most + 1, "\"\r\n\r\n" END);
    assert_string_equal(parse_whole(body, &greedy), "!HEADER_TOO_LARGE@2053");
    free(body);
    body = repeat_between("", '-', 1024, "\r\n--b--\r\n");
    assert_string_equal(parse_whole(body, NULL), "end");
    free(body);
    body = repeat_between("", '-', 1025, "\r\n--b--\r\n");
    assert_string_equal(parse_whole(body, NULL), "!OUTSIDE_TOO_LARGE@1024");
    free(body);

    char fields[256] = "--b\r\n";
    for (int i = 0; i < UVHTTP_MULTIPART_FIELDS; i++)
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "F%02d: x\r\n", i);
    assert_string_equal(parse_whole(fields, &greedy), "!TRUNCATED@133");
    snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "x: y\r\n");
    assert_string_equal(parse_whole(fields, &greedy), "!TOO_MANY_FIELDS@133");
    assert_int_equal(UVHTTP_MULTIPART_FIELDS, 16);
}

static void part_fields_are_accessible(void **state)
{
    (void)state;
    static const char body[] =
        "--b\r\nContent-Disposition: form-data; name=a\r\nX-A:1\r\nx-a: 2\r\nX-B: \r\n\r\nA" END;
    static uvhttp_multipart_t form;
    uvhttp_slice_t input = SLICE(body);
    uvhttp_slice_t data;
    assert_true(uvhttp_multipart_init(&form, SLICE("b"), NULL));
    assert_int_equal(uvhttp_multipart_next(&form, &input, &data), UVHTTP_MULTIPART_PART);
    assert_int_equal(form.part_count, 1);
    assert_int_equal(form.part.field_count, 4);
    assert_memory_equal(form.part.fields[2].name.base, "x-a", 3);
    assert_memory_equal(form.part.fields[2].value.base, "2", 1);
    uvhttp_slice_t value = uvhttp_multipart_part_field(&form.part, "X-A");
    assert_int_equal(value.length, 1);
    assert_int_equal(value.base[0], '1');
    assert_non_null(uvhttp_multipart_part_field(&form.part, "x-b").base);
    assert_int_equal(uvhttp_multipart_part_field(&form.part, "x-b").length, 0);
    assert_null(uvhttp_multipart_part_field(&form.part, "x").base);
    /* Data refers to the input, and the part is valid until its end. */
    assert_int_equal(uvhttp_multipart_next(&form, &input, &data), UVHTTP_MULTIPART_DATA);
    assert_true(data.base == body + sizeof body - sizeof END - 1);
    assert_int_equal(uvhttp_multipart_next(&form, &input, &data), UVHTTP_MULTIPART_PART_END);
    assert_memory_equal(form.part.name.base, "a", 1);
    assert_false(uvhttp_multipart_finish(&form));
}

static void boundary_parameter_is_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *expected; /* NULL: refused */
    } rows[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"Multipart/Form-Data ;\tBOUNDARY=abc ;charset=utf-8", "abc"},
        {"multipart/form-data;a=\"; boundary=x\";boundary=abc;", "abc"},
        {"multipart/form-data; boundary=\"a b:c\"", "a b:c"},
        {"multipart/form-data; boundary=\"'()+_,-./:=?9\"", "'()+_,-./:=?9"},
        {"multipart/form-data; boundary=----WebKitFormBoundaryAbC123",
         "----WebKitFormBoundaryAbC123"},
        {"multipart/form-data; "
         "boundary=1234567890123456789012345678901234567890123456789012345678901234567890",
         "1234567890123456789012345678901234567890123456789012345678901234567890"},
        {"multipart/form-data; "
         "boundary=12345678901234567890123456789012345678901234567890123456789012345678901",
         NULL},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary", NULL},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data; boundary=\"\"", NULL},
        {"multipart/form-data; boundary=\"a \"", NULL},
        {"multipart/form-data; boundary=\"a", NULL},
        {"multipart/form-data; boundary=a\"", NULL},
        {"multipart/form-data; boundary=\"a\\b\"", NULL},
        {"multipart/form-data; boundary=\"a\tb\"", NULL},
        {"multipart/form-data; boundary=a:b", NULL},
        {"multipart/form-data; boundary=a#b", NULL},
        {"multipart/form-data; boundary =a", NULL},
        {"multipart/form-data; boundary=a; boundary=a", NULL},
        {"multipart/form-data, boundary=a", NULL},
        {"multipart/form-data boundary=a", NULL},
        {"multipart/form-dat; boundary=a", NULL},
        {"multipart/mixed; boundary=a", NULL},
        {"application/x-www-form-urlencoded", NULL},
        {"; boundary=a", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].type);
        uvhttp_slice_t boundary = {NULL, 0};
        uvhttp_slice_t type = {guarded_copy(guarded(), rows[i].type, length), length};
        assert_int_equal(uvhttp_multipart_boundary(type, &boundary), rows[i].expected != NULL);
        if (rows[i].expected != NULL) {
            assert_int_equal(boundary.length, strlen(rows[i].expected));
            assert_memory_equal(boundary.base, rows[i].expected, boundary.length);
        }
    }
    uvhttp_slice_t none = {NULL, 0};
    assert_false(uvhttp_multipart_boundary(none, &none));
}

static void init_refuses_invalid_boundaries(void **state)
{
    (void)state;
    static uvhttp_multipart_t form;
    char longest[UVHTTP_MULTIPART_BOUNDARY_SIZE + 1];
    memset(longest, '-', sizeof longest);
    assert_false(uvhttp_multipart_init(&form, SLICE(""), NULL));
    assert_false(uvhttp_multipart_init(&form, SLICE("a "), NULL));
    assert_false(uvhttp_multipart_init(&form, SLICE("a\r\nb"), NULL));
    assert_false(uvhttp_multipart_init(&form, (uvhttp_slice_t){longest, sizeof longest}, NULL));
    assert_true(uvhttp_multipart_init(&form, (uvhttp_slice_t){longest, sizeof longest - 1}, NULL));

    /* The longest boundary, with data as similar to it as possible. */
    char body[512];
    int length =
        snprintf(body, sizeof body,
                 "--%.70s\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n%.71s\r\n--%.70s--",
                 longest, longest, longest);
    uvhttp_slice_t slice = {body, (size_t)length};
    char expected[128];
    snprintf(expected, sizeof expected, "[a:\r\n%.71s]end", longest);
    assert_string_equal(events((uvhttp_slice_t){longest, 70}, NULL, slice)->text, expected);
}

static void errors_have_status_name_text(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_multipart_error_status(UVHTTP_MULTIPART_ERROR_NONE), 0);
    for (int i = 1; i < UVHTTP_MULTIPART_ERROR_COUNT; i++) {
        uvhttp_multipart_error_t error = (uvhttp_multipart_error_t)i;
        int status = uvhttp_multipart_error_status(error);
        assert_true(status == 400 || status == 413);
        assert_true(strlen(uvhttp_multipart_error_name(error)) > 0);
        assert_true(strlen(uvhttp_multipart_error_text(error)) > 10);
    }
    assert_string_equal(uvhttp_multipart_error_name(UVHTTP_MULTIPART_ERROR_COUNT), "NONE");
    assert_int_equal(uvhttp_multipart_error_status(UVHTTP_MULTIPART_ERROR_PART_TOO_LARGE), 413);
    assert_int_equal(uvhttp_multipart_error_status(UVHTTP_MULTIPART_ERROR_TRUNCATED), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_split_at_delimiters),
        cmocka_unit_test(part_fields_are_parsed),
        cmocka_unit_test(invalid_bodies_are_refused),
        cmocka_unit_test(nul_is_allowed_in_data_only),
        cmocka_unit_test(limits_are_enforced),
        cmocka_unit_test(default_limits_are_enforced),
        cmocka_unit_test(part_fields_are_accessible),
        cmocka_unit_test(boundary_parameter_is_parsed),
        cmocka_unit_test(init_refuses_invalid_boundaries),
        cmocka_unit_test(errors_have_status_name_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
