/* Finds the parts of a multipart/form-data body that arrives in chunks, see uvhttp/multipart.h.
 *
 * A boundary contains no CR (RFC 2046 section 5.1.1), so a delimiter, which begins with CR, cannot
 * begin within another one: bytes that turn out not to be a delimiter are data and need no second
 * scan. If they were in an earlier chunk, they are taken from the delimiter, which they are equal
 * to. So only header sections are stored. multipart_head.c interprets those. */
#include <uvhttp/multipart.h>

#include <string.h>

#include "codec/forms/multipart_head.h"
#include "codec/text/chars.h"

enum { DEFAULT_PARTS = 1000, DEFAULT_OUTSIDE = 1024 };

/* The position of the next byte. */
enum state {
    FAILED,
    BEFORE,     /* before the first delimiter */
    DATA,       /* in a part's data, or in the delimiter after it */
    BOUNDARY,   /* right after a boundary */
    FIRST_DASH, /* after "-" there */
    SPACE,      /* after white space there */
    LINE_END,   /* after its line's CR */
    NEXT_PART,  /* after its line; the end of the part is not reported yet */
    NEXT_HEAD,  /* the same, and it is reported */
    HEAD,       /* in a header section */
    /* after the closing delimiter; the end of the part is not reported yet */
    CLOSED,
    CLOSED_PART,     /* the same, and it is reported */
    CLOSED_SAID,     /* the same, and END is reported, too */
    CLOSED_LINE_END, /* after the CR of its line */
    AFTER            /* after its line */
};

static uvhttp_multipart_event_t fail(uvhttp_multipart_t *parser, uvhttp_multipart_error_t error,
                                     uint64_t offset)
{
    parser->state = FAILED;
    parser->error = error;
    parser->error_offset = offset;
    return UVHTTP_MULTIPART_BAD;
}

static void use_up(uvhttp_multipart_t *parser, uvhttp_slice_t *input, size_t count)
{
    *input = (uvhttp_slice_t){input->base + count, input->length - count};
    parser->offset += count;
}

static size_t common_length(const char *a, const char *b, size_t length)
{
    size_t same = 0;
    while (same < length && a[same] == b[same])
        same++;
    return same;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Continues a delimiter that began in an earlier chunk. True if it is complete; else either the
 * input is used up, or it was none, and `*before` are its bytes. */
static bool finish_delimiter(uvhttp_multipart_t *parser, uvhttp_slice_t *input,
                             uvhttp_slice_t *before)
{
    size_t left = parser->delimiter_length - (size_t)parser->matched;
    size_t same = common_length(input->base, parser->delimiter + parser->matched,
                                smaller(left, input->length));
    use_up(parser, input, same);
    parser->matched = (uint8_t)(parser->matched + same);
    if (same < left && input->length == 0)
        return false;
    if (same < left)
        *before = (uvhttp_slice_t){parser->delimiter + parser->owed,
                                   (size_t)(parser->matched - parser->owed)};
    parser->matched = parser->owed = 0;
    return same == left;
}

/* Searches a delimiter: true if one is complete, and consumed. `*before` are bytes before it. If
 * false is returned and `*before` is empty, the input is used up. */
static bool search(uvhttp_multipart_t *parser, uvhttp_slice_t *input, uvhttp_slice_t *before)
{
    *before = (uvhttp_slice_t){NULL, 0};
    if (input->length == 0)
        return false;
    if (parser->matched > 0) {
        if (finish_delimiter(parser, input, before))
            return true;
        if (before->length > 0 || input->length == 0)
            return false;
    }
    const char *start = input->base;
    const char *end = start + input->length;
    const char *p = start;
    const char *cr;
    /* Checked first, so that a body of CRs only needs no memchr call for each. */
    while (p < end && (cr = *p == '\r' ? p : memchr(p, '\r', (size_t)(end - p))) != NULL) {
        size_t left = (size_t)(end - cr);
        size_t same = common_length(cr, parser->delimiter, smaller(left, parser->delimiter_length));
        if (same == parser->delimiter_length || same == left) {
            *before = (uvhttp_slice_t){start, (size_t)(cr - start)};
            use_up(parser, input, (size_t)(cr - start) + same);
            parser->matched = same < parser->delimiter_length ? (uint8_t)same : 0;
            return same == parser->delimiter_length;
        }
        p = cr + same;
    }
    *before = *input;
    use_up(parser, input, input->length);
    return false;
}

/* BEFORE and DATA. MORE may also mean: the state has changed, or data was skipped. */
static uvhttp_multipart_event_t step_data(uvhttp_multipart_t *parser, uvhttp_slice_t *input,
                                          uvhttp_slice_t *data)
{
    bool skipped = parser->state == BEFORE;
    uint64_t most = skipped ? parser->limits.max_outside : parser->limits.max_part_size;
    uint64_t offset = parser->offset - (uint64_t)(parser->matched - parser->owed);
    uvhttp_slice_t before;
    if (search(parser, input, &before)) {
        parser->state = BOUNDARY;
        parser->part_open = !skipped;
    }
    uint64_t space = most - parser->size;
    parser->size += before.length;
    if (before.length > space) {
        /* Data up to the limit is returned, so that the result does not depend on the chunks. */
        before.length = (size_t)space;
        fail(parser,
             skipped ? UVHTTP_MULTIPART_ERROR_OUTSIDE_TOO_LARGE
                     : UVHTTP_MULTIPART_ERROR_PART_TOO_LARGE,
             offset + space);
    }
    if (skipped || before.length == 0)
        return UVHTTP_MULTIPART_MORE;
    *data = before;
    return UVHTTP_MULTIPART_DATA;
}

/* A byte after a boundary, up to the end of its line. */
static void step_boundary(uvhttp_multipart_t *parser, uvhttp_slice_t *input)
{
    uint64_t offset = parser->offset;
    char c = input->base[0];
    use_up(parser, input, 1);
    if (parser->state == LINE_END || parser->state == CLOSED_LINE_END) {
        if (c != '\n')
            fail(parser, UVHTTP_MULTIPART_ERROR_LINE_END, offset);
        else
            parser->state = parser->state == LINE_END ? NEXT_PART : AFTER;
    } else if (c == '-' && (parser->state == BOUNDARY || parser->state == FIRST_DASH)) {
        parser->state = parser->state == BOUNDARY ? FIRST_DASH : CLOSED;
        parser->size = 0;
    } else if (parser->state == FIRST_DASH) {
        fail(parser, UVHTTP_MULTIPART_ERROR_DELIMITER, offset);
    } else if (c == '\r') {
        parser->state = parser->state == CLOSED_SAID ? CLOSED_LINE_END : LINE_END;
    } else if (uvh_chars_is(c, UVH_CHAR_SPACE)) {
        parser->size = parser->state == BOUNDARY ? 1 : parser->size + 1;
        if (parser->state == BOUNDARY)
            parser->state = SPACE;
        if (parser->size > parser->limits.max_outside)
            fail(parser, UVHTTP_MULTIPART_ERROR_OUTSIDE_TOO_LARGE, offset);
    } else {
        fail(parser, c == '\n' ? UVHTTP_MULTIPART_ERROR_LINE_END : UVHTTP_MULTIPART_ERROR_DELIMITER,
             offset);
    }
}

static void begin_head(uvhttp_multipart_t *parser)
{
    if (parser->part_count == parser->limits.max_parts) {
        fail(parser, UVHTTP_MULTIPART_ERROR_TOO_MANY_PARTS, parser->offset);
        return;
    }
    parser->state = HEAD;
    parser->head_length = 0;
    parser->line_start = 0;
    parser->field_count = 0;
}

/* A line of a header section, or its available part. MORE may also mean: there may be more
 * lines. */
static uvhttp_multipart_event_t step_head(uvhttp_multipart_t *parser, uvhttp_slice_t *input)
{
    size_t space = parser->limits.max_header_size - (size_t)parser->head_length;
    if (space == 0)
        return fail(parser, UVHTTP_MULTIPART_ERROR_HEADER_TOO_LARGE, parser->offset);
    size_t length = smaller(space, input->length);
    const char *lf = memchr(input->base, '\n', length);
    if (lf != NULL)
        length = (size_t)(lf + 1 - input->base);
    memcpy(parser->head + parser->head_length, input->base, length);
    parser->head_length = (uint16_t)(parser->head_length + length);
    use_up(parser, input, length);
    if (lf == NULL)
        return UVHTTP_MULTIPART_MORE;
    bool empty;
    size_t at;
    uvhttp_multipart_error_t error = uvh_multipart_head_line(parser, &empty, &at);
    if (error == UVHTTP_MULTIPART_ERROR_NONE && !empty)
        return UVHTTP_MULTIPART_MORE;
    if (error == UVHTTP_MULTIPART_ERROR_NONE)
        error = uvh_multipart_head_end(parser, &at);
    if (error != UVHTTP_MULTIPART_ERROR_NONE)
        return fail(parser, error, parser->offset - parser->head_length + at);
    /* The empty line's end can be the start of a delimiter: a part without data (RFC 2046 section
     * 5.1.1, body-part). */
    parser->state = DATA;
    parser->matched = parser->owed = 2;
    parser->size = 0;
    parser->part_count++;
    return UVHTTP_MULTIPART_PART;
}

static void step_after_boundary(uvhttp_multipart_t *parser, uvhttp_slice_t *input)
{
    uint64_t space = parser->limits.max_outside - parser->size;
    if (input->length > space) {
        fail(parser, UVHTTP_MULTIPART_ERROR_OUTSIDE_TOO_LARGE, parser->offset + space);
        return;
    }
    parser->size += input->length;
    use_up(parser, input, input->length);
}

/* States that consume no byte: reports a pending event. MORE means none. */
static uvhttp_multipart_event_t step_event(uvhttp_multipart_t *parser)
{
    bool was_open = parser->part_open;
    switch (parser->state) {
    case NEXT_PART:
    case CLOSED:
        parser->state = parser->state == CLOSED ? CLOSED_PART : NEXT_HEAD;
        parser->part_open = false;
        return was_open ? UVHTTP_MULTIPART_PART_END : UVHTTP_MULTIPART_MORE;
    case NEXT_HEAD:
        begin_head(parser);
        return UVHTTP_MULTIPART_MORE;
    default:
        parser->state = CLOSED_SAID;
        return UVHTTP_MULTIPART_END;
    }
}

uvhttp_multipart_event_t uvhttp_multipart_next(uvhttp_multipart_t *parser, uvhttp_slice_t *input,
                                               uvhttp_slice_t *data)
{
    uvhttp_multipart_event_t event = UVHTTP_MULTIPART_MORE;
    uvhttp_slice_t ignored, none = {NULL, 0};
    data = data != NULL ? data : &ignored;
    input = input != NULL ? input : &none;
    *data = (uvhttp_slice_t){NULL, 0};
    if (parser == NULL)
        return UVHTTP_MULTIPART_BAD;
    while (event == UVHTTP_MULTIPART_MORE) {
        enum state state = (enum state)parser->state;
        if (state == FAILED)
            return UVHTTP_MULTIPART_BAD;
        if (state == NEXT_PART || state == NEXT_HEAD || state == CLOSED || state == CLOSED_PART) {
            event = step_event(parser);
            continue;
        }
        if (input->length == 0)
            return UVHTTP_MULTIPART_MORE;
        if (state == BEFORE || state == DATA)
            event = step_data(parser, input, data);
        else if (state == HEAD)
            event = step_head(parser, input);
        else if (state == AFTER)
            step_after_boundary(parser, input);
        else
            step_boundary(parser, input);
    }
    return event;
}

bool uvhttp_multipart_finish(uvhttp_multipart_t *parser)
{
    if (parser == NULL)
        return false;
    if (parser->state == CLOSED_SAID || parser->state == AFTER)
        return true;
    if (parser->state != FAILED)
        fail(parser, UVHTTP_MULTIPART_ERROR_TRUNCATED, parser->offset);
    return false;
}

static uint32_t limit(uint32_t given, uint32_t standard, uint32_t most)
{
    return given == 0 ? standard : given < most ? given : most;
}

bool uvhttp_multipart_init(uvhttp_multipart_t *parser, uvhttp_slice_t boundary,
                           const uvhttp_multipart_limits_t *limits)
{
    static const uvhttp_multipart_limits_t none = {0};
    if (parser == NULL || !uvh_multipart_head_is_boundary(boundary))
        return false;
    limits = limits != NULL ? limits : &none;
    parser->part = (uvhttp_multipart_part_t){.fields = NULL};
    parser->part_count = 0;
    parser->part_open = false;
    parser->error = UVHTTP_MULTIPART_ERROR_NONE;
    parser->error_offset = 0;
    parser->limits = (uvhttp_multipart_limits_t){
        .max_part_size = limits->max_part_size > 0 ? limits->max_part_size : UINT64_MAX,
        .max_parts = limit(limits->max_parts, DEFAULT_PARTS, UINT32_MAX),
        .max_header_size = limit(limits->max_header_size, UVHTTP_MULTIPART_HEADER_SIZE,
                                 UVHTTP_MULTIPART_HEADER_SIZE),
        .max_fields = limit(limits->max_fields, UVHTTP_MULTIPART_FIELDS, UVHTTP_MULTIPART_FIELDS),
        .max_outside = limit(limits->max_outside, DEFAULT_OUTSIDE, UINT32_MAX)};
    parser->offset = 0;
    parser->size = 0;
    parser->state = BEFORE;
    /* A delimiter at the very beginning needs no preceding line end. */
    parser->matched = parser->owed = 2;
    parser->delimiter_length = (uint8_t)(4 + boundary.length);
    memcpy(parser->delimiter, "\r\n--", 4);
    memcpy(parser->delimiter + 4, boundary.base, boundary.length);
    parser->head_length = parser->line_start = parser->field_count = 0;
    return true;
}
