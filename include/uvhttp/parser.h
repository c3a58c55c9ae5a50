/* The HTTP/1.1 parser: no I/O, no allocation, no clock, no libuv. See docs/parser.md.
 *
 * Library target uvhttp_parser. A message is parsed in three steps:
 *
 *   1. uvhttp_request_head_parse / uvhttp_response_head_parse   the head: start line and fields
 *      (RFC 9112 sections 2 to 5)
 *   2. uvhttp_request_framing / uvhttp_response_framing         body framing and connection
 *      (sections 6 and 9)
 *   3. uvhttp_chunked_decode, uvhttp_trailers_parse             a chunked body and its trailers
 *      (section 7.1)
 *
 * It includes uvhttp/ring.h, a receive buffer, and uvhttp/writer.h, which writes messages;
 * uvhttp.hpp wraps all three for C++20.
 *
 * Strict: violations of the RFCs are rejected with a reason (uvhttp_reason_t), which has a status
 * code, a text and an RFC section. All functions are pure: any thread, no hidden state. Offsets
 * count from the first byte passed in.
 *
 * NULL: for `limits` it means the defaults; an output parameter may be NULL. A required pointer
 * that is NULL (an object, input bytes, output memory) gives BAD or a reason with
 * UVHTTP_REASON_ARGUMENT, false, -1, 0 or NULL; a function without a result does nothing. */
#ifndef UVHTTP_PARSER_H
#define UVHTTP_PARSER_H

#include <uvhttp/field.h>
#include <uvhttp/ring.h>
#include <uvhttp/types.h>
#include <uvhttp/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The SIMD implementation that parses heads: "avx2", "avx512", "sse42", "neon" or, on every
 * processor, "swar". Selected at program start: the fastest that the processor supports, or that
 * of the environment variable UVHTTP_PARSER_BACKEND. Never NULL. */
UVHTTP_EXPORT const char *uvhttp_parser_backend(void);

/* Selects another implementation (NULL: the fastest); false, with nothing changed, if it is
 * unknown or not supported. For tests and benchmarks: not while another thread parses. */
UVHTTP_EXPORT bool uvhttp_parser_use_backend(const char *name);

/* Result of every parsing function. */
typedef enum uvhttp_parse_result {
    UVHTTP_PARSE_DONE = 0, /* complete; the function describes its output */
    UVHTTP_PARSE_MORE = 1, /* valid so far; call again with more bytes */
    UVHTTP_PARSE_BAD = 2   /* rejected; see the reason */
} uvhttp_parse_result_t;

/* Reasons for rejection: name, response status, text, source. */
#define UVHTTP_REASON_MAP(X)                                                                   \
    X(METHOD, 400, "the method is not a token", "RFC 9112 3.1")                                \
    X(TARGET, 400, "the request target contains an invalid character", "RFC 9112 3.2")         \
    X(TARGET_FORM, 400, "the request target is malformed or does not fit the method",          \
      "RFC 9112 3.2")                                                                          \
    X(TARGET_ENCODING, 400, "the path has an invalid percent-encoding or an encoded NUL",      \
      "RFC 3986 2.1")                                                                          \
    X(TARGET_ABOVE_ROOT, 400, "the path leads above the root", "RFC 3986 5.2.4")               \
    X(TARGET_TOO_LONG, 414, "the request target is too long", "RFC 9112 3")                    \
    X(VERSION, 400, "the HTTP version is malformed", "RFC 9112 2.3")                           \
    X(VERSION_UNSUPPORTED, 505, "the HTTP version is not supported", "RFC 9110 15.6.6")        \
    X(STATUS_LINE, 400, "the status line is malformed", "RFC 9112 4")                          \
    X(LINE_END, 400, "a line does not end with CR LF", "RFC 9112 2.2")                         \
    X(HEAD_TOO_LARGE, 431, "the header section is too large", "RFC 6585 5")                    \
    X(TOO_MANY_FIELDS, 431, "too many header fields", "RFC 6585 5")                            \
    X(FIELD_NAME, 400, "a field name is not a token", "RFC 9112 5")                            \
    X(FIELD_COLON, 400, "white space between a field name and the colon", "RFC 9112 5.1")      \
    X(FIELD_VALUE, 400, "a field value contains a control character", "RFC 9110 5.5")          \
    X(FIELD_FOLDED, 400, "a field uses obsolete line folding", "RFC 9112 5.2")                 \
    X(HOST_MISSING, 400, "the Host field is missing", "RFC 9112 3.2")                          \
    X(HOST_REPEATED, 400, "more than one Host field", "RFC 9112 3.2")                          \
    X(HOST_INVALID, 400, "the Host field is invalid", "RFC 9112 3.2")                          \
    X(LENGTH_INVALID, 400, "Content-Length is not a number", "RFC 9112 6.3")                   \
    X(LENGTH_CONFLICT, 400, "Content-Length has conflicting values", "RFC 9112 6.3")           \
    X(LENGTH_WITH_CODING, 400, "Content-Length and Transfer-Encoding are both present",        \
      "RFC 9112 6.1")                                                                          \
    X(CODING_OLD_VERSION, 400, "Transfer-Encoding is not allowed in HTTP/1.0", "RFC 9112 6.1") \
    X(CODING_NOT_FINAL, 400, "chunked is not the final transfer coding, or is repeated",       \
      "RFC 9112 6.3")                                                                          \
    X(CODING_INVALID, 400, "Transfer-Encoding is malformed", "RFC 9112 6.1")                   \
    X(CODING_UNKNOWN, 501, "the transfer coding is not implemented", "RFC 9112 6.1")           \
    X(EXPECT_UNKNOWN, 417, "the expectation cannot be met", "RFC 9110 10.1.1")                 \
    X(CHUNK_SIZE, 400, "a chunk size is malformed", "RFC 9112 7.1")                            \
    X(CHUNK_EXTENSION, 400, "a chunk extension is malformed or too long", "RFC 9112 7.1.1")    \
    X(CHUNK_END, 400, "a chunk does not end with CR LF", "RFC 9112 7.1")                       \
    X(TRAILER_TOO_LARGE, 431, "the trailer section is too large", "RFC 6585 5")                \
    X(ARGUMENT, 500, "an argument is NULL (programming error)", "RFC 9110 15.6.1")             \
    X(TRAILER_FORBIDDEN, 400, "trailers must not have fields that control framing or routing", \
      "RFC 9110 6.5.1")

/* Reason for the rejection of a message. */
typedef enum uvhttp_reason {
    UVHTTP_REASON_NONE = 0,
#define UVHTTP_REASON_ENUM(name, status, text, source) UVHTTP_REASON_##name,
    UVHTTP_REASON_MAP(UVHTTP_REASON_ENUM)
#undef UVHTTP_REASON_ENUM
        UVHTTP_REASON_COUNT
} uvhttp_reason_t;

UVHTTP_EXPORT int uvhttp_reason_status(uvhttp_reason_t reason);       /* 400, ...; 0 for NONE */
UVHTTP_EXPORT const char *uvhttp_reason_name(uvhttp_reason_t reason); /* "HOST_MISSING" */
/* "the Host field is missing" */
UVHTTP_EXPORT const char *uvhttp_reason_text(uvhttp_reason_t reason);
UVHTTP_EXPORT const char *uvhttp_reason_source(uvhttp_reason_t reason); /* "RFC 9112 3.2" */

/* One field line, as offsets from the head's base. 16 bytes, so sixteen fields fill four cache
 * lines. */
typedef struct uvhttp_field {
    uint32_t name_offset;
    uint32_t value_offset; /* without surrounding white space */
    uint32_t value_length;
    uint16_t name_length;
    uint8_t id;       /* uvhttp_field_id_t; UVHTTP_FIELD_OTHER if not in the table */
    uint8_t repeated; /* 1 in the first field of a known id if more fields have that id */
} uvhttp_field_t;

enum { UVHTTP_HEAD_INLINE_FIELDS = 32 };

/* A parsed head. Filled by the parse functions. `base` is the caller's buffer; the caller may
 * change it when the bytes move. Valid after UVHTTP_PARSE_DONE only, except `scanned`, `reason`
 * and `reason_offset`. */
typedef struct uvhttp_head {
    const char *base;
    uint32_t size; /* bytes including the empty line; the body begins there */
    /* state between calls with MORE: bytes already scanned */
    uint32_t scanned;
    /* offset of the start line (empty lines before it are skipped, RFC 9112 section 2.2) */
    uint32_t start;
    uint16_t method_length; /* requests: the method begins at `start` */
    uint8_t method;         /* uvhttp_method_t */
    uint8_t minor_version;  /* 0 or 1 */
    uint32_t target_offset;
    uint32_t target_length;
    uint32_t query_offset; /* after the first '?' of the target; 0 without one */
    uint16_t status;       /* responses */
    uint16_t field_count;
    uint32_t reason_phrase_offset; /* responses */
    uint32_t reason_phrase_length;
    uint16_t reason; /* uvhttp_reason_t after BAD */
    uint16_t field_capacity;
    uint32_t reason_offset; /* after BAD: the position */
    /* requests: length of the prefix of Host with characters of a registered name */
    uint16_t host_name_length;
    /* state between calls of the functions for slices: bytes copied so far */
    uint32_t gathered;
    uvhttp_field_t *fields; /* `inline_fields`, or the table given to uvhttp_head_init */
    /* bit `id` is set if there is a field of that uvhttp_field_id_t; bit 0 never */
    uint64_t present;
    /* if it is set: the index of the first field of that id */
    uint16_t first[UVHTTP_FIELD_COUNT];
    uvhttp_field_t inline_fields[UVHTTP_HEAD_INLINE_FIELDS];
} uvhttp_head_t;

/* Limits of a head. A parse function that gets NULL uses the defaults below. */
typedef struct uvhttp_head_limits {
    uint32_t max_size;   /* bytes of the whole head: HEAD_TOO_LARGE */
    uint32_t max_target; /* bytes: TARGET_TOO_LONG */
    uint32_t max_fields; /* TOO_MANY_FIELDS; at most the capacity of the table */
} uvhttp_head_limits_t;

/* Defaults of the server (docs/limits.md): bytes of a head, bytes of a target, fields. */
enum {
    UVHTTP_HEAD_DEFAULT_SIZE = 16384,
    UVHTTP_HEAD_DEFAULT_TARGET = 8192,
    UVHTTP_HEAD_DEFAULT_FIELDS = 100
};

/* Initializes `head` for a new message. `fields` with `capacity` entries replaces the 32 inline
 * ones; NULL and 0 keep them. Cheap: the inline table is not cleared. */
UVHTTP_EXPORT void uvhttp_head_init(uvhttp_head_t *head, uvhttp_field_t *fields, uint16_t capacity);

/* Parses a head that begins at `data`; `length` counts all bytes available, which may extend
 * into the body. After MORE call again with the same bytes plus more (they may have moved) and
 * the same `head`: no byte is scanned twice for the end. Nothing past `length` is read. A head
 * that cannot become valid is BAD as soon as its start line or a limit shows it. */
UVHTTP_EXPORT uvhttp_parse_result_t uvhttp_request_head_parse(uvhttp_head_t *head, const char *data,
                                                              size_t length,
                                                              const uvhttp_head_limits_t *limits);
UVHTTP_EXPORT uvhttp_parse_result_t uvhttp_response_head_parse(uvhttp_head_t *head,
                                                               const char *data, size_t length,
                                                               const uvhttp_head_limits_t *limits);

/* Parses a head from `count` consecutive slices, for example the two halves of a ring buffer;
 * slices may be empty. Results, reasons and offsets are the same as for one buffer.
 *
 * A head within the first non-empty slice is parsed in place: head->base is that slice. A head
 * across slices is copied, each byte once and none after its empty line, to `gather`, the caller's
 * memory of limits->max_size bytes (with `limits` NULL: UVHTTP_HEAD_DEFAULT_SIZE); head->base is
 * then `gather`. In both cases head->size bytes of the slices are consumed.
 *
 * After MORE call again with the same bytes (divided and placed in any way) plus more, the same
 * `head`, and the same `gather` with its contents. The first head->gathered bytes are not read
 * from the slices again; only their number counts. */
UVHTTP_EXPORT uvhttp_parse_result_t
uvhttp_request_head_parse_slices(uvhttp_head_t *head, const uvhttp_slice_t *slices, size_t count,
                                 char *gather, const uvhttp_head_limits_t *limits);
UVHTTP_EXPORT uvhttp_parse_result_t
uvhttp_response_head_parse_slices(uvhttp_head_t *head, const uvhttp_slice_t *slices, size_t count,
                                  char *gather, const uvhttp_head_limits_t *limits);

/* Parses a trailer section (field lines up to an empty line) in the same way. Rejects fields
 * that RFC 9110 section 6.5.1 forbids there (framing, routing, authentication, content fields):
 * TRAILER_FORBIDDEN. `size` includes the empty line. */
UVHTTP_EXPORT uvhttp_parse_result_t uvhttp_trailers_parse(uvhttp_head_t *head, const char *data,
                                                          size_t length,
                                                          const uvhttp_head_limits_t *limits);

/* The first field with that id or name (case-insensitive), NULL if absent. */
UVHTTP_EXPORT const uvhttp_field_t *uvhttp_head_find(const uvhttp_head_t *head,
                                                     uvhttp_field_id_t id);
UVHTTP_EXPORT const uvhttp_field_t *uvhttp_head_find_name(const uvhttp_head_t *head,
                                                          const char *name, size_t length);

/* How the body of a message is delimited (RFC 9112 section 6.3). */
typedef enum uvhttp_body_kind {
    UVHTTP_BODY_NONE = 0,
    UVHTTP_BODY_LENGTH = 1, /* content_length bytes; may be 0 */
    UVHTTP_BODY_CHUNKED = 2,
    UVHTTP_BODY_UNTIL_CLOSE = 3 /* responses only: until the connection ends */
} uvhttp_body_kind_t;

/* Framing of a message: the end of the body, and persistence of the connection. */
typedef struct uvhttp_framing {
    uint64_t content_length;
    uint8_t body;    /* uvhttp_body_kind_t */
    bool keep_alive; /* the connection is reusable (RFC 9112 section 9.3) */
    /* the client waits for 100 (RFC 9110 section 10.1.1); never for HTTP/1.0 */
    bool expect_continue;
    /* Connection contains "upgrade" and there is an Upgrade field (RFC 9110 section 7.8) */
    bool upgrade;
    uint8_t target_form; /* uvhttp_target_form_t */
    /* Effective host[:port]: of the absolute or authority form, else the Host field. */
    uvhttp_slice_t authority;
    /* Raw path of origin and absolute form ("/" if empty), "*" for asterisk, empty for
     * authority. */
    uvhttp_slice_t path;
    uvhttp_slice_t query; /* after '?'; base NULL without '?' */
} uvhttp_framing_t;

/* The forms of a request target (RFC 9112 section 3.2). */
typedef enum uvhttp_target_form {
    UVHTTP_TARGET_ORIGIN = 0,    /* /path?query */
    UVHTTP_TARGET_ABSOLUTE = 1,  /* http://host/path?query */
    UVHTTP_TARGET_AUTHORITY = 2, /* host:port, CONNECT only */
    UVHTTP_TARGET_ASTERISK = 3   /* *, OPTIONS only */
} uvhttp_target_form_t;

/* Determines the framing of a request from Host, Content-Length, Transfer-Encoding, Connection,
 * Expect, Upgrade and target form. Returns UVHTTP_REASON_NONE with `framing` filled (slices into
 * the head), or the reason. */
UVHTTP_EXPORT uvhttp_reason_t uvhttp_request_framing(const uvhttp_head_t *head,
                                                     uvhttp_framing_t *framing);

/* The same for a response to a request with `request_method`. The response to HEAD has no body,
 * whatever its fields, and neither has one with status 1xx, 204 or 304, nor a 2xx to CONNECT
 * (RFC 9112 section 6.3). Transfer codings other than chunked are accepted, because they do not
 * affect framing, but not decoded: check Transfer-Encoding if you have requested any.
 * target_form, authority, path and query stay empty; expect_continue is false; upgrade is set
 * for 101. */
UVHTTP_EXPORT uvhttp_reason_t uvhttp_response_framing(const uvhttp_head_t *head,
                                                      uvhttp_method_t request_method,
                                                      uvhttp_framing_t *framing);

/* Decoder of chunked bodies (RFC 9112 section 7.1). Plain value; initialize with
 * uvhttp_chunked_init. */
typedef struct uvhttp_chunked {
    uint64_t remaining;      /* remaining data bytes of the current chunk */
    uint32_t extension_size; /* bytes of the current chunk's extensions so far */
    uint32_t max_extension;
    uint8_t state;
    uint8_t digits;
    uint16_t reason; /* after BAD */
} uvhttp_chunked_t;

/* Initializes the decoder for a new body; `max_extension` limits the bytes of extensions per
 * chunk. */
UVHTTP_EXPORT void uvhttp_chunked_init(uvhttp_chunked_t *decoder, uint32_t max_extension);

/* Decodes bytes of a chunked body, in slices of any size. `*consumed` bytes are consumed; `*part`
 * is body data within `data` (not moved or copied), possibly empty.
 *   MORE  continue after the consumed bytes: call again while bytes are left, then with new ones
 *   DONE  the last chunk's line was read; the trailer section (uvhttp_trailers_parse) begins after
 *         the consumed bytes
 *   BAD   decoder->reason */
UVHTTP_EXPORT uvhttp_parse_result_t uvhttp_chunked_decode(uvhttp_chunked_t *decoder,
                                                          const char *data, size_t length,
                                                          size_t *consumed, uvhttp_slice_t *part);

/* Decodes in place, so that the body is contiguous in the receive buffer: the body data of all
 * chunks in `data` is moved to its front, the first `*body` bytes; bytes between that and `data +
 * *consumed` are undefined. Processes all bytes available:
 *   MORE  all `length` bytes are consumed; call again with new ones
 *   DONE  as above; the trailer section begins at `data + *consumed`
 *   BAD   decoder->reason; `*body` counts the valid bytes before */
UVHTTP_EXPORT uvhttp_parse_result_t uvhttp_chunked_decode_in_place(uvhttp_chunked_t *decoder,
                                                                   char *data, size_t length,
                                                                   size_t *consumed, size_t *body);

/* Decodes %XX (and '+' as a space if `plus` is set) from `input` to `output`, which has space
 * for input.length bytes and may be input.base. Returns the decoded length, or -1 for a
 * malformed escape (`output` is then undefined). */
UVHTTP_EXPORT ptrdiff_t uvhttp_percent_decode(uvhttp_slice_t input, char *output, bool plus);

/* Decodes without writing, to compare or to copy in parts: `*rest` starts as the whole and
 * shrinks; `*part` is a run of unescaped bytes, or one decoded byte in constant memory. Returns
 * 1 for a part, 0 at the end, -1 for a malformed escape, at which `*rest` begins; with 0 and -1
 * `*part` is empty. */
UVHTTP_EXPORT int uvhttp_percent_next(uvhttp_slice_t *rest, bool plus, uvhttp_slice_t *part);

/* Iterates over a query or form: `*rest` starts as the whole and shrinks; name and value are
 * still encoded (decode after splitting, so that an encoded '&' remains data). Returns false at
 * the end. A pair without '=' has value.base NULL. Empty pairs are skipped. */
UVHTTP_EXPORT bool uvhttp_query_next(uvhttp_slice_t *rest, uvhttp_slice_t *name,
                                     uvhttp_slice_t *value);

/* Iterates over a form (application/x-www-form-urlencoded, URL standard section 5.1) or a query in
 * that format, and decodes: `*rest` starts as the whole and shrinks; name and value are written to
 * the beginning of `scratch`, which has space for rest->length bytes. With (char *)rest->base each
 * time, the form is decoded in place and all pairs stay valid; with other memory, a pair is valid
 * until the next call. A pair without '=' has an empty value; empty pairs are skipped.
 *    1  a pair
 *    0  the end; name and value are empty
 *   -1  a malformed escape; name and value are empty, and the next call continues after this
 *       pair */
UVHTTP_EXPORT int uvhttp_form_next(uvhttp_slice_t *rest, char *scratch, uvhttp_slice_t *name,
                                   uvhttp_slice_t *value);

/* Iterates over the value of one Cookie field: `*rest` starts as the whole and shrinks; pairs
 * name=value separated by ';' (RFC 6265 section 5.4), also within quotes, as in browsers. White
 * space around name and value is removed, double quotes around a value are kept. Nothing is
 * decoded or copied. Returns false at the end. Lenient: a pair without '=' is a value with an
 * empty name (as browsers send it); pairs with neither are skipped. */
UVHTTP_EXPORT bool uvhttp_cookie_next(uvhttp_slice_t *rest, uvhttp_slice_t *name,
                                      uvhttp_slice_t *value);

/* Decodes and normalizes a raw path (RFC 3986 sections 2.1 and 5.2.4): %XX is decoded once, and
 * dot segments, plain or encoded, are removed. An encoded slash stays encoded ("%2F"), so that
 * it is no separator. The %25 of a text that would decode to "%2F", "%252F" and so on also
 * stays, so that the two remain distinct. `output` has space for raw.length bytes. Returns
 * TARGET_ENCODING for a malformed escape or %00, TARGET_ABOVE_ROOT if ".." leads above "/", else
 * NONE with `*length` set. */
UVHTTP_EXPORT uvhttp_reason_t uvhttp_path_normalize(uvhttp_slice_t raw, char *output,
                                                    size_t *length);

/* True if uvhttp_path_normalize would change nothing (no '%', no dot segment): the common case,
 * detected in one pass. */
UVHTTP_EXPORT bool uvhttp_path_is_normal(uvhttp_slice_t raw);

#ifdef __cplusplus
}
#endif

#endif
