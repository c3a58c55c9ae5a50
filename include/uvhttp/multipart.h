/* Streaming parser for forms with files: multipart/form-data (RFC 7578, in the syntax of RFC 2046
 * section 5.1).
 *
 * Part of uvhttp_parser: no I/O, no allocation, no clock. Input may be divided at any position; the
 * results do not depend on it. Events are pulled: a caller that must open a file or wait between
 * two events calls later with the rest of the input.
 *
 *     uvhttp_multipart_t form;
 *     uvhttp_slice_t boundary;
 *     uvhttp_multipart_limits_t limits = {.max_part_size = 10 * 1024 * 1024};
 *     if (!uvhttp_multipart_boundary(content_type, &boundary))
 *         return 415; // not such a form
 *     uvhttp_multipart_init(&form, boundary, &limits);
 *
 * For each chunk `input` of the body:
 *
 *     static int take(uvhttp_multipart_t *form, uvhttp_slice_t input)
 *     {
 *         for (uvhttp_slice_t data;;) {
 *             switch (uvhttp_multipart_next(form, &input, &data)) {
 *             case UVHTTP_MULTIPART_PART:     break;    // open a file for form->part.name
 *             case UVHTTP_MULTIPART_DATA:     break;    // write `data` to it
 *             case UVHTTP_MULTIPART_PART_END: break;    // close it
 *             case UVHTTP_MULTIPART_END:      break;    // the form is complete
 *             case UVHTTP_MULTIPART_MORE:     return 0; // `input` is consumed
 *             case UVHTTP_MULTIPART_BAD: return uvhttp_multipart_error_status(form->error);
 *             }
 *         }
 *     }
 *
 * At the end of the body, uvhttp_multipart_finish is false if it was truncated.
 *
 * A file name comes from the client: never use it as a path, nor rely on its extension for the
 * type.
 *
 * Strict: lines end with CR LF, fields are not folded, each part has one Content-Disposition
 * "form-data" with one name, and there is a closing delimiter. Any thread, one at a time. A NULL
 * parser gives false or BAD; an output parameter may be NULL. */
#ifndef UVHTTP_MULTIPART_H
#define UVHTTP_MULTIPART_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    UVHTTP_MULTIPART_HEADER_SIZE = 2048, /* bytes of a part's header section */
    UVHTTP_MULTIPART_FIELDS = 16,        /* header fields of a part */
    /* bytes of a boundary (RFC 2046 section 5.1.1) */
    UVHTTP_MULTIPART_BOUNDARY_SIZE = 70
};

/* Errors: name, response status, text. */
#define UVHTTP_MULTIPART_ERROR_MAP(X)                                                      \
    X(OUTSIDE_TOO_LARGE, 413, "the preamble or the epilogue is too large")                 \
    X(DELIMITER, 400, "unexpected data after a boundary delimiter")                        \
    X(LINE_END, 400, "a line does not end with CR LF")                                     \
    X(HEADER_TOO_LARGE, 413, "the header section of a part is too large")                  \
    X(TOO_MANY_FIELDS, 413, "a part has too many header fields")                           \
    X(FIELD, 400, "a header field of a part is malformed")                                 \
    X(FIELD_REPEATED, 400, "a part has more than one Content-Disposition or Content-Type") \
    X(DISPOSITION, 400,                                                                    \
      "the Content-Disposition of a part is missing, malformed or not form-data")          \
    X(NAME, 400, "a part has no name, or more than one name or file name")                 \
    X(CODING, 400, "Content-Transfer-Encoding is not supported in multipart/form-data")    \
    X(TOO_MANY_PARTS, 413, "the form has too many parts")                                  \
    X(PART_TOO_LARGE, 413, "a part is too large")                                          \
    X(TRUNCATED, 400, "the body ends before the closing delimiter")

/* Reason for the rejection of a form. */
typedef enum uvhttp_multipart_error {
    UVHTTP_MULTIPART_ERROR_NONE = 0,
#define UVHTTP_MULTIPART_ERROR_ENUM(name, status, text) UVHTTP_MULTIPART_ERROR_##name,
    UVHTTP_MULTIPART_ERROR_MAP(UVHTTP_MULTIPART_ERROR_ENUM)
#undef UVHTTP_MULTIPART_ERROR_ENUM
        UVHTTP_MULTIPART_ERROR_COUNT
} uvhttp_multipart_error_t;

/* The response status of an error (400 or 413; 0 for NONE), its name ("TRUNCATED") and a
 * description; the strings are never NULL. */
UVHTTP_EXPORT int uvhttp_multipart_error_status(uvhttp_multipart_error_t error);
UVHTTP_EXPORT const char *uvhttp_multipart_error_name(uvhttp_multipart_error_t error);
UVHTTP_EXPORT const char *uvhttp_multipart_error_text(uvhttp_multipart_error_t error);

/* A header field of a part. */
typedef struct uvhttp_multipart_field {
    uvhttp_slice_t name;
    uvhttp_slice_t value; /* as sent, without surrounding white space */
} uvhttp_multipart_field_t;

/* The header section of a part. Slices are not NUL-terminated and contain no NUL. */
typedef struct uvhttp_multipart_part {
    /* of the form field; may be empty. UTF-8 if the page is (RFC 7578 section 5.1) */
    uvhttp_slice_t name;
    /* Base NULL if not a file; empty for a file input without a file. As sent by the client,
     * including slashes. filename* is ignored (RFC 7578 section 4.2). */
    uvhttp_slice_t filename;
    uvhttp_slice_t type; /* Content-Type; base NULL when absent, which means text/plain */
    const uvhttp_multipart_field_t *fields; /* all header fields, in order */
    size_t field_count;
} uvhttp_multipart_part_t;

/* Limits of a form; 0 selects the default. */
typedef struct uvhttp_multipart_limits {
    /* Bytes of a part's data: PART_TOO_LARGE. Default: no limit except that of the whole body. */
    uint64_t max_part_size;
    uint32_t max_parts; /* TOO_MANY_PARTS. Default: 1,000 */
    /* Bytes of a part's header section with its empty line: HEADER_TOO_LARGE. Default and
     * maximum: UVHTTP_MULTIPART_HEADER_SIZE. */
    uint32_t max_header_size;
    /* Of a part: TOO_MANY_FIELDS. Default and maximum: UVHTTP_MULTIPART_FIELDS. */
    uint32_t max_fields;
    /* Bytes before the first part, and as many after the last one: OUTSIDE_TOO_LARGE. Default:
     * 1,024. */
    uint32_t max_outside;
} uvhttp_multipart_limits_t;

/* Parser state, about 5 KiB. Must not be moved, because slices point into it. Read `part`,
 * `part_count`, `error` and `error_offset`; the rest is private. */
typedef struct uvhttp_multipart {
    uvhttp_multipart_part_t part;   /* from PART until the call after PART_END */
    uint32_t part_count;            /* parts that have begun */
    uvhttp_multipart_error_t error; /* after BAD */
    uint64_t error_offset;          /* after BAD: position from the body's first byte */

    uvhttp_multipart_limits_t limits;
    uint64_t offset; /* bytes consumed */
    /* of this part's data, of bytes outside of parts, or of white space after a boundary */
    uint64_t size;
    uint8_t state;
    uint8_t matched; /* bytes of `delimiter` that the last input matched */
    /* of these, leading bytes that are not data even without a delimiter */
    uint8_t owed;
    uint8_t delimiter_length;
    bool part_open;       /* a part has ended; PART_END was not yet returned */
    uint16_t head_length; /* bytes in `head` */
    uint16_t line_start;
    uint16_t field_count;
    char delimiter[4 + UVHTTP_MULTIPART_BOUNDARY_SIZE]; /* CR LF "--" boundary */
    uvhttp_multipart_field_t fields[UVHTTP_MULTIPART_FIELDS];
    /* the header section, followed by unescaped names */
    char head[2 * UVHTTP_MULTIPART_HEADER_SIZE];
} uvhttp_multipart_t;

/* Events:
 *   MORE      `*input` is consumed: call again with more bytes, or uvhttp_multipart_finish
 *   PART      a part begins: parser->part
 *   DATA      `*data` is the next non-empty chunk of its data, within the input or the parser;
 *             valid until the next call
 *   PART_END  the part is complete
 *   END       the closing delimiter was read: all parts are complete. Once; further input is
 *             skipped
 *   BAD       rejected: parser->error, parser->error_offset. All later calls return it */
typedef enum uvhttp_multipart_event {
    UVHTTP_MULTIPART_MORE = 0,
    UVHTTP_MULTIPART_PART = 1,
    UVHTTP_MULTIPART_DATA = 2,
    UVHTTP_MULTIPART_PART_END = 3,
    UVHTTP_MULTIPART_END = 4,
    UVHTTP_MULTIPART_BAD = 5
} uvhttp_multipart_event_t;

/* Gets the boundary of a Content-Type: returns true with `*boundary` within `content_type`.
 * False if the type is not multipart/form-data or malformed, or if the boundary is missing,
 * repeated, empty, longer than 70 bytes, or has invalid characters (RFC 2046 section 5.1.1). It
 * may be a token or a quoted string without backslashes, which no boundary needs. */
UVHTTP_EXPORT bool uvhttp_multipart_boundary(uvhttp_slice_t content_type, uvhttp_slice_t *boundary);

/* Initializes the parser for a body with that boundary, which is copied. `limits` NULL selects
 * the defaults. Returns false, with nothing initialized, if uvhttp_multipart_boundary would not
 * accept the boundary. */
UVHTTP_EXPORT bool uvhttp_multipart_init(uvhttp_multipart_t *parser, uvhttp_slice_t boundary,
                                         const uvhttp_multipart_limits_t *limits);

/* Returns the next event. `*input` is unconsumed bytes of the body; it shrinks from the front.
 * Keep the rest of it, and its bytes, for the next call. `*data` is set by DATA and otherwise
 * empty. Each byte is scanned once, except those of a header section. */
UVHTTP_EXPORT uvhttp_multipart_event_t uvhttp_multipart_next(uvhttp_multipart_t *parser,
                                                             uvhttp_slice_t *input,
                                                             uvhttp_slice_t *data);

/* Ends the body, after all of it was passed to uvhttp_multipart_next. Returns true after END
 * without an error; otherwise sets the error TRUNCATED, unless there is one already. */
UVHTTP_EXPORT bool uvhttp_multipart_finish(uvhttp_multipart_t *parser);

/* The value of the part's first header field with that name (case-insensitive); base NULL if
 * absent. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_multipart_part_field(const uvhttp_multipart_part_t *part,
                                                         const char *name);

#ifdef __cplusplus
}
#endif

#endif
