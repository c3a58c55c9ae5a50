/* Heads that arrive in several parts, such as the two halves of a ring buffer. Guarantees the same
 * results as head.c over the same bytes in one buffer, however they are split. A byte is copied at
 * most once, and only if its head crosses a boundary between parts.
 *
 * A head is parsed in place while its first part has new bytes. From the first boundary on it is
 * collected in `gather`: the empty line that ends it is searched before bytes are copied, so that
 * data after the head is not copied. Called by users of the parser library. */
#include <uvhttp/parser.h>

#include <string.h>

typedef uvhttp_parse_result_t (*parse_fn)(uvhttp_head_t *head, const char *data, size_t length,
                                          const uvhttp_head_limits_t *limits);

/* The bytes not copied yet: `count` parts, of which the first one's `skip` bytes are done. */
struct remainder {
    const uvhttp_slice_t *slices;
    size_t count;
    size_t skip;
};

static struct remainder after(const uvhttp_slice_t *slices, size_t count, size_t skip)
{
    while (count > 0 && slices->length <= skip) {
        skip -= slices->length;
        slices++;
        count--;
    }
    return (struct remainder){slices, count, skip};
}

/* The number of bytes of `from` up to and including the first LF at or after `at` with
 * another LF two bytes before it. It ends the head or an empty line before it, or is an error; 0 if
 * there is none. The bytes before `from` are the last ones of `gather`. */
static size_t head_end(const char *gather, size_t gathered, const char *from, size_t length,
                       size_t at)
{
    while (at < length) {
        const char *line_feed = memchr(from + at, '\n', length - at);
        if (line_feed == NULL)
            return 0;
        at = (size_t)(line_feed - from);
        if (at >= 2 ? from[at - 2] == '\n'
                    : gathered + at >= 2 && gather[gathered + at - 2] == '\n')
            return at + 1;
        at++;
    }
    return 0;
}

/* Copies to `gather` until it holds `space` bytes, a possible end of the head has been copied
 * (true), or the parts are used up. The bytes before head->scanned have been parsed in place and
 * contain no end. */
static bool gather_on(uvhttp_head_t *head, struct remainder *left, char *gather, uint32_t space)
{
    while (left->count > 0 && head->gathered < space) {
        const char *from = left->slices->base + left->skip;
        size_t length = left->slices->length - left->skip;
        if (length > space - head->gathered)
            length = space - head->gathered;
        size_t parsed = head->scanned > head->gathered ? head->scanned - head->gathered : 0;
        size_t end = head_end(gather, head->gathered, from, length, parsed);
        size_t taken = end > 0 ? end : length;
        memcpy(gather + head->gathered, from, taken);
        head->gathered += (uint32_t)taken;
        *left = after(left->slices, left->count, left->skip + taken);
        if (end > 0)
            return true;
    }
    return false;
}

static const uvhttp_head_limits_t defaults = {.max_size = UVHTTP_HEAD_DEFAULT_SIZE,
                                              .max_target = UVHTTP_HEAD_DEFAULT_TARGET,
                                              .max_fields = UVHTTP_HEAD_DEFAULT_FIELDS};

static inline uvhttp_parse_result_t parse_slices(parse_fn parse, uvhttp_head_t *head,
                                                 const uvhttp_slice_t *slices, size_t count,
                                                 char *gather, const uvhttp_head_limits_t *limits)
{
    if (limits == NULL)
        limits = &defaults;
    if (head == NULL || (slices == NULL && count > 0))
        return parse(head, NULL, 1, limits); /* which rejects that */
    while (count > 0 && slices[count - 1].length == 0)
        count--;
    struct remainder left = after(slices, count, head->gathered);
    if (head->gathered == 0 && left.count > 0) {
        bool whole = left.count == 1;
        uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
        if (whole || left.slices->length > head->scanned)
            result = parse(head, left.slices->base, left.slices->length, limits);
        if (whole || result != UVHTTP_PARSE_MORE)
            return result;
    }
    if (gather == NULL && left.count > 0)
        return parse(head, NULL, 1, limits);
    /* More than one iteration only if empty lines before a request line look like the end of a
     * head. */
    for (;;) {
        bool end = gather_on(head, &left, gather, limits->max_size);
        uvhttp_parse_result_t result = parse(head, gather, head->gathered, limits);
        if (result != UVHTTP_PARSE_MORE || !end)
            return result;
    }
}

uvhttp_parse_result_t uvhttp_request_head_parse_slices(uvhttp_head_t *head,
                                                       const uvhttp_slice_t *slices, size_t count,
                                                       char *gather,
                                                       const uvhttp_head_limits_t *limits)
{
    return parse_slices(uvhttp_request_head_parse, head, slices, count, gather, limits);
}

uvhttp_parse_result_t uvhttp_response_head_parse_slices(uvhttp_head_t *head,
                                                        const uvhttp_slice_t *slices, size_t count,
                                                        char *gather,
                                                        const uvhttp_head_limits_t *limits)
{
    return parse_slices(uvhttp_response_head_parse, head, slices, count, gather, limits);
}
