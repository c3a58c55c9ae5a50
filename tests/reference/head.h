/* The reference parser, part 2: heads of requests and responses, and trailer sections (RFC 9112
 * sections 2 to 5 and 7.1.2).
 *
 * The reason and offset of a rejected head follow from these rules, which the parser shares:
 *   - only bytes up to the limit of the head count. A head that is incomplete there is rejected
 *     for its size, or for the size of its target when the limit is within the target
 *   - a request line, a version and a status are checked byte by byte as they arrive: the first
 *     byte that does not match is the error
 *   - a reason phrase and a field line are checked when their LF has arrived
 *   - the error of a line without CR LF is its end, unless there is another error before it
 *
 * See bytes.h about the reference parser. */
#ifndef UVH_TESTS_REFERENCE_HEAD_H
#define UVH_TESTS_REFERENCE_HEAD_H

#include <uvhttp/parser.h>

#include "reference/bytes.h"

enum { REFERENCE_FIELDS = 512, REFERENCE_LONGEST_NAME = 65535 };

/* Offsets from the first byte, lengths in bytes. */
struct reference_field {
    size_t name, name_length;
    size_t value, value_length;
    unsigned id;
    bool repeated;
};

struct reference_head {
    uvhttp_parse_result_t result;
    uvhttp_reason_t reason;
    size_t offset; /* of the reason */
    size_t size;
    size_t start;
    size_t method_length;
    unsigned method;
    size_t target, target_length;
    size_t query; /* 0: none */
    int minor;
    unsigned status;
    size_t phrase, phrase_length;
    size_t field_count;
    struct reference_field fields[REFERENCE_FIELDS];
};

/* A message and the read position. */
struct reference_reader {
    const char *bytes;
    size_t length;
    size_t at;
    struct reference_head *head;
};

/* The functions that stop reading. They return false, so that a rule can end with them. */
static inline bool reference_stop(struct reference_head *head, uvhttp_parse_result_t result)
{
    head->result = result;
    return false;
}

static inline bool reference_reject(struct reference_head *head, uvhttp_reason_t reason,
                                    size_t offset)
{
    head->reason = reason;
    head->offset = offset;
    return reference_stop(head, UVHTTP_PARSE_BAD);
}

static inline bool reference_at_end(const struct reference_reader *reader)
{
    return reader->at == reader->length;
}

static inline char reference_byte(const struct reference_reader *reader)
{
    return reader->bytes[reader->at];
}

/* Reads CR LF. A CR or LF alone is UVHTTP_REASON_LINE_END. The current byte is CR or LF. */
static inline bool reference_line_end(struct reference_reader *reader)
{
    if (reference_byte(reader) == '\n')
        return reference_reject(reader->head, UVHTTP_REASON_LINE_END, reader->at);
    if (reader->at + 1 == reader->length)
        return reference_stop(reader->head, UVHTTP_PARSE_MORE);
    if (reader->bytes[reader->at + 1] != '\n')
        return reference_reject(reader->head, UVHTTP_REASON_LINE_END, reader->at);
    reader->at += 2;
    return true;
}

/* "a server SHOULD ignore at least one empty line (CRLF) received prior to the request-line" (RFC
 * 9112 section 2.2) */
static inline bool reference_empty_lines(struct reference_reader *reader)
{
    while (!reference_at_end(reader) &&
           (reference_byte(reader) == '\r' || reference_byte(reader) == '\n')) {
        if (!reference_line_end(reader))
            return false;
    }
    reader->head->start = reader->at;
    return true;
}

/* method SP (RFC 9112 section 3) */
static inline bool reference_method(struct reference_reader *reader)
{
#define REFERENCE_METHOD_NAME(id, name) [UVHTTP_METHOD_##id] = (name),
    static const char *const names[] = {UVHTTP_METHOD_MAP(REFERENCE_METHOD_NAME)};
#undef REFERENCE_METHOD_NAME
    struct reference_head *head = reader->head;
    while (!reference_at_end(reader) && reference_is_token(reference_byte(reader))) {
        if (++reader->at - head->start > REFERENCE_LONGEST_NAME)
            return reference_reject(head, UVHTTP_REASON_METHOD, reader->at - 1);
    }
    if (reference_at_end(reader))
        return reference_stop(head, UVHTTP_PARSE_MORE);
    head->method_length = reader->at - head->start;
    if (reference_byte(reader) != ' ' || head->method_length == 0)
        return reference_reject(head, UVHTTP_REASON_METHOD, reader->at);
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        /* Methods are case-sensitive (RFC 9110 section 9.1). */
        if (strlen(names[i]) == head->method_length &&
            memcmp(names[i], reader->bytes + head->start, head->method_length) == 0)
            head->method = i;
    }
    reader->at++;
    return true;
}

/* request-target SP (RFC 9112 section 3). framing.h checks its form. */
static inline bool reference_target(struct reference_reader *reader, size_t max_target)
{
    struct reference_head *head = reader->head;
    head->target = reader->at;
    while (!reference_at_end(reader) && reference_is_target(reference_byte(reader))) {
        if (reference_byte(reader) == '?' && head->query == 0)
            head->query = reader->at + 1;
        if (++reader->at - head->target > max_target)
            return reference_reject(head, UVHTTP_REASON_TARGET_TOO_LONG, reader->at - 1);
    }
    if (reference_at_end(reader))
        return reference_stop(head, UVHTTP_PARSE_MORE);
    if (reference_byte(reader) == '\r' || reference_byte(reader) == '\n')
        /* the line ends without a version */
        return reference_reject(head, UVHTTP_REASON_VERSION, reader->at);
    head->target_length = reader->at - head->target;
    if (reference_byte(reader) != ' ' || head->target_length == 0)
        return reference_reject(head, UVHTTP_REASON_TARGET, reader->at);
    reader->at++;
    return true;
}

/* HTTP-version = "HTTP" "/" DIGIT "." DIGIT (RFC 9112 section 2.3). A minor version above 1 is read
 * as 1. */
static inline bool reference_version(struct reference_reader *reader)
{
    struct reference_head *head = reader->head;
    size_t start = reader->at;
    for (const char *form = "HTTP/d.d"; *form != '\0'; form++, reader->at++) {
        if (reference_at_end(reader))
            return reference_stop(head, UVHTTP_PARSE_MORE);
        char c = reference_byte(reader);
        if (*form == 'd' ? !reference_is_digit(c) : c != *form)
            return reference_reject(head, UVHTTP_REASON_VERSION, reader->at);
    }
    if (reader->bytes[start + 5] != '1')
        return reference_reject(head, UVHTTP_REASON_VERSION_UNSUPPORTED, start);
    head->minor = reader->bytes[start + 7] == '0' ? 0 : 1;
    return true;
}

/* request-line = method SP request-target SP HTTP-version CRLF (RFC 9112 section 3) */
static inline bool reference_request_line(struct reference_reader *reader, size_t max_target)
{
    if (!reference_empty_lines(reader) || !reference_method(reader) ||
        !reference_target(reader, max_target) || !reference_version(reader))
        return false;
    if (reference_at_end(reader))
        return reference_stop(reader->head, UVHTTP_PARSE_MORE);
    if (reference_byte(reader) != '\r' && reference_byte(reader) != '\n')
        return reference_reject(reader->head, UVHTTP_REASON_VERSION, reader->at);
    return reference_line_end(reader);
}

/* Returns the offset of the line's LF, or `reader->length` when it has not arrived. */
static inline size_t reference_line_feed(const struct reference_reader *reader)
{
    size_t at = reader->at;
    while (at < reader->length && reader->bytes[at] != '\n')
        at++;
    return at;
}

/* status-line = HTTP-version SP status-code SP [ reason-phrase ] CRLF, status-code = 3DIGIT (RFC
 * 9112 section 4) */
static inline bool reference_status_line(struct reference_reader *reader)
{
    struct reference_head *head = reader->head;
    if (!reference_version(reader))
        return false;
    for (const char *form = " ddd "; *form != '\0'; form++, reader->at++) {
        if (reference_at_end(reader))
            return reference_stop(head, UVHTTP_PARSE_MORE);
        char c = reference_byte(reader);
        if (*form == 'd' ? !reference_is_digit(c) : c != *form)
            return reference_reject(head, UVHTTP_REASON_STATUS_LINE, reader->at);
        if (*form == 'd')
            head->status = head->status * 10 + (unsigned)(c - '0');
    }
    head->phrase = reader->at;
    if (reference_line_feed(reader) == reader->length)
        return reference_stop(head, UVHTTP_PARSE_MORE);
    while (reference_is_value(reference_byte(reader)))
        reader->at++;
    head->phrase_length = reader->at - head->phrase;
    if (reference_byte(reader) != '\r' && reference_byte(reader) != '\n')
        return reference_reject(head, UVHTTP_REASON_STATUS_LINE, reader->at);
    return reference_line_end(reader);
}

/* Returns the id of a field name, which is case-insensitive (RFC 9110 section 5.1). */
static inline unsigned reference_field_id(const char *name, size_t length)
{
#define REFERENCE_FIELD_NAME(id, name) [UVHTTP_FIELD_##id] = (name),
    static const char *const names[] = {UVHTTP_FIELD_MAP(REFERENCE_FIELD_NAME)};
#undef REFERENCE_FIELD_NAME
    for (unsigned id = 1; id < UVHTTP_FIELD_COUNT; id++) {
        if (reference_is_word(name, length, names[id]))
            return id;
    }
    return UVHTTP_FIELD_OTHER;
}

/* field-name ":" of a complete line (RFC 9112 section 5) */
static inline bool reference_field_name(struct reference_reader *reader,
                                        struct reference_field *field)
{
    struct reference_head *head = reader->head;
    field->name = reader->at;
    /* obs-fold, or white space before the first field (RFC 9112 sections 5.2 and 2.2) */
    if (reference_is_space(reference_byte(reader)))
        return reference_reject(head, UVHTTP_REASON_FIELD_FOLDED, reader->at);
    while (reference_is_token(reference_byte(reader)))
        reader->at++;
    field->name_length = reader->at - field->name;
    if (reference_byte(reader) == '\n')
        return reference_reject(head, UVHTTP_REASON_LINE_END, reader->at);
    if (field->name_length == 0)
        return reference_reject(head, UVHTTP_REASON_FIELD_NAME, reader->at);
    if (reference_is_space(reference_byte(reader))) {
        size_t after = reader->at;
        while (reference_is_space(reader->bytes[after]))
            after++;
        /* "No whitespace is allowed between the field name and colon" */
        bool colon = reader->bytes[after] == ':';
        return reference_reject(head, colon ? UVHTTP_REASON_FIELD_COLON : UVHTTP_REASON_FIELD_NAME,
                                reader->at);
    }
    if (reference_byte(reader) != ':' || field->name_length > REFERENCE_LONGEST_NAME)
        return reference_reject(head, UVHTTP_REASON_FIELD_NAME, reader->at);
    field->id = reference_field_id(reader->bytes + field->name, field->name_length);
    reader->at++;
    return true;
}

/* OWS field-value OWS CRLF (RFC 9112 section 5) */
static inline bool reference_field_value(struct reference_reader *reader,
                                         struct reference_field *field)
{
    while (reference_is_space(reference_byte(reader)))
        reader->at++;
    field->value = reader->at;
    while (reference_is_value(reference_byte(reader)))
        reader->at++;
    size_t end = reader->at;
    while (end > field->value && reference_is_space(reader->bytes[end - 1]))
        end--;
    field->value_length = end - field->value;
    if (reference_byte(reader) != '\r' && reference_byte(reader) != '\n')
        return reference_reject(reader->head, UVHTTP_REASON_FIELD_VALUE, reader->at);
    return reference_line_end(reader);
}

/* *( field-line CRLF ) CRLF */
static inline bool reference_field_lines(struct reference_reader *reader, size_t max_fields)
{
    struct reference_head *head = reader->head;
    for (;;) {
        if (reference_line_feed(reader) == reader->length)
            return reference_stop(head, UVHTTP_PARSE_MORE);
        if (reference_byte(reader) == '\r') { /* the empty line, or an invalid begin of a line */
            if (!reference_line_end(reader))
                return false;
            head->size = reader->at;
            return true;
        }
        if (head->field_count == max_fields)
            return reference_reject(head, UVHTTP_REASON_TOO_MANY_FIELDS, reader->at);
        struct reference_field *field = &head->fields[head->field_count];
        *field = (struct reference_field){0};
        if (!reference_field_name(reader, field) || !reference_field_value(reader, field))
            return false;
        head->field_count++;
    }
}

/* Sets `repeated` in the first of several fields with the same known name. */
static inline void reference_mark_repeated(struct reference_head *head)
{
    for (size_t i = 0; i < head->field_count; i++) {
        bool earlier = false;
        for (size_t k = 0; k < head->field_count; k++) {
            bool same = head->fields[i].id != UVHTTP_FIELD_OTHER &&
                        head->fields[k].id == head->fields[i].id;
            earlier = earlier || (same && k < i);
            if (same && k > i && !earlier)
                head->fields[i].repeated = true;
        }
    }
}

static inline struct reference_reader reference_begin(struct reference_head *head, const char *data,
                                                      size_t length,
                                                      const uvhttp_head_limits_t *limits)
{
    memset(head, 0, offsetof(struct reference_head, fields));
    return (struct reference_reader){data, length < limits->max_size ? length : limits->max_size, 0,
                                     head};
}

/* A head that is incomplete at its limit is rejected for its size. */
static inline void reference_end(struct reference_reader *reader,
                                 const uvhttp_head_limits_t *limits, uvhttp_reason_t too_large)
{
    if (reader->head->result == UVHTTP_PARSE_MORE && reader->length == limits->max_size)
        reference_reject(reader->head, too_large, reader->length);
    if (reader->head->result == UVHTTP_PARSE_DONE)
        reference_mark_repeated(reader->head);
}

/* The maximum number of fields, at most `capacity`, which is at most REFERENCE_FIELDS. */
static inline size_t reference_max_fields(const uvhttp_head_limits_t *limits, size_t capacity)
{
    return limits->max_fields < capacity ? limits->max_fields : capacity;
}

static inline void reference_request(struct reference_head *head, const char *data, size_t length,
                                     const uvhttp_head_limits_t *limits, size_t capacity)
{
    struct reference_reader reader = reference_begin(head, data, length, limits);
    bool line = reference_request_line(&reader, limits->max_target);
    bool in_target = head->target != 0 && head->target_length == 0;
    if (line)
        reference_field_lines(&reader, reference_max_fields(limits, capacity));
    reference_end(&reader, limits,
                  in_target ? UVHTTP_REASON_TARGET_TOO_LONG : UVHTTP_REASON_HEAD_TOO_LARGE);
}

static inline void reference_response(struct reference_head *head, const char *data, size_t length,
                                      const uvhttp_head_limits_t *limits, size_t capacity)
{
    struct reference_reader reader = reference_begin(head, data, length, limits);
    if (reference_status_line(&reader))
        reference_field_lines(&reader, reference_max_fields(limits, capacity));
    reference_end(&reader, limits, UVHTTP_REASON_HEAD_TOO_LARGE);
}

/* "A sender MUST NOT generate a trailer field unless the sender knows the corresponding header
 * field name's definition permits sending it in trailers" (RFC 9110 section 6.5.1). Fields for
 * framing, routing, request modifiers, authentication, response control, and the content's format
 * are forbidden there. These are the registered names of that kind. */
static inline bool reference_forbidden_trailer(const char *name, size_t length)
{
    static const char *const names[] = {
        /* framing and connection */
        "transfer-encoding", "content-length", "connection", "keep-alive", "proxy-connection", "te",
        "trailer", "upgrade", "expect", "sec-websocket-extensions", "sec-websocket-key",
        "sec-websocket-protocol", "sec-websocket-version",
        /* routing */
        "host", "max-forwards", "forwarded", "x-forwarded-for", "origin",
        /* modifiers, conditions, negotiation */
        "cache-control", "pragma", "if-match", "if-none-match", "if-modified-since",
        "if-unmodified-since", "if-range", "range", "accept", "accept-encoding", "accept-language",
        /* authentication and state */
        "authorization", "proxy-authorization", "proxy-authenticate", "www-authenticate", "cookie",
        "set-cookie",
        /* control of the response */
        "expires", "location", "retry-after", "vary",
        /* the content */
        "content-type", "content-encoding", "content-language", "content-location", "content-range",
        "content-disposition",
        /* "age" counts from the generation of the head */
        "age"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (reference_is_word(name, length, names[i]))
            return true;
    }
    return false;
}

static inline void reference_trailers(struct reference_head *head, const char *data, size_t length,
                                      const uvhttp_head_limits_t *limits, size_t capacity)
{
    struct reference_reader reader = reference_begin(head, data, length, limits);
    reference_field_lines(&reader, reference_max_fields(limits, capacity));
    reference_end(&reader, limits, UVHTTP_REASON_TRAILER_TOO_LARGE);
    if (head->result != UVHTTP_PARSE_DONE)
        return;
    for (size_t i = 0; i < head->field_count; i++) {
        if (reference_forbidden_trailer(data + head->fields[i].name, head->fields[i].name_length)) {
            reference_reject(head, UVHTTP_REASON_TRAILER_FORBIDDEN, head->fields[i].name);
            return;
        }
    }
}

#endif
