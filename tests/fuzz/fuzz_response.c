/* Response heads. The first byte chooses how the rest is cut, the second the limit. Holds: cut or whole,
 * the verdict is the same; an accepted head, written again from its parts, is accepted with the same
 * parts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/parser.h>

#include "codec/h1_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static uvhttp_slice_t field_name(const uvhttp_head_t *head, unsigned i)
{
    return (uvhttp_slice_t){head->base + head->fields[i].name_offset, head->fields[i].name_length};
}

static uvhttp_slice_t field_value(const uvhttp_head_t *head, unsigned i)
{
    return (uvhttp_slice_t){head->base + head->fields[i].value_offset, head->fields[i].value_length};
}

static bool same(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.base, b.base, a.length) == 0);
}

/* The writer, then the parser: what was read comes back. A status below 100 cannot be written. */
static void write_and_read(const uvhttp_head_t *head)
{
    static char text[16384];
    static uvhttp_head_t again;
    uvhttp_head_limits_t limits = {sizeof text, 100, 100};
    size_t used = uvh_h1_encode_status_line(text, sizeof text, head->status, "phrase");
    if (used == 0) {
        require(head->status < 100);
        return;
    }
    for (unsigned i = 0; i < head->field_count; i++) {
        size_t more =
            uvh_h1_encode_field(text + used, sizeof text - used, field_name(head, i), field_value(head, i));
        require(more > 0);
        used += more;
    }
    used += uvh_h1_encode_end(text + used, sizeof text - used);
    uvhttp_head_init(&again, NULL, 0);
    require(uvhttp_response_head_parse(&again, text, used, &limits) == UVHTTP_PARSE_DONE);
    require(again.size == used && again.status == head->status && again.field_count == head->field_count);
    for (unsigned i = 0; i < head->field_count; i++)
        require(same(field_name(head, i), field_name(&again, i)) &&
                same(field_value(head, i), field_value(&again, i)) &&
                head->fields[i].id == again.fields[i].id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uvhttp_head_t whole;
    static uvhttp_head_t cut;
    if (size < 2)
        return 0;
    size_t step = data[0] % 64 + 1u;
    uvhttp_head_limits_t limits = {data[1] & 1 ? 64 : 4096, 100, data[1] & 2 ? 3 : 100};
    const char *text = (const char *)data + 2;
    size_t length = size - 2;
    uvhttp_head_init(&whole, NULL, 0);
    uvhttp_head_init(&cut, NULL, 0);
    uvhttp_parse_result_t result = uvhttp_response_head_parse(&whole, text, length, &limits);
    uvhttp_parse_result_t result_cut = UVHTTP_PARSE_MORE;
    for (size_t at_hand = step / 2; result_cut == UVHTTP_PARSE_MORE; at_hand += step) {
        at_hand = at_hand < length ? at_hand : length;
        char *copy = malloc(at_hand > 0 ? at_hand : 1);
        require(copy != NULL);
        memcpy(copy, text, at_hand);
        result_cut = uvhttp_response_head_parse(&cut, copy, at_hand, &limits);
        free(copy);
        if (at_hand == length)
            break;
    }
    require(result == result_cut);
    if (result == UVHTTP_PARSE_BAD)
        require(whole.reason == cut.reason && whole.reason_offset == cut.reason_offset && whole.reason != 0);
    if (result != UVHTTP_PARSE_DONE)
        return 0;
    require(whole.size == cut.size && whole.status == cut.status && whole.minor_version == cut.minor_version);
    require(whole.reason_phrase_length == cut.reason_phrase_length && whole.field_count == cut.field_count);
    require(whole.field_count == 0 ||
            memcmp(whole.fields, cut.fields, whole.field_count * sizeof whole.fields[0]) == 0);
    write_and_read(&whole);
    return 0;
}
