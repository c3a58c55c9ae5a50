/* What a request head says of its body and connection (RFC 9112 sections 3, 6 and 9): one function per
 * rule, the section beside it.
 *
 * Guarantees that a request either has one unambiguous length or is refused: whatever two implementations
 * could read differently (request smuggling) is an error here. Called by server/conn_rx.c for every
 * request, and by users of the parser alone. */
#include <uvhttp/parser.h>

#include "codec/authority.h"
#include "codec/chars.h"
#include "codec/field.h"
#include "codec/scan_swar.h"

#define TEXT(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

static uvhttp_slice_t value_of(const uvhttp_head_t *head, const uvhttp_field_t *field)
{
    return (uvhttp_slice_t){head->base + field->value_offset, field->value_length};
}

/* The first field of a known id, or NULL: uvhttp_head_find without the call. */
static inline const uvhttp_field_t *first_of(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return head->known[id] == 0 ? NULL : &head->fields[head->known[id] - 1];
}

/* The next field with the id of `field`, NULL behind the last. */
static const uvhttp_field_t *next_same(const uvhttp_head_t *head, const uvhttp_field_t *field)
{
    if (field == first_of(head, (uvhttp_field_id_t)field->id) && !field->repeated)
        return NULL;
    const uvhttp_field_t *end = head->fields + head->field_count;
    for (const uvhttp_field_t *next = field + 1; next < end; next++) {
        if (next->id == field->id)
            return next;
    }
    return NULL;
}

/* Path and query of [p, end): the first '?' divides them (RFC 3986 section 3.4). The head parser has found it. */
static void split_query(const uvhttp_head_t *head, uvhttp_framing_t *framing, const char *p, const char *end)
{
    if (head->query_offset == 0) {
        framing->path = (uvhttp_slice_t){p, (size_t)(end - p)};
        return;
    }
    const char *query = head->base + head->query_offset;
    framing->path = (uvhttp_slice_t){p, (size_t)(query - 1 - p)};
    framing->query = (uvhttp_slice_t){query, (size_t)(end - query)};
}

/* RFC 9112 section 3.2.2: a request to a proxy, which a server must accept too. Its authority replaces the
 * Host field. User information is refused (RFC 9110 section 4.2.4), and so is an empty host (section
 * 4.2.1). */
static uvhttp_reason_t absolute_form(const uvhttp_head_t *head, uvhttp_slice_t target,
                                     uvhttp_framing_t *framing)
{
    static const uvhttp_slice_t schemes[] = {
        {"http://",  7},
        {"https://", 8}
    };
    const char *end = target.base + target.length;
    const char *p = NULL;
    for (size_t i = 0; i < 2 && p == NULL; i++) {
        uvhttp_slice_t start = {target.base, schemes[i].length};
        if (target.length > start.length && uvh_field_name_is(start, schemes[i]))
            p = target.base + start.length;
    }
    if (p == NULL)
        return UVHTTP_REASON_TARGET_FORM;
    const char *authority = p;
    while (p < end && *p != '/' && *p != '?')
        p++;
    uvhttp_slice_t host;
    uvhttp_slice_t port;
    framing->target_form = UVHTTP_TARGET_ABSOLUTE;
    framing->authority = (uvhttp_slice_t){authority, (size_t)(p - authority)};
    if (!uvh_authority_split(framing->authority, &host, &port))
        return UVHTTP_REASON_TARGET_FORM;
    split_query(head, framing, p, end);
    if (framing->path.length == 0)
        framing->path = TEXT("/"); /* RFC 9110 section 4.2.3: the same resource */
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 3.2.3, RFC 9110 section 9.3.6: host and port, for CONNECT only, and the port is needed. */
static uvhttp_reason_t authority_form(uvhttp_slice_t target, uvhttp_framing_t *framing)
{
    uvhttp_slice_t host;
    uvhttp_slice_t port;
    if (!uvh_authority_split(target, &host, &port) || port.length == 0)
        return UVHTTP_REASON_TARGET_FORM;
    framing->target_form = UVHTTP_TARGET_AUTHORITY;
    framing->authority = target;
    framing->path = TEXT("");
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 3.2: which of the four forms. `framing->authority` holds the Host field's value
 * already. */
static uvhttp_reason_t target_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    uvhttp_slice_t target = {head->base + head->target_offset, head->target_length};
    if (head->method == UVHTTP_METHOD_CONNECT)
        return authority_form(target, framing);
    if (target.base[0] == '/') { /* section 3.2.1 */
        framing->target_form = UVHTTP_TARGET_ORIGIN;
        split_query(head, framing, target.base, target.base + target.length);
        return UVHTTP_REASON_NONE;
    }
    if (target.length == 1 && target.base[0] == '*') { /* section 3.2.4 */
        framing->target_form = UVHTTP_TARGET_ASTERISK;
        framing->path = target;
        return head->method == UVHTTP_METHOD_OPTIONS ? UVHTTP_REASON_NONE : UVHTTP_REASON_TARGET_FORM;
    }
    return absolute_form(head, target, framing);
}

/* RFC 9112 section 3.2: exactly one Host field in HTTP/1.1, at most one in HTTP/1.0, host[:port] or empty. */
static uvhttp_reason_t host_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    const uvhttp_field_t *field = first_of(head, UVHTTP_FIELD_HOST);
    if (field == NULL)
        return head->minor_version == 0 ? UVHTTP_REASON_NONE : UVHTTP_REASON_HOST_MISSING;
    if (field->repeated)
        return UVHTTP_REASON_HOST_REPEATED;
    uvhttp_slice_t host;
    uvhttp_slice_t port;
    framing->authority = value_of(head, field);
    if (framing->authority.length > 0 && !uvh_authority_split(framing->authority, &host, &port))
        return UVHTTP_REASON_HOST_INVALID;
    return UVHTTP_REASON_NONE;
}

/* 1*DIGIT at `*p` (RFC 9110 section 8.6); false when there is none or it does not fit 64 bits. */
static bool take_number(const char **p, const char *end, uint64_t *number)
{
    const char *start = *p;
    uint64_t value = 0;
    const char *at = start;
    for (; at < end && uvh_chars_is(*at, UVH_CHAR_DIGIT); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *p = at;
    *number = value;
    return at > start;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && uvh_chars_is(*p, UVH_CHAR_SPACE))
        p++;
    return p;
}

/* One Content-Length line: a number, or a list of the same number over and over. `*known` tells whether an
 * earlier number has to be met. */
static uvhttp_reason_t length_value(uvhttp_slice_t value, bool *known, uint64_t *length)
{
    const char *p = value.base;
    const char *end = p + value.length;
    for (;;) {
        uint64_t number;
        if (!take_number(&p, end, &number))
            return UVHTTP_REASON_LENGTH_INVALID;
        if (*known && number != *length)
            return UVHTTP_REASON_LENGTH_CONFLICT;
        *known = true;
        *length = number;
        p = skip_space(p, end);
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_LENGTH_INVALID;
        p = skip_space(p + 1, end);
    }
}

/* RFC 9112 section 6.3, number 5: one decimal number. Several are taken when all are equal, which the
 * section allows. */
static uvhttp_reason_t length_rule(const uvhttp_head_t *head, const uvhttp_field_t *field,
                                   uvhttp_framing_t *framing)
{
    bool known = false;
    framing->body = UVHTTP_BODY_LENGTH;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_reason_t reason = length_value(value_of(head, field), &known, &framing->content_length);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    return UVHTTP_REASON_NONE;
}

/* The end of the quoted string at `p` (RFC 9110 section 5.6.4), NULL when it is malformed. */
static const char *skip_quoted(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (!uvh_chars_is(*p, UVH_CHAR_QDTEXT))
            return NULL;
    }
    return p < end ? p + 1 : NULL;
}

/* The end of the token at `p`, NULL when there is none. */
static const char *skip_token(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    return p > start ? p : NULL;
}

/* The end of *( OWS ";" OWS name BWS "=" BWS value ) and the white space behind it, NULL when malformed
 * (RFC 9112 section 7). */
static const char *skip_parameters(const char *p, const char *end)
{
    for (p = skip_space(p, end); p < end && *p == ';'; p = skip_space(p, end)) {
        p = skip_token(skip_space(p + 1, end), end);
        if (p == NULL)
            return NULL;
        p = skip_space(p, end);
        if (p == end || *p != '=')
            return NULL;
        p = skip_space(p + 1, end);
        p = p < end && *p == '"' ? skip_quoted(p, end) : skip_token(p, end);
        if (p == NULL)
            return NULL;
    }
    return p;
}

/* What the Transfer-Encoding lines say, taken together. */
struct codings {
    bool chunked; /* it was the last one so far */
    bool unknown;
};

/* One line of transfer codings. Empty elements, which a sender must not generate, are refused here: a list
 * that decides where a message ends leaves no room for repair. "chunked" has no parameters (RFC 9112
 * section 7.1). */
static uvhttp_reason_t coding_value(uvhttp_slice_t value, struct codings *codings)
{
    const char *p = value.base;
    const char *end = p + value.length;
    for (;;) {
        const char *start = p;
        p = skip_token(p, end);
        if (p == NULL)
            return UVHTTP_REASON_CODING_INVALID;
        if (codings->chunked)
            return UVHTTP_REASON_CODING_NOT_FINAL;
        codings->chunked = uvh_field_name_is((uvhttp_slice_t){start, (size_t)(p - start)}, TEXT("chunked"));
        codings->unknown |= !codings->chunked;
        const char *name_end = p;
        p = skip_parameters(p, end);
        if (p == NULL || (codings->chunked && skip_space(name_end, end) != p))
            return UVHTTP_REASON_CODING_INVALID;
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_CODING_INVALID;
        p = skip_space(p + 1, end);
    }
}

/* RFC 9112 sections 6.1 and 6.3, numbers 3 and 4: only in HTTP/1.1, never beside Content-Length, and
 * chunked once and last. */
static uvhttp_reason_t coding_rule(const uvhttp_head_t *head, const uvhttp_field_t *field, bool has_length,
                                   uvhttp_framing_t *framing)
{
    struct codings codings = {false, false};
    if (head->minor_version == 0)
        return UVHTTP_REASON_CODING_OLD_VERSION;
    if (has_length)
        return UVHTTP_REASON_LENGTH_WITH_CODING;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_reason_t reason = coding_value(value_of(head, field), &codings);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    if (!codings.chunked)
        return UVHTTP_REASON_CODING_NOT_FINAL;
    framing->body = UVHTTP_BODY_CHUNKED;
    return codings.unknown ? UVHTTP_REASON_CODING_UNKNOWN : UVHTTP_REASON_NONE;
}

/* RFC 9112 section 6.3: Transfer-Encoding, else Content-Length, else a request has no body. */
static uvhttp_reason_t body_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    const uvhttp_field_t *coding = first_of(head, UVHTTP_FIELD_TRANSFER_ENCODING);
    const uvhttp_field_t *length = first_of(head, UVHTTP_FIELD_CONTENT_LENGTH);
    if (coding != NULL)
        return coding_rule(head, coding, length != NULL, framing);
    if (length != NULL)
        return length_rule(head, length, framing);
    framing->body = UVHTTP_BODY_NONE;
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 9.3: kept alive unless "close"; in HTTP/1.0 only with "keep-alive". RFC 9110 section
 * 7.8: Upgrade counts when Connection names it, and never in HTTP/1.0. */
static void connection_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    bool close = false;
    bool keep_alive = head->minor_version != 0;
    bool upgrade = false;
    const uvhttp_field_t *field = first_of(head, UVHTTP_FIELD_CONNECTION);
    /* What nearly every client sends needs not be taken apart. */
    if (field != NULL && !field->repeated && uvh_field_name_is(value_of(head, field), TEXT("keep-alive"))) {
        framing->keep_alive = true;
        framing->upgrade = false;
        return;
    }
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_slice_t rest = value_of(head, field);
        uvhttp_slice_t option;
        while (uvh_field_list_next(&rest, &option)) {
            close |= uvh_field_name_is(option, TEXT("close"));
            keep_alive |= uvh_field_name_is(option, TEXT("keep-alive"));
            upgrade |= uvh_field_name_is(option, TEXT("upgrade"));
        }
    }
    framing->keep_alive = keep_alive && !close;
    framing->upgrade = upgrade && head->minor_version != 0 && first_of(head, UVHTTP_FIELD_UPGRADE) != NULL;
}

/* RFC 9110 section 10.1.1: 100-continue is the one expectation there is; HTTP/1.0 has none. Without a body
 * there is nothing to wait for. */
static uvhttp_reason_t expect_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    framing->expect_continue = false;
    const uvhttp_field_t *field = first_of(head, UVHTTP_FIELD_EXPECT);
    if (field == NULL || head->minor_version == 0)
        return UVHTTP_REASON_NONE;
    bool has_body = framing->body == UVHTTP_BODY_CHUNKED || framing->content_length > 0;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_slice_t rest = value_of(head, field);
        uvhttp_slice_t expectation;
        while (uvh_field_list_next(&rest, &expectation)) {
            if (!uvh_field_name_is(expectation, TEXT("100-continue")))
                return UVHTTP_REASON_EXPECT_UNKNOWN;
            framing->expect_continue = has_body;
        }
    }
    return UVHTTP_REASON_NONE;
}

uvhttp_reason_t uvhttp_request_framing(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    framing->content_length = 0;
    framing->authority = (uvhttp_slice_t){NULL, 0};
    framing->query = (uvhttp_slice_t){NULL, 0};
    uvhttp_reason_t reason = host_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = target_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = body_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = expect_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        connection_rule(head, framing);
    return reason;
}
