/* Forms with files: multipart/form-data (RFC 7578, in the syntax of RFC 2046 section 5.1), taken
 * apart while they arrive.
 *
 * Part of uvhttp_parser: no I/O, no allocation, no clock. Bytes come in pieces of any size, and
 * what comes out does not depend on how they were cut. Events are pulled: whoever has to open a
 * file or to wait between two events just calls later, with the rest of the piece.
 *
 *     uvhttp_multipart_t form;
 *     uvhttp_slice_t boundary;
 *     uvhttp_multipart_limits_t limits = {.max_part_size = 10 * 1024 * 1024};
 *     if (!uvhttp_multipart_boundary(content_type, &boundary)) ... not such a form: 415
 *     uvhttp_multipart_init(&form, boundary, &limits);
 *
 *     for each piece of the body:
 *         for (;;) { switch (uvhttp_multipart_next(&form, &piece, &data)) { case
 *             UVHTTP_MULTIPART_PART: open something for form.part.name; continue; case
 *             UVHTTP_MULTIPART_DATA: write `data` to it; continue; case UVHTTP_MULTIPART_PART_END:
 *             close it; continue; case UVHTTP_MULTIPART_END: all is there; continue; case
 *             UVHTTP_MULTIPART_BAD: answer with uvhttp_multipart_error_status(form.error); return;
 *             case UVHTTP_MULTIPART_MORE: break; } break;
 *         }
 *     at the body's end:
 *         if (!uvhttp_multipart_finish(&form)) ... the body was cut off
 *
 * A file name is what a client says: never use it as a path, nor its end as a proof of what the
 * file is.
 *
 * Strict: lines end with CR LF, fields are not folded, each part has one Content-Disposition
 * "form-data" with one name, and there is a closing delimiter. Any thread, one at a time. A parser
 * that is NULL gives false or BAD, an out parameter that is NULL is not told. */
#ifndef UVHTTP_MULTIPART_H
#define UVHTTP_MULTIPART_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    UVHTTP_MULTIPART_HEADER_SIZE = 2048, /* bytes that the header section of a part can have */
    UVHTTP_MULTIPART_FIELDS = 16,        /* header fields that a part can have */
    /* bytes that a boundary can have (RFC 2046 section 5.1.1) */
    UVHTTP_MULTIPART_BOUNDARY_SIZE = 70
};

/* Why a body is refused: name, status to answer with, text. */
#define UVHTTP_MULTIPART_ERROR_MAP(X)                                                              \
    X(OUTSIDE_TOO_LARGE, 413,                                                                      \
      "there is too much in front of the first part or behind the last one")                       \
    X(DELIMITER, 400, "something stands behind a boundary on its line")                            \
    X(LINE_END, 400, "a line does not end with CR LF")                                             \
    X(HEADER_TOO_LARGE, 413, "the header section of a part is too large")                          \
    X(TOO_MANY_FIELDS, 413, "a part has too many header fields")                                   \
    X(FIELD, 400, "a header field of a part is malformed")                                         \
    X(FIELD_REPEATED, 400, "a part has more than one Content-Disposition or Content-Type")         \
    X(DISPOSITION, 400, "a part has no Content-Disposition that is form-data, or a malformed one") \
    X(NAME, 400, "a part has no name, or more than one name or file name")                         \
    X(CODING, 400, "a part has a transfer encoding, which forms do not use")                       \
    X(TOO_MANY_PARTS, 413, "the form has too many parts")                                          \
    X(PART_TOO_LARGE, 413, "a part is too large")                                                  \
    X(TRUNCATED, 400, "the body ends in front of the closing delimiter")

/* Why a form is refused, as a number. */
typedef enum uvhttp_multipart_error {
    UVHTTP_MULTIPART_ERROR_NONE = 0,
#define UVHTTP_MULTIPART_ERROR_ENUM(name, status, text) UVHTTP_MULTIPART_ERROR_##name,
    UVHTTP_MULTIPART_ERROR_MAP(UVHTTP_MULTIPART_ERROR_ENUM)
#undef UVHTTP_MULTIPART_ERROR_ENUM
        UVHTTP_MULTIPART_ERROR_COUNT
} uvhttp_multipart_error_t;

/* 400, 413; 0 for NONE */
UVHTTP_EXPORT int uvhttp_multipart_error_status(uvhttp_multipart_error_t error);
UVHTTP_EXPORT const char *
uvhttp_multipart_error_name(uvhttp_multipart_error_t error); /* "TRUNCATED"; never NULL */
UVHTTP_EXPORT const char *
uvhttp_multipart_error_text(uvhttp_multipart_error_t error); /* a sentence; never NULL */

/* A header field of a part. */
typedef struct uvhttp_multipart_field {
    uvhttp_slice_t name;
    uvhttp_slice_t value; /* as it came, surrounding white space removed */
} uvhttp_multipart_field_t;

/* What the header section of a part says. Nothing ends with NUL, and nothing holds one. */
typedef struct uvhttp_multipart_part {
    /* of the form's field; may be empty. UTF-8, if the page is (RFC 7578 section 5.1) */
    uvhttp_slice_t name;
    uvhttp_slice_t
        /* base NULL when it is no file; empty for a file input without a file. As the client says,
         * slashes included. filename* is ignored (RFC 7578 section 4.2) */
        filename;
    uvhttp_slice_t type; /* Content-Type; base NULL when absent, which means text/plain */
    const uvhttp_multipart_field_t *fields; /* all header fields, in order */
    size_t field_count;
} uvhttp_multipart_part_t;

/* What a form may measure; 0 takes the default. */
typedef struct uvhttp_multipart_limits {
    uint64_t
        /* bytes of a part's data: PART_TOO_LARGE. Default: none but that of the whole body */
        max_part_size;
    uint32_t max_parts; /* TOO_MANY_PARTS. Default: 1,000 */
    uint32_t
        /* bytes of a part's header section with its empty line: HEADER_TOO_LARGE. Default and most:
         * UVHTTP_MULTIPART_HEADER_SIZE */
        max_header_size;
    uint32_t max_fields; /* of a part: TOO_MANY_FIELDS. Default and most: UVHTTP_MULTIPART_FIELDS */
    uint32_t
        /* bytes in front of the first part, and so many behind the last one: OUTSIDE_TOO_LARGE.
         * Default: 1,024 */
        max_outside;
} uvhttp_multipart_limits_t;

/* About 5 KiB. Must stay where it is: slices point into it. Read `part`, `part_count`, `error` and
 * `error_offset`; the rest is the parser's. */
typedef struct uvhttp_multipart {
    uvhttp_multipart_part_t part;   /* from PART on until the call behind PART_END */
    uint32_t part_count;            /* parts that have begun */
    uvhttp_multipart_error_t error; /* after BAD */
    uint64_t error_offset;          /* after BAD: where, counted from the body's first byte */

    uvhttp_multipart_limits_t limits;
    uint64_t offset; /* bytes used up */
    /* of the data of this part, of what stands outside, or of white space behind a boundary */
    uint64_t size;
    uint8_t state;
    uint8_t matched; /* bytes of `delimiter` that were found last */
    /* so many of them, at its front, are not data even if no delimiter comes of them */
    uint8_t owed;
    uint8_t delimiter_length;
    bool part_open;       /* a part has ended, and PART_END has not been returned */
    uint16_t head_length; /* bytes in `head` */
    uint16_t line_start;
    uint16_t field_count;
    char delimiter[4 + UVHTTP_MULTIPART_BOUNDARY_SIZE]; /* CR LF "--" boundary */
    uvhttp_multipart_field_t fields[UVHTTP_MULTIPART_FIELDS];
    /* the header section, and behind it unescaped names */
    char head[2 * UVHTTP_MULTIPART_HEADER_SIZE];
} uvhttp_multipart_t;

/* What happened:
 *   MORE      `*input` is used up: call again with more bytes, or uvhttp_multipart_finish
 *   PART      a part begins: parser->part
 *   DATA      `*data` is the next piece of its data, never empty: within the input, or in the
 *             parser; until the next call
 *   PART_END  it is complete
 *   END       the closing delimiter has come: all parts are complete. Once; what follows is skipped
 *   BAD       refused: parser->error, parser->error_offset. From then on always */
typedef enum uvhttp_multipart_event {
    UVHTTP_MULTIPART_MORE = 0,
    UVHTTP_MULTIPART_PART = 1,
    UVHTTP_MULTIPART_DATA = 2,
    UVHTTP_MULTIPART_PART_END = 3,
    UVHTTP_MULTIPART_END = 4,
    UVHTTP_MULTIPART_BAD = 5
} uvhttp_multipart_event_t;

/* The boundary that a Content-Type names: true, and `*boundary` lies within `content_type`. False
 * when that is not multipart/form-data, when it is malformed, or when the boundary is missing,
 * repeated, empty, longer than 70 bytes, or holds or ends with what it must not (RFC 2046 section
 * 5.1.1). Taken as a token or in quotes, there without backslashes, which no boundary needs. */
UVHTTP_EXPORT bool uvhttp_multipart_boundary(uvhttp_slice_t content_type, uvhttp_slice_t *boundary);

/* Prepares for a body with that boundary, which is copied. `limits` NULL takes the defaults. False,
 * with nothing prepared, when the boundary is not one that uvhttp_multipart_boundary gives. */
UVHTTP_EXPORT bool uvhttp_multipart_init(uvhttp_multipart_t *parser, uvhttp_slice_t boundary,
                                         const uvhttp_multipart_limits_t *limits);

/* The next event. `*input` are bytes of the body that have not been used up; it shrinks from its
 * front. Keep what is left of it, and the bytes it shows, for the next call. `*data` is set by DATA
 * and empty otherwise. Each byte is looked at once, but for those of a header section. */
UVHTTP_EXPORT uvhttp_multipart_event_t uvhttp_multipart_next(uvhttp_multipart_t *parser,
                                                             uvhttp_slice_t *input,
                                                             uvhttp_slice_t *data);

/* The body has ended, and all of it was given to uvhttp_multipart_next. True when END has come and
 * nothing was wrong; else there is an error: TRUNCATED, unless there was one before. */
UVHTTP_EXPORT bool uvhttp_multipart_finish(uvhttp_multipart_t *parser);

/* The value of the part's first header field with that name, whatever its case; base NULL when
 * absent. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_multipart_part_field(const uvhttp_multipart_part_t *part,
                                                         const char *name);

#ifdef __cplusplus
}
#endif

#endif
