/* Compares all results of the parser with those of the reference parser.
 *
 * Each function returns NULL when both agree, else a name for the difference. */
#ifndef UVH_TESTS_REFERENCE_COMPARE_H
#define UVH_TESTS_REFERENCE_COMPARE_H

#include "reference/framing.h"
#include "reference/head.h"

#define COMPARE(what, ours, expected)                 \
    do {                                              \
        if ((uint64_t)(ours) != (uint64_t)(expected)) \
            return what;                              \
    } while (0)

static inline const char *compare_field(const uvhttp_field_t *field,
                                        const struct reference_field *expected)
{
    COMPARE("a field's name", field->name_offset, expected->name);
    COMPARE("the length of a field's name", field->name_length, expected->name_length);
    COMPARE("a field's value", field->value_offset, expected->value);
    COMPARE("the length of a field's value", field->value_length, expected->value_length);
    COMPARE("a field's id", field->id, expected->id);
    COMPARE("that a field is repeated", field->repeated, expected->repeated);
    return NULL;
}

/* For each known id: whether there is a field, and which one is the first. */
static inline const char *compare_known(const uvhttp_head_t *head,
                                        const struct reference_head *expected)
{
    uint64_t present = 0;
    for (size_t i = expected->field_count; i > 0; i--) {
        unsigned id = (unsigned)expected->fields[i - 1].id;
        bool first = true;
        for (size_t j = 0; j < i - 1; j++)
            first &= (unsigned)expected->fields[j].id != id;
        if (id == UVHTTP_FIELD_OTHER || !first)
            continue;
        present |= UINT64_C(1) << id;
        COMPARE("the first field of a known id", head->first[id], i - 1);
    }
    COMPARE("the set of known fields", head->present, present);
    return NULL;
}

static inline const char *compare_head(const uvhttp_head_t *head, uvhttp_parse_result_t result,
                                       const struct reference_head *expected)
{
    COMPARE("the result", result, expected->result);
    if (result == UVHTTP_PARSE_BAD) {
        COMPARE("the reason", head->reason, expected->reason);
        COMPARE("the reason's offset", head->reason_offset, expected->offset);
    }
    if (result != UVHTTP_PARSE_DONE)
        return NULL;
    COMPARE("the size", head->size, expected->size);
    COMPARE("the start", head->start, expected->start);
    COMPARE("the method's length", head->method_length, expected->method_length);
    COMPARE("the method", head->method, expected->method);
    COMPARE("the minor version", head->minor_version, expected->minor);
    COMPARE("the target", head->target_offset, expected->target);
    COMPARE("the target's length", head->target_length, expected->target_length);
    COMPARE("the query", head->query_offset, expected->query);
    COMPARE("the status", head->status, expected->status);
    COMPARE("the reason phrase", head->reason_phrase_offset, expected->phrase);
    COMPARE("the reason phrase's length", head->reason_phrase_length, expected->phrase_length);
    COMPARE("the number of fields", head->field_count, expected->field_count);
    for (size_t i = 0; i < expected->field_count; i++) {
        const char *difference = compare_field(&head->fields[i], &expected->fields[i]);
        if (difference != NULL)
            return difference;
    }
    return compare_known(head, expected);
}

/* `base` and `data` are the same bytes, as passed to the parser and to the reference parser. A part
 * that is not in the head ("/" for an empty path) is compared by its bytes. */
static inline bool compare_part_equal(uvhttp_slice_t ours, const char *base,
                                      struct reference_part expected, const char *data, size_t size)
{
    if ((ours.base == NULL) != (expected.base == NULL) || ours.length != expected.length)
        return false;
    if (ours.length == 0)
        return true;
    if (expected.base < data || expected.base >= data + size)
        return memcmp(ours.base, expected.base, ours.length) == 0;
    return ours.base >= base && ours.base < base + size && ours.base - base == expected.base - data;
}

static inline const char *compare_framing(const uvhttp_framing_t *framing, uvhttp_reason_t reason,
                                          const char *base,
                                          const struct reference_framing *expected,
                                          const char *data, size_t size)
{
    COMPARE("the reason of the framing", reason, expected->reason);
    if (reason != UVHTTP_REASON_NONE)
        return NULL;
    COMPARE("the body", framing->body, expected->body);
    COMPARE("the content length", framing->content_length, expected->content_length);
    COMPARE("keep-alive", framing->keep_alive, expected->keep_alive);
    COMPARE("expect-continue", framing->expect_continue, expected->expect_continue);
    COMPARE("upgrade", framing->upgrade, expected->upgrade);
    COMPARE("the target's form", framing->target_form, expected->form);
    if (!compare_part_equal(framing->authority, base, expected->authority, data, size))
        return "the authority";
    if (!compare_part_equal(framing->path, base, expected->path, data, size))
        return "the path";
    if (!compare_part_equal(framing->query, base, expected->query, data, size))
        return "the query of the framing";
    return NULL;
}

#endif
