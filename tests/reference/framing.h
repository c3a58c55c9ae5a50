/* The reference parser, part 3: framing, that is what a head says about the body and the connection
 * (RFC 9112 sections 3.2, 6 and 9, RFC 9110 sections 7.2, 7.8, 10.1.1).
 *
 * A request is rejected when two recipients could disagree about its end. The rules apply in this
 * order, and within a field from left to right, line by line: Host, target, body, Expect. See
 * bytes.h about the reference parser. */
#ifndef UVH_TESTS_REFERENCE_FRAMING_H
#define UVH_TESTS_REFERENCE_FRAMING_H

#include <arpa/inet.h>

#include "reference/head.h"

/* A part of the head's bytes. */
struct reference_part {
    const char *base; /* NULL: absent */
    size_t length;
};

struct reference_framing {
    uvhttp_reason_t reason;
    uvhttp_body_kind_t body;
    uint64_t content_length;
    bool keep_alive;
    bool expect_continue;
    bool upgrade;
    uvhttp_target_form_t form;
    struct reference_part authority;
    struct reference_part path;
    struct reference_part query;
};

static inline struct reference_part reference_between(const char *from, const char *to)
{
    return (struct reference_part){from, (size_t)(to - from)};
}

/* port = *DIGIT (RFC 3986 section 3.2.3), at most 65535 */
static inline bool reference_is_port(const char *p, const char *end)
{
    unsigned value = 0;
    for (; p < end; p++) {
        if (!reference_is_digit(*p))
            return false;
        value = value * 10 + (unsigned)(*p - '0');
        if (value > 65535)
            return false;
    }
    return true;
}

/* IPv6address (RFC 3986 section 3.2.2). The C library parses the same grammar. */
static inline bool reference_is_ipv6(const char *p, const char *end)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t length = (size_t)(end - p);
    if (length >= sizeof text || memchr(p, '\0', length) != NULL)
        return false;
    memcpy(text, p, length);
    text[length] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

/* IPvFuture = "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static inline bool reference_is_ip_future(const char *p, const char *end)
{
    if (p == end || reference_lower(*p) != 'v')
        return false;
    const char *digits = ++p;
    while (p < end && reference_hex(*p) >= 0)
        p++;
    if (p == digits || p == end || *p != '.')
        return false;
    const char *address = ++p;
    while (p < end && (reference_is_reg_name(*p) || *p == ':'))
        p++;
    return p > address && p == end;
}

/* reg-name = *( unreserved / pct-encoded / sub-delims ), which includes IPv4address. Not empty in
 * http (RFC 9110 section 4.2.1). */
static inline bool reference_is_name(const char *p, const char *end)
{
    if (p == end)
        return false;
    while (p < end) {
        if (*p == '%') {
            if (end - p < 3 || reference_hex(p[1]) < 0 || reference_hex(p[2]) < 0)
                return false;
            p += 3;
        } else if (reference_is_reg_name(*p)) {
            p++;
        } else {
            return false;
        }
    }
    return true;
}

/* uri-host [ ":" port ] (RFC 9110 section 7.2). `*has_port`: digits follow the colon. */
static inline bool reference_authority(struct reference_part text, bool *has_port)
{
    if (text.length == 0)
        return false;
    const char *p = text.base;
    const char *end = p + text.length;
    const char *host_end = p;
    if (*p == '[') {
        const char *close = memchr(p, ']', text.length);
        if (close == NULL)
            return false;
        if (!reference_is_ipv6(p + 1, close) && !reference_is_ip_future(p + 1, close))
            return false;
        host_end = close + 1;
    } else {
        while (host_end < end && *host_end != ':')
            host_end++;
        if (!reference_is_name(p, host_end))
            return false;
    }
    *has_port = end - host_end > 1;
    return host_end == end || (*host_end == ':' && reference_is_port(host_end + 1, end));
}

static inline struct reference_part reference_value_of(const struct reference_head *head,
                                                       const char *data, size_t i)
{
    return (struct reference_part){data + head->fields[i].value, head->fields[i].value_length};
}

static inline size_t reference_count_of(const struct reference_head *head, unsigned id)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += head->fields[i].id == id;
    return count;
}

/* "A server MUST respond with a 400 to any HTTP/1.1 request message that lacks a Host header field
 * and to any request message that contains more than one Host header field line or a Host header
 * field with an invalid field value" (RFC 9112 section 3.2). Empty is valid. */
static inline uvhttp_reason_t reference_host(const struct reference_head *head, const char *data,
                                             struct reference_framing *framing)
{
    size_t count = reference_count_of(head, UVHTTP_FIELD_HOST);
    if (count == 0)
        return head->minor == 0 ? UVHTTP_REASON_NONE : UVHTTP_REASON_HOST_MISSING;
    if (count > 1)
        return UVHTTP_REASON_HOST_REPEATED;
    for (size_t i = 0; i < head->field_count; i++) {
        if (head->fields[i].id == UVHTTP_FIELD_HOST)
            framing->authority = reference_value_of(head, data, i);
    }
    bool has_port;
    if (framing->authority.length > 0 && !reference_authority(framing->authority, &has_port))
        return UVHTTP_REASON_HOST_INVALID;
    return UVHTTP_REASON_NONE;
}

/* path [ "?" query ] */
static inline void reference_path_query(struct reference_framing *framing, const char *p,
                                        const char *end)
{
    const char *question_mark = p;
    while (question_mark < end && *question_mark != '?')
        question_mark++;
    framing->path = reference_between(p, question_mark);
    if (question_mark < end)
        framing->query = reference_between(question_mark + 1, end);
}

/* absolute-form, for http and https (RFC 9112 section 3.2.2). Its authority replaces the Host
 * field. */
static inline uvhttp_reason_t reference_absolute(const char *p, const char *end,
                                                 struct reference_framing *framing)
{
    size_t length = (size_t)(end - p);
    if (length > 7 && reference_is_word(p, 7, "http://"))
        p += 7;
    else if (length > 8 && reference_is_word(p, 8, "https://"))
        p += 8;
    else
        return UVHTTP_REASON_TARGET_FORM;
    const char *authority = p;
    while (p < end && *p != '/' && *p != '?')
        p++;
    bool has_port;
    framing->form = UVHTTP_TARGET_ABSOLUTE;
    framing->authority = reference_between(authority, p);
    /* No user information (RFC 9110 section 4.2.4). */
    if (!reference_authority(framing->authority, &has_port))
        return UVHTTP_REASON_TARGET_FORM;
    reference_path_query(framing, p, end);
    if (framing->path.length == 0)
        /* the same resource (RFC 9110 section 4.2.3) */
        framing->path = (struct reference_part){"/", 1};
    return UVHTTP_REASON_NONE;
}

static inline uvhttp_reason_t reference_target_form(const struct reference_head *head,
                                                    const char *data,
                                                    struct reference_framing *framing)
{
    const char *p = data + head->target;
    const char *end = p + head->target_length;
    /* authority-form, with a port (section 3.2.3, RFC 9110 section 9.3.6) */
    if (head->method == UVHTTP_METHOD_CONNECT) {
        bool has_port;
        framing->form = UVHTTP_TARGET_AUTHORITY;
        framing->authority = reference_between(p, end);
        framing->path = (struct reference_part){"", 0};
        bool valid = reference_authority(framing->authority, &has_port) && has_port;
        return valid ? UVHTTP_REASON_NONE : UVHTTP_REASON_TARGET_FORM;
    }
    if (*p == '/') { /* origin-form (section 3.2.1) */
        framing->form = UVHTTP_TARGET_ORIGIN;
        reference_path_query(framing, p, end);
        return UVHTTP_REASON_NONE;
    }
    if (end - p == 1 && *p == '*') { /* asterisk-form, for OPTIONS only (section 3.2.4) */
        framing->form = UVHTTP_TARGET_ASTERISK;
        framing->path = reference_between(p, end);
        return head->method == UVHTTP_METHOD_OPTIONS ? UVHTTP_REASON_NONE
                                                     : UVHTTP_REASON_TARGET_FORM;
    }
    return reference_absolute(p, end, framing);
}

static inline const char *reference_skip_space(const char *p, const char *end)
{
    while (p < end && reference_is_space(*p))
        p++;
    return p;
}

/* Content-Length = 1*DIGIT. "A list of identical values" is accepted (RFC 9112 section 6.3 number
 * 5). */
static inline uvhttp_reason_t reference_length_value(struct reference_part value, bool *known,
                                                     uint64_t *length)
{
    const char *end = value.base + value.length;
    for (const char *p = value.base;; p++) {
        p = reference_skip_space(p, end);
        const char *digits = p;
        uint64_t number = 0;
        for (; p < end && reference_is_digit(*p); p++) {
            uint64_t before = number;
            number = number * 10 + (uint64_t)(*p - '0');
            if (before > UINT64_MAX / 10 || number < before * 10)
                return UVHTTP_REASON_LENGTH_INVALID; /* more than 64 bits */
        }
        if (p == digits)
            return UVHTTP_REASON_LENGTH_INVALID;
        if (*known && number != *length)
            return UVHTTP_REASON_LENGTH_CONFLICT;
        *known = true;
        *length = number;
        p = reference_skip_space(p, end);
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_LENGTH_INVALID;
    }
}

static inline uvhttp_reason_t reference_length(const struct reference_head *head, const char *data,
                                               struct reference_framing *framing)
{
    bool known = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (head->fields[i].id != UVHTTP_FIELD_CONTENT_LENGTH)
            continue;
        uvhttp_reason_t reason = reference_length_value(reference_value_of(head, data, i), &known,
                                                        &framing->content_length);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    framing->body = UVHTTP_BODY_LENGTH;
    return UVHTTP_REASON_NONE;
}

/* Returns the end of the token at `p`, or `p` when there is none. */
static inline const char *reference_token_end(const char *p, const char *end)
{
    while (p < end && reference_is_token(*p))
        p++;
    return p;
}

/* Returns the end of the quoted-string at `p` (RFC 9110 section 5.6.4), or NULL when it is
 * malformed. */
static inline const char *reference_quoted_end(const char *p, const char *end)
{
    for (p++; p < end; p++) {
        if (*p == '"')
            return p + 1;
        if (*p == '\\') {
            p++;
            if (p == end || !reference_is_value(*p))
                return NULL;
        } else if (!reference_is_qdtext(*p)) {
            return NULL;
        }
    }
    return NULL;
}

/* *( OWS ";" OWS token BWS "=" BWS ( token / quoted-string ) ) OWS (RFC 9112 section 7). Returns
 * NULL when malformed. */
static inline const char *reference_parameters(const char *p, const char *end)
{
    for (;;) {
        p = reference_skip_space(p, end);
        if (p == end || *p != ';')
            return p;
        p = reference_skip_space(p + 1, end);
        const char *name = p;
        p = reference_token_end(p, end);
        if (p == name)
            return NULL;
        p = reference_skip_space(p, end);
        if (p == end || *p != '=')
            return NULL;
        p = reference_skip_space(p + 1, end);
        if (p == end)
            return NULL;
        const char *value = p;
        p = *p == '"' ? reference_quoted_end(p, end) : reference_token_end(p, end);
        if (p == NULL || p == value)
            return NULL;
    }
}

/* The transfer codings of all lines, in order. */
struct reference_codings {
    size_t count;
    bool chunked; /* one of them is chunked */
    bool chunked_last;
};

/* transfer-coding = token *( transfer-parameter ), separated by commas, without empty elements and
 * without parameters of chunked (RFC 9112 sections 7 and 7.1). chunked is applied at most once
 * (section 6.1), and in a request nothing is applied after it (`last`). Both errors are detected
 * after the name. */
static inline uvhttp_reason_t reference_coding_value(struct reference_part value,
                                                     struct reference_codings *codings, bool last)
{
    const char *end = value.base + value.length;
    for (const char *p = value.base;; p++) {
        p = reference_skip_space(p, end);
        const char *name = p;
        p = reference_token_end(p, end);
        if (p == name)
            return UVHTTP_REASON_CODING_INVALID;
        codings->chunked_last = reference_is_word(name, (size_t)(p - name), "chunked");
        if (codings->chunked && (last || codings->chunked_last))
            return UVHTTP_REASON_CODING_NOT_FINAL;
        codings->chunked = codings->chunked || codings->chunked_last;
        codings->count++;
        const char *parameters = reference_skip_space(p, end);
        p = reference_parameters(p, end);
        if (p == NULL || (codings->chunked_last && p != parameters))
            return UVHTTP_REASON_CODING_INVALID;
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_CODING_INVALID;
    }
}

static inline uvhttp_reason_t reference_codings_of(const struct reference_head *head,
                                                   const char *data,
                                                   struct reference_codings *codings, bool last)
{
    *codings = (struct reference_codings){0};
    for (size_t i = 0; i < head->field_count; i++) {
        if (head->fields[i].id != UVHTTP_FIELD_TRANSFER_ENCODING)
            continue;
        uvhttp_reason_t reason =
            reference_coding_value(reference_value_of(head, data, i), codings, last);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 6.3 for requests, numbers 3 to 7. */
static inline uvhttp_reason_t reference_request_body(const struct reference_head *head,
                                                     const char *data,
                                                     struct reference_framing *framing)
{
    bool has_length = reference_count_of(head, UVHTTP_FIELD_CONTENT_LENGTH) > 0;
    if (reference_count_of(head, UVHTTP_FIELD_TRANSFER_ENCODING) == 0)
        return has_length ? reference_length(head, data, framing) : UVHTTP_REASON_NONE;
    if (head->minor == 0)
        return UVHTTP_REASON_CODING_OLD_VERSION;
    if (has_length)
        return UVHTTP_REASON_LENGTH_WITH_CODING;
    struct reference_codings codings;
    uvhttp_reason_t reason = reference_codings_of(head, data, &codings, true);
    if (reason != UVHTTP_REASON_NONE)
        return reason;
    if (!codings.chunked_last)
        return UVHTTP_REASON_CODING_NOT_FINAL;
    framing->body = UVHTTP_BODY_CHUNKED;
    return codings.count > 1 ? UVHTTP_REASON_CODING_UNKNOWN : UVHTTP_REASON_NONE;
}

/* Removes the next element from a list, without the white space around it. Empty elements are
 * skipped (RFC 9110 section 5.6.1.2). A comma in a quoted string is not a separator. */
static inline bool reference_element(struct reference_part *rest, struct reference_part *element)
{
    const char *p = rest->base;
    const char *end = p + rest->length;
    while (p < end && (*p == ',' || reference_is_space(*p)))
        p++;
    const char *start = p;
    bool quoted = false;
    for (; p < end && (quoted || *p != ','); p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (*p == '\\' && quoted && end - p > 1)
            p++;
    }
    *rest = reference_between(p, end);
    while (p > start && reference_is_space(p[-1]))
        p--;
    *element = reference_between(start, p);
    return p > start;
}

/* Does a list-valued field contain `word`? */
static inline bool reference_list_has(const struct reference_head *head, const char *data,
                                      unsigned id, const char *word)
{
    bool found = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (head->fields[i].id != id)
            continue;
        struct reference_part rest = reference_value_of(head, data, i);
        struct reference_part element;
        while (reference_element(&rest, &element))
            found = found || reference_is_word(element.base, element.length, word);
    }
    return found;
}

/* RFC 9112 section 9.3: "close" ends the connection, HTTP/1.1 keeps it, HTTP/1.0 keeps it with
 * "keep-alive". */
static inline bool reference_keep_alive(const struct reference_head *head, const char *data)
{
    if (reference_list_has(head, data, UVHTTP_FIELD_CONNECTION, "close"))
        return false;
    return head->minor == 1 ||
           reference_list_has(head, data, UVHTTP_FIELD_CONNECTION, "keep-alive");
}

/* RFC 9110 section 7.8: Connection must contain it, and it is ignored in HTTP/1.0. */
static inline bool reference_upgrade(const struct reference_head *head, const char *data)
{
    return head->minor == 1 && reference_count_of(head, UVHTTP_FIELD_UPGRADE) > 0 &&
           reference_list_has(head, data, UVHTTP_FIELD_CONNECTION, "upgrade");
}

/* RFC 9110 section 10.1.1: 100-continue is the only expectation. It is ignored in HTTP/1.0 and
 * without a body. */
static inline uvhttp_reason_t reference_expect(const struct reference_head *head, const char *data,
                                               struct reference_framing *framing)
{
    if (head->minor == 0)
        return UVHTTP_REASON_NONE;
    for (size_t i = 0; i < head->field_count; i++) {
        if (head->fields[i].id != UVHTTP_FIELD_EXPECT)
            continue;
        struct reference_part rest = reference_value_of(head, data, i);
        struct reference_part element;
        while (reference_element(&rest, &element)) {
            if (!reference_is_word(element.base, element.length, "100-continue"))
                return UVHTTP_REASON_EXPECT_UNKNOWN;
            framing->expect_continue =
                framing->body == UVHTTP_BODY_CHUNKED || framing->content_length > 0;
        }
    }
    return UVHTTP_REASON_NONE;
}

static inline void reference_request_framing(const struct reference_head *head, const char *data,
                                             struct reference_framing *framing)
{
    *framing = (struct reference_framing){.body = UVHTTP_BODY_NONE};
    framing->reason = reference_host(head, data, framing);
    if (framing->reason == UVHTTP_REASON_NONE)
        framing->reason = reference_target_form(head, data, framing);
    if (framing->reason == UVHTTP_REASON_NONE)
        framing->reason = reference_request_body(head, data, framing);
    if (framing->reason == UVHTTP_REASON_NONE)
        framing->reason = reference_expect(head, data, framing);
    framing->keep_alive = reference_keep_alive(head, data);
    framing->upgrade = reference_upgrade(head, data);
}

/* RFC 9112 section 6.3 for responses, by number. */
static inline uvhttp_reason_t reference_response_body(const struct reference_head *head,
                                                      const char *data, unsigned request_method,
                                                      struct reference_framing *framing)
{
    framing->body = UVHTTP_BODY_NONE;
    if (request_method == UVHTTP_METHOD_HEAD || head->status / 100 == 1 || head->status == 204 ||
        head->status == 304)
        /* 1: ends after its head, "regardless of the header fields present" */
        return UVHTTP_REASON_NONE;
    if (request_method == UVHTTP_METHOD_CONNECT && head->status / 100 == 2)
        return UVHTTP_REASON_NONE; /* 2: a tunnel follows, and the fields are ignored */
    bool has_length = reference_count_of(head, UVHTTP_FIELD_CONTENT_LENGTH) > 0;
    if (reference_count_of(head, UVHTTP_FIELD_TRANSFER_ENCODING) > 0) {
        if (head->minor == 0)
            /* section 6.1: "as if the framing is faulty" */
            return UVHTTP_REASON_CODING_OLD_VERSION;
        if (has_length)
            return UVHTTP_REASON_LENGTH_WITH_CODING; /* 3: "ought to be handled as an error" */
        struct reference_codings codings;
        uvhttp_reason_t reason = reference_codings_of(head, data, &codings, false);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
        /* 4: "If [...] the chunked transfer coding is not the final encoding, the message body
         * length is determined by reading the connection until it is closed by the server." */
        framing->body = codings.chunked_last ? UVHTTP_BODY_CHUNKED : UVHTTP_BODY_UNTIL_CLOSE;
        return UVHTTP_REASON_NONE;
    }
    if (has_length)
        return reference_length(head, data, framing); /* 5 and 6 */
    framing->body = UVHTTP_BODY_UNTIL_CLOSE;          /* 8 */
    return UVHTTP_REASON_NONE;
}

static inline void reference_response_framing(const struct reference_head *head, const char *data,
                                              unsigned request_method,
                                              struct reference_framing *framing)
{
    *framing = (struct reference_framing){.body = UVHTTP_BODY_NONE};
    framing->reason = reference_response_body(head, data, request_method, framing);
    framing->keep_alive =
        reference_keep_alive(head, data) && framing->body != UVHTTP_BODY_UNTIL_CLOSE;
    framing->upgrade = head->status == 101;
}

#endif
