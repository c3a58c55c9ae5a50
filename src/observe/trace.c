/* Reads the fields of W3C Trace Context (https://www.w3.org/TR/trace-context/, sections 3.2 and
 * 3.3). */
#include <uvhttp/trace.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/fields/field.h"
#include "platform/random.h"

enum {
    TRACE_AT = 3, /* in "00-TRACE-SPAN-FLAGS" */
    PARENT_AT = 36,
    FLAGS_AT = 53,
    LENGTH = 55,
    SAMPLED = 1, /* in the flags */
};

static const char key; /* of the attachment */

static const uvhttp_slice_t traceparent = {"traceparent", 11}, tracestate = {"tracestate", 10};

/* ---- reading ---- */

/* Only lower case is valid. */
static bool are_digits(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

static bool are_zero(const char *text, size_t count)
{
    return strspn(text, "0") >= count;
}

static unsigned digit(char byte)
{
    return byte <= '9' ? (unsigned)(byte - '0') : (unsigned)(byte - 'a') + 10;
}

/* Later versions may append fields. */
static bool is_valid(uvhttp_slice_t value)
{
    const char *text = value.base;
    if (value.length < LENGTH || text[2] != '-' || text[PARENT_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-')
        return false;
    bool digits = are_digits(text, 2) && are_digits(text + TRACE_AT, 32) &&
                  are_digits(text + PARENT_AT, 16) && are_digits(text + FLAGS_AT, 2);
    if (!digits || are_zero(text + TRACE_AT, 32) || are_zero(text + PARENT_AT, 16) ||
        memcmp(text, "ff", 2) == 0)
        return false;
    return value.length == LENGTH || (memcmp(text, "00", 2) != 0 && text[LENGTH] == '-');
}

/* The only field of that name; NULL base if there is none or several. */
static uvhttp_slice_t only_field(uvhttp_request_t *request, uvhttp_slice_t wanted)
{
    uvhttp_slice_t found = {NULL, 0}, name, value;
    for (size_t i = 0; i < uvhttp_request_header_count(request); i++) {
        uvhttp_request_header_at(request, i, &name, &value);
        if (!uvh_field_name_is(name, wanted))
            continue;
        if (found.base != NULL)
            return (uvhttp_slice_t){NULL, 0};
        found = value;
    }
    return found;
}

/* The fields joined, as the list that they are. */
static const char *join_states(uvhttp_request_t *request)
{
    uvhttp_slice_t name, value;
    size_t size = 1;
    char *text = NULL, *end = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < uvhttp_request_header_count(request); i++) {
            uvhttp_request_header_at(request, i, &name, &value);
            if (!uvh_field_name_is(name, tracestate) || value.length == 0)
                continue;
            if (pass == 0) {
                size += value.length + 1;
                continue;
            }
            if (end != text)
                *end++ = ',';
            memcpy(end, value.base, value.length);
            end += value.length;
        }
        if (pass == 0 && (end = text = uvhttp_request_allocate(request, size)) == NULL)
            return "";
    }
    *end = '\0';
    return text;
}

/* ---- a new one ---- */

/* Not zero, which is invalid. */
static void write_number(char *out, uint64_t number)
{
    snprintf(out, 17, "%016" PRIx64, number | 1);
}

static bool read_trace(uvhttp_request_t *request, uvhttp_trace_t *trace)
{
    uvhttp_slice_t value = only_field(request, traceparent);
    bool given = value.base != NULL && is_valid(value);
    uint64_t numbers[3];
    *trace = (uvhttp_trace_t){.state = ""};
    if (uvh_random_numbers(numbers, given ? 1 : 3) != 0)
        return false;
    write_number(trace->span_id, numbers[0]);
    if (!given) {
        write_number(trace->trace_id, numbers[1]);
        write_number(trace->trace_id + 16, numbers[2]);
        return true;
    }
    memcpy(trace->trace_id, value.base + TRACE_AT, 32);
    memcpy(trace->parent_id, value.base + PARENT_AT, 16);
    trace->sampled = (digit(value.base[FLAGS_AT + 1]) & SAMPLED) != 0;
    trace->state = join_states(request);
    return true;
}

const uvhttp_trace_t *uvhttp_request_trace(uvhttp_request_t *request)
{
    uvhttp_trace_t *trace = uvhttp_request_attached(request, &key);
    if (trace != NULL)
        return trace;
    trace = uvhttp_request_allocate(request, sizeof(*trace));
    if (trace == NULL || !read_trace(request, trace) ||
        uvhttp_request_attach(request, &key, trace, NULL) != 0)
        return NULL;
    if (trace->sampled)
        (void)uvhttp_request_set_exemplar(request, trace->trace_id);
    return trace;
}

void uvhttp_trace_write_parent(const uvhttp_trace_t *trace, char out[UVHTTP_TRACEPARENT_SIZE])
{
    if (out == NULL)
        return;
    if (trace == NULL) {
        out[0] = '\0';
        return;
    }
    snprintf(out, UVHTTP_TRACEPARENT_SIZE, "00-%.32s-%.16s-%s", trace->trace_id, trace->span_id,
             trace->sampled ? "01" : "00");
}
