/* Priorities of responses (RFC 9218): the value of a Priority field or of a PRIORITY_UPDATE frame,
 * a dictionary of structured fields (RFC 8941). Called by h2/. */
#ifndef UVH_CODEC_HTTP2_PRIORITY_H
#define UVH_CODEC_HTTP2_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum {
    UVH_H2_URGENCY = 3 /* without a value */,
    UVH_H2_URGENCIES = 8 /* 0, the most urgent, to 7 */
};

struct uvh_h2_priority {
    uint8_t urgency;
    bool incremental;
};

#define UVH_H2_PRIORITY_INITIAL \
    {                           \
        UVH_H2_URGENCY, false   \
    }

/* Sets the members that `value` has, and leaves the others; so set the initial values first, except
 * for the field of a response, which changes the request's priority. Unknown members, and values of
 * another type or out of range, are ignored. Returns false, with `priority` unchanged, if it is no
 * dictionary. */
bool uvh_h2_priority_read(uvhttp_slice_t value, struct uvh_h2_priority *priority);

#endif
