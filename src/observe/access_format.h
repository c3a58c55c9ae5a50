/* Formats a line of the access log as a pure function of facts and a format.
 *
 * Invariants: a line ends with its only '\n' and has at most UVH_ACCESS_LINE_SIZE bytes. Bytes sent
 * by the client are always escaped, and truncation never splits an escape. In JSON a line is a
 * valid object in UTF-8 whatever the facts contain. */
#ifndef UVH_OBSERVE_ACCESS_FORMAT_H
#define UVH_OBSERVE_ACCESS_FORMAT_H

#include <uvhttp/access_log.h>

enum {
    UVH_ACCESS_LINE_SIZE = 16384,
    UVH_ACCESS_VALUE_SIZE = 2048, /* of one value sent by the client, escaped */
    UVH_ACCESS_PARTS = 64,
    UVH_ACCESS_TEXT_SIZE = 2048,
};

/* One part of a format: literal text, or a value. */
struct uvh_access_part {
    unsigned char name; /* enum name of access_format.c */
    uint16_t offset;    /* literal text: offset in `text` */
    uint16_t length;
};

struct uvh_access_format {
    bool json;       /* values are written as JSON: strings with quotes, null when absent */
    bool needs_zone; /* it contains local time */
    bool needs_request_id;
    bool needs_trace;
    size_t value_space; /* space of a line for values sent by the client */
    size_t part_count;
    size_t text_length;
    size_t read; /* bytes of the pattern that are valid, at most up to a name that is not */
    struct uvh_access_part parts[UVH_ACCESS_PARTS];
    char text[UVH_ACCESS_TEXT_SIZE];
};

/* The three predefined formats, as patterns. */
extern const char uvh_access_format_common[];
extern const char uvh_access_format_combined[];
extern const char uvh_access_format_json[];

/* Returns 0, or UVHTTP_EINVAL as for uvhttp_access_log_new. */
int uvh_access_format_compile(struct uvh_access_format *format, const char *pattern, bool json);

/* Writes the line with its line end and returns its length. `zone_minutes`: local time minus
 * UTC. */
size_t uvh_access_format_line(const struct uvh_access_format *format,
                              const uvhttp_access_facts_t *facts, int zone_minutes,
                              char out[UVH_ACCESS_LINE_SIZE]);

#endif
