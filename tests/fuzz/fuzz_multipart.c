/* Forms with files. The first byte of the input determines how the body is split, the second the
 * boundary and the limits. The rest is the body, and is also parsed as a Content-Type. Properties:
 * the events, the result and the offset of an error do not depend on the split. Data is within the
 * input or the parser. A complete form has as many delimiters as a plain search finds. Written
 * again from its events it is the same form. */
#include <uvhttp/multipart.h>

#include "fuzz/fuzz_check.h"

enum { MAX_DELIMITER = 4 + UVHTTP_MULTIPART_BOUNDARY_SIZE };

static const char *const boundaries[] = {
    "b", "--", "a-b", "=?:/ x",
    "1234567890123456789012345678901234567890123456789012345678901234567890"};

/* A growing byte array. */
struct text {
    char *bytes;
    size_t length;
    size_t capacity;
};

/* The result: `events` has a letter for each event, followed by its data, for comparison. `body` is
 * the form, written again. */
struct outcome {
    struct text events;
    struct text body;
    bool complete;
    uvhttp_multipart_error_t error;
    uint64_t error_offset;
    uint32_t part_count;
};

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static void add(struct text *text, const void *bytes, size_t length)
{
    if (text->capacity - text->length < length) {
        text->capacity = 2 * (text->length + length);
        text->bytes = realloc(text->bytes, text->capacity);
        require(text->bytes != NULL);
    }
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void add_text(struct text *text, const char *added)
{
    add(text, added, strlen(added));
}

static void add_sized(struct text *text, char letter, uvhttp_slice_t slice)
{
    add(text, &letter, 1);
    add(text, &slice.length, sizeof slice.length);
    add(text, slice.base, slice.length);
}

static void check_text(const uvhttp_multipart_t *form, uvhttp_slice_t text)
{
    require(text.length == 0 ||
            slice_within(text, (uvhttp_slice_t){form->head, sizeof form->head}));
    require(text.length == 0 || memchr(text.base, '\0', text.length) == NULL);
}

static void add_part(struct outcome *outcome, const uvhttp_multipart_t *form, const char *boundary)
{
    const uvhttp_multipart_part_t *part = &form->part;
    check_text(form, part->name);
    check_text(form, part->filename);
    require(part->name.base != NULL && part->field_count <= form->limits.max_fields);
    add_sized(&outcome->events, 'N', part->name);
    if (part->filename.base != NULL)
        add_sized(&outcome->events, 'F', part->filename);
    if (part->type.base != NULL)
        add_sized(&outcome->events, 'T', part->type);
    add_text(&outcome->body, outcome->part_count > 0 ? "\r\n--" : "--");
    add_text(&outcome->body, boundary);
    for (size_t i = 0; i < part->field_count; i++) {
        check_text(form, part->fields[i].name);
        check_text(form, part->fields[i].value);
        add_sized(&outcome->events, 'H', part->fields[i].name);
        add_sized(&outcome->events, '=', part->fields[i].value);
        add_text(&outcome->body, "\r\n");
        add(&outcome->body, part->fields[i].name.base, part->fields[i].name.length);
        add_text(&outcome->body, ":");
        add(&outcome->body, part->fields[i].value.base, part->fields[i].value.length);
    }
    add_text(&outcome->body, "\r\n\r\n");
    outcome->part_count++;
    require(outcome->part_count == form->part_count);
    add_text(&outcome->events, "D");
}

/* Adds all events of one chunk. Returns false when the form is invalid. */
static bool feed(struct outcome *outcome, uvhttp_multipart_t *form, uvhttp_slice_t chunk,
                 const char *boundary)
{
    uvhttp_slice_t whole = chunk;
    for (;;) {
        uvhttp_slice_t data;
        uvhttp_multipart_event_t event = uvhttp_multipart_next(form, &chunk, &data);
        require(slice_within(chunk, whole) &&
                chunk.base + chunk.length == whole.base + whole.length);
        require((event == UVHTTP_MULTIPART_DATA) == (data.length > 0));
        if (event == UVHTTP_MULTIPART_MORE)
            return true;
        if (event == UVHTTP_MULTIPART_BAD)
            return false;
        if (event == UVHTTP_MULTIPART_PART) {
            add_part(outcome, form, boundary);
        } else if (event == UVHTTP_MULTIPART_DATA) {
            require(slice_within(data, whole) ||
                    slice_within(data, (uvhttp_slice_t){form->delimiter, sizeof form->delimiter}));
            add(&outcome->events, data.base, data.length);
            add(&outcome->body, data.base, data.length);
        } else {
            add_text(&outcome->events, event == UVHTTP_MULTIPART_END ? "!" : ".");
        }
    }
}

static struct outcome parse(const char *boundary, const uvhttp_multipart_limits_t *limits,
                            uvhttp_slice_t body, size_t step)
{
    static uvhttp_multipart_t form;
    struct outcome outcome = {.complete = false};
    require(uvhttp_multipart_init(&form, slice_of(boundary), limits));
    bool good = true;
    for (size_t at = 0; good && at < body.length; at += step) {
        size_t length = body.length - at < step ? body.length - at : step;
        char *copy = exact_copy(body.base + at, length);
        good = feed(&outcome, &form, (uvhttp_slice_t){copy, length}, boundary);
        free(copy);
    }
    outcome.complete = uvhttp_multipart_finish(&form);
    require(good || !outcome.complete);
    require(outcome.complete == (form.error == UVHTTP_MULTIPART_ERROR_NONE));
    outcome.error = form.error;
    outcome.error_offset = form.error_offset;
    require(form.error_offset <= body.length);
    add_text(&outcome.body, outcome.part_count > 0 ? "\r\n--" : "--");
    add_text(&outcome.body, boundary);
    add_text(&outcome.body, "--");
    return outcome;
}

static void release(struct outcome *outcome)
{
    free(outcome->events.bytes);
    free(outcome->body.bytes);
}

static void require_same_outcome(const struct outcome *a, const struct outcome *b)
{
    require(a->complete == b->complete && a->error == b->error &&
            a->error_offset == b->error_offset);
    require(a->part_count == b->part_count && a->events.length == b->events.length);
    require(a->events.length == 0 ||
            memcmp(a->events.bytes, b->events.bytes, a->events.length) == 0);
}

/* Counts the delimiters up to the closing one. A delimiter at the beginning of the body has no line
 * end before it. */
static size_t count_delimiters(const char *boundary, uvhttp_slice_t body)
{
    char delimiter[MAX_DELIMITER + 1];
    size_t length = (size_t)snprintf(delimiter, sizeof delimiter, "\r\n--%s", boundary);
    size_t count = 0;
    for (size_t at = 0; at < body.length; at++) {
        const char *expected = at == 0 && body.base[0] == '-' ? delimiter + 2 : delimiter;
        size_t size = (size_t)(delimiter + length - expected);
        if (body.length - at < size || memcmp(body.base + at, expected, size) != 0)
            continue;
        count++;
        if (body.length - at - size >= 2 && memcmp(body.base + at + size, "--", 2) == 0)
            break;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    char *copy = exact_copy(data + 2, size - 2);
    uvhttp_slice_t body = {copy, size - 2};
    uvhttp_slice_t found;
    if (uvhttp_multipart_boundary(body, &found)) {
        uvhttp_multipart_t form;
        require(slice_within(found, body) && uvhttp_multipart_init(&form, found, NULL));
    }
    const char *boundary = boundaries[data[1] % (sizeof boundaries / sizeof boundaries[0])];
    uvhttp_multipart_limits_t limits = {0};
    if (data[1] & 0x80)
        limits = (uvhttp_multipart_limits_t){8, 3, 80, 2, 6};
    struct outcome whole = parse(boundary, &limits, body, body.length + 1);
    size_t steps[] = {1, data[0] % 64 + 2u, body.length / 2 + 1};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct outcome cut = parse(boundary, &limits, body, steps[i]);
        require_same_outcome(&whole, &cut);
        release(&cut);
    }
    if (whole.complete) {
        require(count_delimiters(boundary, body) == whole.part_count + 1u);
        struct outcome again =
            parse(boundary, &limits, (uvhttp_slice_t){whole.body.bytes, whole.body.length}, 7);
        require_same_outcome(&whole, &again);
        release(&again);
    }
    release(&whole);
    free(copy);
    return 0;
}
